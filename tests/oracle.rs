//! The integration tests that compare modbox with the real ansible-core.
//!
//! They install ansible-core, and older releases of it, from PyPI below the target directory.

#![expect(clippy::disallowed_methods, reason = "tests start processes and read files of their own making")]

pub(crate) use modbox_test_support as support;

// The pure parts of the contract, compared with CPython and ansible-core case by case.
mod oracle_contract;
// Validation, compared with ansible-core's validator for its modules' specs and for generated ones.
mod oracle_argument_spec;
// Filters, tests and methods of templates, compared with those of ansible-core.
mod oracle_filters;
// YAML files, scalars and arguments as one text, as ansible-core reads them.
mod oracle_yaml;
// What modbox knows of the paths that ansible-core's modules write.
mod oracle_path_uses;
// How the SDK parses file modes.
mod oracle_modes;
// Options of components: types, defaults, choices, aliases.
mod oracle_options;
// What ansible-core registers for an output, key by key.
mod oracle_results;
// What ansible-core 2.22 shows in place of secrets.
mod oracle_redaction;
// Secrets that its controllers and modules tell each other.
mod oracle_python_secrets;
// The contracts of three releases: reserved arguments, files made from modules, and registered results.
mod oracle_releases;
// The same module files, run by the real ansible-core and by modbox.
mod oracle_playbook;
// The example modules behave as ansible-core's modules of the same names.
mod modules;
// Random tasks of modules of files, on random small trees, and how such tests run.
mod twin_modules;
mod twin_runs;
// New-style PowerShell modules get the same input as from ansible-core.
mod powershell;
// Collections of components, installed and used by Ansible.
mod oracle_collection;
// What the collection does on the controller beside its tasks.
mod oracle_controller;
// Ansible's own checks of collections.
mod oracle_sanity;
// Hosts that lack modbox get it from the controller.
mod oracle_fleet;
// Tasks that become other users, on hosts with banners and without gzip or Python.
mod oracle_become;
// Twenty hosts on a network of their own.
mod oracle_hosts;
// Root in a container: attempts at what is not granted, and Ansible's modules.
mod attempts_of_root;
mod oracle_containers;
// The status of jobs, from modbox and from Ansible.
mod oracle_jobs;
// Signatures, keys and certificates, judged by OpenSSH as well.
mod oracle_trust;
// Modules in the registry of the distribution project, and as skopeo copies them.
mod oracle_registry;
// ansible-core's own integration targets in the form of scripts, with modbox as `ansible-playbook`.
mod oracle_runme;
// Archives with entries that would be unpacked outside their folder.
mod hostile_archives;

// The same plays by ansible-playbook and by `modbox play`.
mod oracle_plays;

// Templates, expressions and conditions have the same values.
mod oracle_templates;

// ansible-core's own integration targets in the form of roles.
mod oracle_targets;
// Plays and lists of tasks are refused only for known reasons.
mod oracle_corpus;

// Previews tell what real runs do.
mod oracle_previews;

// Python modules do the same in the sandbox for WebAssembly as natively.
mod oracle_python_places;
// What such modules see of the machine.
mod oracle_python_machine;
// What a file keeps that Ansible's modules replace there.
mod oracle_python_files;
// Random calls for files, and random tasks, do the same in both places.
mod twin_python;
mod twin_sandbox;
// Observing a module, or previewing it first, changes nothing.
mod twin_observed;

// `modbox-python` gives the results that Python gives.
mod oracle_python_program;

// Names of modules lead to the same files as with ansible-core.
mod oracle_names;

// New-style Python modules are assembled as by ansible-core.
mod python_closure;
mod python_embeds;
// Ansible's own modules give the same results and leave the same files.
mod python_modules;
// What their failed runs advise works when it is followed.
mod oracle_advice;
// Interpreters, arguments, the cache, and broken modules.
mod python_runs;
// Confinement, for each way to start an interpreter.
mod python_confined;
// Secrets of Python modules are in nothing that is printed or written.
mod oracle_secrets;
mod secret_hunt;

// The sessions in README and the book that use ansible-core.
mod oracle_documents;
