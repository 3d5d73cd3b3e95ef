//! A value as nodes of YAML: scalars with their text, lists and dicts with their style, anchors for shared objects.

use std::collections::HashMap;
use std::rc::Rc;

use minijinja::Value;
use modbox_python_json::{Value as Json, repr};

use super::resolver::is_text;
use super::style::Style;
use crate::failure::{Outcome, failure};
use crate::values::{ValueError, View, Walk, entries, identity, items, sort, type_name, view};

#[derive(Debug)]
pub(super) struct Node {
    pub(super) content: Content,
    /// The number of the anchor, if the node occurs more than once.
    pub(super) anchor: std::cell::Cell<Option<usize>>,
    seen: std::cell::Cell<bool>,
}

/// The content of a node.
#[derive(Debug)]
pub(super) enum Content {
    /// A scalar, whether it may be plain, and the name of its tag.
    Scalar(String, bool, &'static str),
    /// A list, and whether it is written in brackets.
    List(Vec<Rc<Node>>, bool),
    /// A dict, and whether it is written in brackets.
    Dict(Vec<(Rc<Node>, Rc<Node>)>, bool),
}

impl Content {
    /// Returns the name of the tag.
    pub(super) fn tag(&self) -> &'static str {
        match self {
            Self::Scalar(_, _, tag) => tag,
            Self::List(..) => "seq",
            Self::Dict(..) => "map",
        }
    }
}

impl Node {
    fn new(content: Content) -> Rc<Self> {
        Rc::new(Self { content, anchor: std::cell::Cell::default(), seen: std::cell::Cell::default() })
    }
}

struct Representer<'a> {
    style: &'a Style,
    known: HashMap<usize, Rc<Node>>,
}

/// Returns the nodes of a value.
///
/// # Errors
///
/// YAML lacks the value, or it is too large.
pub(super) fn represent(value: &Value, style: &Style) -> Outcome<Rc<Node>> {
    let mut representer = Representer { style, known: HashMap::new() };
    let node = representer.node(value, &mut Walk::default())?;
    number_anchors(&node, &mut 0);
    Ok(node)
}

impl Representer<'_> {
    fn node(&mut self, value: &Value, walk: &mut Walk) -> Outcome<Rc<Node>> {
        let shared = identity(value);
        if let Some(node) = shared.and_then(|shared| self.known.get(&shared)) {
            return Ok(Rc::clone(node));
        }
        let node = match view(value) {
            View::List | View::Tuple => walk.deeper(|walk| self.list(value, walk))?,
            View::Dict => walk.deeper(|walk| self.dict(value, walk))?,
            _ => {
                walk.step()?;
                scalar(value)?
            }
        };
        if let Some(shared) = shared {
            self.known.insert(shared, Rc::clone(&node));
        }
        Ok(node)
    }

    /// Returns the style of a container: brackets if it holds only plain scalars.
    fn flow<'n>(&self, mut parts: impl Iterator<Item = &'n Rc<Node>>) -> bool {
        self.style.flow.unwrap_or_else(|| {
            self.style.scalar.is_none() && parts.all(|part| matches!(part.content, Content::Scalar(..)))
        })
    }

    fn list(&mut self, value: &Value, walk: &mut Walk) -> Outcome<Rc<Node>> {
        let all = items(value)?.iter().map(|item| self.node(item, walk)).collect::<Outcome<Vec<_>>>()?;
        let flow = self.flow(all.iter());
        Ok(Node::new(Content::List(all, flow)))
    }

    fn dict(&mut self, value: &Value, walk: &mut Walk) -> Outcome<Rc<Node>> {
        let mut pairs = entries(value).unwrap_or_default();
        if self.style.sort_keys {
            let keyed = pairs.iter().map(|(key, value)| (key.clone(), (key.clone(), value.clone()))).collect();
            // Keys without an order stay as they are.
            pairs = sort(keyed, false).unwrap_or(pairs);
        }
        let all = pairs.iter().map(|(key, value)| Ok((self.node(key, walk)?, self.node(value, walk)?)));
        let all = all.collect::<Outcome<Vec<_>>>()?;
        let flow = self.flow(all.iter().flat_map(|(key, value)| [key, value]));
        Ok(Node::new(Content::Dict(all, flow)))
    }
}

fn scalar(value: &Value) -> Outcome<Rc<Node>> {
    let (text, plain, tag) = match view(value) {
        View::Str(text) => (text.to_owned(), is_text(text), "str"),
        View::None => ("null".to_owned(), true, "null"),
        View::Bool(truth) => (truth.to_string(), true, "bool"),
        View::Int(number) => (number.to_string(), true, "int"),
        View::Long(number) => (number.into_owned(), true, "int"),
        View::Float(number) => (float(number), true, "float"),
        View::Date(date) => (date.iso(), true, "timestamp"),
        View::DateTime(moment) => (moment.iso(' '), true, "timestamp"),
        View::Undefined => return Err(ValueError::Undefined.into()),
        View::Surrogates(_) => return Err(failure("surrogates not allowed")),
        _ => return Err(failure(format!("cannot represent an object of type {}", type_name(value)))),
    };
    Ok(Node::new(Content::Scalar(text, plain, tag)))
}

fn float(number: f64) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let text = repr(&Json::Float(number));
    if text.contains('.') { text } else { text.replacen('e', ".0e", 1) }
}

/// Gives numbers to the nodes that occur more than once, in the order of their second occurrence.
fn number_anchors(node: &Rc<Node>, last: &mut usize) {
    if node.seen.replace(true) {
        if node.anchor.get().is_none() {
            *last += 1;
            node.anchor.set(Some(*last));
        }
        return;
    }
    match &node.content {
        Content::Scalar(..) => {}
        Content::List(all, _) => all.iter().for_each(|node| number_anchors(node, last)),
        Content::Dict(all, _) => {
            for (key, value) in all {
                number_anchors(key, last);
                number_anchors(value, last);
            }
        }
    }
}
