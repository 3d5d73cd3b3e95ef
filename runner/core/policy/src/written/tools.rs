//! The key `tools` of a policy file: the modules that agents get as tools by `modbox mcp`, and what confirms their changes.
//!
//! ```yaml
//! tools:
//!   modules: [stat, "community.general.ini_*"]
//!   confirm: person
//!   unconfirmed: [/srv/site/drafts]
//! ```
//!
//! The section grants nothing by itself. A file without it gives agents nothing of what it grants to people.

use modbox_vocabulary::NamePattern;

use crate::written::node::{Located, Node};
use crate::written::reader::FileReader;

/// The keys of the section.
const KEYS: &str = "modules, confirm, unconfirmed";

/// Beginning of the names of tools that are modbox's own.
pub const OWN_TOOLS: &str = "modbox_";

/// The section `tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRules {
    /// Names of the modules, as patterns.
    pub modules: Vec<Located<NamePattern>>,
    /// What confirms a change.
    pub confirm: Confirm,
    /// Absolute paths: changes below them alone are made at once.
    pub unconfirmed: Vec<Located<String>>,
}

/// What confirms a change that a call of a tool would make. The strictest value is the greatest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confirm {
    /// Nothing: a change is made at once, and kept for undo.
    None,
    /// The client, which calls a tool that repeats the changes.
    Client,
    /// A person, by the answer to a question of the client; by `modbox apply` where the client cannot ask.
    #[default]
    Person,
    /// A person, by `modbox apply` alone.
    Hand,
    /// Nothing: tools only read.
    Never,
}

impl Confirm {
    /// Every value.
    pub const ALL: [Self; 5] = [Self::None, Self::Client, Self::Person, Self::Hand, Self::Never];

    /// Returns the word that files use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Client => "client",
            Self::Person => "person",
            Self::Hand => "hand",
            Self::Never => "never",
        }
    }

    fn known() -> String {
        Self::ALL.map(|value| format!("`{}`", value.as_str())).join(", ")
    }
}

impl std::fmt::Display for Confirm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Confirm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|value| value.as_str() == text);
        found.ok_or_else(|| format!("unknown value `{text}`; expected one of {}", Self::known()))
    }
}

impl FileReader {
    /// Reads the section `tools`.
    pub(crate) fn tools(&mut self, node: Node) -> Option<ToolRules> {
        let place = node.place;
        let (mut modules, mut unconfirmed, mut confirm) = (Vec::new(), Vec::new(), Some(Confirm::default()));
        for (key, node) in self.map(node, "`tools`") {
            match key.value.as_str() {
                "modules" => modules = self.texts(node),
                "confirm" => confirm = self.scalar(node, str::parse),
                "unconfirmed" => unconfirmed = self.texts(node),
                _ => self.unknown(&key, KEYS),
            }
        }
        if modules.is_empty() {
            self.note(place, "`tools` needs `modules`, a list of names such as `[stat]`");
        }
        let modules = modules.into_iter().filter_map(|name| self.tool(name)).collect();
        for path in &unconfirmed {
            if !path.value.starts_with('/') {
                self.note(path.place, format!("the unconfirmed path `{}` must be an absolute path", path.value));
            }
        }
        Some(ToolRules { modules, confirm: confirm?, unconfirmed })
    }

    fn tool(&mut self, Located { value, place }: Located<String>) -> Option<Located<NamePattern>> {
        let wrong = if value.starts_with(OWN_TOOLS) {
            format!("`{value}` cannot be a tool: names that begin with `{OWN_TOOLS}` are those of modbox's own tools")
        } else if value.is_empty() || value.contains(|c: char| c == '/' || c.is_whitespace() || c.is_control()) {
            format!(
                "`{value}` is not the name of a module; expected a name such as `stat`, or a pattern such as `acme.web.*`"
            )
        } else {
            return Some(Located { value: NamePattern::new(&value), place });
        };
        self.note(place, wrong);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::file::PolicyFile;

    fn mistake(text: &str) -> String {
        PolicyFile::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn names_and_patterns_are_read() {
        let file = PolicyFile::parse("tools: {modules: [stat, 'a.b.*'], confirm: never}").unwrap();
        let tools = file.tools.unwrap();
        assert_eq!(tools.confirm, Confirm::Never);
        assert!(tools.modules[0].value.matches("stat") && tools.modules[1].value.matches("a.b.c"));
    }

    #[test]
    fn wrong_sections_are_refused() {
        let unknown = mistake("tools: {modules: [stat], confirm: maybe}");
        assert!(
            unknown.contains("unknown value `maybe`; expected one of `none`, `client`, `person`, `hand`, `never`"),
            "{unknown}"
        );
        let relative = mistake("tools: {modules: [stat], unconfirmed: [drafts]}");
        assert!(relative.contains("the unconfirmed path `drafts` must be an absolute path"), "{relative}");
        let without = PolicyFile::parse("tools: {modules: [stat]}").unwrap().tools.unwrap();
        assert_eq!(without.confirm, Confirm::Person);
        assert!(Confirm::ALL.is_sorted());
        assert!(mistake("tools: {confirm: never}").contains("`tools` needs `modules`"));
        assert!(
            mistake("tools: {modules: [stat], confirm: never, sometimes: true}").contains("unknown key `sometimes`")
        );
        assert!(mistake("tools:\n").contains("`tools` needs `modules`"));
        assert!(mistake("modules: {x: {tools: {}}}").contains("unknown key `tools`"));
        for name in ["a/b", "''", "'a b'"] {
            let mistake = mistake(&format!("tools: {{modules: [{name}], confirm: never}}"));
            assert!(mistake.contains("is not the name"), "{name}: {mistake}");
        }
        assert!(mistake("tools: {modules: [modbox_undo], confirm: never}").contains("modbox's own tools"));
    }

    #[test]
    fn grants_are_taken_out_of_every_section_and_restrictions_stay() {
        let text = "allow: {read: [/a]}\ndesignated: read\nmodules: {x: {allow: {write: [/b]}, profiles: [facts], limits: {files: 3}}}\n\
                    tasks: {y: {allow: {read: [/c]}}}";
        let expect = "designated: read\nmodules: {x: {limits: {files: 3}}}\ntasks: {y: {}}";
        let mut file = PolicyFile::parse(text).unwrap().without_grants();
        let mut expect = PolicyFile::parse(expect).unwrap();
        // Positions in the text differ.
        for file in [&mut file, &mut expect] {
            file.modules.iter_mut().for_each(|(key, _)| key.place = Default::default());
            file.tasks.iter_mut().for_each(|(key, _)| key.place = Default::default());
        }
        assert_eq!(file, expect);
    }
}
