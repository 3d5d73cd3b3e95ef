//! Components for a release of WASI that modbox does not run, such as 0.3.
//!
//! The engine refuses most of them with words about a proposal of WebAssembly, which differ from component to component.
//! So imports and exports are read first, with all proposals, and the refusal names the interface and the remedy. Nothing
//! is validated here: what cannot be parsed is the compiler's to refuse.

use wasmparser::{Chunk, Parser, Payload};

/// The newest release of WASI that modbox runs.
const NEWEST: (u64, u64) = (0, 2);

/// Longest name of an interface that is shown. Those of WASI have less than 60 bytes.
const MAX_NAME: usize = 200;

/// A module's import or export that makes it one for a newer release of WASI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the module is for WASI {release} (`{interface}`); modbox runs WASI 0.1 and 0.2: build it for `wasm32-wasip2`")]
pub struct NewerWasi {
    /// Release of WASI, without the patch: `0.3`.
    release: String,
    /// Interface with its version: `wasi:cli/run@0.3.0`.
    interface: String,
}

impl NewerWasi {
    /// Finds the first interface of a newer WASI among the imports and exports of a component. Those of components inside
    /// it do not count: the component itself provides what they import. A core module counts that was made for such a
    /// component, and whose imports and exports have the names of interfaces.
    #[must_use]
    pub fn find(wasm: &[u8]) -> Option<Self> {
        let mut parser = Parser::new(0);
        let mut rest = wasm;
        loop {
            let Ok(Chunk::Parsed { consumed, payload }) = parser.parse(rest, true) else { return None };
            rest = rest.get(consumed..)?;
            let found = match payload {
                Payload::ComponentImportSection(imports) => {
                    imports.into_iter().map_while(Result::ok).find_map(|import| Self::of_name(import.name.name))
                }
                Payload::ComponentExportSection(exports) => {
                    exports.into_iter().map_while(Result::ok).find_map(|export| Self::of_name(export.name.name))
                }
                Payload::ImportSection(imports) => {
                    imports.into_imports().map_while(Result::ok).find_map(|import| Self::of_name(import.module))
                }
                Payload::ExportSection(exports) => {
                    exports.into_iter().map_while(Result::ok).find_map(|export| Self::of_name(export.name))
                }
                Payload::ModuleSection { unchecked_range, .. } | Payload::ComponentSection { unchecked_range, .. } => {
                    rest = rest.get(unchecked_range.len()..)?;
                    None
                }
                Payload::CodeSectionStart { size, .. } => {
                    parser.skip_section();
                    rest = rest.get(usize::try_from(size).ok()?..)?;
                    None
                }
                Payload::End(_) => return None,
                _ => None,
            };
            if found.is_some() {
                return found;
            }
        }
    }

    /// Reads the name of an import or export: `wasi:cli/run@0.3.0`. Those of core modules can have more around it
    /// (component model, `BuildTargets.md`): `[export]wasi:…`, `[async-lift]wasi:…#run`.
    fn of_name(name: &str) -> Option<Self> {
        let name = name.rsplit_once(']').map_or(name, |(_, name)| name);
        let interface = name.split_once('#').map_or(name, |(interface, _)| interface);
        let version = interface.strip_prefix("wasi:")?.rsplit_once('@')?.1;
        let (major, rest) = version.split_once('.')?;
        let minor = rest.split_once('.').map_or(rest, |(minor, _)| minor);
        let release: (u64, u64) = (major.parse().ok()?, minor.parse().ok()?);
        (release > NEWEST && interface.len() <= MAX_NAME).then(|| Self::new(release, interface))
    }

    fn new((major, minor): (u64, u64), interface: &str) -> Self {
        Self { release: format!("{major}.{minor}"), interface: interface.to_owned() }
    }

    /// Returns the interface with its version.
    pub(crate) fn interface(&self) -> &str {
        &self.interface
    }

