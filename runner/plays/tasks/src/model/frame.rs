//! What a task inherits from: the blocks, includes, roles and the play around it, as a chain.
//!
//! A frame is shared by all tasks in it. Looking a keyword up walks outwards, so inheriting copies nothing.

use std::sync::Arc;

use modbox_template::Layer;
use modbox_yaml::{Position, Source};

use crate::keywords::{Inheritance, Keyword};
use crate::model::keywords::KeywordValues;
use crate::model::role::Role;

/// One level around a task.
#[derive(Debug)]
pub struct Frame {
    /// What the level is.
    pub kind: FrameKind,
    /// Its keywords.
    pub keywords: KeywordValues,
    /// The variables of its keyword `vars`.
    pub vars: Arc<Layer>,
    /// The level around it.
    pub outer: Option<Arc<Frame>>,
    /// Where it is written.
    pub position: Position,
}

/// What a level around a task is.
#[derive(Debug, Clone)]
pub enum FrameKind {
    /// The play.
    Play,
    /// A role.
    Role(Arc<Role>),
    /// A block, or the keyword `apply` of a dynamic include.
    Block,
    /// `import_tasks` or `import_role`, whose keywords its tasks inherit, with the file that it names.
    Import(Arc<str>),
    /// `include_tasks` or `include_role`, whose variables its tasks inherit, but not the keywords. With the file.
    Include(Arc<str>),
}

impl Frame {
    /// Iterates over the frame and those around it, innermost first.
    pub fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |frame| frame.outer.as_deref())
    }

    /// Returns the value of a keyword that is inherited: the innermost one.
    #[must_use]
    pub fn inherited(&self, keyword: Keyword) -> Option<&Source> {
        self.inheriting().find_map(|frame| frame.keywords.get(keyword))
    }

    /// Returns all values of a keyword that extends, innermost first.
    #[must_use]
    pub fn collected(&self, keyword: Keyword) -> Vec<&Source> {
        debug_assert_eq!(keyword.row().inheritance, Inheritance::Extend);
        self.inheriting().filter_map(|frame| frame.keywords.get(keyword)).collect()
    }

    /// Returns the innermost role.
    #[must_use]
    pub fn role(&self) -> Option<&Arc<Role>> {
        self.roles().next()
    }

    /// Iterates over the roles, innermost first: the role of a task, then the roles that use it.
    pub fn roles(&self) -> impl Iterator<Item = &Arc<Role>> {
        self.chain().filter_map(|frame| match &frame.kind {
            FrameKind::Role(role) => Some(role),
            _ => None,
        })
    }

    /// Iterates over the frames that tasks inherit keywords from, innermost first.
    fn inheriting(&self) -> impl Iterator<Item = &Self> {
        self.chain().filter(|frame| !matches!(frame.kind, FrameKind::Include(_)))
    }
}
