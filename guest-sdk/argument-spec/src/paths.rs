//! Finds the paths that arguments name: every value of type `path` whose option declares an `access`, in lists and
//! sub-options too.
//!
//! The host grants what a caller names, so each path comes with its origin: the caller, a default of the module's
//! author, or an environment variable. The walk converts containers as validation does (comma lists, dicts given as
//! text). It skips values of other types; validation reports those.

use modbox_python_json::{Dict, Value};

use crate::dict_text::dict_from_text;
use crate::environment::{Environment, expand_variables};
use crate::spec::{Access, ArgumentSpec, OptionSpec, OptionType};

/// Where a path comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The caller wrote it.
    Argument,
    /// The module's author wrote it as the default of an option that is not given.
    Default,
    /// This environment variable holds it, for an option that is not given.
    Fallback(String),
}

/// One path that an option with an `access` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPath {
    /// The option, as the caller would write it: `dest`, or `files[1].src`.
    pub option: String,
    /// The path as written; never empty.
    pub path: String,
    /// Whether the module expands variables in it, so that it names another path than the one that was written.
    pub has_variables: bool,
    /// The access that the module needs.
    pub access: Access,
    /// The source of the path.
    pub origin: Origin,
}

impl NamedPath {
    /// Returns the path as the module sees it, after it expanded its variables and home directory.
    #[must_use]
    pub fn seen_by(&self, environment: &dyn Environment) -> String {
        crate::environment::expand_path(&self.path, environment)
    }
}

impl ArgumentSpec {
    /// Lists the paths that arguments name, in the spec's order. `environment` is the module's environment.
    #[must_use]
    pub fn named_paths(&self, args: &Dict, environment: &dyn Environment) -> Vec<NamedPath> {
        let mut found = Vec::new();
        self.visit_paths(&mut args.clone(), environment, &mut |path| {
            found.push(path);
            None
        });
        found
    }

    /// Calls `visit` for each path that arguments name, and replaces the path by the returned value. Replacing changes
    /// the form of the arguments around it: a comma list becomes a list, a dict given as text becomes a dict, and a
    /// default or fallback becomes an entry.
    pub fn visit_paths(
        &self,
        args: &mut Dict,
        environment: &dyn Environment,
        visit: &mut dyn FnMut(NamedPath) -> Option<String>,
    ) {
        Walk { environment, visit }.level(self, args, "", &Origin::Argument);
    }
}

struct Walk<'a> {
    environment: &'a dyn Environment,
    visit: &'a mut dyn FnMut(NamedPath) -> Option<String>,
}

