//! The record of an observed module beside its denials: the commands that it started, and the command behind each use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::capability::Capability;
use crate::denial::Denial;
use crate::operation::Operation;

/// The number of the module itself, where commands have numbers from 1 on.
pub const MODULE: u32 = 0;

/// A command that an observed module started, or one of its commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedCommand {
    /// The number of the command, in the order of the starts. The first is 1.
    pub number: u32,
    /// The number of the command that started it, or [`MODULE`].
    pub by: u32,
    /// The absolute path of the program.
    pub program: String,
    /// The command's words, with the program's name as the first. U+FFFD stands for bytes that are not UTF-8.
    pub words: Vec<String>,
    /// The profile whose rules cover it, with which it would run outside. Nothing that it did is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The names that the profile has to bind for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// Whether only the profile without names covers it.
    #[serde(default, rename = "whole", skip_serializing_if = "std::ops::Not::not")]
    pub is_whole: bool,
    /// Whether its program has a set-id bit, which has no effect in a room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub set_id: bool,
}

/// What a path was when it was first used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathState {
    /// There was nothing.
    Missing,
    /// A file that all users may read.
    File,
    /// A file that not all users may read.
    PrivateFile,
    /// A directory.
    Directory,
    /// A socket.
    Socket,
    /// A link, a device or a FIFO.
    Other,
}

/// Who made a use that a confined module would be denied, and what it was for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedUse {
    /// The capability of the denial.
    pub capability: Capability,
    /// The subject of the denial.
    pub subject: String,
    /// The operation of the denial.
    pub operation: Operation,
    /// The numbers of the commands that made it, and [`MODULE`].
    pub by: BTreeSet<u32>,
    /// What the path was before the first use; `None` for what is not a path.
    pub was: Option<PathState>,
}

/// The record of an observed module, beside its denials.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The programs that the module started, with their arguments.
    pub commands: Vec<ObservedCommand>,
    /// Number of commands that are not listed.
    pub commands_omitted: u64,
    /// The paths and addresses that the module used, with the operation of each.
    pub uses: Vec<ObservedUse>,
    /// The places that files were renamed to, by the places before.
    pub renamed: Vec<(String, String)>,
}

impl PathState {
    /// Returns the state that a report has; `None` for an unknown word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let value = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(word);
        Self::deserialize(value).ok()
    }
}

impl Observation {
    /// Returns the record of the use that was denied.
    #[must_use]
    pub fn use_of(&self, denial: &Denial) -> Option<&ObservedUse> {
        let is_it = |it: &&ObservedUse| {
            (it.capability, it.operation) == (denial.capability, denial.operation) && it.subject == denial.subject
        };
        self.uses.iter().find(is_it)
    }

    /// Returns whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty() && self.uses.is_empty() && self.renamed.is_empty()
    }

    /// Returns every text that a module can have chosen.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let words = self.commands.iter_mut().flat_map(|command| {
            command.words.iter_mut().chain(&mut command.names).chain(std::iter::once(&mut command.program))
        });
        let uses = self.uses.iter_mut().map(|it| &mut it.subject);
        words.chain(uses).chain(self.renamed.iter_mut().flat_map(|(from, to)| [from, to]))
    }
}
