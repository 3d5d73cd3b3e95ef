//! What a scalar contains, and so in which styles it can be written.

/// The findings of libyaml's `yaml_emitter_analyze_scalar`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Analysis {
    pub(super) multiline: bool,
    pub(super) flow_plain: bool,
    pub(super) block_plain: bool,
    pub(super) single_quoted: bool,
    pub(super) block: bool,
}

/// Returns whether libyaml writes a character as it is.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}

/// Returns whether a character ends a line.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank_or_end(c: Option<&char>) -> bool {
    c.is_none_or(|c| matches!(c, ' ' | '\t' | '\0') || is_break(*c))
}

/// Analyses a scalar.
pub(super) fn analyse(text: &str) -> Analysis {
    if text.is_empty() {
        return Analysis { multiline: false, flow_plain: false, block_plain: true, single_quoted: true, block: false };
    }
    let chars: Vec<char> = text.chars().collect();
    let mark = text.starts_with("---") || text.starts_with("...");
    let (mut flow_indicators, mut block_indicators) = (mark, mark);
    let (mut line_breaks, mut special) = (false, false);
    let (mut break_space, mut space_break) = (false, false);
    let mut preceded_by_blank = true;
    for (at, c) in chars.iter().enumerate() {
        let followed_by_blank = is_blank_or_end(chars.get(at + 1));
        let (flow, block) = indicators(*c, at == 0, preceded_by_blank, followed_by_blank);
        flow_indicators |= flow;
        block_indicators |= block;
        special |= !is_printable(*c);
        line_breaks |= is_break(*c);
        let before = at.checked_sub(1).and_then(|at| chars.get(at));
        break_space |= *c == ' ' && before.is_some_and(|before| is_break(*before));
        space_break |= is_break(*c) && before == Some(&' ');
        preceded_by_blank = is_blank_or_end(Some(c));
    }
    let blank = |c: Option<&char>| c.is_some_and(|c| *c == ' ' || is_break(*c));
    let ends = blank(chars.first()) || blank(chars.last());
    let plain = !(ends || break_space || space_break || special || line_breaks);
    Analysis {
        multiline: line_breaks,
        flow_plain: plain && !flow_indicators,
        block_plain: plain && !block_indicators,
        single_quoted: !(break_space || space_break || special),
        block: !(chars.last() == Some(&' ') || space_break || special),
    }
}

/// Returns whether a character at its place is an indicator in brackets, and outside of them.
fn indicators(c: char, first: bool, preceded_by_blank: bool, followed_by_blank: bool) -> (bool, bool) {
    match c {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' if first => {
            (true, true)
        }
        '?' | ':' if first => (true, followed_by_blank),
        '-' if first => (followed_by_blank, followed_by_blank),
        ',' | '?' | '[' | ']' | '{' | '}' => (true, false),
        ':' => (true, followed_by_blank),
        '#' => (preceded_by_blank, preceded_by_blank),
        _ => (false, false),
    }
}
