//! Tags: the types of YAML nodes that PyYAML's `SafeLoader` and Ansible know.

/// The type of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tag {
    /// Null.
    Null,
    /// A boolean.
    Bool,
    /// An integer.
    Int,
    /// A number with a fraction.
    Float,
    /// A date, or a time with a date.
    Timestamp,
    /// Text, `!!str`.
    Str,
    /// Bytes in base64.
    Binary,
    /// The key `<<`, which inserts the entries of other mappings.
    Merge,
    /// The scalar `=`.
    Value,
    /// A sequence.
    Seq,
    /// A mapping.
    Map,
    /// A mapping whose keys are the items of a set.
    Set,
    /// A sequence of mappings with one entry each.
    Omap,
    /// The same as [`Tag::Omap`] for reading.
    Pairs,
    /// Ansible's tag for data that is never a template.
    Unsafe,
    /// Ansible's tag for encrypted text.
    Vault,
    /// An older name of [`Tag::Vault`].
    VaultEncrypted,
    /// An unknown tag.
    Other(String),
}

impl Tag {
    /// Returns the tag of a name as the parser resolves it.
    pub(crate) fn of_name(name: String) -> Self {
        let core = name.strip_prefix("tag:yaml.org,2002:");
        match (core, &*name) {
            (Some("null"), _) => Self::Null,
            (Some("bool"), _) => Self::Bool,
            (Some("int"), _) => Self::Int,
            (Some("float"), _) => Self::Float,
            (Some("timestamp"), _) => Self::Timestamp,
            (Some("str" | "python/unicode"), _) => Self::Str,
            (Some("binary"), _) => Self::Binary,
            (Some("merge"), _) => Self::Merge,
            (Some("value"), _) => Self::Value,
            (Some("seq"), _) => Self::Seq,
            (Some("map" | "python/dict"), _) => Self::Map,
            (Some("set"), _) => Self::Set,
            (Some("omap"), _) => Self::Omap,
            (Some("pairs"), _) => Self::Pairs,
            (None, "!unsafe") => Self::Unsafe,
            (None, "!vault") => Self::Vault,
            (None, "!vault-encrypted") => Self::VaultEncrypted,
            _ => Self::Other(name),
        }
    }

    /// Returns the tag as a person writes it.
    pub(crate) fn written(&self) -> String {
        let name = match self {
            Self::Null => "!!null",
            Self::Bool => "!!bool",
            Self::Int => "!!int",
            Self::Float => "!!float",
            Self::Timestamp => "!!timestamp",
            Self::Str => "!!str",
            Self::Binary => "!!binary",
            Self::Merge => "<<",
            Self::Value => "=",
            Self::Seq => "!!seq",
            Self::Map => "!!map",
            Self::Set => "!!set",
            Self::Omap => "!!omap",
            Self::Pairs => "!!pairs",
            Self::Unsafe => "!unsafe",
            Self::Vault => "!vault",
            Self::VaultEncrypted => "!vault-encrypted",
            Self::Other(name) => return name.replacen("tag:yaml.org,2002:", "!!", 1),
        };
        name.to_owned()
    }
}
