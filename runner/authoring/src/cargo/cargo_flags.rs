//! Finds where cargo takes the compiler's flags from, so that more of them join the author's own.
//!
//! Cargo takes flags from the tables `[target]` of its settings and, only if those have none for the target, from the table
//! `[build]`. Flags in the wrong one of the two would make cargo drop those of the author.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use crate::bounded_file;
use crate::cargo::toolchain::TARGET;

/// Variable of the flags for the target.
const OF_TARGET: &str = "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS";

/// Variable of the flags for every target. It replaces none of the settings: cargo appends its flags to theirs.
const OF_BUILD: &str = "CARGO_BUILD_RUSTFLAGS";

/// Maximum size of a file of settings; the usual size is some hundred bytes.
const MAX_SETTINGS: u64 = 1 << 20;

/// What the files of settings say about flags.
#[derive(Debug, Default)]
struct Found {
    /// A table for the target has flags.
    target: bool,
    /// A table for a condition, which may be true of the target, has flags.
    condition: bool,
    /// The table `[build]` has flags.
    build: bool,
    /// A file includes others, which are not read here.
    includes: bool,
}

/// Returns the variable whose flags cargo adds to those of the author, or `None` if that is unknown.
pub(crate) fn variable(
    env: &BTreeMap<OsString, OsString>,
    dir: &Path,
    cargo_home: Option<&Path>,
) -> Option<&'static str> {
    let mut found = Found {
        target: env.get(OsStr::new(OF_TARGET)).is_some_and(|flags| !flags.as_encoded_bytes().trim_ascii().is_empty()),
        ..Found::default()
    };
    for path in files(dir, cargo_home) {
        // Cargo itself complains about a file that it cannot use.
        let bytes = bounded_file::read_all(&path, MAX_SETTINGS).unwrap_or_default();
        if let Some(settings) = String::from_utf8(bytes).ok().and_then(|text| text.parse::<Table>().ok()) {
            found.add(&settings);
        }
    }
    found.variable()
}

/// Returns the paths at which cargo looks for settings.
fn files(dir: &Path, cargo_home: Option<&Path>) -> impl Iterator<Item = PathBuf> {
    let folders = dir.ancestors().map(|folder| folder.join(".cargo")).chain(cargo_home.map(Path::to_owned));
    folders.flat_map(|folder| ["config", "config.toml"].map(|name| folder.join(name)))
}

impl Found {
    fn add(&mut self, settings: &Table) {
        self.includes |= settings.contains_key("include");
        self.build |= has_flags(settings.get("build"));
        for (name, table) in settings.get("target").and_then(Value::as_table).into_iter().flatten() {
            self.target |= name == TARGET && has_flags(Some(table));
            self.condition |= name.starts_with("cfg(") && has_flags(Some(table));
        }
    }

    fn variable(&self) -> Option<&'static str> {
        match self {
            Self { target: true, .. } => Some(OF_TARGET),
            Self { includes: true, .. } | Self { condition: true, build: true, .. } => None,
            Self { condition: true, .. } => Some(OF_TARGET),
            _ => Some(OF_BUILD),
        }
    }
}

fn has_flags(table: Option<&Value>) -> bool {
    match table.and_then(|table| table.get("rustflags")) {
        Some(Value::String(flags)) => !flags.trim().is_empty(),
        Some(Value::Array(flags)) => !flags.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[track_caller]
    fn check(project: &str, home: &str, env: &[(&str, &str)], expected: Option<&str>) {
        let root = tempfile::tempdir().unwrap();
        let (dir, cargo_home) = (root.path().join("a/project"), root.path().join("home"));
        for folder in [root.path().join("a/.cargo"), dir.clone(), cargo_home.clone()] {
            fs::create_dir_all(folder).unwrap();
        }
        fs::write(root.path().join("a/.cargo/config.toml"), project).unwrap();
        fs::write(cargo_home.join("config.toml"), home).unwrap();
        let env = env.iter().map(|(name, value)| (name.into(), value.into())).collect();
        assert_eq!(variable(&env, &dir, Some(&cargo_home)), expected, "{project} {home} {env:?}");
    }

    const BUILD: &str = "[build]\nrustflags = [\"-Cdebuginfo=0\"]\n";
    const TARGET: &str = "[target.wasm32-wasip2]\nrustflags = \"-Cdebuginfo=0\"\n";
    const CONDITION: &str = "[target.'cfg(target_family = \"wasm\")']\nrustflags = [\"--cfg=a\"]\n";

    #[test]
    fn flags_join_those_that_cargo_takes() {
        check("", "", &[], Some(OF_BUILD));
        check(BUILD, "", &[], Some(OF_BUILD));
        check(BUILD, TARGET, &[], Some(OF_TARGET));
        check(TARGET, CONDITION, &[], Some(OF_TARGET));
        check(CONDITION, "", &[], Some(OF_TARGET));
        check(BUILD, "", &[(OF_TARGET, "--cfg=a")], Some(OF_TARGET));
        check(BUILD, "", &[(OF_TARGET, " ")], Some(OF_BUILD));
        for without in [
            "[target.wasm32-wasip2]\nrustflags = []\n",
            "[target.x86_64-unknown-linux-gnu]\nrustflags = \"-g\"\n",
            "nonsense",
            "target = 1\n",
        ] {
            check(without, BUILD, &[], Some(OF_BUILD));
        }
    }

    #[test]
    fn what_is_unknown_is_said_to_be() {
        check(BUILD, CONDITION, &[], None);
        check("include = \"other.toml\"\n", "", &[], None);
        check("include = \"other.toml\"\n", TARGET, &[], Some(OF_TARGET));
    }
}