    /// Reads the interface again that a compile worker found. Returns `None` for anything but the name of an interface
    /// of a newer WASI: the module may have taken over the worker.
    pub(crate) fn of_worker(text: &str) -> Option<Self> {
        Self::of_name(text).filter(|found| found.interface == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: Option<(&str, &str)>) {
        let found = NewerWasi::of_name(name);
        assert_eq!(found.as_ref().map(|it| (it.release.as_str(), it.interface.as_str())), expect, "{name}");
    }

    #[test]
    fn names_of_interfaces_say_their_release() {
        check("wasi:cli/run@0.3.0", Some(("0.3", "wasi:cli/run@0.3.0")));
        check("wasi:http/types@0.3.0-rc-2025-09-16", Some(("0.3", "wasi:http/types@0.3.0-rc-2025-09-16")));
        check("wasi:cli/run@1.0.0", Some(("1.0", "wasi:cli/run@1.0.0")));
        check("[export]wasi:cli/run@0.3.0", Some(("0.3", "wasi:cli/run@0.3.0")));
        check("[async-lift]wasi:cli/run@0.3.0#run", Some(("0.3", "wasi:cli/run@0.3.0")));
        for other in ["wasi:cli/run@0.2.12", "wasi:cli/run", "wasi_snapshot_preview1", "my:cli/run@0.3.0", "run", ""] {
            check(other, None);
        }
        for damaged in ["wasi:@", "wasi:a/b@3", "wasi:a/b@.3", "wasi:a/b@0.99999999999999999999.1", "wasi:a/b@0.x.0"] {
            check(damaged, None);
        }
        check(&format!("wasi:{}@0.3.0", "a".repeat(MAX_NAME)), None);
    }

    #[track_caller]
    fn find(text: &str) -> Option<String> {
        NewerWasi::find(&wat::parse_str(text).unwrap()).map(|found| found.interface)
    }

    #[test]
    fn the_component_itself_counts_and_not_what_is_inside_it() {
        let imported = r#"(import "wasi:clocks/monotonic-clock@0.3.0" (instance))"#;
        let found = Some("wasi:clocks/monotonic-clock@0.3.0".to_owned());
        assert_eq!(find(&format!("(component {imported})")), found);
        assert_eq!(find(&format!("(component (core module (func) (func)) {imported})")), found);
        assert_eq!(find(&format!("(component (component {imported}))")), None);
        assert_eq!(find(&format!("(component (component (core module (func))) {imported})")), found);
        assert_eq!(find(r#"(component (import "wasi:cli/stdout@0.2.0" (instance)))"#), None);
    }

    #[test]
    fn a_core_module_for_a_component_counts() {
        let stdin = r#"(module (import "wasi:cli/stdin@0.3.0" "read-via-stream" (func (param i32))) (func) (func))"#;
        assert_eq!(find(stdin).as_deref(), Some("wasi:cli/stdin@0.3.0"));
        let run = r#"(module (func (export "[async-lift]wasi:cli/run@0.3.0#run")) (func (export "_start")))"#;
        assert_eq!(find(run).as_deref(), Some("wasi:cli/run@0.3.0"));
        let wasip1 = r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i32))) (func) (func))"#;
        assert_eq!(find(wasip1), None);
    }

    #[test]
    fn damaged_modules_are_left_to_the_compiler() {
        let text = r#"(component (core module (func)) (instance $run) (export "wasi:cli/run@0.3.0" (instance $run)))"#;
        let whole = wat::parse_str(text).unwrap();
        let found = NewerWasi::find(&whole);
        assert!(found.is_some());
        for end in 0..whole.len() {
            let of_part = NewerWasi::find(&whole[..end]);
            assert!(of_part.is_none() || of_part == found, "{end}: {of_part:?}");
        }
        assert_eq!(NewerWasi::find(b"\0asm\x0d\0\x01\0\xff\xff\xff\xff"), None);
        assert_eq!(NewerWasi::find(b""), None);
    }

    #[test]
    fn only_the_name_of_an_interface_is_taken_from_a_worker() {
        assert!(NewerWasi::of_worker("wasi:cli/run@0.3.0").is_some());
        for other in ["", "wasi:cli/run@0.2.0", "[x]wasi:cli/run@0.3.0", "wasi:cli/run@0.3.0#run"] {
            assert_eq!(NewerWasi::of_worker(other), None, "{other}");
        }
    }
}
