//! What the launcher tells of processes that a module leaves running in its room.

use std::rc::Rc;

use crate::link::InitMessage;
use crate::processes::left::{after_a_moment, named};
use crate::protocol::Spec;
use crate::watching::watch::Tree;

impl Tree {
    /// Returns the names of processes that a module left running in its room. Call it after the module ended by itself.
    pub(crate) fn left(&mut self, spec: &Spec) -> Vec<String> {
        match &self.message {
            Some(InitMessage::Left(left)) => left.names.clone(),
            Some(InitMessage::Over(_)) => Vec::new(),
            // What an observed module left goes on.
            _ if spec.room.as_ref().is_none_or(|room| room.observed) => Vec::new(),
            _ => {
                let (proc, own) = (Rc::clone(&self.proc), self.own);
                let left = after_a_moment(&proc, || {
                    self.reap();
                    proc.descendants(own)
                });
                named(&self.proc, &left)
            }
        }
    }
}
