//! A module's manual page as lines of text, made from its metadata. `modbox doc` shows it; emphasis is left to it.
//!
//! The metadata comes from untrusted files and the manual goes to a terminal: control characters are shown as `\u{..}`.

use modbox_python_json::{Dict, Value, encode, str};

use crate::metadata::Metadata;
use crate::spec::{Access, ArgumentSpec, Constraints, OptionSpec};

/// The widest line of running text, where nothing else is known.
const WIDTH: usize = 80;

/// The narrowest column of running text.
const NARROWEST: usize = 20;

/// A line of a manual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManualLine {
    /// The text, with the spaces before it.
    pub text: String,
    /// How many bytes of the text, from its start, name what follows: a heading or an option.
    pub emphasis: usize,
}

impl Metadata {
    /// Returns the manual as text for a width of 80.
    #[must_use]
    pub fn manual(&self) -> String {
        self.manual_lines(WIDTH).iter().flat_map(|line| [line.text.as_str(), "\n"]).collect()
    }

    /// Returns the manual: name, description, options, rules between them, requests, return values, and examples.
    /// Running text has lines of at most `width` characters; other text is not broken.
    #[must_use]
    pub fn manual_lines(&self, width: usize) -> Vec<ManualLine> {
        let mut page = Page { lines: Vec::new(), width };
        let version = if self.version.is_empty() { String::new() } else { format!(" {}", self.version) };
        page.named(0, &self.name, &version);
        page.blank();
        self.description.iter().for_each(|paragraph| page.paragraph(2, paragraph));
        let check_mode = if self.supports_check_mode { "supported" } else { "not supported: the module is skipped" };
        page.paragraph(2, &format!("Check mode: {check_mode}."));
        page.heading("OPTIONS", !self.argument_spec.options.is_empty());
        options(&mut page, &self.argument_spec, 2);
        page.heading("REQUESTS", !self.requests.is_empty());
        for request in &self.requests {
            let required = if request.required { ", required" } else { "" };
            let reason = if request.reason.is_empty() { String::new() } else { format!(": {}", request.reason) };
            page.paragraph(2, &format!("{} {}{required}{reason}", request.capability, request.subject));
        }
        page.heading("RETURN VALUES", !self.returns.is_empty());
        self.returns.iter().for_each(|(key, value)| return_value(&mut page, key, value));
        page.heading("EXAMPLES", !self.examples.is_empty());
        for example in &self.examples {
            example.lines().for_each(|line| page.line(2, line));
            page.blank();
        }
        page.finish()
    }
}

fn options(page: &mut Page, spec: &ArgumentSpec, indent: usize) {
    for (name, option) in &spec.options {
        page.named(indent, name, &format!("  ({})", traits(option).join(", ")));
        option.description.iter().for_each(|paragraph| page.paragraph_tight(indent + 4, paragraph));
        if let Some(choices) = &option.choices {
            page.paragraph_tight(indent + 4, &format!("Choices: {}.", list_of(choices)));
        }
        if let Some(default) = option.default_value() {
            page.paragraph_tight(indent + 4, &format!("Default: {}.", shown(default)));
        }
        if !option.aliases.is_empty() {
            page.paragraph_tight(indent + 4, &format!("Aliases: {}.", option.aliases.join(", ")));
        }
        page.blank();
        if let Some(sub_spec) = option.sub_spec.as_deref() {
            options(page, sub_spec, indent + 4);
        }
    }
    rules(&spec.constraints).iter().for_each(|rule| page.paragraph(indent, rule));
}

fn traits(option: &OptionSpec) -> Vec<String> {
    let mut traits = vec![option.option_type.name().to_owned()];
    if let Some(elements) = option.elements {
        traits[0] = format!("list of {}", elements.name());
    }
    if option.required {
        traits.push("required".to_owned());
    }
    if let Some(access) = option.access {
        traits.push(match access {
            Access::Entry => "write access to this path, no link followed".to_owned(),
            other => format!("{} access to this path", other.name()),
        });
    }
    if option.no_log == Some(true) {
        traits.push("secret".to_owned());
    }
    if option.removal.is_some() {
        traits.push("deprecated".to_owned());
    }
    traits
}

fn rules(constraints: &Constraints) -> Vec<String> {
    let mut rules = Vec::new();
    let groups = [
        ("At most one of", &constraints.mutually_exclusive),
        ("All or none of", &constraints.required_together),
        ("At least one of", &constraints.required_one_of),
    ];
    for (words, groups) in groups {
        rules.extend(groups.iter().map(|group| format!("{words}: {}.", group.join(", "))));
    }
    for rule in &constraints.required_if {
        let words = if rule.any_is_enough { "at least one of" } else { "all of" };
        let names = rule.requirements.join(", ");
        rules.push(format!("When {} is {}, {words}: {names}.", rule.key, shown(&rule.value)));
    }
    for rule in &constraints.required_by {
        rules.push(format!("With {}, all of: {}.", rule.key, rule.requirements.join(", ")));
    }
    rules
}

