//! Writes nodes as libyaml's emitter does.

use super::node::{Content, Node};
use super::scalar::{Analysis, analyse, is_break, is_printable};
use super::style::Style;
use crate::failure::Outcome;
use crate::values::Walk;

/// The longest key that is written without `?`, in bytes.
const MAX_KEY: usize = 128;

struct Emitter<'a> {
    out: String,
    style: &'a Style,
    indent: Option<usize>,
    best_indent: usize,
    best_width: usize,
    column: usize,
    flow_level: usize,
    whitespace: bool,
    indention: bool,
    simple_key: bool,
    in_mapping: bool,
    open_ended: bool,
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
    if style.explicit_start {
        emitter.indicator("---", true, false, false);
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
    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    fn put_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    /// Writes a line end of the text.
    fn text_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    fn write_indent(&mut self) {
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

    fn indicator(&mut self, text: &str, needs_blank: bool, is_blank: bool, is_indention: bool) {
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
        match &node.content {
            Content::Scalar(text, plain, is_text) => {
                self.scalar(text, *plain, *is_text);
                Ok(())
            }
            Content::List(all, flow) if self.flow_level > 0 || *flow || all.is_empty() => self.flow_list(all),
            Content::List(all, _) => self.block_list(all),
            Content::Dict(all, flow) if self.flow_level > 0 || *flow || all.is_empty() => self.flow_dict(all),
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

    fn close(&mut self, bracket: &str, before: Option<usize>) {
        self.flow_level -= 1;
        self.indent = before;
        self.indicator(bracket, false, false, false);
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.indicator(",", false, false, false);
        }
        if self.column > self.best_width {
            self.write_indent();
        }
    }

    fn flow_list(&mut self, all: &[std::rc::Rc<Node>]) -> Outcome<()> {
        let before = self.open("[");
        for (index, node) in all.iter().enumerate() {
            self.separate(index);
            self.child(node, false, false)?;
        }
        self.close("]", before);
        Ok(())
    }

    fn flow_dict(&mut self, all: &[(std::rc::Rc<Node>, std::rc::Rc<Node>)]) -> Outcome<()> {
        let before = self.open("{");
        for (index, (key, value)) in all.iter().enumerate() {
            self.separate(index);
            if self.is_simple_key(key) {
                self.child(key, true, true)?;
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, false);
                self.child(key, true, false)?;
                if self.column > self.best_width {
                    self.write_indent();
                }
                self.indicator(":", true, false, false);
            }
            self.child(value, true, false)?;
        }
        self.close("}", before);
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
        if !is_text && style != ' ' {
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

    fn plain(&mut self, text: &str) {
        if !self.whitespace && (!text.is_empty() || self.flow_level > 0) {
            self.put(' ');
        }
        let mut spaces = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == ' ' {
                let folds = !self.simple_key && !spaces && self.column > self.best_width && chars.peek() != Some(&' ');
                if folds {
                    self.write_indent()
                } else {
                    self.put(c)
                }
                spaces = true;
            } else {
                self.put(c);
                self.indention = false;
                spaces = false;
            }
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str) {
        self.indicator("'", true, false, false);
        let (mut spaces, mut breaks) = (false, false);
        let last = text.chars().count().saturating_sub(1);
        let mut chars = text.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            if c == ' ' {
                let inside = at != 0 && at != last && chars.peek().is_none_or(|(_, next)| *next != ' ');
                let folds = !self.simple_key && !spaces && self.column > self.best_width && inside;
                if folds {
                    self.write_indent()
                } else {
                    self.put(c)
                }
                spaces = true;
            } else if is_break(c) {
                if !breaks && c == '\n' {
                    self.put_break();
                }
                self.text_break(c);
                self.indention = true;
                breaks = true;
            } else {
                if breaks {
                    self.write_indent();
                }
                if c == '\'' {
                    self.put(c);
                }
                self.put(c);
                self.indention = false;
                (spaces, breaks) = (false, false);
            }
        }
        if breaks {
            self.write_indent();
        }
        self.indicator("'", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    fn double_quoted(&mut self, text: &str) {
        self.indicator("\"", true, false, false);
        let mut spaces = false;
        let last = text.chars().count().saturating_sub(1);
        let mut chars = text.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            if !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
                escape(c).chars().for_each(|c| self.put(c));
                spaces = false;
            } else if c == ' ' {
                let folds = !self.simple_key && !spaces && self.column > self.best_width && at != 0 && at != last;
                if folds {
                    self.write_indent();
                    if chars.peek().is_some_and(|(_, next)| *next == ' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                spaces = true;
            } else {
                self.put(c);
                spaces = false;
            }
        }
        self.indicator("\"", false, false, false);
        self.whitespace = false;
        self.indention = false;
    }

    /// Writes the indicator of a block scalar, with its hints.
    fn block_start(&mut self, text: &str, indicator: &str) {
        self.indicator(indicator, true, false, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator(&self.best_indent.to_string(), false, false, false);
        }
        let mut ends = text.chars().rev();
        let chomp = match (ends.next(), ends.next()) {
            (Some(last), before) if is_break(last) => {
                if before.is_none_or(is_break) {
                    "+"
                } else {
                    ""
                }
            }
            _ => "-",
        };
        self.indicator(chomp, false, false, false);
        self.open_ended = chomp == "+";
        self.put_break();
        self.indention = true;
        self.whitespace = true;
    }

    fn block(&mut self, text: &str, folded: bool) {
        self.block_start(text, if folded { ">" } else { "|" });
        let (mut breaks, mut leading) = (true, true);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if is_break(c) {
                if folded && !breaks && !leading && c == '\n' {
                    let mut rest = chars.clone().skip_while(|c| is_break(*c));
                    if rest.next().is_some_and(|c| !matches!(c, ' ' | '\t')) {
                        self.put_break();
                    }
                }
                self.text_break(c);
                self.indention = true;
                breaks = true;
                continue;
            }
            if breaks {
                self.write_indent();
                leading = matches!(c, ' ' | '\t');
            }
            let folds = folded && !breaks && c == ' ' && chars.peek().is_none_or(|next| *next != ' ');
            if folds && self.column > self.best_width {
                self.write_indent();
            } else {
                self.put(c);
            }
            self.indention = false;
            breaks = false;
        }
    }
}

fn escape(c: char) -> String {
    let short = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' => '"',
        '\\' => '\\',
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match u32::from(c) {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0x100..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{short}")
}
