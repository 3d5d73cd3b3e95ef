//! Reads modes as in Ansible's options: numbers, octal digits, and clauses such as `u=rwX,go-w`.
//!
//! The rules are those of ansible-core 2.19, `set_mode_if_different` and `_symbolic_mode_to_octal`; a test compares
//! them.

use modbox_python_json::Value;

/// The bits of a mode: permissions, set-user-id, set-group-id and sticky.
const ALL: u32 = 0o7777;

/// The state that a mode is relative to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CurrentMode {
    /// The permission bits before the change, such as `0o644`.
    pub mode: u32,
    /// Whether it is the mode of a directory.
    pub directory: bool,
    /// The bits that symbolic modes without `u`, `g`, `o` or `a` leave alone.
    pub umask: u32,
}

/// Why a mode is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WrongMode {
    /// The text is neither a number nor clauses; names the wrong clause.
    Form(String),
    /// The number has bits outside a mode.
    Bits(String),
}

/// A class of users that permissions apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UserClass {
    User,
    Group,
    Others,
}

impl UserClass {
    /// Returns the position of the class's permission bits.
    fn shift(self) -> u32 {
        match self {
            Self::User => 6,
            Self::Group => 3,
            Self::Others => 0,
        }
    }

    /// Returns the special bit that `=` also clears for the class.
    fn special(self) -> u32 {
        match self {
            Self::User => 0o4000,
            Self::Group => 0o2000,
            Self::Others => 0o1000,
        }
    }
}

/// Returns the mode that an option asks for.
///
/// # Errors
///
/// The mode is invalid.
pub fn resolve(wanted: &Value, now: CurrentMode) -> Result<u32, WrongMode> {
    let number = match wanted {
        Value::Str(text) => match octal(text) {
            Some(number) => number,
            None => return symbolic(text, now),
        },
        Value::Bool(truth) => Some(i64::from(*truth)),
        other => match other.as_int() {
            Some(number) => Some(number),
            None => return symbolic(&modbox_python_json::str(other), now),
        },
    };
    let bits = number.and_then(|number| u32::try_from(number).ok()).filter(|bits| *bits <= ALL);
    bits.ok_or_else(|| WrongMode::Bits(modbox_python_json::str(wanted)))
}

/// Formats a mode as Ansible does.
pub(super) fn written(mode: u32) -> String {
    format!("0{mode:03o}")
}

/// Reads octal digits as Python's `int(text, 8)` does. The inner `None` is a number too large for any mode.
fn octal(text: &str) -> Option<Option<i64>> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let after_prefix = digits.strip_prefix("0o").or_else(|| digits.strip_prefix("0O"));
    // One `_` may follow the prefix, and stand between digits.
    let digits = after_prefix.map_or(digits, |rest| rest.strip_prefix('_').unwrap_or(rest));
    let groups = digits.split('_');
    if groups.clone().any(|group| group.is_empty() || !group.bytes().all(|digit| (b'0'..=b'7').contains(&digit))) {
        return None;
    }
    let digits: String = groups.collect();
    Some(i64::from_str_radix(&digits, 8).ok().map(|number| if negative { -number } else { number }))
}

fn symbolic(text: &str, now: CurrentMode) -> Result<u32, WrongMode> {
    text.split(',').try_fold(now.mode & ALL, |mode, clause| {
        apply(clause, mode, now).ok_or_else(|| WrongMode::Form(format!("bad symbolic permission for mode: {clause}")))
    })
}

