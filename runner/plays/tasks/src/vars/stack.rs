//! The order of variables: which layers a play or a task sees, lowest first.
//!
//! The order is that of Ansible: defaults of roles, group and host variables, facts, variables of the play, of its files
//! and its roles, of blocks and tasks, of `include_vars`, of `set_fact` and results, parameters of roles and includes,
//! extra variables, and variables of the engine.

use std::sync::Arc;

use modbox_template::{Layer, Scope};

use crate::model::frame::{Frame, FrameKind};
use crate::model::role::Role;
use crate::model::task::{Task, is_builtin};
use crate::vars::host::HostVars;
use crate::vars::{layer, magic};

/// What a scope is made of.
#[derive(Debug, Clone, Copy)]
pub struct Layers<'a> {
    /// What tasks see of the connection, below everything else.
    pub connection: Option<&'a Arc<Layer>>,
    /// Variables of the host; `None` while a play is read.
    pub host: Option<&'a HostVars>,
    /// Variables of the play, then those of its prompts and files, lowest first.
    pub play: &'a [Arc<Layer>],
    /// Roles of the play, in the order of their use.
    pub roles: &'a [Arc<Role>],
    /// Extra variables of the operator.
    pub extra: &'a Arc<Layer>,
    /// Variables of the engine, lowest first.
    pub magic: &'a [Arc<Layer>],
    /// Whether mappings that several of them give to one variable become one.
    pub merges: bool,
}

impl Layers<'_> {
    /// Returns the scope of a task, or of the play itself.
    #[must_use]
    pub fn scope(&self, task: Option<&Task>) -> Scope {
        let mut layers: Vec<Arc<Layer>> = Vec::with_capacity(24);
        layers.extend(self.connection.filter(|_| task.is_some()).cloned());
        let public = || self.roles.iter().filter(|role| role.public);
        public().for_each(|role| role.push_defaults(&mut layers));
        let frame = task.map(|task| &*task.frame);
        if let Some(frame) = frame {
            push_role_defaults(frame, &mut layers);
        }
        if let Some(host) = self.host {
            host.push_low(&mut layers);
        }
        layers.extend(self.play.iter().cloned());
        public().for_each(|role| role.push_exports(&mut layers));
        if let Some(task) = task {
            push_role_vars(&task.frame, &mut layers);
            push_frames(&task.frame, &mut layers);
            layers.push(Arc::clone(&task.vars));
        }
        if let Some(host) = self.host {
            host.push_high(&mut layers);
        }
        if let Some(task) = task {
            push_parameters(&task.frame, &mut layers);
            if is_dynamic_include(task) {
                layers.push(Arc::clone(&task.vars));
            }
        }
        layers.push(Arc::clone(self.extra));
        layers.extend(self.magic.iter().cloned());
        Scope::of_layers(layers, self.merges)
    }
}

/// Variables that are known while a play is read.
#[derive(Debug, Clone)]
pub struct StaticVars {
    /// The variables of the play.
    pub play: Vec<Arc<Layer>>,
    /// Roles with public variables.
    pub roles: Vec<Arc<Role>>,
    /// Extra variables of the operator.
    pub extra: Arc<Layer>,
    /// Variables of the engine, such as `playbook_dir`.
    pub magic: Arc<Layer>,
    /// Whether mappings that several of them give to one variable become one.
    pub merges: bool,
}

impl Default for StaticVars {
    fn default() -> Self {
        Self { play: Vec::new(), roles: Vec::new(), extra: layer::empty(), magic: layer::empty(), merges: false }
    }
}

/// Returns the variables that are known before a play starts.
#[must_use]
pub fn before_play(known: &StaticVars) -> Scope {
    before(known, None)
}

/// Returns the variables that a task sees before its play starts.
#[must_use]
pub fn before_task(known: &StaticVars, task: &Task) -> Scope {
    before(known, Some(task))
}

fn before(known: &StaticVars, task: Option<&Task>) -> Scope {
    let of_play = std::slice::from_ref(&known.magic);
    let layers = Layers {
        connection: None,
        host: None,
        play: &known.play,
        roles: &known.roles,
        extra: &known.extra,
        magic: of_play,
        merges: known.merges,
    };
    let mut scope = layers.scope(task);
    if let Some(task) = task {
        scope.push(Arc::new(magic::of_task(task, "")));
        scope.set_action(task.action_text());
    }
    scope
}

/// Returns the roles around a task, outermost first, and its own role last.
fn role_chain(frame: &Frame) -> Vec<&Arc<Role>> {
    let mut roles: Vec<&Arc<Role>> = frame.roles().collect();
    roles.reverse();
    roles
}

/// Adds the defaults of a task's role: of its dependencies, of the roles that use it, and its own.
fn push_role_defaults(frame: &Frame, layers: &mut Vec<Arc<Layer>>) {
    let chain = role_chain(frame);
    let Some((role, users)) = chain.split_last() else { return };
    role.dependencies.iter().for_each(|dependency| dependency.push_defaults(layers));
    layers.extend(users.iter().map(|user| Arc::clone(&user.defaults)));
    layers.push(Arc::clone(&role.defaults));
}

/// Adds the variables of a task's role: of the roles that use it, of its dependencies, and its own.
fn push_role_vars(frame: &Frame, layers: &mut Vec<Arc<Layer>>) {
    let chain = role_chain(frame);
    let Some((role, users)) = chain.split_last() else { return };
    for user in users {
        layers.push(Arc::clone(&user.given));
        layers.push(Arc::clone(&user.vars));
    }
    // The role is the last of its own chain.
    layers.push(Arc::clone(&role.given));
    layers.push(Arc::clone(&role.vars));
    role.dependencies.iter().for_each(|dependency| dependency.push_exports(layers));
    layers.push(Arc::clone(&role.vars));
    layers.push(Arc::clone(&role.given));
}

/// Adds the variables of blocks, imports and includes around a task, outermost first.
fn push_frames(frame: &Frame, layers: &mut Vec<Arc<Layer>>) {
    let first = layers.len();
    let frames = frame.chain().filter(|frame| !matches!(frame.kind, FrameKind::Role(_) | FrameKind::Play));
    layers.extend(frames.map(|frame| Arc::clone(&frame.vars)));
    layers[first..].reverse();
}

/// Says whether the variables of a task are those of an include, also for the task itself (ansible-core 2.21,
/// `Task.get_include_params`).
fn is_dynamic_include(task: &Task) -> bool {
    ["include_tasks", "include_role"].iter().any(|name| is_builtin(task.action_text(), name))
}

/// Adds the parameters of roles, and the variables of dynamic includes, which hide even facts that tasks have set.
fn push_parameters(frame: &Frame, layers: &mut Vec<Arc<Layer>>) {
    layers.extend(role_chain(frame).into_iter().map(|role| Arc::clone(&role.parameters)));
    let first = layers.len();
    let includes = frame.chain().filter(|frame| matches!(frame.kind, FrameKind::Include(_)));
    layers.extend(includes.map(|frame| Arc::clone(&frame.vars)));
    layers[first..].reverse();
}
