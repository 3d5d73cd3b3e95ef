//! The sections `allow` and `ask` of a policy file.

use crate::written::node::{Located, Node};
use crate::written::reader::FileReader;

/// The keys of grants to every module.
const GENERAL_KEYS: &str = "read, write, own, env, net, listen, run";

/// The keys of grants to single modules and tasks.
pub(crate) const ALLOW_KEYS: &str = "read, write, own, env, net, listen, run, outside";

/// The grants of a policy file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allow {
    /// `PATH` or `PATH::GUEST`, for reading.
    pub read: Vec<Located<String>>,
    /// `PATH` or `PATH::GUEST`, for writing.
    pub write: Vec<Located<String>>,
    /// `USER`, `USER:GROUP` or `:GROUP`.
    pub own: Vec<Located<String>>,
    /// `NAME` or `NAME=VALUE`.
    pub env: Vec<Located<String>>,
    /// Network rules, see [`crate::net`].
    pub net: Vec<Located<String>>,
    /// Addresses to listen on, see [`crate::net`].
    pub listen: Vec<Located<String>>,
    /// Commands, see [`crate::run`].
    pub run: Vec<Located<String>>,
    /// Commands outside, see [`crate::outside`]. Only the rules for a module or a task have them.
    pub outside: Vec<Located<String>>,
}

impl FileReader {
    /// Reads a section of this form, `allow` or `ask`. `is_general`: it is for every module.
    pub(crate) fn allow(&mut self, node: Node, section: &str, is_general: bool) -> Allow {
        let mut allow = Allow::default();
        for (key, node) in self.map(node, &format!("`{section}`")) {
            if is_general && key.value == "outside" {
                self.note(key.place, "`outside` is for single modules and tasks; write it below `modules` or `tasks`");
                continue;
            }
            self.allow_entry(&mut allow, &key, node, if is_general { GENERAL_KEYS } else { ALLOW_KEYS });
        }
        allow
    }

    /// Reads the grants of one kind. `known` are the keys beside it.
    pub(crate) fn allow_entry(&mut self, allow: &mut Allow, key: &Located<String>, node: Node, known: &str) {
        match key.value.as_str() {
            "read" => allow.read = self.texts(node),
            "write" => allow.write = self.texts(node),
            "own" => allow.own = self.texts(node),
            "env" => allow.env = self.texts(node),
            "net" => allow.net = self.texts(node),
            "listen" => allow.listen = self.texts(node),
            "run" => allow.run = self.texts(node),
            "outside" => allow.outside = self.texts(node),
            _ => self.unknown(key, known),
        }
    }
}
