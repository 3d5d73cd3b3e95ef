//! The argument spec that a Python module's source says literally.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use modbox_argument_spec::ArgumentSpec;
use modbox_contract::Value;
use modbox_kinds::ansiballz::MAX_SOURCE;
use modbox_kinds::module_call::{self, LiteralSpec, ModuleCall, NoCall};

use crate::python::disk::read_bounded;
use crate::python::parser_stack::with_parser_stack;

/// The file of ansible-core that has the options for modes and owners.
const BASIC: &str = "module_utils/basic.py";

/// What a module's source says about its arguments.
pub(crate) struct SourceSpec {
    /// The spec, also in the JSON form of a spec file, or the reason why it is unknown.
    pub(crate) spec: Result<(ArgumentSpec, Value), String>,
    /// Whether check mode is supported, if the source says it.
    pub(crate) supports_check_mode: Option<bool>,
}

/// Reads the argument spec in a module's source. `core` finds the package `ansible`.
pub(crate) fn read_spec(source: &[u8], core: impl FnOnce() -> Option<PathBuf>) -> SourceSpec {
    read_spec_with(source, || read_bounded(&core()?.join(BASIC), MAX_SOURCE).ok().map(Into::into))
}

/// Does the same. `basic` is the source of `ansible.module_utils.basic`.
pub(crate) fn read_spec_with(source: &[u8], basic: impl FnOnce() -> Option<Arc<[u8]>>) -> SourceSpec {
    let unknown = |reason: String| SourceSpec { spec: Err(reason), supports_check_mode: None };
    if source.len() as u64 > MAX_SOURCE {
        return unknown(format!("the source is longer than the limit of {MAX_SOURCE} bytes"));
    }
    let call: Result<ModuleCall, NoCall> = match with_parser_stack(|| module_call::read(source)) {
        Ok(call) => call,
        Err(error) => return unknown(error.to_string()),
    };
    match call {
        Err(error) => unknown(error.to_string()),
        Ok(ModuleCall { spec, supports_check_mode, .. }) => {
            let spec = spec.map_err(|error| error.to_string()).and_then(|spec| complete(spec, basic));
            SourceSpec { spec, supports_check_mode }
        }
    }
}

/// Reads the options that a source itself declares, without those of ansible-core. If the whole spec is not literal, returns
/// the names of the options that the source makes secrets.
pub(crate) fn read_own_options(source: &[u8]) -> Result<ArgumentSpec, BTreeSet<String>> {
    if source.len() as u64 > MAX_SOURCE {
        return Err(BTreeSet::new());
    }
    let read = || {
        let spec = module_call::read(source).ok().and_then(|call| call.spec.ok());
        let spec = spec.and_then(|spec| ArgumentSpec::parse_as_ansible(&Value::Dict(spec.options), &spec.rules).ok());
        spec.ok_or_else(|| module_call::secret_names(source).unwrap_or_default())
    };
    with_parser_stack(read).unwrap_or_else(|_| Err(BTreeSet::new()))
}

/// Adds the options of ansible-core, and reads the spec as Ansible does.
fn complete(spec: LiteralSpec, basic: impl FnOnce() -> Option<Arc<[u8]>>) -> Result<(ArgumentSpec, Value), String> {
    let LiteralSpec { mut options, rules, has_file_options } = spec;
    if has_file_options {
        let file_options = basic().and_then(|basic| file_options(&basic));
        let file_options = file_options.ok_or("ansible-core's options for files were not found")?;
        for (name, option) in file_options {
            options.entry(name).or_insert(option);
        }
    }
    let options = Value::Dict(options);
    let parsed = ArgumentSpec::parse_as_ansible(&options, &rules).map_err(|error| error.to_string())?;
    let json = [("argument_spec".to_owned(), options)].into_iter().chain(rules).collect();
    Ok((parsed, Value::Dict(json)))
}

fn file_options(basic: &[u8]) -> Option<modbox_contract::Dict> {
    with_parser_stack(|| module_call::file_options(basic)).ok()?
}
