//! Writes a text to a file, if the file has other contents.
//!
//! The options are the fields of `Text`. They are validated before `run` gets them.

use std::io::ErrorKind;

use modbox_sdk::{Args, Diff, Exit, Failure, Module, fs};

modbox_sdk::module! {
    args = Text,
    run = run,
    check_mode = true,
    returns = [path: str if "always" = "The file."],
    examples = ["modbox run {{name}} path=/etc/motd content='Welcome.'"],
}

/// The longest file.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Writes a text to a file, if the file has other contents.
#[derive(Args)]
struct Text {
    /// The file.
    #[arg(type = "path", access = "write")]
    path: String,
    /// The contents of the file.
    #[arg(default = "Hello from {{name}}.\n")]
    content: String,
}

fn run(args: Text, module: &mut Module) -> Result<Exit, Failure> {
    let before = match fs::read(&args.path, MAX_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        before => before?,
    };
    // Writes only if the contents differ, and never in check mode.
    if !fs::update(module, &args.path, &args.content)? {
        return Ok(Exit::unchanged().with("path", args.path));
    }
    let before = String::from_utf8_lossy(&before).into_owned();
    let diff = Diff::new(before, args.content).headers(&args.path, &args.path);
    Ok(Exit::changed().with("path", args.path).diff(diff))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use modbox_sdk::argument_spec::NoEnvironment;
    use modbox_sdk::{Dict, Metadata, call_typed};

    use super::*;

    /// Runs the module as a caller does, on a new file, and returns the result and the file's contents.
    fn run_on(file: &str, before: Option<&str>, check_mode: bool) -> (Dict, Option<String>) {
        let path: PathBuf =
            std::env::temp_dir().join(format!("{}-{}-{file}", module_path!(), std::process::id()));
        if let Some(before) = before {
            std::fs::write(&path, before).unwrap();
        }
        let arguments = Dict::from_iter([
            ("path".to_owned(), path.to_str().unwrap().into()),
            ("content".to_owned(), "Hello.\n".into()),
            ("_ansible_check_mode".to_owned(), check_mode.into()),
        ]);
        let metadata = Metadata::from_json(MODBOX_METADATA).unwrap();
        let finished = call_typed(&metadata, arguments, &NoEnvironment, run);
        assert!(!finished.failed, "{:?}", finished.result);
        let after = std::fs::read_to_string(&path).ok();
        let _ = std::fs::remove_file(&path);
        (finished.result, after)
    }

    #[test]
    fn writes_a_missing_file() {
        let (result, after) = run_on("missing", None, false);
        assert_eq!(result["changed"], true.into());
        assert_eq!(after.as_deref(), Some("Hello.\n"));
    }

    #[test]
    fn keeps_a_file_with_the_same_contents() {
        let (result, after) = run_on("same", Some("Hello.\n"), false);
        assert_eq!(result["changed"], false.into());
        assert_eq!(after.as_deref(), Some("Hello.\n"));
    }

    #[test]
    fn check_mode_reports_and_does_not_write() {
        let (result, after) = run_on("check", Some("Goodbye.\n"), true);
        assert_eq!(result["changed"], true.into());
        assert_eq!(after.as_deref(), Some("Goodbye.\n"));
    }
}
