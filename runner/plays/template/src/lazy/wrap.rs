//! From variables, nodes and data to values that templates read.

use std::sync::Arc;

use minijinja::Value;
use modbox_jinja::values::{MutableDict, MutableList, View, from_json, view};
use modbox_yaml::{Node, Source};

use super::dict::{Entries, LazyDict};
use super::list::{Items, LazyList};
use super::nodes::date_value;
use crate::evaluation::Evaluation;
use crate::marker::Cause;
use crate::scope::{Content, Slot};

impl Evaluation {
    /// Returns the value of a variable, and records its origin.
    pub(crate) fn slot_value(self: &Arc<Self>, slot: &Slot) -> Value {
        slot.origins().for_each(|origin| self.read(origin));
        match slot.content() {
            Content::Source(source) => self.source_value(source),
            Content::Value(value) => self.wrap(value.clone(), true).0,
            Content::Scope(scope) => LazyDict::value(self, Entries::Scope(scope.clone())),
            Content::Hosts(hosts) => LazyDict::value(self, Entries::Hosts(hosts.clone())),
            Content::Everything => LazyDict::value(self, Entries::Scope(self.scope.clone())),
        }
    }

    /// Returns the value of a node: a template is rendered, a container waits.
    pub(crate) fn source_value(self: &Arc<Self>, source: &Source) -> Value {
        match source.node() {
            Node::Scalar(value) => from_json(value),
            Node::Date(text) => date_value(text),
            Node::Binary(bytes) => Value::from_bytes(bytes.to_vec()),
            Node::Text(text) if crate::text::is_template(text) => self.render(source),
            Node::Text(text) | Node::Unsafe(text) => Value::from(text.clone()),
            Node::Vault(text) => match self.machine.vault.decrypt(text) {
                Ok(plain) => Value::from(plain),
                Err(reason) => {
                    let message = format!("Attempt to use undecryptable variable: {reason}");
                    self.marker(Cause::Failed, message, source.position(), 1).value()
                }
            },
            Node::List(_) => LazyList::value(self, Items::Source(source.clone())),
            Node::Map(_) => LazyDict::value(self, Entries::Source(source.clone())),
        }
    }

    /// Returns data as templates read it, and whether it is a container now, which must be kept when it is read again.
    pub(crate) fn wrap(self: &Arc<Self>, value: Value, is_plain: bool) -> (Value, bool) {
        if value.is_undefined() && !is_plain {
            // What a filter could not find among the items of a list.
            return (self.undefined_item().value(), false);
        }
        let is_own = value.downcast_object_ref::<LazyList>().is_some()
            || value.downcast_object_ref::<LazyDict>().is_some()
            || value.downcast_object_ref::<MutableList>().is_some()
            || value.downcast_object_ref::<MutableDict>().is_some()
            || value.is_kwargs();
        if is_own {
            return (value, false);
        }
        match view(&value) {
            View::List => (LazyList::value(self, Items::Data { value, is_plain }), true),
            View::Dict => (LazyDict::value(self, Entries::Data { value, is_plain }), true),
            _ => (value, false),
        }
    }
}