impl Walk<'_> {
    /// Walks all options of one dict. Returns whether anything was replaced.
    fn level(&mut self, spec: &ArgumentSpec, entries: &mut Dict, prefix: &str, origin: &Origin) -> bool {
        let mut replaced = false;
        for (name, option) in spec.options.iter().filter(|(_, option)| designates(option)) {
            let mut given = false;
            // The caller named the value of each alias, even if the module uses only one of them.
            for name in std::iter::once(name).chain(&option.aliases) {
                if let Some(value) = entries.get_mut(name) {
                    given = true;
                    replaced |= self.value(option, value, &format!("{prefix}{name}"), origin);
                }
            }
            if given {
                continue;
            }
            if let Some((mut value, origin)) = self.absent(option, origin)
                && self.value(option, &mut value, &format!("{prefix}{name}"), &origin)
            {
                entries.insert(name.clone(), value);
                replaced = true;
            }
        }
        replaced
    }

    /// Returns the value that replaces an option that is not given.
    fn absent(&self, option: &OptionSpec, origin: &Origin) -> Option<(Value, Origin)> {
        let fallback = option.fallback.iter().find_map(|name| Some((name, self.environment.variable(name)?)));
        if let Some((name, value)) = fallback {
            return Some((value.into(), Origin::Fallback(name.clone())));
        }
        let of_author = if *origin == Origin::Argument { Origin::Default } else { origin.clone() };
        if let Some(default) = option.default_value() {
            return Some((default.clone(), of_author));
        }
        (option.apply_defaults && option.holds_dicts()).then(|| (Value::Dict(Dict::new()), of_author))
    }

    fn value(&mut self, option: &OptionSpec, value: &mut Value, name: &str, origin: &Origin) -> bool {
        match (option.option_type, option.elements) {
            (OptionType::Path, _) => option.access.is_some_and(|access| self.path(value, access, name, origin)),
            (OptionType::List, Some(OptionType::Path)) => {
                let Some(access) = option.access else { return false };
                self.list(value, name, &mut |walk, item, name| walk.path(item, access, name, origin))
            }
            (OptionType::Dict, _) => self.dict(option, value, name, origin),
            (OptionType::List, Some(OptionType::Dict)) => {
                self.list(value, name, &mut |walk, item, name| walk.dict(option, item, name, origin))
            }
            _ => false,
        }
    }

    fn path(&mut self, value: &mut Value, access: Access, name: &str, origin: &Origin) -> bool {
        let Some(path) = value.as_str().filter(|path| !path.is_empty()) else { return false };
        let named = NamedPath {
            option: name.to_owned(),
            path: path.to_owned(),
            has_variables: expand_variables(path, self.environment) != path,
            access,
            origin: origin.clone(),
        };
        match (self.visit)(named) {
            Some(replacement) => {
                *value = replacement.into();
                true
            }
            None => false,
        }
    }

    fn list(
        &mut self,
        value: &mut Value,
        name: &str,
        each: &mut dyn FnMut(&mut Self, &mut Value, &str) -> bool,
    ) -> bool {
        let mut replaced = false;
        match value {
            Value::List(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    replaced |= each(self, item, &format!("{name}[{index}]"));
                }
            }
            Value::Str(text) => {
                let mut items: Vec<Value> = text.split(',').map(Value::from).collect();
                for (index, item) in items.iter_mut().enumerate() {
                    replaced |= each(self, item, &format!("{name}[{index}]"));
                }
                if replaced {
                    *value = Value::List(items);
                }
            }
            _ => {}
        }
        replaced
    }

    fn dict(&mut self, option: &OptionSpec, value: &mut Value, name: &str, origin: &Origin) -> bool {
        let Some(sub_spec) = option.sub_spec.as_deref() else { return false };
        let prefix = format!("{name}.");
        match value {
            Value::Dict(entries) => self.level(sub_spec, entries, &prefix, origin),
            Value::Str(text) => {
                let Ok(Value::Dict(mut entries)) = dict_from_text(text) else { return false };
                let replaced = self.level(sub_spec, &mut entries, &prefix, origin);
                if replaced {
                    *value = Value::Dict(entries);
                }
                replaced
            }
            _ => false,
        }
    }
}

