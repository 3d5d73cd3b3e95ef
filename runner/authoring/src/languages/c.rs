//! C: all `*.c` of a project, compiled for WASI 0.1 by the WASI SDK's clang or by zig. The runner makes a component of
//! the core module when it runs it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::BuildError;
use crate::languages::job::{Job, Language};
use crate::languages::sources;
use crate::tool_search::Inspection;

pub(crate) const C: Language = Language {
    name: "C",
    marker: "main.c",
    build,
    inspect,
    remedy: "install zig (`pip install ziglang` for the `python3` in PATH, or ziglang.org), or the WASI SDK, and name its folder in \
             `WASI_SDK_PATH`",
};

fn build(job: &mut Job<'_, '_>) -> Result<(), BuildError> {
    let (compiler, mut args) = compiler(job).ok_or_else(|| job.missing())?;
    args.extend(["-Os", "-s", "-Wall", "-Wextra", "-I.", "-o"].map(OsString::from));
    args.push(job.made.clone().into());
    args.extend(sources::ending(&job.dir, "c").into_iter().map(OsString::from));
    job.run(&compiler, &args, &[])
}

fn inspect(tools: &Inspection<'_, '_>) -> Option<Result<String, String>> {
    let of_sdk = tools.var("WASI_SDK_PATH").map(|sdk| Path::new(sdk).join("bin/clang"));
    if let Some(clang) = of_sdk.filter(|clang| clang.is_absolute() && clang.is_file()) {
        return Some(Ok(format!("the WASI SDK's `{}`", clang.display())));
    }
    if let Some(zig) = tools.find("zig") {
        return Some(Ok(format!("`{}`", zig.display())));
    }
    let python = tools.find("python3")?;
    tools.answer(&python, &["-c", "import ziglang"])?;
    Some(Ok(format!("zig of `{}`", python.display())))
}

/// Returns the compiler, and the arguments that select WASI as its target.
fn compiler(job: &Job<'_, '_>) -> Option<(PathBuf, Vec<OsString>)> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect();
    let of_sdk = job.cx.var("WASI_SDK_PATH").map(|sdk| Path::new(sdk).join("bin/clang"));
    if let Some(clang) = of_sdk.filter(|clang| clang.is_file()) {
        return Some((clang, words(&["--target=wasm32-wasip1"])));
    }
    if let Some(zig) = job.find("zig") {
        return Some((zig, words(&["cc", "-target", "wasm32-wasi"])));
    }
    let python = job.find("python3")?;
    let there = job.asks(&python, &["-c", "import ziglang"]);
    there.then(|| (python, words(&["-m", "ziglang", "cc", "-target", "wasm32-wasi"])))
}
