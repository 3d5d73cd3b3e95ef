//! Reads Python's string literals: single and triple quotes, raw strings, and escapes.

/// Returns whether a text literal begins here. Literals of bytes and formatted strings do not count.
pub(crate) fn starts_string(text: &str) -> bool {
    text.strip_prefix(['r', 'R', 'u', 'U']).unwrap_or(text).starts_with(['\'', '"'])
}

/// Appends the text of the string literal at the start of `source`, and returns the rest of `source`. A lone surrogate
/// becomes its stand-in.
pub(crate) fn read_string<'a>(source: &'a str, out: &mut String) -> Option<&'a str> {
    let raw = source.starts_with(['r', 'R']);
    let source = source.strip_prefix(['r', 'R', 'u', 'U']).unwrap_or(source);
    let quote = source.chars().next()?;
    let (one, three) = (quote.to_string(), quote.to_string().repeat(3));
    let long = source.starts_with(&three);
    let end = if long { three } else { one };
    let mut rest = &source[end.len()..];
    loop {
        if let Some(behind) = rest.strip_prefix(end.as_str()) {
            return Some(behind);
        }
        let c = take(&mut rest)?;
        match c {
            '\n' | '\r' if !long => return None,
            // Python reads every kind of line end as `\n`.
            '\r' => {
                rest = rest.strip_prefix('\n').unwrap_or(rest);
                out.push('\n');
            }
            '\\' if raw => {
                out.push('\\');
                out.push(take(&mut rest)?);
            }
            '\\' => escape(&mut rest, out)?,
            _ => out.push(c),
        }
    }
}

fn take(rest: &mut &str) -> Option<char> {
    let c = rest.chars().next()?;
    *rest = &rest[c.len_utf8()..];
    Some(c)
}

fn escape(rest: &mut &str, out: &mut String) -> Option<()> {
    let c = take(rest)?;
    let plain = match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '\\' | '\'' | '"' => c,
        'x' => return code(rest, 2, out),
        'u' => return code(rest, 4, out),
        'U' => return code(rest, 8, out),
        'N' => return None,
        '0'..='7' => {
            let more = rest.bytes().take(2).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            let octal = format!("{c}{}", &rest[..more]);
            *rest = &rest[more..];
            return push(u32::from_str_radix(&octal, 8).ok()?, out);
        }
        '\n' => return Some(()),
        _ => {
            out.push('\\');
            c
        }
    };
    out.push(plain);
    Some(())
}

fn code(rest: &mut &str, digits: usize, out: &mut String) -> Option<()> {
    let hex = rest.get(..digits).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    *rest = &rest[digits..];
    push(u32::from_str_radix(hex, 16).ok()?, out)
}

fn push(code: u32, out: &mut String) -> Option<()> {
    let standing_in = if (0xD800..0xE000).contains(&code) { code + 0x10_0000 } else { code };
    out.push(char::from_u32(standing_in)?);
    Some(())
}
