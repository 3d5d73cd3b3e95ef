//! A play, and the list of plays that a file is.

use std::sync::Arc;

use modbox_template::Layer;
use modbox_yaml::{Position, Source};

use crate::model::block::Item;
use crate::model::frame::Frame;
use crate::model::role::Role;
use crate::model::task::Task;

/// A playbook: plays, or a plain list of tasks, which is a play for this host.
#[derive(Debug)]
pub struct Playbook {
    /// The file, as the operator named it.
    pub file: String,
    /// The plays, with those of imported playbooks in their places.
    pub plays: Vec<Play>,
}

/// A play.
#[derive(Debug)]
pub struct Play {
    /// The keywords, as the outermost frame.
    pub frame: Arc<Frame>,
    /// The variables of `vars`, then those of `vars` where the playbook is imported: lowest first.
    pub vars: Vec<Arc<Layer>>,
    /// The folder that relative names of the play belong to: that of its file.
    pub folder: String,
    /// `pre_tasks`.
    pub pre_tasks: Vec<Item>,
    /// The tasks of `roles`.
    pub role_tasks: Vec<Item>,
    /// `tasks`.
    pub tasks: Vec<Item>,
    /// `post_tasks`.
    pub post_tasks: Vec<Item>,
    /// The lists of handlers: those of roles, and `handlers`.
    pub handlers: Vec<Vec<Arc<Task>>>,
    /// Roles of `roles` and of imports, which can export variables.
    pub roles: Vec<Arc<Role>>,
    /// The specs of its variables, if the playbook has some and the play asks for one.
    pub specs: Option<PlaybookSpecs>,
    /// Where the play is written.
    pub position: Position,
    /// Conditions of the statements that imported the playbook, for the gathering of facts.
    pub imported_when: Vec<Source>,
}

/// The specs of a playbook.
#[derive(Debug, Clone)]
pub struct PlaybookSpecs {
    /// Path of the file with them.
    pub path: String,
    /// Its `argument_specs`.
    pub specs: Option<Source>,
}
