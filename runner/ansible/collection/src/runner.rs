//! The runners that a collection knows: copies of modbox for hosts, by their architectures and digests. A collection has no
//! program in it; it only names the ones that its controller may send.

use modbox_python_json::{Dict, Value};

use crate::digest::sha256;

/// Architectures, as `uname -m` names them, with their numbers in an ELF header (`e_machine`).
const MACHINES: [(u16, &str); 2] = [(62, "x86_64"), (183, "aarch64")];

/// First bytes of a 64-bit little-endian ELF file.
const ELF: &[u8] = b"\x7fELF\x02\x01";

/// Where the header has the architecture.
const MACHINE_AT: usize = 18;

/// The file is not modbox for an architecture that hosts may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not a program for Linux on x86_64 or aarch64")]
pub struct NotRunner;

/// A copy of modbox for hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runner {
    /// Architecture, as `uname -m` names it.
    pub machine: &'static str,
    /// SHA-256 in hex.
    pub digest: String,
}

impl Runner {
    /// Examines the bytes of a program.
    ///
    /// # Errors
    ///
    /// The bytes are not a program for an architecture that hosts may have.
    pub fn of(bytes: &[u8]) -> Result<Self, NotRunner> {
        let number = bytes.get(MACHINE_AT..MACHINE_AT + 2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        let known = MACHINES.iter().find(|(known, _)| Some(*known) == number).filter(|_| bytes.starts_with(ELF));
        known.map(|(_, machine)| Self { machine, digest: sha256(bytes) }).ok_or(NotRunner)
    }
}

/// Returns the content of the file that lists runners, by architectures.
pub(crate) fn list(runners: &[Runner]) -> Value {
    let mut listed: Vec<&Runner> = runners.iter().collect();
    listed.sort_by_key(|runner| runner.machine);
    let entry = |runner: &&Runner| (runner.machine.to_owned(), Value::from(format!("sha256:{}", runner.digest)));
    Value::Dict(listed.iter().map(entry).collect::<Dict>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_runner_is_known_by_its_header_and_its_digest() {
        let program = |machine: u8| [ELF, &[0; 12], &[machine, 0]].concat();
        let runner = Runner::of(&program(183)).unwrap();
        assert_eq!((runner.machine, runner.digest.len()), ("aarch64", 64));
        for wrong in [program(3), b"#!/bin/sh\n# a long enough script".to_vec(), ELF.to_vec(), Vec::new()] {
            assert_eq!(Runner::of(&wrong), Err(NotRunner));
        }
        let other = Runner::of(&program(62)).unwrap();
        let text = modbox_python_json::encode(&list(&[other, runner]));
        assert!(text.starts_with(r#"{"aarch64": "sha256:"#) && text.contains(r#""x86_64": "sha256:"#), "{text}");
    }
}
