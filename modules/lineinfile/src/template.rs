//! Templates as Python's `re.Match.expand` reads them: `\1`, `\g<1>`, `\g<name>`, and escapes.

use modbox_sdk::Failure;

use crate::pattern::Match;

/// Fills a template from a match. Groups that took no part are empty.
///
/// # Errors
///
/// Groups that do not exist and escapes that mean nothing, in Python's words.
pub(crate) fn expand(template: &str, matched: &Match) -> Result<Vec<u8>, Failure> {
    let bytes = template.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some(&escape) = bytes.get(at) else {
            return Err(bad("bad escape (end of pattern)", at - 1));
        };
        at += 1;
        match escape {
            b'g' => at = group_reference(bytes, at, matched, &mut out)?,
            b'0' => {
                let digits = octal_digits(&bytes[at..], 2);
                out.push(octal(&bytes[at..at + digits]));
                at += digits;
            }
            b'1'..=b'9' => at = number_reference(bytes, at, matched, &mut out)?,
            _ => match simple(escape) {
                Some(byte) => out.push(byte),
                None if escape.is_ascii_alphabetic() => {
                    return Err(bad(&format!("bad escape \\{}", char::from(escape)), at - 2));
                }
                None => out.extend([b'\\', escape]),
            },
        }
    }
    Ok(out)
}

fn simple(escape: u8) -> Option<u8> {
    Some(match escape {
        b'a' => 7,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'\\' => b'\\',
        _ => return None,
    })
}

/// `\1` to `\99`, or three octal digits; `at` is behind the first digit.
fn number_reference(bytes: &[u8], at: usize, matched: &Match, out: &mut Vec<u8>) -> Result<usize, Failure> {
    let start = at - 1;
    if octal_digits(&bytes[start..], 3) == 3 {
        out.push(octal(&bytes[start..start + 3]));
        return Ok(start + 3);
    }
    let length = bytes[start..].iter().take(2).take_while(|byte| byte.is_ascii_digit()).count();
    let number = bytes[start..start + length].iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
    let group = matched.group(number);
    out.extend_from_slice(group.ok_or_else(|| bad(&format!("invalid group reference {number}"), start))?);
    Ok(start + length)
}

/// `\g<name>`; `at` is behind the `g`.
fn group_reference(bytes: &[u8], at: usize, matched: &Match, out: &mut Vec<u8>) -> Result<usize, Failure> {
    if bytes.get(at) != Some(&b'<') {
        return Err(bad("missing <", at));
    }
    let length = bytes[at + 1..].iter().position(|byte| *byte == b'>');
    let length = length.ok_or_else(|| bad("missing >, unterminated name", at + 1))?;
    let name = String::from_utf8_lossy(&bytes[at + 1..at + 1 + length]).into_owned();
    let number = match name.parse::<usize>() {
        Ok(number) => number,
        Err(_) => matched.index_of(&name).ok_or_else(|| bad(&format!("unknown group name '{name}'"), at + 1))?,
    };
    let group = matched.group(number);
    out.extend_from_slice(group.ok_or_else(|| bad(&format!("invalid group reference {number}"), at + 1))?);
    Ok(at + length + 2)
}

fn octal_digits(bytes: &[u8], most: usize) -> usize {
    bytes.iter().take(most).take_while(|byte| matches!(byte, b'0'..=b'7')).count()
}

fn octal(digits: &[u8]) -> u8 {
    digits.iter().fold(0_u8, |number, digit| number.wrapping_mul(8).wrapping_add(digit - b'0'))
}

fn bad(why: &str, at: usize) -> Failure {
    Failure::new(format!("failed to fill the line: {why} at position {at}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::Pattern;

    #[track_caller]
    fn check(template: &str, expect: &str) {
        let matched = Pattern::new(r"(?P<key>\w+)=(\w+)(x)?").unwrap().search(b"foo=bar\n").unwrap().unwrap();
        let got = expand(template, &matched)
            .map_or_else(|failure| failure.message().to_owned(), |bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(got, expect, "for {template}");
    }

    #[test]
    fn fills_groups() {
        check(r"\2=\1", "bar=foo");
        check(r"\g<key>\g<2>0\3.", "foobar0.");
        check(r"\g<0>\t\\\.\101\0", "foo=bar\t\\\\.A\0");
    }

    #[test]
    fn names_mistakes() {
        check(r"a\4", "failed to fill the line: invalid group reference 4 at position 2");
        check(r"\g<no>", "failed to fill the line: unknown group name 'no' at position 3");
        check(r"\q", "failed to fill the line: bad escape \\q at position 0");
    }
}
