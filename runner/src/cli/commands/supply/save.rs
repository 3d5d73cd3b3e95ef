//! `modbox save`: writes modules with their signatures to one file, to carry them to where there is no network.

use anyhow::Context as _;
use modbox_registry::bundle;
use modbox_registry::layout::StoredModule;
use modbox_registry::manifest::{Descriptor, MANIFEST};
use modbox_registry::module_store::ModuleStore;
use modbox_registry::reference::Reference;

use crate::cli::args::SaveArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::whole_file;
use crate::cli::module_store::module_store;
use crate::cli::printing::output::print_line;
use crate::cli::registry::ReferenceLookup;

/// Permissions of a bundle.
const MODE: u32 = 0o644;

/// Writes the bundle, and prints the references of what is in it.
pub(crate) fn run(context: &Context, args: &SaveArgs) -> Result<ExitStatus, Failure> {
    let lookup = ReferenceLookup::new(context, &args.lookup, &[]);
    let named: Result<Vec<Reference>, _> = args.references.iter().map(|text| text.parse()).collect();
    let references = match named.or_usage()? {
        named if named.is_empty() => lookup.locked().or_usage()?,
        named => named,
    };
    if references.is_empty() {
        return Err(anyhow::anyhow!("the lock file has no modules; name one such as `oci://HOST/NAME:TAG`")).or_usage();
    }
    let store = module_store(&context.environment).or_unavailable()?;
    let (mut modules, mut lines) = (Vec::new(), Vec::new());
    for reference in &references {
        let (pinned, _) = lookup.resolve(context, &store, reference).or_unavailable()?;
        modules.push(stored(&store, reference, &pinned).or_unavailable()?);
        lines.push(pinned.to_string());
    }
    let path = context.environment.absolute(&args.bundle);
    let saved = whole_file::write_by(&path, MODE, |file| bundle::save(&store, &modules, file).map_err(Into::into));
    saved.with_context(|| format!("failed to save `{}`", path.display())).or_unavailable()?;
    lines.iter().try_for_each(|line| print_line(line)).or_internal()?;
    Ok(ExitStatus::Success)
}

/// Describes a module for a bundle, with its reference as other tools write it: without the scheme.
fn stored(store: &ModuleStore, reference: &Reference, pinned: &Reference) -> anyhow::Result<StoredModule> {
    let digest = pinned.digest.as_ref().context("the reference has no digest")?;
    let (_, bytes) = store.layout().manifest(digest)?;
    Ok(StoredModule { reference: reference.without_scheme(), manifest: Descriptor::of(MANIFEST, &bytes) })
}