fn return_value(page: &mut Page, key: &str, value: &Value) {
    let empty = Dict::new();
    let entries = value.as_dict().unwrap_or(&empty);
    let word = |name: &str| entries.get(name).map(str);
    let traits: Vec<String> =
        [word("type"), word("returned").map(|when| format!("returned {when}"))].into_iter().flatten().collect();
    let traits = if traits.is_empty() { String::new() } else { format!("  ({})", traits.join(", ")) };
    page.named(2, key, &traits);
    match entries.get("description") {
        Some(Value::List(paragraphs)) => paragraphs.iter().for_each(|text| page.paragraph_tight(6, &str(text))),
        Some(text) => page.paragraph_tight(6, &str(text)),
        None => {}
    }
    page.blank();
}

fn shown(value: &Value) -> String {
    value.as_str().filter(|text| !text.is_empty()).map_or_else(|| encode(value), str::to_owned)
}

fn list_of(values: &[Value]) -> String {
    values.iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Text under construction, line by line.
struct Page {
    lines: Vec<ManualLine>,
    width: usize,
}

impl Page {
    fn line(&mut self, indent: usize, line: &str) {
        let line = format!("{}{}", " ".repeat(indent), harmless(line));
        self.lines.push(ManualLine { text: line.trim_end().to_owned(), emphasis: 0 });
    }

    /// Adds a line that begins with the name of what follows.
    fn named(&mut self, indent: usize, name: &str, rest: &str) {
        let name = format!("{}{}", " ".repeat(indent), harmless(name));
        let text = format!("{name}{}", harmless(rest));
        self.lines.push(ManualLine { emphasis: name.len(), text });
    }

    fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.text.is_empty()) {
            self.line(0, "");
        }
    }

    fn heading(&mut self, heading: &str, wanted: bool) {
        if wanted {
            self.blank();
            self.named(0, heading, "");
            self.blank();
        }
    }

    fn paragraph(&mut self, indent: usize, text: &str) {
        self.paragraph_tight(indent, text);
        self.blank();
    }

    fn paragraph_tight(&mut self, indent: usize, text: &str) {
        let column = self.width.saturating_sub(indent).max(NARROWEST);
        let mut line = String::new();
        for word in text.split_whitespace() {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > column {
                self.line(indent, &line);
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        self.line(indent, &line);
    }

    fn finish(mut self) -> Vec<ManualLine> {
        while self.lines.pop_if(|line| line.text.is_empty()).is_some() {}
        self.lines
    }
}

fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_what_a_caller_needs() {
        let json = r#"{"name": "motd", "version": "1.0", "description": "Sets the message of the day.",
            "supports_check_mode": true,
            "argument_spec": {
                "path": {"type": "path", "access": "write", "required": true, "description": "Where it is.", "aliases": ["dest"]},
                "state": {"choices": ["present", "absent"], "default": "present"}},
            "required_if": [["state", "present", ["path"]]],
            "returns": {"backup": {"type": "str", "returned": "on change", "description": "The copy."}},
            "examples": ["modbox run motd path=/etc/motd"]}"#;
        let manual = Metadata::from_json(json).unwrap().manual();
        let expect = "\
motd 1.0

  Sets the message of the day.

  Check mode: supported.

OPTIONS

  path  (path, required, write access to this path)
      Where it is.
      Aliases: dest.

  state  (str)
      Choices: present, absent.
      Default: present.

  When state is present, all of: path.

RETURN VALUES

  backup  (str, returned on change)
      The copy.

EXAMPLES

  modbox run motd path=/etc/motd
";
        assert_eq!(manual, expect);
    }

    #[test]
    fn running_text_fits_and_names_are_known() {
        let description = "word ".repeat(40);
        let json = format!(r#"{{"name": "x", "description": "{description}", "argument_spec": {{"path": {{}}}}}}"#);
        let metadata = Metadata::from_json(&json).unwrap();
        for width in [0, 40, 100] {
            let lines = metadata.manual_lines(width);
            let widest = lines.iter().map(|line| line.text.chars().count()).max().unwrap();
            assert!(widest <= width.max(NARROWEST + 30), "{width}: {widest}");
            let named = lines.iter().filter(|line| line.emphasis > 0);
            let names: Vec<&str> = named.map(|line| line.text[..line.emphasis].trim_start()).collect();
            assert_eq!(names, ["x", "OPTIONS", "path"]);
        }
        assert!(metadata.manual_lines(40).len() > metadata.manual_lines(100).len());
    }

    #[test]
    fn never_passes_on_control_characters() {
        let manual = Metadata::from_json("{\"name\": \"x\\u001b[31m\"}").unwrap().manual();
        assert!(manual.starts_with("x\\u{1b}[31m\n"), "{manual}");
    }
}
