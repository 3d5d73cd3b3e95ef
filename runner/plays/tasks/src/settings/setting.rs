//! What is known of a setting of ansible-core.

use modbox_python_json::{Value, decode};

/// A section and a key of `ansible.cfg`.
pub type Key = (&'static str, &'static str);

/// The type of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A boolean. A word that does not mean true is false.
    Bool,
    /// A whole number.
    Int,
    /// A number with a fraction.
    Float,
    /// A list with commas.
    List,
    /// Folders with colons between them.
    Folders,
    /// Paths with commas between them.
    Paths,
    /// A path.
    Path,
    /// Any text.
    Text,
    /// Any value; text stays text.
    Any,
}

/// What modbox does with a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// What Ansible does.
    Honoured,
    /// Nothing: it is about connections, colours, galaxies and other things that a play on this machine does not have.
    NoMeaning,
    /// Nothing, which a note tells, with what holds instead.
    Told(&'static str),
    /// These words are honoured. Another one is an error, with what to do instead.
    Only(&'static [&'static str], &'static str),
    /// Another value than the default is an error, since it would change what a play means. With what to do instead.
    Refused(&'static str),
}

/// A setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// The name, as `lookup('config')` takes it.
    pub name: &'static str,
    /// The type.
    pub kind: Kind,
    /// The default as JSON. A path that begins with `~` is in the home folder.
    pub default: &'static str,
    /// Variables of the environment that set it. The last one that is set counts.
    pub environment: &'static [&'static str],
    /// Keys of `ansible.cfg`. The last one that is there counts.
    pub keys: &'static [Key],
    /// Variables of hosts that set it.
    pub variables: &'static [&'static str],
    /// What modbox does with it.
    pub status: Status,
}

impl Setting {
    /// Returns the default.
    #[must_use]
    pub fn default_value(&self) -> Value {
        // Each default is JSON; a test holds that.
        decode(self.default).unwrap_or_default()
    }
}
