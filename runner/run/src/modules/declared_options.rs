//! What a module says of its own options before it runs: which of them are secrets.
//!
//! A component says it in its metadata, a Python module in its source. The options of ansible-core that modules with
//! `add_file_common_args` have are left out, since none of them is a secret.

use std::collections::BTreeSet;

use modbox_argument_spec::{ArgumentSpec, Metadata};
use modbox_kinds::Kind;

use crate::modules::metadata::WasmInfo;
use crate::python::read_own_options;

/// What is known of a module's options.
#[derive(Debug)]
pub(crate) enum DeclaredOptions {
    /// All of them.
    Known(Box<ArgumentSpec>),
    /// The names of those that the source makes secrets. There may be more: the spec is made while the module runs, or its
    /// declaration cannot be read.
    Unknown(BTreeSet<String>),
    /// The module declares none.
    None,
}

impl DeclaredOptions {
    /// Reads what a module of some bytes declares.
    pub(crate) fn read(kind: Option<Kind>, bytes: &[u8]) -> Self {
        match kind {
            Some(Kind::Python) => Self::of_python(bytes),
            // Its spec is PowerShell, which nothing here reads.
            Some(Kind::Powershell) | None => Self::Unknown(BTreeSet::new()),
            Some(kind) if kind.is_wasm() => match WasmInfo::parse(bytes).and_then(|info| info.metadata()) {
                Ok(metadata) => metadata.map_or(Self::None, |metadata| Self::of_metadata(&metadata)),
                Err(_) => Self::Unknown(BTreeSet::new()),
            },
            Some(_) => Self::None,
        }
    }

    /// Returns the options of a component's metadata.
    pub(crate) fn of_metadata(metadata: &Metadata) -> Self {
        Self::Known(Box::new(metadata.argument_spec.clone()))
    }

    fn of_python(source: &[u8]) -> Self {
        match read_own_options(source) {
            Ok(spec) => Self::Known(Box::new(spec)),
            Err(names) => Self::Unknown(names),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_that_is_not_literal_leaves_the_names_of_its_secrets() {
        let python = |source: &str| DeclaredOptions::read(Some(Kind::Python), source.as_bytes());
        let literal = "AnsibleModule(argument_spec=dict(key=dict(no_log=True)), add_file_common_args=True)";
        let DeclaredOptions::Known(spec) = python(literal) else { panic!("the spec is literal") };
        assert_eq!(spec.options["key"].no_log, Some(true));
        let made = "AnsibleModule(argument_spec=dict(base(), key=dict(no_log=True, aliases=['k'])))";
        let DeclaredOptions::Unknown(names) = python(made) else { panic!("the spec is made by a function") };
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["k", "key"]);
        assert!(matches!(python("("), DeclaredOptions::Unknown(names) if names.is_empty()));
        assert!(matches!(DeclaredOptions::read(Some(Kind::WantJson), b""), DeclaredOptions::None));
    }
}
