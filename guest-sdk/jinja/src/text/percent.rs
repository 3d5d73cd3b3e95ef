//! Python's `%` on text: the filter `format`.

use minijinja::Value;

use super::digits::{Layout, float_of};
use crate::failure::{Outcome, failure};
use crate::values::{Table, View, get_item, repr, text, type_name, view};

/// The values of a format.
#[derive(Debug)]
pub(crate) enum Values {
    /// Values by position.
    Positional(Vec<Value>),
    /// A dict, for `%(name)s`.
    Named(Value),
}

struct Reader<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    values: &'t Values,
    next: usize,
}

/// Returns the result of Python's `template % values`.
///
/// # Errors
///
/// The template is wrong, or a value is missing, left over or of a wrong type.
pub(crate) fn percent(template: &str, values: &Values) -> Outcome<String> {
    let mut reader = Reader { rest: template.chars().peekable(), values, next: 0 };
    let mut out = String::new();
    while let Some(c) = reader.rest.next() {
        if c == '%' {
            out.push_str(&reader.conversion()?);
        } else {
            out.push(c);
        }
        if out.len() > super::pad::MAX_BYTES {
            return Err(failure("the text would be too long"));
        }
    }
    match values {
        Values::Positional(all) if reader.next < all.len() => {
            Err(failure("not all arguments converted during string formatting"))
        }
        _ => Ok(out),
    }
}

impl Reader<'_> {
    fn conversion(&mut self) -> Outcome<String> {
        let mut named = None;
        let is_plain = self.rest.peek() == Some(&'%');
        if self.rest.next_if_eq(&'(').is_some() {
            named = Some(self.key()?);
        }
        let mut layout = Layout::default();
        let mut left = false;
        while let Some(flag) = self.rest.next_if(|c| "-+ #0".contains(*c)) {
            match flag {
                '-' => left = true,
                '+' => layout.sign = '+',
                ' ' if layout.sign != '+' => layout.sign = ' ',
                '#' => layout.alternate = true,
                '0' => (layout.fill, layout.align) = ('0', Some('=')),
                _ => {}
            }
        }
        let (width, negative) = self.number()?;
        layout.width = width.unwrap_or(0);
        if left || negative {
            (layout.fill, layout.align) = (' ', Some('<'));
        }
        if self.rest.next_if_eq(&'.').is_some() {
            let (precision, negative) = self.number()?;
            layout.precision = Some(if negative { 0 } else { precision.unwrap_or(0) });
        }
        while self.rest.next_if(|c| "hlL".contains(*c)).is_some() {}
        layout.check()?;
        let kind = self.rest.next().ok_or_else(|| failure("incomplete format"))?;
        if kind == '%' {
            // With anything between the two, Python takes a value for it.
            if named.is_none() && !is_plain {
                self.value()?;
            }
            return Ok("%".to_owned());
        }
        let value = match named {
            Some(value) => value,
            None => self.value()?,
        };
        written(&value, kind, layout)
    }

    /// Reads the name behind `%(`, and returns its value.
    fn key(&mut self) -> Outcome<Value> {
        let Values::Named(dict) = self.values else { return Err(failure("format requires a mapping")) };
        let (mut depth, mut name) = (1, String::new());
        loop {
            let c = self.rest.next().ok_or_else(|| failure("incomplete format key"))?;
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            name.push(c);
        }
        let key = Value::from(name);
        if Table::of(dict)?.is_some_and(|table| table.get(&key).ok().flatten().is_none()) {
            return Err(failure(repr(&key)?));
        }
        Ok(get_item(dict, &key))
    }

    /// Reads a number or a `*`, and returns its amount and whether it is negative.
    fn number(&mut self) -> Outcome<(Option<usize>, bool)> {
        if self.rest.next_if_eq(&'*').is_some() {
            let value = self.value()?;
            let View::Int(number) = view(&value) else { return Err(failure("* wants int")) };
            return Ok((usize::try_from(number.unsigned_abs()).ok(), number < 0));
        }
        let mut number = None;
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            let digit = usize::try_from(digit.to_digit(10).unwrap_or(0)).unwrap_or(0);
            number = Some(number.unwrap_or(0usize).saturating_mul(10).saturating_add(digit));
        }
        Ok((number, false))
    }

    fn value(&mut self) -> Outcome<Value> {
        match self.values {
            Values::Positional(all) => {
                self.next += 1;
                all.get(self.next - 1).cloned().ok_or_else(|| failure("not enough arguments for format string"))
            }
            Values::Named(dict) => {
                self.next += 1;
                if self.next > 1 {
                    return Err(failure("not enough arguments for format string"));
                }
                Ok(dict.clone())
            }
        }
    }
}

