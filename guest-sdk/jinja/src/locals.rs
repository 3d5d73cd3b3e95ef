//! Lists and dicts in locals that methods can change: `{% set x = [] %}`, then `x.append(1)`.
//!
//! minijinja's lists never change, and a method has no way to give a local another value. So the text of a template is
//! rewritten before it is parsed: what `set` assigns goes through a filter that makes a list or dict that can change.
//! Only the expressions of `set` are touched, and no line moves. Text that is not understood stays as it is, so that
//! minijinja reports the mistake.

use std::borrow::Cow;

/// The filter that the rewritten text names.
pub(crate) const FILTER: &str = "modbox_changeable";

/// The delimiters of a template, each with its start and end.
#[derive(Debug, Clone, Copy)]
pub struct Delimiters<'a> {
    /// Those of statements.
    pub block: (&'a str, &'a str),
    /// Those of values.
    pub variable: (&'a str, &'a str),
    /// Those of comments.
    pub comment: (&'a str, &'a str),
}

impl Default for Delimiters<'_> {
    fn default() -> Self {
        Self { block: ("{%", "%}"), variable: ("{{", "}}"), comment: ("{#", "#}") }
    }
}

/// Returns the template with the expressions of `set` rewritten. See the module's documentation.
#[must_use]
pub fn changeable_locals<'t>(template: &'t str, delimiters: &Delimiters<'_>) -> Cow<'t, str> {
    if !template.contains("set") {
        return Cow::Borrowed(template);
    }
    let (mut out, mut copied) = (String::new(), 0);
    let mut at = 0;
    while let Some((start, kind)) = next_start(template, at, delimiters) {
        let Some(end) = end_of(template, start, kind, delimiters) else { break };
        if kind == Kind::Block {
            let inner = start + delimiters.block.0.len()..end - delimiters.block.1.len();
            let statement = &template[inner.clone()];
            if is_word(statement, "raw") {
                at = after_raw(template, end, delimiters).unwrap_or(template.len());
                continue;
            }
            if let Some(expression) = assigned(statement) {
                let (from, to) = (inner.start + expression.start, inner.start + expression.end);
                out.push_str(&template[copied..from]);
                out.push_str(&format!("({})|{FILTER}", &template[from..to]));
                copied = to;
            }
        }
        at = end;
    }
    if copied == 0 {
        return Cow::Borrowed(template);
    }
    out.push_str(&template[copied..]);
    Cow::Owned(out)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Block,
    Variable,
    Comment,
}

/// Returns the next delimiter. Of two at one place, the longer one counts.
fn next_start(template: &str, from: usize, delimiters: &Delimiters<'_>) -> Option<(usize, Kind)> {
    let kinds = [
        (delimiters.block.0, Kind::Block),
        (delimiters.variable.0, Kind::Variable),
        (delimiters.comment.0, Kind::Comment),
    ];
    let found = kinds.iter().filter(|(start, _)| !start.is_empty()).filter_map(|(start, kind)| {
        template[from..].find(start).map(|at| (from + at, std::cmp::Reverse(start.len()), *kind))
    });
    found.min_by_key(|(at, length, _)| (*at, *length)).map(|(at, _, kind)| (at, kind))
}

/// Returns the place behind the end delimiter. Texts in quotes hide one, but not in a comment.
fn end_of(template: &str, start: usize, kind: Kind, delimiters: &Delimiters<'_>) -> Option<usize> {
    let (open, close) = match kind {
        Kind::Block => delimiters.block,
        Kind::Variable => delimiters.variable,
        Kind::Comment => delimiters.comment,
    };
    let body = start + open.len();
    if kind == Kind::Comment {
        return template[body..].find(close).map(|at| body + at + close.len());
    }
    let mut quote = None;
    let mut chars = template[body..].char_indices();
    while let Some((at, c)) = chars.next() {
        match quote {
            Some(_) if c == '\\' => drop(chars.next()),
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if template[body + at..].starts_with(close) => return Some(body + at + close.len()),
            None if c == '\'' || c == '"' => quote = Some(c),
            None => {}
        }
    }
    None
}

/// Returns whether a statement is a single word.
fn is_word(statement: &str, word: &str) -> bool {
    statement.trim_matches(['-', '+']).trim() == word
}

/// Returns the place behind the end of raw text.
fn after_raw(template: &str, from: usize, delimiters: &Delimiters<'_>) -> Option<usize> {
    let (open, close) = delimiters.block;
    let mut at = from;
    loop {
        let start = at + template[at..].find(open)? + open.len();
        let end = start + template[start..].find(close)?;
        if is_word(&template[start..end], "endraw") {
            return Some(end + close.len());
        }
        at = start;
    }
}

/// Returns the place of the expression that a `set` statement assigns, if a list or dict may come of it.
fn assigned(statement: &str) -> Option<std::ops::Range<usize>> {
    let body = statement.strip_prefix(['-', '+']).unwrap_or(statement);
    let target = body.trim_start().strip_prefix("set").filter(|rest| rest.starts_with(char::is_whitespace))?;
    let equals = target.find('=')?;
    let is_target = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_.,()".contains(c);
    if !target[..equals].chars().all(is_target) || target[equals + 1..].starts_with('=') {
        return None;
    }
    let start = statement.len() - target.len() + equals + 1;
    let expression = statement[start..].strip_suffix(['-', '+']).unwrap_or_else(|| &statement[start..]);
    let from = start + expression.len() - expression.trim_start().len();
    let to = start + expression.trim_end().len();
    let makes = expression.contains(['[', '{', '(', '|']);
    (makes && from < to).then_some(from..to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, expect: &str) {
        let expect = expect.replace('@', &format!("|{FILTER}"));
        assert_eq!(changeable_locals(template, &Delimiters::default()), expect);
    }

    #[test]
    fn rewrites_what_set_assigns() {
        check("{% set x = [] %}", "{% set x = ([])@ %}");
        check("a{%- set x=[1,\n 2] -%}\nb", "a{%- set x=([1,\n 2])@ -%}\nb");
        check("{% set ns.a, b = [], '%}' %}{{ x }}", "{% set ns.a, b = ([], '%}')@ %}{{ x }}");
        check("{% set x = 1 %}{% set y = z %}", "{% set x = 1 %}{% set y = z %}");
        check("{% set x %}[]{% endset %}", "{% set x %}[]{% endset %}");
        check("{% if x == [] %}{% endif %}set", "{% if x == [] %}{% endif %}set");
        check("{# {% set x = [] %} #}{{ '{% set x = [] %}' }}", "{# {% set x = [] %} #}{{ '{% set x = [] %}' }}");
        check(
            "{% raw %}{% set x = [] %}{% endraw %}{% set y = {} %}",
            "{% raw %}{% set x = [] %}{% endraw %}{% set y = ({})@ %}",
        );
        check("{% set x = [ %", "{% set x = [ %");
        check("{% set x = \"a\\\"%}\" ~ f() %}", "{% set x = (\"a\\\"%}\" ~ f())@ %}");
    }

    #[test]
    fn knows_other_delimiters() {
        let delimiters = Delimiters { block: ("<%", "%>"), variable: ("<<", ">>"), comment: ("<#", "#>") };
        let rewritten = changeable_locals("<% set x = [] %>{% set y = [] %}", &delimiters);
        assert_eq!(rewritten, format!("<% set x = ([])|{FILTER} %>{{% set y = [] %}}"));
    }
}
