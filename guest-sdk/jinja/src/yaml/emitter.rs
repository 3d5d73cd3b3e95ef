//! Writes nodes as libyaml's emitter does.

use super::node::{Content, Node};
use super::scalar::{Analysis, analyse, is_break};
use super::style::Style;
use crate::failure::Outcome;
use crate::values::Walk;

/// The longest key that is written without `?`, in bytes.
const MAX_KEY: usize = 128;

/// The state of libyaml's emitter.
pub(super) struct Emitter<'a> {
    out: String,
    style: &'a Style,
    indent: Option<usize>,
    pub(super) best_indent: usize,
    pub(super) best_width: usize,
    pub(super) column: usize,
    pub(super) flow_level: usize,
    pub(super) whitespace: bool,
    pub(super) indention: bool,
    pub(super) simple_key: bool,
    in_mapping: bool,
    pub(super) open_ended: bool,
    emitted: std::collections::HashSet<usize>,
}

/// Returns the text of a document.
///
/// # Errors
///
/// The text is too long.
pub(super) fn emit(root: &Node, style: &Style) -> Outcome<String> {
    let best_indent = if (2..10).contains(&style.indent) { style.indent } else { 2 };
    let best_width = match usize::try_from(style.width) {
        Ok(width) if width <= best_indent * 2 => 80,
        Ok(width) => width,
        Err(_) => usize::MAX,
    };
    let mut emitter = Emitter {
        out: String::new(),
        style,
        indent: None,
        best_indent,
        best_width,
        column: 0,
        flow_level: 0,
        whitespace: true,
        indention: true,
        simple_key: false,
        in_mapping: false,
        open_ended: false,
        emitted: std::collections::HashSet::new(),
    };
    if style.explicit_start || style.canonical {
        emitter.indicator("---", true, false, false);
    }
    if style.canonical {
        emitter.write_indent();
    }
    emitter.node(root)?;
    emitter.write_indent();
    if style.explicit_end || emitter.open_ended {
        emitter.indicator("...", true, false, false);
        emitter.write_indent();
    }
    Ok(emitter.out)
}

