//! `%(name)s` in values of INI files, as Python's `configparser` replaces it.

use crate::ini_file::{IniFile, Section};

/// How deep values may refer to each other.
const MAX_DEPTH: u32 = 10;

/// How long all replaced texts of a value may be together.
const MAX_LENGTH: usize = 1 << 20;

/// Returns a value with each `%(name)s` replaced by the value of that option.
///
/// # Errors
///
/// A reference is malformed, names an unknown option, or goes too deep.
pub(super) fn interpolated(file: &IniFile, values: &Section, option: &str, value: &str) -> Result<String, String> {
    let mut state = State { file, values, option, budget: MAX_LENGTH };
    let mut out = String::new();
    state.append(&mut out, value, 1)?;
    Ok(out)
}

struct State<'a> {
    file: &'a IniFile,
    values: &'a Section,
    option: &'a str,
    budget: usize,
}

impl State<'_> {
    fn append(&mut self, out: &mut String, value: &str, depth: u32) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("Recursion limit exceeded in value substitution: option '{}'", self.option));
        }
        let mut rest = value;
        while let Some(at) = rest.find('%') {
            self.push(out, &rest[..at])?;
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                self.push(out, "%")?;
                rest = after;
            } else if let Some(inside) = rest.strip_prefix('(') {
                let reference = inside.split_once(')').filter(|(name, _)| !name.is_empty());
                let reference = reference.and_then(|(name, after)| Some((name, after.strip_prefix('s')?)));
                let (name, after) =
                    reference.ok_or_else(|| format!("bad interpolation variable reference '%{rest}'"))?;
                self.replace(out, name, depth)?;
                rest = after;
            } else {
                return Err(format!("'%' must be followed by '%' or '(', found: '%{rest}'"));
            }
        }
        self.push(out, rest)
    }

    fn replace(&mut self, out: &mut String, name: &str, depth: u32) -> Result<(), String> {
        let name = self.file.option_name(name);
        let value = self.values.get(&name).ok_or_else(|| {
            format!("Bad value substitution: option '{}' contains an interpolation key '{name}' which is not a valid option name", self.option)
        })?;
        let value = value.clone().unwrap_or_default();
        // A reference that adds nothing still costs.
        self.charge(1)?;
        self.append(out, &value, depth + 1)
    }

    fn push(&mut self, out: &mut String, text: &str) -> Result<(), String> {
        self.charge(text.len())?;
        out.push_str(text);
        Ok(())
    }

    fn charge(&mut self, length: usize) -> Result<(), String> {
        self.budget = self
            .budget
            .checked_sub(length)
            .ok_or_else(|| format!("the value of option '{}' is longer than {MAX_LENGTH} bytes", self.option))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, expect: Result<&str, &str>) {
        let values: Section = [("a", "1"), ("b", "%(A)s2"), ("loop", "%(loop)s"), ("big", "%(big)s%(big)s")]
            .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
            .into_iter()
            .collect();
        match (interpolated(&IniFile::default(), &values, "x", value), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect),
            (Err(error), Err(expect)) => assert!(error.contains(expect), "{value}: {error}"),
            (found, _) => panic!("{value}: {found:?}"),
        }
    }

    #[test]
    fn references_are_replaced() {
        check("x%%y", Ok("x%y"));
        check("%(a)s-%(b)s", Ok("1-12"));
        check("100%", Err("must be followed by"));
        check("%(a)d", Err("bad interpolation"));
        check("%(nope)s", Err("'nope'"));
        check("%(loop)s", Err("Recursion limit"));
        check("%(big)s", Err("Recursion limit"));
    }
}
