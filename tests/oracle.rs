//! The integration tests beside the real ansible-core: modbox is compared with it, not with a reading of it.
//!
//! They install ansible-core, and older releases of it, from PyPI below the target directory.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

pub(crate) use modbox_test_support as support;

// CPython and ansible-core, asked case by case about the pure parts of the contract.
mod oracle_contract;
// ansible-core's validator, asked about its modules' specs and about generated ones.
mod oracle_argument_spec;
// Modes as the SDK reads them.
mod oracle_modes;
// What ansible-core registers for an output, key by key.
mod oracle_results;
// The contracts of three releases: what modules are told, what is written into them, what their output becomes.
mod oracle_releases;
// The real ansible-core is right: the same files through it and through modbox.
mod oracle_playbook;
// The example modules do what ansible-core's modules of the same names do.
mod modules;
// New-style PowerShell is handed what ansible-core would hand to it.
mod powershell;
// Jobs, asked about by modbox and by Ansible.
mod oracle_jobs;
// Archives that try to leave the folder that they are unpacked into.
mod hostile_archives;

// New-style Python: what is packed is what ansible-core packs.
mod python_closure;
// Ansible's own modules give the same results and leave the same files.
mod python_modules;
// Interpreters, arguments, the cache, and modules that are not as they should be.
mod python_runs;
// In their confinement, by each way to start one.
mod python_confined;

// README and the book, where they show ansible-core.
mod oracle_documents;
