//! The blocks of a template and of those that it extends.

use std::collections::HashMap;
use std::sync::Arc;

use modbox_yaml::Source;

use crate::compile::{Node, Program};

/// The body of a block, and the template that has it.
#[derive(Debug, Clone)]
pub(crate) struct BlockBody {
    pub(crate) source: Source,
    pub(crate) program: Arc<Program>,
    pub(crate) body: Arc<Vec<Node>>,
}

/// The bodies of blocks by their names: that of the innermost template first, then those that `super()` reaches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Blocks(HashMap<Arc<str>, Vec<BlockBody>>);

impl Blocks {
    /// Adds the blocks of a template below those that are there.
    pub(crate) fn add(&mut self, source: &Source, program: &Arc<Program>) {
        for (name, body) in &program.blocks {
            let body = BlockBody { source: source.clone(), program: program.clone(), body: body.clone() };
            self.0.entry(name.clone()).or_default().push(body);
        }
    }

    pub(crate) fn get(&self, name: &str, depth: usize) -> Option<&BlockBody> {
        self.0.get(name)?.get(depth)
    }
}