/// Applies one clause: classes, then operators with permissions.
fn apply(clause: &str, mut mode: u32, now: CurrentMode) -> Option<u32> {
    let start = clause.find(['+', '=', '-']).unwrap_or(clause.len());
    let (letters, mut rest) = clause.split_at(start);
    let all = [UserClass::User, UserClass::Group, UserClass::Others];
    let classes: Vec<UserClass> = match letters {
        "" | "a" => all.to_vec(),
        letters => letters.chars().map(class_of).collect::<Option<_>>()?,
    };
    let kept = if letters.is_empty() { !now.umask } else { ALL };
    while let Some(operator) = rest.chars().next() {
        let end = rest[1..].find(['+', '=', '-']).map_or(rest.len(), |at| at + 1);
        let permissions = &rest[1..end];
        for class in &classes {
            let mut bits = 0;
            for permission in permissions.chars() {
                bits |= bits_of(permission, *class, mode, now.directory, kept)?;
            }
            mode = match operator {
                '+' => mode | bits,
                '-' => mode & !bits,
                _ => (mode & !(0o7 << class.shift() | class.special())) | bits,
            };
        }
        rest = &rest[end..];
    }
    Some(mode)
}

fn class_of(letter: char) -> Option<UserClass> {
    match letter {
        'u' => Some(UserClass::User),
        'g' => Some(UserClass::Group),
        'o' => Some(UserClass::Others),
        _ => None,
    }
}

/// Returns the bits of one letter for one class, given the mode so far.
fn bits_of(permission: char, class: UserClass, mode: u32, directory: bool, kept: u32) -> Option<u32> {
    let of_mode = |other: UserClass| ((mode >> other.shift()) & 0o7) << class.shift();
    Some(match permission {
        'r' => (0o4 << class.shift()) & kept,
        'w' => (0o2 << class.shift()) & kept,
        'x' => (0o1 << class.shift()) & kept,
        'X' if directory || mode & 0o111 != 0 => 0o1 << class.shift(),
        'X' => 0,
        's' if class != UserClass::Others => class.special(),
        't' if class == UserClass::Others => class.special(),
        's' | 't' => 0,
        other => of_mode(class_of(other)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, mode: u32, expect: u32) {
        let now = CurrentMode { mode, directory: false, umask: 0o022 };
        assert_eq!(
            resolve(&wanted.into(), now),
            Ok(expect),
            "{wanted}: {:o}",
            resolve(&wanted.into(), now).unwrap_or(0)
        );
    }

    #[test]
    fn reads_octal_digits_as_python_does() {
        for (text, expect) in [("644", 0o644), ("0644", 0o644), (" 0o7_55 ", 0o755), ("+1777", 0o1777), ("0", 0)] {
            check(text, 0, expect);
        }
        let now = CurrentMode { mode: 0, directory: false, umask: 0 };
        for text in ["-1", "10000", "7777777777777777777777777777"] {
            assert_eq!(resolve(&text.into(), now), Err(WrongMode::Bits(text.to_owned())));
        }
        assert_eq!(resolve(&Value::from(420), now), Ok(0o644));
    }

    #[test]
    fn applies_clauses_from_left_to_right() {
        for (text, mode, expect) in [
            ("u=rwx,g=rx,o=", 0, 0o750),
            ("a+x,u-x", 0o644, 0o655),
            ("+w", 0o444, 0o644),
            ("=rw", 0o777, 0o644),
            ("g=u", 0o640, 0o660),
            ("ug+s,o+t", 0o755, 0o7755),
            ("u=rw", 0o4755, 0o655),
            ("go-rwx", 0o777, 0o700),
            ("u+rw-x", 0o100, 0o600),
            ("a+X", 0o600, 0o600),
            ("a+X", 0o700, 0o711),
            ("", 0o600, 0o600),
        ] {
            check(text, mode, expect);
        }
    }

    #[test]
    fn names_the_clause_that_is_wrong() {
        let now = CurrentMode { mode: 0, directory: false, umask: 0 };
        for clause in ["ua=r", "u=q", "rw", "8", "u=r w"] {
            let expect = WrongMode::Form(format!("bad symbolic permission for mode: {clause}"));
            assert_eq!(resolve(&format!("u=r,{clause}").as_str().into(), now), Err(expect));
        }
    }
}
