//! Landlock's rights by name, each with the version of Landlock that brought it.
//!
//! A right that a ruleset handles is refused without a rule. So a mask that grows by itself, with a newer version or a newer
//! library, would refuse what no test has seen refused, such as a module's socket for gpg-agent. Here each right stands for
//! itself, and [`TESTED`] says up to which version the tests have run. What a version brings beyond it is prepared and not used.

use landlock::{AccessFs, AccessNet, BitFlags, Scope};

/// The newest version that the tests cover. On a newer kernel, only this version is used. It rises when the tests of the
/// kernel's walls have run on a kernel with the next one.
pub const TESTED: u32 = 7;

/// Rights for files. Versions 6 to 8 and 10 brought none.
const FILES: [(u32, AccessFs); 17] = [
    (1, AccessFs::Execute),
    (1, AccessFs::WriteFile),
    (1, AccessFs::ReadFile),
    (1, AccessFs::ReadDir),
    (1, AccessFs::RemoveDir),
    (1, AccessFs::RemoveFile),
    (1, AccessFs::MakeChar),
    (1, AccessFs::MakeDir),
    (1, AccessFs::MakeReg),
    (1, AccessFs::MakeSock),
    (1, AccessFs::MakeFifo),
    (1, AccessFs::MakeBlock),
    (1, AccessFs::MakeSym),
    (2, AccessFs::Refer),
    (3, AccessFs::Truncate),
    (5, AccessFs::IoctlDev),
    // Connecting to a socket that has a name in a file system.
    (9, AccessFs::ResolveUnix),
];

/// Rights for ports.
const PORTS: [(u32, AccessNet); 4] = [
    (4, AccessNet::BindTcp),
    (4, AccessNet::ConnectTcp),
    // `BindUdp` is also for the port of a socket that sends without one; 0 is for any that the system chooses.
    (10, AccessNet::BindUdp),
    (10, AccessNet::ConnectSendUdp),
];

/// What ends at the processes of a ruleset.
const SCOPES: [(u32, Scope); 2] = [(6, Scope::AbstractUnixSocket), (6, Scope::Signal)];

/// Returns the rights for files that a version knows.
#[must_use]
pub fn file_rights(version: u32) -> BitFlags<AccessFs> {
    FILES.iter().filter(|(since, _)| *since <= version).map(|(_, right)| *right).collect()
}

/// Returns the rights for ports that a version knows.
#[must_use]
pub fn port_rights(version: u32) -> BitFlags<AccessNet> {
    PORTS.iter().filter(|(since, _)| *since <= version).map(|(_, right)| *right).collect()
}

/// Returns the scopes that a version knows.
#[must_use]
pub fn scopes(version: u32) -> BitFlags<Scope> {
    SCOPES.iter().filter(|(since, _)| *since <= version).map(|(_, scope)| *scope).collect()
}

#[cfg(test)]
mod tests {
    use landlock::{ABI, Access};

    use super::*;

    #[test]
    fn no_right_of_a_version_is_forgotten() {
        // What the library knows of each version, which was read from the kernel's own headers.
        for version in 1..=10 {
            let abi = ABI::from(version);
            let version = u32::try_from(version).unwrap();
            assert_eq!(file_rights(version), AccessFs::from_all(abi), "{version}");
            assert_eq!(port_rights(version), AccessNet::from_all(abi), "{version}");
            assert_eq!(scopes(version), Scope::from_all(abi), "{version}");
        }
        assert_eq!(file_rights(0) | file_rights(1), file_rights(1));
    }

    #[test]
    fn what_no_test_has_seen_is_not_in_use() {
        assert!(!file_rights(TESTED).contains(AccessFs::ResolveUnix));
        assert!(!port_rights(TESTED).intersects(AccessNet::BindUdp | AccessNet::ConnectSendUdp));
        assert_eq!(scopes(TESTED), Scope::AbstractUnixSocket | Scope::Signal);
        // Of Linux 7.0: no new right.
        assert_eq!((file_rights(8), port_rights(8), scopes(8)), (file_rights(7), port_rights(7), scopes(7)));
        // A version that does not exist yet brings nothing.
        assert_eq!((file_rights(99), port_rights(99)), (file_rights(10), port_rights(10)));
    }
}
