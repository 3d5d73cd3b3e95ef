//! The options of a module, for a tool. The module is not run, and not built.

use modbox_argument_spec::{ArgumentSpec, Metadata};
use modbox_contract::Dict;
use modbox_kinds::detect;
use modbox_run::library::FoundModule;
use modbox_run::{DescribedSpec, WasmInfo, locate, wasm_bytes};

use crate::cli::context::Context;
use crate::cli::exit::error_words;
use crate::cli::named::find::Lookup;

/// What is known of a module.
pub(super) struct Described {
    pub(super) metadata: Metadata,
    pub(super) spec: ArgumentSpec,
    /// Whether the spec is the one that the module itself uses.
    pub(super) is_exact: bool,
}

impl Described {
    /// Reads a module's description.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or says nothing of its options.
    pub(super) fn read(context: &Context, lookup: &Lookup, found: &FoundModule) -> Result<Self, String> {
        let words = |error: anyhow::Error| error_words(&error);
        let file = locate::read(&found.path).map_err(|error| words(error.into()))?;
        if let Some(wasm) = wasm_bytes(&file.bytes) {
            let metadata =
                WasmInfo::parse(wasm).and_then(|info| info.metadata()).map_err(|error| words(error.into()))?;
            let metadata = metadata.ok_or("it says nothing of its options; components made with the guest SDK do")?;
            return Ok(Self { spec: metadata.argument_spec.clone(), metadata, is_exact: true });
        }
        let kind = detect::detect(&file.bytes).map_err(|error| words(error.into()))?.kind;
        let described = lookup.describe(context, &file, kind, &found.name);
        let (spec, is_exact) = match described.spec {
            DescribedSpec::Exact(spec, _) => (spec, true),
            DescribedSpec::Documented(spec, _) => (spec, false),
            DescribedSpec::Unknown(reason) => return Err(format!("its options are unknown: {reason}")),
        };
        let metadata = described.metadata.unwrap_or_else(|| undocumented(&found.name));
        Ok(Self { metadata: with_options(metadata, &spec), spec, is_exact })
    }
}

fn undocumented(name: &str) -> Metadata {
    Metadata {
        name: name.to_owned(),
        version: String::new(),
        description: Vec::new(),
        argument_spec: ArgumentSpec::default(),
        supports_check_mode: false,
        validate_arguments: false,
        requests: Vec::new(),
        examples: Vec::new(),
        returns: Dict::new(),
    }
}

/// Returns the metadata with the options of the spec, where the documentation has none.
fn with_options(metadata: Metadata, spec: &ArgumentSpec) -> Metadata {
    if metadata.argument_spec.options.is_empty() {
        return Metadata { argument_spec: spec.clone(), ..metadata };
    }
    metadata
}
