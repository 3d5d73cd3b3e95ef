//! The Python plugins of a play as its output lists them before the first task: what they are, where they come from, and why one
//! cannot be used.

use modbox_contract::{Dict, Value};
use modbox_template::PluginKind;

/// A file with plugins, or a plugin of a collection.
#[derive(Debug, Clone)]
pub(crate) struct PluginListing {
    pub(super) kind: PluginKind,
    /// Names that a file gives, or the full name of a plugin of a collection.
    pub(super) names: Vec<String>,
    /// The file, if it is one of the play, a role or a folder of a setting.
    pub(super) file: Option<String>,
    /// The digest of the file (SHA-256), by which a rule names it.
    pub(super) digest: Option<String>,
    /// Whether a rule grants it something.
    pub(super) is_granted: bool,
    /// Whether it runs in the sandbox, and not natively. It is unknown where it cannot be used.
    pub(super) is_sandboxed: Option<bool>,
    /// Why it runs there, or why it cannot be used.
    pub(super) reason: Option<String>,
}

/// How many names of a file are listed, and how many characters of each. The file says them.
const MAX_NAMES: usize = 100;
const MAX_NAME: usize = 200;

impl PluginListing {
    /// Lists a file of the play, a role or a setting, with what loading it gave.
    pub(super) fn of_file(kind: PluginKind, path: &str, text: Option<&str>) -> Self {
        let digest = text.map(|text| modbox_run::digest(text.as_bytes()));
        let file = Some(path.to_owned());
        Self { kind, names: Vec::new(), file, digest, is_granted: false, is_sandboxed: None, reason: None }
    }

    /// Lists a plugin of a collection.
    pub(super) fn of_collection(kind: PluginKind, full_name: &str, is_granted: bool) -> Self {
        let names = Vec::new();
        let mut listing = Self { kind, names, file: None, digest: None, is_granted, is_sandboxed: None, reason: None };
        listing.set_names(&[full_name.to_owned()]);
        listing
    }

    /// Sets the names, as far as they are listed.
    pub(super) fn set_names(&mut self, names: &[String]) {
        self.names = names.iter().take(MAX_NAMES).map(|name| name.chars().take(MAX_NAME).collect()).collect();
    }

    /// Sets where it runs, and why.
    pub(super) fn set_place(&mut self, is_sandboxed: bool, reason: Option<String>) {
        (self.is_sandboxed, self.reason) = (Some(is_sandboxed), reason);
    }

    /// Sets why it cannot be used.
    pub(super) fn set_failure(&mut self, reason: &str) {
        (self.is_sandboxed, self.reason) = (None, Some(reason.to_owned()));
    }

    fn place(&self) -> Option<&'static str> {
        self.is_sandboxed.map(|is_sandboxed| if is_sandboxed { "wasm" } else { "native" })
    }

    /// Returns the entry of the event `plugins`.
    pub(crate) fn json(&self) -> Value {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
        let names = self.names.iter().map(|name| Value::from(name.as_str())).collect();
        Value::Dict(Dict::from([
            ("kind".to_owned(), Value::from(self.kind.word())),
            ("names".to_owned(), Value::List(names)),
            ("file".to_owned(), text(&self.file)),
            ("digest".to_owned(), self.digest.as_ref().map_or(Value::Null, |digest| format!("sha256:{digest}").into())),
            ("place".to_owned(), self.place().map_or(Value::Null, Value::from)),
            ("granted".to_owned(), Value::Bool(self.is_granted)),
            ("reason".to_owned(), text(&self.reason)),
        ]))
    }

    /// Returns the line of an explanation, a comment of the policy file that it is.
    pub(crate) fn comment(&self) -> String {
        let kind = self.kind;
        let (source, digest) = (self.file.as_deref().unwrap_or("a collection"), self.digest.as_deref());
        let digest = digest.map(|digest| format!(", sha256:{digest}")).unwrap_or_default();
        let names = self.names.join(", ");
        let names = if names.is_empty() { names } else { format!(" {names}") };
        let place = self.place().map(|place| format!(", {place}")).unwrap_or_default();
        let word = if self.is_sandboxed.is_some() { ", since" } else { ", cannot be used:" };
        let reason = self.reason.as_ref().map(|reason| format!("{word} {reason}")).unwrap_or_default();
        let granted = if self.is_granted { ", granted more by a rule" } else { "" };
        let line = format!("# Python {kind}{names} ({source}{digest}{place}){granted}{reason}");
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>() + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_listed_on_one_line() {
        let mut listing = PluginListing {
            kind: PluginKind::Filter,
            names: vec!["a".to_owned(), "b".to_owned()],
            file: Some("/p/filter_plugins/own.py".to_owned()),
            digest: Some("00".to_owned()),
            is_granted: true,
            is_sandboxed: None,
            reason: None,
        };
        let begin = "# Python filter a, b (/p/filter_plugins/own.py, sha256:00";
        listing.set_place(true, Some("the policy says `wasm`".to_owned()));
        let expect = format!("{begin}, wasm), granted more by a rule, since the policy says `wasm`\n");
        assert_eq!(listing.comment(), expect);
        listing.set_place(false, None);
        assert_eq!(listing.comment(), format!("{begin}, native), granted more by a rule\n"));
        listing.set_failure("it is\nbroken");
        let expect = format!("{begin}), granted more by a rule, cannot be used: it is broken\n");
        assert_eq!(listing.comment(), expect);
        let json = "{\"kind\": \"filter\", \"names\": [\"a\", \"b\"], \"file\": \"/p/filter_plugins/own.py\", \"digest\": \
                    \"sha256:00\", \"place\": null, \"granted\": true, \"reason\": \"it is\\nbroken\"}";
        assert_eq!(modbox_contract::encode(&listing.json()), json);
    }
}
