//! The layers that confine a run, as reports list them.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::IntoEnumIterator as _;

/// What comes before the version in the printed form of [`ConfinementLayer::Landlock`].
const LANDLOCK: &str = "landlock-";

/// A layer of confinement. It is serialised as it is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub enum ConfinementLayer {
    /// The engine for WebAssembly.
    Wasmtime,
    /// Rules for files and ports, by the version of the kernel's interface.
    #[strum(to_string = "landlock-{0}")]
    Landlock(u32),
    /// The filter of system calls.
    Seccomp,
    /// Limits of the process.
    Rlimits,
    /// Root's rights are reduced.
    Capabilities,
    /// Programs give no rights.
    NoNewPrivs,
    /// Users of its own.
    NamespaceUser,
    /// Mounts of its own.
    NamespaceMount,
    /// Processes of its own.
    NamespacePid,
    /// A network of its own.
    NamespaceNet,
    /// Queues and shared memory of its own.
    NamespaceIpc,
    /// A host name of its own.
    NamespaceUts,
    /// A control group that bounds memory.
    CgroupMemory,
    /// A control group that bounds the number of processes.
    CgroupPids,
    /// A control group that ends all processes at once.
    CgroupKill,
    /// A group of processes that is ended as a whole.
    ProcessGroup,
    /// A parent for processes that leave their group.
    Subreaper,
}

impl ConfinementLayer {
    /// Returns whether the module has something of its own in place of the machine's.
    #[must_use]
    pub fn is_namespace(self) -> bool {
        matches!(
            self,
            Self::NamespaceUser
                | Self::NamespaceMount
                | Self::NamespacePid
                | Self::NamespaceNet
                | Self::NamespaceIpc
                | Self::NamespaceUts
        )
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(version) = text.strip_prefix(LANDLOCK) {
            return version.parse().ok().map(Self::Landlock);
        }
        Self::iter().find(|layer| layer.to_string() == text)
    }
}

impl Serialize for ConfinementLayer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ConfinementLayer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom(format!("unknown layer of confinement `{text}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_is_read_back_as_it_is_printed() {
        let landlock = ConfinementLayer::Landlock(7);
        assert_eq!(landlock.to_string(), "landlock-7");
        assert_eq!(ConfinementLayer::NoNewPrivs.to_string(), "no-new-privs");
        assert_eq!(ConfinementLayer::CgroupMemory.to_string(), "cgroup-memory");
        for layer in ConfinementLayer::iter().chain([landlock]) {
            let printed = serde_json::to_value(layer).unwrap();
            assert_eq!(printed, layer.to_string());
            assert_eq!(serde_json::from_value::<ConfinementLayer>(printed).unwrap(), layer);
            assert_eq!(layer.is_namespace(), layer.to_string().starts_with("namespace-"));
        }
    }

    #[test]
    fn other_words_are_unknown() {
        for text in ["", "landlock", "landlock-", "landlock-x", "Seccomp", "namespace-x"] {
            assert!(serde_json::from_value::<ConfinementLayer>(text.into()).is_err(), "{text}");
        }
    }
}
