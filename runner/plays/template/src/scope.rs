//! Variables: slots in ordered layers.
//!
//! Layers are shared, so building the scope of a task copies nothing, and costs the same whatever the size of facts.

use std::sync::Arc;

use indexmap::IndexMap;
use minijinja::Value;
use modbox_yaml::{Key, Source};

use crate::origin::{Origin, Provenance};

/// A variable: its content, and where that came from.
#[derive(Debug, Clone)]
pub struct Slot {
    content: Content,
    origins: Origins,
}

/// Where the content of a variable came from.
#[derive(Debug, Clone)]
enum Origins {
    One(Origin),
    Several(Arc<Provenance>),
}

/// What a variable holds. Only a [`Source`] is ever parsed as a template.
#[derive(Debug, Clone)]
pub enum Content {
    /// Text that the author of a play wrote, rendered when a template reads it.
    Source(Source),
    /// Data, never a template.
    Value(Value),
    /// A mapping of other variables, such as those of one host.
    Scope(Scope),
    /// The variables of hosts, by the names of the hosts. A host that is missing is told as one (ansible-core 2.21, `HostVars`).
    Hosts(Scope),
    /// The mapping of all variables of the evaluation itself: `vars`.
    Everything,
}

impl Slot {
    /// Makes a variable of text from a play.
    #[must_use]
    pub fn source(source: Source) -> Self {
        let origin = Origin::Play(source.position().clone());
        Self { content: Content::Source(source), origins: Origins::One(origin) }
    }

    /// Makes a variable of text from elsewhere, such as the command line.
    #[must_use]
    pub fn source_from(source: Source, origin: Origin) -> Self {
        Self { content: Content::Source(source), origins: Origins::One(origin) }
    }

    /// Makes a variable of data.
    #[must_use]
    pub fn value(value: Value, origin: Origin) -> Self {
        Self { content: Content::Value(value), origins: Origins::One(origin) }
    }

    /// Makes a variable of data that an evaluation made of others.
    #[must_use]
    pub fn made(value: Value, provenance: Arc<Provenance>) -> Self {
        Self { content: Content::Value(value), origins: Origins::Several(provenance) }
    }

    /// Makes a variable of text from a play that stands for data that an evaluation made.
    #[must_use]
    pub fn source_made(source: Source, provenance: Arc<Provenance>) -> Self {
        Self { content: Content::Source(source), origins: Origins::Several(provenance) }
    }

    /// Makes a variable that is a mapping of other variables.
    #[must_use]
    pub fn scope(scope: Scope, origin: Origin) -> Self {
        Self { content: Content::Scope(scope), origins: Origins::One(origin) }
    }

    /// Makes the variable that has the variables of all hosts by their names.
    #[must_use]
    pub fn hosts(hosts: Scope) -> Self {
        Self { content: Content::Hosts(hosts), origins: Origins::One(Origin::Magic) }
    }

    /// Makes the variable that has all variables in it.
    #[must_use]
    pub fn everything() -> Self {
        Self { content: Content::Everything, origins: Origins::One(Origin::Magic) }
    }

    /// Returns the content.
    #[must_use]
    pub fn content(&self) -> &Content {
        &self.content
    }

    /// Returns where the content came from.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        let (one, several) = match &self.origins {
            Origins::One(origin) => (Some(origin), None),
            Origins::Several(provenance) => (None, Some(provenance.iter())),
        };
        one.into_iter().chain(several.into_iter().flatten())
    }
}

/// Variables of one kind, such as the vars of a play, or facts.
#[derive(Debug, Default)]
pub struct Layer {
    slots: IndexMap<Arc<str>, Slot>,
}

impl Layer {
    /// Makes a layer of the entries of a mapping of a play. Keys that are not text are left out; `None` is the answer for
    /// anything but a mapping.
    #[must_use]
    pub fn of_source(source: &Source) -> Option<Self> {
        let entries = source.as_map()?.iter();
        let named = entries.filter_map(|(key, entry)| match key {
            Key::Text(name) => Some((name.clone(), Slot::source(entry.value.clone()))),
            _ => None,
        });
        Some(named.collect())
    }

    /// Sets a variable.
    pub fn insert(&mut self, name: impl Into<Arc<str>>, slot: Slot) {
        self.slots.insert(name.into(), slot);
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: &str) -> Option<Slot> {
        self.slots.shift_remove(name)
    }

    /// Returns a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Slot> {
        self.slots.get(name)
    }

    /// Iterates over the variables.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Slot)> {
        self.slots.iter()
    }

    /// Says whether there are no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }
}

impl Clone for Layer {
    fn clone(&self) -> Self {
        Self { slots: self.slots.clone() }
    }
}

impl FromIterator<(Arc<str>, Slot)> for Layer {
    fn from_iter<T: IntoIterator<Item = (Arc<str>, Slot)>>(slots: T) -> Self {
        Self { slots: slots.into_iter().collect() }
    }
}

/// The variables that a template sees: layers, of which a later one hides the names of earlier ones.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    layers: Vec<Arc<Layer>>,
    action: Option<Arc<str>>,
}

impl Scope {
    /// Makes a scope without variables.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a layer above the others.
    pub fn push(&mut self, layer: Arc<Layer>) {
        if !layer.is_empty() {
            self.layers.push(layer);
        }
    }

    /// Returns the scope with a layer more.
    #[must_use]
    pub fn with(&self, layer: Arc<Layer>) -> Self {
        let mut scope = self.clone();
        scope.push(layer);
        scope
    }

    /// Notes the name of the action whose task the templates belong to, as it is written. Lookups see it, templates do not.
    pub fn set_action(&mut self, action: &str) {
        self.action = Some(action.into());
    }

    /// Returns the name of the action, if the templates belong to a task.
    #[must_use]
    pub fn action(&self) -> Option<&str> {
        self.action.as_deref()
    }

    /// Returns the variable of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Slot> {
        self.layers.iter().rev().find_map(|layer| layer.get(name))
    }

    /// Returns all names, each once, in the order of the layers.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        let names: indexmap::IndexSet<&Arc<str>> =
            self.layers.iter().flat_map(|layer| layer.iter().map(|(name, _)| name)).collect();
        names.into_iter().cloned().collect()
    }
}

impl FromIterator<Arc<Layer>> for Scope {
    fn from_iter<T: IntoIterator<Item = Arc<Layer>>>(layers: T) -> Self {
        let mut scope = Self::new();
        layers.into_iter().for_each(|layer| scope.push(layer));
        scope
    }
}
