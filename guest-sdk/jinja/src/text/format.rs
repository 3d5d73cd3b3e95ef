//! `str.format`: replacement fields with conversions and format specifications.

use minijinja::Value;

use super::digits::{Layout, float_of};
use super::percent::ascii;
use crate::failure::{Outcome, failure};
use crate::values::{View, get_item, repr, text, type_name, view};

/// How deep a specification may hold fields of its own: as in Python.
const MAX_NESTING: usize = 2;

struct Formatter<'a> {
    positional: &'a [Value],
    named: &'a [(String, Value)],
    automatic: Option<usize>,
    manual: bool,
}

/// Returns the result of Python's `template.format(*positional, **named)`.
///
/// # Errors
///
/// The template is wrong, or a value is missing or does not fit its specification.
pub(crate) fn format(template: &str, positional: &[Value], named: &[(String, Value)]) -> Outcome<String> {
    Formatter { positional, named, automatic: None, manual: false }.expand(template, 0)
}

impl Formatter<'_> {
    fn expand(&mut self, template: &str, depth: usize) -> Outcome<String> {
        if depth >= MAX_NESTING {
            return Err(failure("Max string recursion exceeded"));
        }
        let mut out = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['{', '}']) {
            out.push_str(&rest[..at]);
            let (brace, after) = (&rest[at..=at], &rest[at + 1..]);
            if let Some(after) = after.strip_prefix(brace) {
                out.push_str(brace);
                rest = after;
                continue;
            }
            if brace == "}" {
                return Err(failure("Single '}' encountered in format string"));
            }
            let end = field_end(after)?;
            out.push_str(&self.field(&after[..end], depth)?);
            rest = &after[end + 1..];
            if out.len() > super::pad::MAX_BYTES {
                return Err(failure("the text would be too long"));
            }
        }
        out.push_str(rest);
        Ok(out)
    }

    fn field(&mut self, field: &str, depth: usize) -> Outcome<String> {
        let split = field_name_end(field);
        let (name, rest) = field.split_at(split);
        let (conversion, spec) = match rest.strip_prefix('!') {
            Some(rest) => {
                let (conversion, spec) = rest.split_once(':').unwrap_or((rest, ""));
                (Some(conversion), spec)
            }
            None => (None, rest.strip_prefix(':').unwrap_or("")),
        };
        let value = self.value(name)?;
        let value = match conversion {
            None => value,
            Some("s") => Value::from(text(&value)?),
            Some("r") => Value::from(repr(&value)?),
            Some("a") => Value::from(ascii(&repr(&value)?)),
            Some(other) => return Err(failure(format!("Unknown conversion specifier '{other}'"))),
        };
        let spec = if spec.contains('{') { self.expand(spec, depth + 1)? } else { spec.to_owned() };
        formatted(&value, &spec)
    }

    fn value(&mut self, name: &str) -> Outcome<Value> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (first, mut path) = name.split_at(end);
        let mut value = self.argument(first)?;
        while !path.is_empty() {
            let key;
            (key, path) = path_step(path)?;
            let item = get_item(&value, &key);
            if item.is_undefined() {
                return Err(failure(format!(
                    "'{}' object has no item or attribute {}",
                    type_name(&value),
                    repr(&key)?
                )));
            }
            value = item;
        }
        Ok(value)
    }

    fn argument(&mut self, name: &str) -> Outcome<Value> {
        let missing = || failure(format!("Replacement index {name} out of range for positional args tuple"));
        if name.is_empty() {
            if self.manual {
                return Err(failure("cannot switch from manual field specification to automatic field numbering"));
            }
            let index = self.automatic.map_or(0, |index| index + 1);
            self.automatic = Some(index);
            return self.positional.get(index).cloned().ok_or_else(missing);
        }
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            if self.automatic.is_some() {
                return Err(failure("cannot switch from automatic field numbering to manual field specification"));
            }
            self.manual = true;
            let index: Option<usize> = name.parse().ok();
            return index.and_then(|index| self.positional.get(index)).cloned().ok_or_else(missing);
        }
        let found = self.named.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).ok_or_else(|| failure(format!("'{name}'")))
    }
}

/// Returns the end of a field, whose specification may hold fields.
fn field_end(text: &str) -> Outcome<usize> {
    let (mut depth, mut in_brackets) = (1, false);
    for (at, c) in text.char_indices() {
        match c {
            '[' if depth == 1 => in_brackets = true,
            ']' => in_brackets = false,
            '{' if !in_brackets => depth += 1,
            '}' if !in_brackets => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(at);
        }
    }
    Err(failure("expected '}' before end of string"))
}

/// Returns the end of a field's name, which has brackets that may hold `:` and `!`.
fn field_name_end(field: &str) -> usize {
    let mut in_brackets = false;
    for (at, c) in field.char_indices() {
        match c {
            '[' => in_brackets = true,
            ']' => in_brackets = false,
            ':' | '!' if !in_brackets => return at,
            _ => {}
        }
    }
    field.len()
}

fn path_step(path: &str) -> Outcome<(Value, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        if end == 0 {
            return Err(failure("Empty attribute in format string"));
        }
        return Ok((Value::from(&rest[..end]), &rest[end..]));
    }
    let rest =
        path.strip_prefix('[').ok_or_else(|| failure("Only '.' or '[' may follow ']' in format field specifier"))?;
    let (key, rest) = rest.split_once(']').ok_or_else(|| failure("Missing ']' in format string"))?;
    if key.is_empty() {
        return Err(failure("Empty attribute in format string"));
    }
    Ok((
        key.parse::<i64>().ok().filter(|_| !key.starts_with(['+', '-'])).map_or_else(|| Value::from(key), Value::from),
        rest,
    ))
}