fn written(value: &Value, kind: char, mut layout: Layout) -> Outcome<String> {
    let plain = |mut layout: Layout| {
        if layout.align == Some('=') {
            (layout.fill, layout.align) = (' ', None);
        }
        layout.align = layout.align.or(Some('>'));
        layout
    };
    match kind {
        's' => Ok(plain(layout).text(&text(value)?)),
        'r' => Ok(plain(layout).text(&repr(value)?)),
        'a' => Ok(plain(layout).text(&ascii(&repr(value)?))),
        'c' => Ok(Layout { precision: None, ..plain(layout) }.text(&character(value)?)),
        'd' | 'i' | 'u' => match view(value) {
            View::Float(number) if number.is_finite() => {
                let whole = crate::values::whole_number(number).unwrap_or_default();
                layout.integer(&whole, 'd')
            }
            View::Int(_) | View::Long(_) | View::Bool(_) => layout.integer(value, 'd'),
            _ => Err(failure(format!("%{kind} format: a real number is required, not {}", type_name(value)))),
        },
        'x' | 'X' | 'o' => match view(value) {
            View::Int(_) | View::Long(_) | View::Bool(_) => layout.integer(value, kind),
            _ => Err(failure(format!("%{kind} format: an integer is required, not {}", type_name(value)))),
        },
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            layout.precision = layout.precision.or(Some(6));
            let number = float_of(value)?;
            if !number.is_finite() && layout.align == Some('=') {
                (layout.fill, layout.align) = ('0', Some('='));
            }
            Ok(layout.float(number, kind))
        }
        _ => Err(failure(format!("unsupported format character '{kind}' ({:#x})", u32::from(kind)))),
    }
}

fn character(value: &Value) -> Outcome<String> {
    match view(value) {
        View::Str(text) if text.chars().count() == 1 => Ok(text.to_owned()),
        View::Int(number) => u32::try_from(number)
            .ok()
            .and_then(char::from_u32)
            .map(String::from)
            .ok_or_else(|| failure("%c arg not in range(0x110000)")),
        _ => Err(failure("%c requires int or char")),
    }
}

/// Returns a text with every character outside ASCII escaped.
pub(crate) fn ascii(text: &str) -> String {
    let escape = |c: char| match u32::from(c) {
        0..=0x7f => c.to_string(),
        code @ 0x80..=0xff => format!("\\x{code:02x}"),
        code @ 0x100..=0xffff => format!("\\u{code:04x}"),
        code => format!("\\U{code:08x}"),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, values: Vec<Value>, expect: Option<&str>) {
        assert_eq!(percent(template, &Values::Positional(values)).ok().as_deref(), expect, "{template}");
    }

    #[test]
    fn formats_as_python_does() {
        check("%s-%5s|%-5s|", vec![1.into(), "a".into(), "b".into()], Some("1-    a|b    |"));
        check(
            "%05d %+d % d %x %#o",
            vec![42.into(), 1.into(), 2.into(), 255.into(), 8.into()],
            Some("00042 +1  2 ff 0o10"),
        );
        check(
            "%.2f %08.3f %e %g",
            vec![1.005.into(), (-3.5).into(), 12345.0.into(), 0.5.into()],
            Some("1.00 -003.500 1.234500e+04 0.5"),
        );
        check("%r %a %c %%", vec!["é".into(), "é".into(), 65.into()], Some(r"'é' '\xe9' A %"));
        check("%*d|%.*f", vec![4.into(), 7.into(), 1.into(), 2.55.into()], Some("   7|2.5"));
        check("%d", vec![3.9.into()], Some("3"));
        check("%d", vec!["3".into()], None);
        check("%s", vec![], None);
        check("x", vec![1.into()], None);
        check("%", vec![1.into()], None);
    }

    #[test]
    fn names_are_looked_up() {
        let dict = Value::from_pairs([("a", 1)]);
        assert_eq!(percent("%(a)03d", &Values::Named(dict.clone())).unwrap(), "001");
        assert!(percent("%(b)s", &Values::Named(dict)).is_err());
    }
}
