//! What all evaluations of an engine share: filters, tests and globals by name, lookups, the host, compiled texts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use minijinja::{Environment, Value};
use modbox_jinja::{Host, Meaning, PREFIXES, PluginKind};

use crate::cache::Cache;
use crate::compile::{Mention, Program, SyntaxFailure};
use crate::lookup::Lookups;
use crate::python_plugins::PythonPlugins;
use crate::vault::Decrypter;

/// A filter or a test.
#[derive(Debug, Clone)]
pub(crate) struct Plugin {
    pub(crate) function: Value,
    /// The full name, for messages.
    pub(crate) name: Cow<'static, str>,
    /// Whether an argument may be a marker.
    pub(crate) accepts_markers: bool,
    /// Whether it is code of a play or a collection, so that its results are not the author's word.
    pub(crate) is_python: bool,
    pub(crate) marker_items: MarkerItems,
}

/// What a plugin does with the items of its arguments, which may be markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkerItems {
    /// It reads some: a marker among them is used.
    Read,
    /// It compares its arguments, and so reads all of their items whatever they are.
    Compared,
    /// It needs the hash of its first argument, and so reads all that is in it.
    Hashed,
    /// It passes them on.
    Accepted,
}

/// The shared parts.
pub(crate) struct Machine {
    pub(crate) environment: Environment<'static>,
    pub(crate) filters: HashMap<String, Plugin>,
    pub(crate) tests: HashMap<String, Plugin>,
    pub(crate) globals: HashMap<&'static str, Value>,
    pub(crate) lookups: Arc<dyn Lookups>,
    pub(crate) python: Arc<dyn PythonPlugins>,
    /// Makes the plugin of a name, which calls the code.
    pub(crate) python_plugin: fn(&dyn PythonPlugins, PluginKind, &str) -> Plugin,
    pub(crate) vault: Arc<dyn Decrypter>,
    pub(crate) host: Arc<dyn Host>,
    pub(crate) cache: Cache,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").finish_non_exhaustive()
    }
}

impl Machine {
    /// Checks that the filters and tests that a program certainly reaches exist, as Jinja does when it compiles.
    ///
    /// # Errors
    ///
    /// One does not exist.
    pub(crate) fn check_names(&self, program: &Program) -> Result<(), SyntaxFailure> {
        for mention in &program.mentions {
            match mention {
                Mention::Filter { name, line, is_certain: true } if self.filter(name).is_none() => {
                    return Err(SyntaxFailure { message: self.unknown_filter(name), line: *line });
                }
                Mention::Test { name, line, is_certain: true } if self.test(name).is_none() => {
                    return Err(SyntaxFailure { message: self.unknown_test(name), line: *line });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns a filter. A Python plugin beside the play hides one of modbox, as in Ansible.
    pub(crate) fn filter(&self, name: &str) -> Option<Cow<'_, Plugin>> {
        self.find(PluginKind::Filter, &self.filters, name)
    }

    /// Returns a test, as [`Machine::filter`].
    pub(crate) fn test(&self, name: &str) -> Option<Cow<'_, Plugin>> {
        self.find(PluginKind::Test, &self.tests, name)
    }

    /// Finds a filter or test among the plugins beside the play, modbox's own, and those of collections, in this order.
    fn find<'a>(&'a self, kind: PluginKind, own: &'a HashMap<String, Plugin>, name: &str) -> Option<Cow<'a, Plugin>> {
        let short = name.strip_prefix("ansible.legacy.").unwrap_or(name);
        if self.python.hides(kind, short) {
            return Some(Cow::Owned((self.python_plugin)(&*self.python, kind, short)));
        }
        if let Some(plugin) = own.get(name) {
            return Some(Cow::Borrowed(plugin));
        }
        let is_python = !is_builtin(name) && self.python.has(kind, name);
        is_python.then(|| Cow::Owned((self.python_plugin)(&*self.python, kind, name)))
    }

    /// Returns why a filter cannot be used.
    pub(crate) fn unknown_filter(&self, name: &str) -> String {
        unknown(PluginKind::Filter, "filter", name)
    }

    /// Returns why a test cannot be used.
    pub(crate) fn unknown_test(&self, name: &str) -> String {
        unknown(PluginKind::Test, "test", name)
    }
}

/// Says whether a name is one of ansible-core's own collection.
fn is_builtin(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| !prefix.is_empty() && name.starts_with(prefix))
}

fn unknown(kind: PluginKind, word: &str, name: &str) -> String {
    match modbox_jinja::lookup(kind, name) {
        Meaning::Refused(reason) => format!("the {word} `{name}` is refused: {reason}"),
        Meaning::Unknown(Some(nearest)) => format!("No {word} named '{name}'. Is `{nearest}` meant?"),
        _ => format!("No {word} named '{name}'."),
    }
}