impl Emitter<'_> {
    pub(super) fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    pub(super) fn put_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Writes a line end of the text.
    pub(super) fn text_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    pub(super) fn write_indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || self.column == indent && !self.whitespace {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    pub(super) fn indicator(&mut self, text: &str, needs_blank: bool, is_blank: bool, is_indention: bool) {
        if needs_blank && !self.whitespace {
            self.put(' ');
        }
        text.chars().for_each(|c| self.put(c));
        self.whitespace = is_blank;
        self.indention = self.indention && is_indention;
        self.open_ended = false;
    }

    /// Returns the indentation one level deeper.
    fn deeper(&self, flow: bool, same: bool) -> Option<usize> {
        match self.indent {
            None => Some(if flow { self.best_indent } else { 0 }),
            Some(indent) if same => Some(indent),
            Some(indent) => Some(indent + self.best_indent),
        }
    }

    fn node(&mut self, node: &Node) -> Outcome<()> {
        Walk::fits(&self.out)?;
        if let Some(anchor) = node.anchor.get() {
            if !self.emitted.insert(anchor) {
                self.indicator(&format!("*id{anchor:03}"), true, false, false);
                if self.simple_key {
                    self.put(' ');
                }
                return Ok(());
            }
            self.indicator(&format!("&id{anchor:03}"), true, false, false);
        }
        if self.style.canonical {
            self.indicator(&format!("!!{}", node.content.tag()), true, false, false);
        }
        let in_brackets = self.flow_level > 0 || self.style.canonical;
        match &node.content {
            Content::Scalar(text, plain, tag) => {
                self.scalar(text, *plain, *tag == "str");
                Ok(())
            }
            Content::List(all, flow) if in_brackets || *flow || all.is_empty() => self.flow_list(all),
            Content::List(all, _) => self.block_list(all),
            Content::Dict(all, flow) if in_brackets || *flow || all.is_empty() => self.flow_dict(all),
            Content::Dict(all, _) => self.block_dict(all),
        }
    }

    fn child(&mut self, node: &Node, in_mapping: bool, simple_key: bool) -> Outcome<()> {
        let before = (self.in_mapping, self.simple_key);
        (self.in_mapping, self.simple_key) = (in_mapping, simple_key);
        self.node(node)?;
        (self.in_mapping, self.simple_key) = before;
        Ok(())
    }

    fn open(&mut self, bracket: &str) -> Option<usize> {
        self.indicator(bracket, true, true, false);
        let before = self.indent;
        self.indent = self.deeper(true, false);
        self.flow_level += 1;
        before
    }

    fn close(&mut self, bracket: &str, before: Option<usize>, is_empty: bool) {
        self.flow_level -= 1;
        self.indent = before;
        if self.style.canonical && !is_empty {
            self.indicator(",", false, false, false);
            self.write_indent();
        }
        self.indicator(bracket, false, false, false);
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.indicator(",", false, false, false);
        }
        self.wrap();
    }

    /// Goes to a new line in brackets, if this one is long or each part has its own.
    fn wrap(&mut self) {
        if self.style.canonical || self.column > self.best_width {
            self.write_indent();
        }
    }

    fn flow_list(&mut self, all: &[std::rc::Rc<Node>]) -> Outcome<()> {
        let before = self.open("[");
        for (index, node) in all.iter().enumerate() {
            self.separate(index);
            self.child(node, false, false)?;
        }
        self.close("]", before, all.is_empty());
        Ok(())
    }

    fn flow_dict(&mut self, all: &[(std::rc::Rc<Node>, std::rc::Rc<Node>)]) -> Outcome<()> {
        let before = self.open("{");
        for (index, (key, value)) in all.iter().enumerate() {
            self.separate(index);
            if !self.style.canonical && self.is_simple_key(key) {
                self.child(key, true, true)?;
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, false);
                self.child(key, true, false)?;
                self.wrap();
                self.indicator(":", true, false, false);
            }
            self.child(value, true, false)?;
        }
        self.close("}", before, all.is_empty());
        Ok(())
    }

    fn block_list(&mut self, all: &[std::rc::Rc<Node>]) -> Outcome<()> {
        let before = self.indent;
        self.indent = self.deeper(false, self.in_mapping && !self.indention);
        for node in all {
            self.write_indent();
            self.indicator("-", true, false, true);
            self.child(node, false, false)?;
        }
        self.indent = before;
        Ok(())
    }

    fn block_dict(&mut self, all: &[(std::rc::Rc<Node>, std::rc::Rc<Node>)]) -> Outcome<()> {
        let before = self.indent;
        self.indent = self.deeper(false, false);
        for (key, value) in all {
            self.write_indent();
            if self.is_simple_key(key) {
                self.child(key, true, true)?;
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, true);
                self.child(key, true, false)?;
                self.write_indent();
                self.indicator(":", true, false, true);
            }
            self.child(value, true, false)?;
        }
        self.indent = before;
        Ok(())
    }

    fn is_simple_key(&self, node: &Node) -> bool {
        let anchor = if node.anchor.get().is_some() { 5 } else { 0 };
        let length = match &node.content {
            _ if node.anchor.get().is_some_and(|anchor| self.emitted.contains(&anchor)) => 0,
            Content::Scalar(text, ..) if !text.chars().any(is_break) => text.len(),
            Content::List(all, _) if all.is_empty() => 0,
            Content::Dict(all, _) if all.is_empty() => 0,
            _ => return false,
        };
        length + anchor <= MAX_KEY
    }

    fn scalar(&mut self, text: &str, plain: bool, is_text: bool) {
        let style = self.choose(text, plain, analyse(text));
        if !is_text && style != ' ' && !self.style.canonical {
            self.indicator("!", true, false, false);
        }
        let before = self.indent;
        self.indent = self.deeper(true, false);
        match style {
            ' ' => self.plain(text),
            '\'' => self.single_quoted(text),
            '"' => self.double_quoted(text),
            style => self.block(text, style == '>'),
        }
        self.indent = before;
    }

    fn choose(&self, text: &str, plain: bool, analysis: Analysis) -> char {
        if self.style.canonical {
            return '"';
        }
        let mut style = self.style.scalar.unwrap_or(' ');
        if self.simple_key && analysis.multiline {
            style = '"';
        }
        if style == ' ' {
            let allowed = if self.flow_level > 0 { analysis.flow_plain } else { analysis.block_plain };
            let empty = text.is_empty() && (self.flow_level > 0 || self.simple_key);
            if !allowed || empty || !plain {
                style = '\'';
            }
        }
        if style == '\'' && !analysis.single_quoted {
            style = '"';
        }
        if matches!(style, '|' | '>') && (!analysis.block || self.flow_level > 0 || self.simple_key) {
            style = '"';
        }
        style
    }
}