/// Returns whether an option, or one inside it, can name a path.
fn designates(option: &OptionSpec) -> bool {
    let inside = || option.sub_spec.as_deref().is_some_and(|spec| spec.options.values().any(designates));
    (option.is_path() && option.access.is_some()) || (option.holds_dicts() && inside())
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;
    use modbox_python_json::{decode, encode};

    use super::*;

    fn parsed(spec: &str, args: &str) -> (ArgumentSpec, Dict) {
        let spec = ArgumentSpec::parse(&decode(spec).unwrap()).unwrap();
        let Value::Dict(args) = decode(args).unwrap() else { panic!("arguments are a dict") };
        (spec, args)
    }

    fn environment() -> IndexMap<String, String> {
        IndexMap::from([("CONF".to_owned(), "/etc/conf".to_owned())])
    }

    /// Compares with lines of `option=path access origin`.
    #[track_caller]
    fn check(spec: &str, args: &str, expect: &[&str]) {
        let (spec, args) = parsed(spec, args);
        let line = |found: NamedPath| {
            let origin = match found.origin {
                Origin::Argument => "argument".to_owned(),
                Origin::Default => "default".to_owned(),
                Origin::Fallback(name) => format!("${name}"),
            };
            format!("{}={} {} {origin}", found.option, found.path, found.access.name())
        };
        let found: Vec<String> = spec.named_paths(&args, &environment()).into_iter().map(line).collect();
        assert_eq!(found, expect);
    }

    const PATH: &str = r#"{"p": {"type": "path", "access": "read", "aliases": ["q"]}}"#;
    const LIST: &str = r#"{"l": {"type": "list", "elements": "path", "access": "write"}}"#;
    const NESTED: &str = r#"{"d": {"type": "dict", "options": {"items": {"type": "list", "elements": "dict", "options": {
        "src": {"type": "path", "access": "read"}, "log": {"type": "path", "access": "write", "default": "/var/log/x"}}}}}}"#;

    #[test]
    fn finds_paths_by_name_and_alias() {
        check(PATH, r#"{"p": "/a"}"#, &["p=/a read argument"]);
        check(PATH, r#"{"q": "a/b", "p": "/c"}"#, &["p=/c read argument", "q=a/b read argument"]);
    }

    #[test]
    fn leaves_other_types_alone() {
        for args in [r#"{"p": 5}"#, r#"{"p": ""}"#, r#"{"p": null}"#, r#"{"p": ["/a"]}"#, r#"{"other": "/a"}"#, "{}"] {
            check(PATH, args, &[]);
        }
        check(r#"{"p": {"type": "path"}, "s": {"type": "str"}}"#, r#"{"p": "/a", "s": "/b"}"#, &[]);
        check(LIST, r#"{"l": {"a": "/b"}}"#, &[]);
        check(NESTED, r#"{"d": {"items": [5, "no dict"]}}"#, &[]);
    }

    #[test]
    fn goes_through_lists_and_their_text() {
        check(LIST, r#"{"l": ["/a", 1, "/b"]}"#, &["l[0]=/a write argument", "l[2]=/b write argument"]);
        check(LIST, r#"{"l": "/a,b"}"#, &["l[0]=/a write argument", "l[1]=b write argument"]);
    }

    #[test]
    fn goes_into_dicts_at_any_depth() {
        check(
            NESTED,
            r#"{"d": {"items": [{"src": "/a"}, "src=/b log=/c"]}}"#,
            &[
                "d.items[0].src=/a read argument",
                "d.items[0].log=/var/log/x write default",
                "d.items[1].src=/b read argument",
                "d.items[1].log=/c write argument",
            ],
        );
        check(NESTED, r#"{"d": "{\"items\": [{\"log\": null}]}"}"#, &[]);
        check(NESTED, "{}", &[]);
    }

    #[test]
    fn says_what_the_caller_did_not_write() {
        let spec = r#"{"p": {"type": "path", "access": "read", "default": "/d", "fallback": ["env_fallback", ["NOT", "CONF"]]},
            "l": {"type": "list", "elements": "path", "access": "write", "default": ["/x", "/y"]},
            "s": {"type": "dict", "apply_defaults": true, "options": {"t": {"type": "path", "access": "read", "default": "/z"}}}}"#;
        check(
            spec,
            "{}",
            &["p=/etc/conf read $CONF", "l[0]=/x write default", "l[1]=/y write default", "s.t=/z read default"],
        );
        check(spec, r#"{"p": null, "l": [], "s": {"t": "/own"}}"#, &["s.t=/own read argument"]);
    }

    #[test]
    fn knows_which_paths_the_module_expands() {
        let (spec, args) = parsed(LIST, r#"{"l": ["$CONF/a", "$UNKNOWN/a", "~/a", "/a$"]}"#);
        let found = spec.named_paths(&args, &environment());
        assert_eq!(found.iter().map(|path| path.has_variables).collect::<Vec<_>>(), [true, false, false, false]);
        assert_eq!(found[0].seen_by(&environment()), "/etc/conf/a");
    }

    #[test]
    fn replaces_in_place_and_nothing_else() {
        let spec = r#"{"p": {"type": "path", "access": "read", "default": "rel"}, "l": {"type": "list", "elements": "path",
            "access": "write"}, "d": {"type": "dict", "options": {"x": {"type": "path", "access": "read"}}}, "o": {}}"#;
        let absolute = |path: NamedPath| (!path.path.starts_with('/')).then(|| format!("/cwd/{}", path.path));
        for (args, expect) in [
            (
                r#"{"l": "a,/b", "d": "x=c y=2", "o": "z"}"#,
                r#"{"l": ["/cwd/a", "/b"], "d": {"x": "/cwd/c", "y": "2"}, "o": "z", "p": "/cwd/rel"}"#,
            ),
            (r#"{"p": "/a", "l": "/a,/b", "d": "x=/c"}"#, r#"{"p": "/a", "l": "/a,/b", "d": "x=/c"}"#),
        ] {
            let (spec, mut args) = parsed(spec, args);
            spec.visit_paths(&mut args, &environment(), &mut absolute.clone());
            assert_eq!(encode(&Value::Dict(args)), expect);
        }
    }
}