/// Returns Python's `format(value, spec)`.
///
/// # Errors
///
/// The specification is wrong or does not fit the value.
pub(crate) fn formatted(value: &Value, spec: &str) -> Outcome<String> {
    if spec.is_empty() {
        return Ok(text(value)?);
    }
    let (mut layout, kind, zero) = parse(spec)?;
    layout.check()?;
    let unknown =
        || failure(format!("Unknown format code '{}' for object of type '{}'", kind.unwrap_or(' '), type_name(value)));
    match view(value) {
        View::Str(text) => {
            if layout.sign != '-' || layout.alternate || layout.grouping.is_some() || layout.align == Some('=') && !zero
            {
                return Err(failure("Sign, alternate form, ',' or '=' not allowed in string format specifier"));
            }
            if zero && layout.align == Some('=') {
                layout.align = Some('<');
            }
            if kind.is_some_and(|kind| kind != 's') { Err(unknown()) } else { Ok(layout.text(text)) }
        }
        View::Int(_) | View::Long(_) | View::Bool(_) => match kind.unwrap_or('d') {
            kind @ ('d' | 'x' | 'X' | 'o' | 'b' | 'n') if layout.precision.is_none() => layout.integer(value, kind),
            'd' | 'x' | 'X' | 'o' | 'b' | 'n' => Err(failure("Precision not allowed in integer format specifier")),
            'c' => super::percent::percent("%c", &super::percent::Values::Positional(vec![value.clone()]))
                .map(|c| layout.text(&c)),
            kind @ ('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => Ok(layout.float(float_of(value)?, kind)),
            _ => Err(unknown()),
        },
        View::Float(number) => match kind.unwrap_or(' ') {
            kind @ (' ' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => Ok(layout.float(number, kind)),
            'n' => Ok(layout.float(number, 'g')),
            _ => Err(unknown()),
        },
        _ => Err(failure(format!("unsupported format string passed to {}.__format__", type_name(value)))),
    }
}

/// Reads a specification. The last value tells whether it has a `0` before its width.
fn parse(spec: &str) -> Outcome<(Layout, Option<char>, bool)> {
    let chars: Vec<char> = spec.chars().collect();
    let mut layout = Layout::default();
    let mut at = 0;
    let is_align = |c: Option<&char>| c.copied().filter(|c| "<>^=".contains(*c));
    if let Some(align) = is_align(chars.get(1)) {
        (layout.fill, layout.align, at) = (chars[0], Some(align), 2);
    } else if let Some(align) = is_align(chars.first()) {
        (layout.align, at) = (Some(align), 1);
    }
    if let Some(sign) = chars.get(at).copied().filter(|c| "+- ".contains(*c)) {
        (layout.sign, at) = (sign, at + 1);
    }
    if chars.get(at) == Some(&'#') {
        (layout.alternate, at) = (true, at + 1);
    }
    let zero = chars.get(at) == Some(&'0');
    if zero && layout.align.is_none() {
        (layout.fill, layout.align) = ('0', Some('='));
    }
    layout.width = digits(&chars, &mut at).unwrap_or(0);
    if let Some(separator) = chars.get(at).copied().filter(|c| ",_".contains(*c)) {
        (layout.grouping, at) = (Some(separator), at + 1);
    }
    if chars.get(at) == Some(&'.') {
        at += 1;
        layout.precision = Some(digits(&chars, &mut at).ok_or_else(|| failure("Format specifier missing precision"))?);
    }
    match chars.get(at..).unwrap_or_default() {
        [] => Ok((layout, None, zero)),
        [kind] => Ok((layout, Some(*kind), zero)),
        _ => Err(failure(format!("Invalid format specifier '{spec}'"))),
    }
}

fn digits(chars: &[char], at: &mut usize) -> Option<usize> {
    let mut number = None;
    while let Some(digit) = chars.get(*at).and_then(|c| c.to_digit(10)) {
        let digit = usize::try_from(digit).unwrap_or(0);
        number = Some(number.unwrap_or(0usize).saturating_mul(10).saturating_add(digit));
        *at += 1;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, expect: Option<&str>) {
        let positional = [Value::from(42), Value::from("x"), Value::from(3.5)];
        let named = [("d".to_owned(), Value::from_pairs([("k", vec![7])]))];
        assert_eq!(format(template, &positional, &named).ok().as_deref(), expect, "{template}");
    }

    #[test]
    fn formats_as_python_does() {
        check("{} {} {}", Some("42 x 3.5"));
        check("{1}{0}{1}", Some("x42x"));
        check("{d[k][0]:>3}|{0:<5}|{1:^5}|{0:05d}|{0:+}", Some("  7|42   |  x  |00042|+42"));
        check("{2:.2f} {0:x} {0:#x} {0:,} {2:e}", Some("3.50 2a 0x2a 42 3.500000e+00"));
        check("{1!r} {{}} {0:{0}}", Some("'x' {}                                         42"));
        check("{} {1}", None);
        check("{9}", None);
        check("{", None);
        check("}", None);
        check("{1:d}", None);
    }
}
