//! Describes a native module without running it, from its documentation and, for Python, its source.

use std::collections::BTreeSet;
use std::path::Path;

use modbox_argument_spec::{ArgumentSpec, Metadata};
use modbox_contract::{Dict, Value};
use modbox_kinds::Kind;

use crate::modules::declared_options::DeclaredOptions;
use crate::modules::documentation::{self, FragmentFolders, manual};
use crate::modules::locate::ModuleFile;
use crate::python::{PythonConfig, SourceSpec, ansible_package, read_spec};

/// Description of a module.
#[derive(Debug)]
pub struct Description {
    /// Its documentation in the form of a guest's metadata; `None` if it has none that can be read.
    pub metadata: Option<Metadata>,
    /// The same, as JSON.
    pub json: Option<Value>,
    /// Its options.
    pub spec: DescribedSpec,
}

/// Options of a module, and where they come from.
#[derive(Debug)]
pub enum DescribedSpec {
    /// The argument spec that the module itself uses, also in the JSON form of a spec file.
    Exact(ArgumentSpec, Value),
    /// Options of the documentation, which has no rules between options. The argument spec is unknown for this reason.
    Documented(ArgumentSpec, String),
    /// Neither is known. The argument spec is unknown for this reason.
    Unknown(String),
}

impl Description {
    /// Describes a native module under a name. `interpreter` is the Python that the caller has chosen; relative paths
    /// are relative to `directory`.
    #[must_use]
    pub fn of(
        file: &ModuleFile,
        kind: Kind,
        name: &str,
        config: &PythonConfig,
        interpreter: Option<&str>,
        directory: &Path,
    ) -> Self {
        let path = directory.join(&file.path);
        let folders = || FragmentFolders::of(config, &path, interpreter, directory);
        let mut documented = manual::read(&path, &file.bytes, name, folders);
        let SourceSpec { spec, supports_check_mode } = match kind {
            Kind::Python => read_spec(&file.bytes, || ansible_package(config, &path, interpreter, directory)),
            _ => SourceSpec { spec: Err("its source is not Python".to_owned()), supports_check_mode: None },
        };
        if let Some(documented) = &mut documented {
            if let Some(supported) = supports_check_mode {
                documented.insert("supports_check_mode".to_owned(), supported.into());
            }
            let access = documentation::read(&path, &file.bytes, folders, &mut Vec::new());
            if let (Some(Value::Dict(options)), Some(access)) = (documented.get_mut("argument_spec"), access) {
                add_access(options, &access.argument_spec);
            }
        }
        let metadata = documented.as_ref().and_then(manual::metadata);
        let spec = match (spec, &metadata) {
            (Ok((spec, json)), _) => DescribedSpec::Exact(spec, json),
            (Err(reason), Some(metadata)) => {
                let mut spec = metadata.argument_spec.clone();
                if let DeclaredOptions::Unknown(secrets) = DeclaredOptions::read(Some(kind), &file.bytes) {
                    mark_secrets(&mut spec, &secrets);
                }
                DescribedSpec::Documented(spec, reason)
            }
            (Err(reason), None) => DescribedSpec::Unknown(reason),
        };
        Self { metadata, json: documented.map(Value::Dict), spec }
    }
}

/// Marks the options that the source makes secrets, which a documentation does not say.
fn mark_secrets(spec: &mut ArgumentSpec, secrets: &BTreeSet<String>) {
    for (name, option) in &mut spec.options {
        if secrets.contains(name) || option.aliases.iter().any(|alias| secrets.contains(alias)) {
            option.no_log = Some(true);
        }
        if let Some(spec) = &mut option.sub_spec {
            mark_secrets(spec, secrets);
        }
    }
}

/// Adds the access that naming a path in an option gives.
fn add_access(options: &mut Dict, known: &ArgumentSpec) {
    for (name, known) in &known.options {
        let Some(Value::Dict(option)) = options.get_mut(name) else { continue };
        let is = |key: &str| option.get(key).and_then(Value::as_str) == Some("path");
        if let Some(access) = known.access.filter(|_| is("type") || is("elements")) {
            option.insert("access".to_owned(), access.name().into());
        }
        if let (Some(Value::Dict(options)), Some(known)) = (option.get_mut("options"), &known.sub_spec) {
            add_access(options, known);
        }
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;

    #[test]
    fn options_that_the_source_makes_secrets_are_marked() {
        let json = r#"{"user": {}, "api_key": {"aliases": ["token"]}, "o": {"type": "dict", "options": {"pw": {}}}}"#;
        let mut spec = ArgumentSpec::parse(&decode(json).unwrap()).unwrap();
        mark_secrets(&mut spec, &["token", "pw"].map(str::to_owned).into());
        let no_log = |name: &str| spec.options[name].no_log;
        assert_eq!([no_log("user"), no_log("api_key")], [None, Some(true)]);
        assert_eq!(spec.options["o"].sub_spec.as_ref().unwrap().options["pw"].no_log, Some(true));
    }
}
