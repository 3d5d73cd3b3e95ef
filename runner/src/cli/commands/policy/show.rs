//! `modbox policy show`: prints every grant and limit that a run would have, with its source.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use modbox_native::{base, control_groups};
use modbox_policy::{LimitName, MergedPolicy};
use modbox_python_json::{Dict, Value, encode, to_value};
use modbox_vocabulary::Grant;
use modbox_vocabulary::quoting::split;

use crate::app::{digest, locate, needed_by_commands, needed_by_interpreter};
use crate::cli::args::ShowArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::find::Lookup;
use crate::cli::output;
use crate::cli::settings::{Settings, interpreters};

/// Prints the policy in force, for all modules or for one.
pub(super) fn run(context: &Context, args: &ShowArgs) -> Result<ExitStatus, Failure> {
    let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let (module, effective) = match &args.module {
        Some(module) => {
            let found = Lookup::new(context, &args.lookup)?.find(context, module)?;
            let file = locate::read(&found.path).or_unavailable()?;
            let (name, digest) = (found.name, digest(&file.bytes));
            let effective = settings.for_module(&name, &digest).or_usage()?;
            (Some((name, digest)), effective)
        }
        None => (None, settings.for_every_module().or_usage()?),
    };
    let interpreters = interpreters(&context.environment, &args.lookup.interpreter).or_usage()?;
    let interpreters = interpreters.values().filter_map(|line| split(line).ok()?.into_iter().next());
    let listing = PolicyListing {
        files: &settings.files,
        module,
        effective,
        interpreters: interpreters.map(|program| context.environment.absolute(Path::new(&program))).collect(),
        others: settings.module_keys(),
    };
    let text = if args.json { encode(&listing.to_value()) } else { output::clean(listing.to_text().trim_end()) };
    output::print_line(&text).or_internal()?;
    Ok(ExitStatus::Success)
}

struct PolicyListing<'a> {
    files: &'a [(PathBuf, bool)],
    module: Option<(String, String)>,
    effective: MergedPolicy,
    /// Paths of the interpreters that replace others.
    interpreters: Vec<PathBuf>,
    /// The modules for which policy files have specific rules.
    others: Vec<String>,
}

impl PolicyListing<'_> {
    fn limits(&self) -> impl Iterator<Item = (LimitName, u64, &str)> {
        let effective = &self.effective;
        effective.limits_by.iter().map(|(name, by)| (*name, name.of(&effective.limits), by.as_str()))
    }

    /// Returns the grants, with what granted commands and chosen interpreters need.
    fn grants(&self) -> Vec<Grant> {
        let policy = &self.effective.policy;
        let of_commands = policy.grants().into_iter().chain(needed_by_commands(policy));
        of_commands.chain(self.interpreters.iter().flat_map(|path| needed_by_interpreter(path, policy))).collect()
    }

    fn to_value(&self) -> Value {
        let file = |(path, found): &(PathBuf, bool)| -> Value {
            [("path", Value::from(path.display().to_string())), ("found", (*found).into())].into()
        };
        let module = self.module.as_ref().map(|(name, digest)| -> Value {
            [("name", Value::from(name.as_str())), ("digest", format!("sha256:{digest}").into())].into()
        });
        let grant = |grant: &Grant| to_value(grant).expect("a grant has a JSON form");
        let limits: Dict = self
            .limits()
            .map(|(name, value, by)| {
                let unit = name.unit().as_str();
                let limit = [("value", Value::from(value)), ("unit", unit.into()), ("source", by.into())].into();
                (name.key().to_owned(), limit)
            })
            .collect();
        let effective = &self.effective;
        let designated: Value = [
            ("value", Value::from(effective.policy.designated().as_str())),
            ("source", effective.designated_by.as_str().into()),
        ]
        .into();
        [
            ("files", self.files.iter().map(file).collect::<Vec<_>>().into()),
            ("module", module.into()),
            ("designated", designated),
            ("grants", self.grants().iter().map(grant).collect::<Vec<_>>().into()),
            ("native_base", base::paths().collect::<Vec<_>>().into()),
            ("native_control_groups", control_groups().into_iter().map(Value::from).collect::<Vec<_>>().into()),
            ("limits", Value::Dict(limits)),
            ("modules", self.others.iter().map(String::as_str).collect::<Vec<_>>().into()),
        ]
        .into()
    }

    fn to_text(&self) -> String {
        let mut text = String::from("files:\n");
        for (path, found) in self.files {
            let _ = writeln!(text, "  {}{}", path.display(), if *found { "" } else { " (not there)" });
        }
        if let Some((name, digest)) = &self.module {
            let _ = writeln!(text, "module: {name}, sha256:{digest}");
        }
        let effective = &self.effective;
        let _ = writeln!(text, "designated: {} ({})", effective.policy.designated(), effective.designated_by);
        text += "grants:\n";
        let grants = self.grants();
        if grants.is_empty() {
            text += "  none, except paths in arguments\n";
        }
        for grant in grants {
            let _ = writeln!(text, "  {} {} ({})", grant.capability, grant.subject, grant.source);
        }
        let base: Vec<&str> = base::paths().collect();
        let _ = writeln!(text, "native modules also read, if it exists:\n  {}", base.join(" "));
        let groups = control_groups();
        let groups = if groups.is_empty() { "not available".to_owned() } else { groups.join("; ") };
        let _ = writeln!(text, "control group of a native module: {groups}");
        text += "limits:\n";
        for (name, value, by) in self.limits() {
            let _ = writeln!(text, "  {}: {} ({by})", name.key(), name.show(value));
        }
        if !self.others.is_empty() {
            text += "modules with their own rules:\n";
        }
        for key in &self.others {
            let _ = writeln!(text, "  {key}");
        }
        text
    }
}
