//! Collections of Ansible made of component modules, as `ansible-galaxy collection install` takes them.
//!
//! A module is three things in a collection: its component, compressed; a file `plugins/modules/NAME.py` with its manual and
//! nothing that runs, since `ansible-doc` lists only files of Python; and an entry in `meta/runtime.yml` that leads its name to the
//! action plugin `modbox.modbox.component`. The plugin sends the component to hosts that lack it. So a collection has no
//! program of any architecture in it.
//!
//! | module | content |
//! |---|---|
//! | [`name`] | names of collections and versions |
//! | [`manual`] | the manual of a module as a file of Python |
//! | [`files`] | the files of a collection |
//! | [`runner`] | the copies of modbox that may be sent to hosts |
//! | [`archive`] | the archive that is installed |
//!
//! The crate reads and writes no files: what it is given and what it returns are bytes. The same input gives the same bytes.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod archive;
mod digest;
pub mod files;
pub mod manual;
pub mod name;
pub mod runner;
mod sanity;
