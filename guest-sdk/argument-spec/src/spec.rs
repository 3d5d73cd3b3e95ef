//! The argument spec as a value: options, their types, and the rules between them.
//!
//! The keys of an [`ArgumentSpec`] are known and do not contradict each other; see `parse.rs`. The type says nothing
//! about arguments.

use indexmap::IndexMap;
use modbox_python_json::Value;

/// The options a module takes, and the rules between them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ArgumentSpec {
    /// The options by name, in the order in which they were written.
    pub options: IndexMap<String, OptionSpec>,
    /// The rules between options.
    pub constraints: Constraints,
}

/// One option. [`OptionSpec::default`] is an optional string.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OptionSpec {
    /// The type to which values are converted.
    pub option_type: OptionType,
    /// The type to which the items of a list are converted.
    pub elements: Option<OptionType>,
    /// Whether the option has to be given.
    pub required: bool,
    /// The value of an option that is not given.
    pub default: Option<Value>,
    /// The values that are allowed; `None` allows all.
    pub choices: Option<Vec<Value>>,
    /// Other names of the option.
    pub aliases: Vec<String>,
    /// The aliases that are deprecated.
    pub deprecated_aliases: Vec<DeprecatedAlias>,
    /// Whether values are secrets; `None` when the spec does not say.
    pub no_log: Option<bool>,
    /// The access of the module to a path that the caller names. The host grants it for that path.
    pub access: Option<Access>,
    /// Environment variables that hold the value of an option that is not given. The first one that is set counts.
    pub fallback: Vec<String>,
    /// Whether a dict that is not given is made from the defaults of its own options.
    pub apply_defaults: bool,
    /// The options of a dict, or of each dict in a list.
    pub sub_spec: Option<Box<ArgumentSpec>>,
    /// When the option will be removed.
    pub removal: Option<Removal>,
    /// The meaning of the option, one paragraph per item.
    pub description: Vec<String>,
    /// The version of the module that introduced the option.
    pub version_added: Option<String>,
    /// Mistakes that Ansible finds only when it validates arguments. A spec read by [`ArgumentSpec::parse`] has none:
    /// there, each is an error.
    pub flaws: Vec<Flaw>,
}

/// A mistake in an option that makes every validation fail.
#[derive(Debug, Clone, PartialEq)]
pub enum Flaw {
    /// The aliases are not a list.
    AliasesAreNoList,
    /// The choices are this value instead of a list.
    ChoicesAreNoList(Value),
}

/// Ansible's option types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OptionType {
    /// Text. Other values are converted as by Python's `str()`.
    #[default]
    Str,
    /// An integer of any size.
    Int,
    /// A float.
    Float,
    /// A boolean, or one of the words for it.
    Bool,
    /// A list; a string is split at commas.
    List,
    /// A dict; a string is read as JSON, as a Python literal, or as `key=value` words.
    Dict,
    /// A path, with `$VAR` and `~` expanded.
    Path,
    /// Any value, unchanged.
    Raw,
    /// JSON text (`json`).
    Json,
    /// JSON text, under its other name (`jsonarg`).
    JsonArg,
    /// A number of bytes, such as `1.5M`.
    Bytes,
    /// A number of bits, such as `10Mb`.
    Bits,
}

impl OptionType {
    /// Every type, in the order of Ansible's documentation.
    pub const ALL: [Self; 12] = [
        Self::Str,
        Self::List,
        Self::Dict,
        Self::Bool,
        Self::Int,
        Self::Float,
        Self::Path,
        Self::Raw,
        Self::JsonArg,
        Self::Json,
        Self::Bytes,
        Self::Bits,
    ];

    /// Returns Ansible's name of the type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Str => "str",
            Self::Int => "int",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::List => "list",
            Self::Dict => "dict",
            Self::Path => "path",
            Self::Raw => "raw",
            Self::Json => "json",
            Self::JsonArg => "jsonarg",
            Self::Bytes => "bytes",
            Self::Bits => "bits",
        }
    }

    /// Returns the type with that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|option_type| option_type.name() == name)
    }
}

