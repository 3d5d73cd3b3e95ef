//! Runs the module of the README, unchanged, on real files.

use modbox_sdk::{Args, Exit, Failure, Module, fs};

/// Makes sure that a file holds a text.
#[derive(Args)]
struct Text {
    /// The file.
    #[arg(access = "write", type = "path")]
    path: String,
    /// The contents.
    content: String,
}
fn run(args: Text, module: &mut Module) -> Result<Exit, Failure> {
    Ok(Exit::new(fs::update(module, args.path, args.content)?))
}
modbox_sdk::module! { args = Text, run = run, check_mode = true }

#[cfg(test)]
mod tests {
    use modbox_sdk::argument_spec::NoEnvironment;
    use modbox_sdk::{Dict, Metadata, call_typed};

    use super::{MODBOX_METADATA, run};

    #[test]
    fn the_readme_shows_it() {
        let shown = include_str!("../README.md").split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
        assert!(include_str!("readme.rs").contains(shown));
        assert!(shown.lines().count() <= 15, "a whole module in fifteen lines");
    }

    #[test]
    fn it_writes_what_differs_and_nothing_else() {
        let dir = std::env::temp_dir().join(format!("modbox-readme-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        let file = dir.join("motd");
        let of = |content: &str, check_mode: bool| {
            let arguments = Dict::from_iter([
                ("path".to_owned(), file.to_str().unwrap().into()),
                ("content".to_owned(), content.into()),
                ("_ansible_check_mode".to_owned(), check_mode.into()),
            ]);
            let finished = call_typed(&Metadata::from_json(MODBOX_METADATA).unwrap(), arguments, &NoEnvironment, run);
            assert!(!finished.failed, "{:?}", finished.result);
            (finished.result["changed"] == true.into(), std::fs::read_to_string(&file).ok())
        };
        assert_eq!(of("one", true), (true, None));
        assert_eq!(of("one", false), (true, Some("one".to_owned())));
        assert_eq!(of("one", false), (false, Some("one".to_owned())));
        assert_eq!(of("longer", true), (true, Some("one".to_owned())));
        assert_eq!(of("longer", false), (true, Some("longer".to_owned())));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn its_manual_comes_from_its_comments() {
        let manual = Metadata::from_json(MODBOX_METADATA).unwrap().manual();
        assert!(manual.contains("Makes sure that a file holds a text."), "{manual}");
        assert!(manual.contains("path  (path, required, write access to this path)\n      The file."), "{manual}");
    }
}
