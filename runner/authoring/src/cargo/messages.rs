//! Reads the output of `cargo build --message-format=json-render-diagnostics`, one JSON object per line. Pure.
//!
//! Build scripts and procedural macros can print there too, so a line that is not a message is ignored.

use std::path::PathBuf;

use serde::Deserialize;

/// Data from cargo's messages.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Built {
    /// Path of the binary's program.
    pub(crate) program: Option<PathBuf>,
    /// Whether cargo found it up to date.
    pub(crate) fresh: bool,
    /// Manifests of the packages with a path as their source.
    pub(crate) manifests: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    executable: Option<PathBuf>,
    #[serde(default)]
    fresh: bool,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Built {
    /// Reads one line of the build of `binary` in the package of `manifest`.
    pub(crate) fn take_line(&mut self, line: &[u8], binary: &str, manifest: &std::path::Path) {
        let Ok(message) = serde_json::from_slice::<Message>(line) else { return };
        if message.reason != "compiler-artifact" {
            return;
        }
        let (Some(manifest_path), Some(target)) = (message.manifest_path, message.target) else { return };
        if manifest_path == manifest && target.name == binary && target.kind.iter().any(|kind| kind == "bin") {
            self.program = message.executable;
            self.fresh = message.fresh;
        }
        if message.package_id.is_some_and(|id| id.starts_with("path+")) && !self.manifests.contains(&manifest_path) {
            self.manifests.push(manifest_path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[track_caller]
    fn check(lines: &[&str], expected: &Built) {
        let mut built = Built::default();
        for line in lines {
            built.take_line(line.as_bytes(), "hello", Path::new("/p/Cargo.toml"));
        }
        assert_eq!(&built, expected);
    }

    const LIBRARY: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///d#0.1.0","manifest_path":"/d/Cargo.toml",
        "target":{"kind":["lib"],"name":"hello"},"filenames":["/t/libhello.rlib"],"executable":null,"fresh":true}"#;
    const FOREIGN: &str = r#"{"reason":"compiler-artifact","package_id":"registry+https://r#x@1.0.0","manifest_path":"/r/Cargo.toml",
        "target":{"kind":["bin"],"name":"hello"},"executable":"/t/other","fresh":true}"#;
    const PROGRAM: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///p#hello@0.1.0","manifest_path":"/p/Cargo.toml",
        "target":{"kind":["bin"],"name":"hello"},"executable":"/t/hello.wasm","fresh":false}"#;

    #[test]
    fn finds_the_program_and_the_manifests() {
        let manifests = vec!["/d/Cargo.toml".into(), "/p/Cargo.toml".into()];
        check(
            &[LIBRARY, FOREIGN, PROGRAM, r#"{"reason":"build-finished","success":true}"#],
            &Built { program: Some("/t/hello.wasm".into()), fresh: false, manifests },
        );
    }

    #[test]
    fn skips_lines_that_are_not_messages() {
        check(&["", "warning: hello", "[1]", r#"{"reason":"compiler-artifact"}"#], &Built::default());
    }
}