/// The access of a module to a path that one of its options names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Reads it.
    Read,
    /// Reads and changes it.
    Write,
    /// Changes the entry at the path itself: if it is a link, the link and not its target.
    Entry,
}

impl Access {
    /// Returns the word used in specs: `read`, `write` or `entry`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Entry => "entry",
        }
    }
}

/// When something will be removed, and the collection whose version that is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Removal {
    /// The version that removes it.
    pub version: Option<String>,
    /// The date of the release that removes it.
    pub date: Option<String>,
    /// The collection that the version or date belongs to.
    pub collection_name: Option<String>,
}

/// A deprecated alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeprecatedAlias {
    /// The other name, as arguments spell it.
    pub name: String,
    /// When it will be removed.
    pub removal: Removal,
}

/// The rules between the options of one level.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Constraints {
    /// Groups of options of which only one may be given.
    pub mutually_exclusive: Vec<Vec<String>>,
    /// Groups of options that are given all or none.
    pub required_together: Vec<Vec<String>>,
    /// Groups of options of which one has to be given.
    pub required_one_of: Vec<Vec<String>>,
    /// Options that are required when another one has a certain value.
    pub required_if: Vec<RequiredIf>,
    /// Options that are required when another one is given.
    pub required_by: Vec<RequiredBy>,
}

/// A rule: if option `key` is `value`, `requirements` are required, all of them or any.
#[derive(Debug, Clone, PartialEq)]
pub struct RequiredIf {
    /// The option that is compared.
    pub key: String,
    /// The value that makes the others required.
    pub value: Value,
    /// The options that become required.
    pub requirements: Vec<String>,
    /// Whether one of them is enough.
    pub any_is_enough: bool,
}

/// A rule: if option `key` is given, `requirements` are required.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredBy {
    /// The option that is checked.
    pub key: String,
    /// The options that become required.
    pub requirements: Vec<String>,
}

/// An option whose values are paths, found anywhere in a spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathOption<'a> {
    /// The option's name at the top level.
    pub name: &'a str,
    /// Its other names.
    pub aliases: &'a [String],
    /// Whether its value is a list of paths.
    pub list: bool,
    /// The access of the module to the path, if the spec declares one.
    pub access: Option<Access>,
}

impl ArgumentSpec {
    /// Returns the top-level options whose values are paths (`type: path`, or a list with `elements: path`), in order.
    /// Only options with an [`Access`] designate paths.
    pub fn path_options(&self) -> impl Iterator<Item = PathOption<'_>> {
        self.options.iter().filter(|(_, option)| option.is_path()).map(|(name, option)| PathOption {
            name,
            aliases: &option.aliases,
            list: option.option_type == OptionType::List,
            access: option.access,
        })
    }

    /// Returns whether a name is an option or the alias of one.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.options.contains_key(name) || self.has_alias(name)
    }

    /// Returns whether a name is the alias of an option.
    #[must_use]
    pub fn has_alias(&self, name: &str) -> bool {
        self.options.values().any(|option| option.aliases.iter().any(|alias| alias == name))
    }

    /// Returns each alias with its option. An alias of several options stands for the last of them.
    #[must_use]
    pub fn aliases(&self) -> IndexMap<&str, &str> {
        let mut aliases = IndexMap::new();
        for (name, option) in &self.options {
            aliases.extend(option.aliases.iter().map(|alias| (alias.as_str(), name.as_str())));
        }
        aliases
    }
}

impl OptionSpec {
    /// Returns whether values are paths, or lists of paths.
    #[must_use]
    pub fn is_path(&self) -> bool {
        self.option_type == OptionType::Path
            || (self.option_type == OptionType::List && self.elements == Some(OptionType::Path))
    }

    /// Returns whether values are dicts, or lists of dicts. Only such options have sub-options.
    #[must_use]
    pub fn holds_dicts(&self) -> bool {
        self.option_type == OptionType::Dict
            || (self.option_type == OptionType::List && self.elements == Some(OptionType::Dict))
    }

    /// Returns the default, unless it is null. Ansible treats null as no default.
    #[must_use]
    pub fn default_value(&self) -> Option<&Value> {
        self.default.as_ref().filter(|default| **default != Value::Null)
    }
}
