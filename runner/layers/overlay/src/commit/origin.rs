//! Whose a transaction is: the person's at the command line, or that of a program that makes runs under a policy of its own.
//!
//! Kept transactions are counted and undone by origin, so that one program neither takes back the work of a person nor
//! pushes it out of what is kept. modbox states the origin; a module cannot. This file does not decide who may undo
//! what.

use std::fmt;
use std::str::FromStr;

use super::journal_name::encode;

/// The word for the person.
const PERSON: &str = "person";

/// Longest name of a program.
const MAX_NAME: usize = 32;

/// Length of a digest in hexadecimal digits.
const DIGITS: usize = 64;

/// Whose a transaction is. Its text is `person`, or the name of a program and the digest of its policy with `:` between
/// them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Origin {
    /// The person at the command line.
    #[default]
    Person,
    /// A program that makes runs under a policy of its own.
    Caller(Caller),
}

/// Program that makes runs under a policy of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Caller {
    name: String,
    /// SHA-256, in lower-case hexadecimal digits.
    policy: String,
}

/// Text that names no origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown origin `{0}`; expected `person`, or a name of up to {MAX_NAME} lower-case letters, digits and `-`, which can be \
     followed by `:` and the beginning of a policy's digest"
)]
pub struct UnknownOrigin(String);

/// What is asked for: one origin, or all of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginPattern {
    /// The person.
    Person,
    /// Programs with this name and with policies whose digests begin so.
    Caller {
        /// The name.
        name: String,
        /// The beginning of the digest, in lower-case hexadecimal digits; empty for all.
        policy: String,
    },
}

impl Origin {
    /// Returns the origin of a program with this name under a policy with this digest (SHA-256).
    ///
    /// # Errors
    ///
    /// The name is not a short word, or it is that of the person.
    pub fn caller(name: &str, policy: &[u8; 32]) -> Result<Self, UnknownOrigin> {
        if !is_name(name) {
            return Err(UnknownOrigin(name.to_owned()));
        }
        Ok(Self::Caller(Caller { name: name.to_owned(), policy: encode(policy) }))
    }
}

impl OriginPattern {
    /// Returns whether an origin is meant.
    #[must_use]
    pub fn has(&self, origin: &Origin) -> bool {
        match (self, origin) {
            (Self::Person, Origin::Person) => true,
            (Self::Caller { name, policy }, Origin::Caller(caller)) => {
                caller.name == *name && caller.policy.starts_with(policy.as_str())
            }
            _ => false,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person => f.write_str(PERSON),
            Self::Caller(Caller { name, policy }) => write!(f, "{name}:{policy}"),
        }
    }
}

impl FromStr for Origin {
    type Err = UnknownOrigin;

    fn from_str(text: &str) -> Result<Self, UnknownOrigin> {
        match text.parse()? {
            OriginPattern::Person => Ok(Self::Person),
            OriginPattern::Caller { name, policy } if policy.len() == DIGITS => {
                Ok(Self::Caller(Caller { name, policy }))
            }
            OriginPattern::Caller { .. } => Err(UnknownOrigin(text.to_owned())),
        }
    }
}

impl FromStr for OriginPattern {
    type Err = UnknownOrigin;

    fn from_str(text: &str) -> Result<Self, UnknownOrigin> {
        if text == PERSON {
            return Ok(Self::Person);
        }
        let (name, policy) = text.split_once(':').unwrap_or((text, ""));
        let is_digit = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
        if !is_name(name) || policy.len() > DIGITS || !policy.bytes().all(is_digit) {
            return Err(UnknownOrigin(text.to_owned()));
        }
        Ok(Self::Caller { name: name.to_owned(), policy: policy.to_owned() })
    }
}

fn is_name(name: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_NAME).contains(&name.len()) && name != PERSON && !name.starts_with('-') && name.bytes().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_read_as_it_is_written() {
        for origin in [Origin::Person, Origin::caller("mcp", &[7; 32]).unwrap()] {
            assert_eq!(origin.to_string().parse(), Ok(origin));
        }
    }

    #[test]
    fn a_pattern_has_one_name_and_the_digests_that_begin_so() {
        let (mcp, other) = (Origin::caller("mcp", &[0xab; 32]).unwrap(), Origin::caller("cron", &[0xab; 32]).unwrap());
        for (text, expect) in [
            ("person", [true, false, false]),
            ("mcp", [false, true, false]),
            ("mcp:abab", [false, true, false]),
            ("mcp:ac", [false, false, false]),
            ("cron", [false, false, true]),
            ("mc", [false, false, false]),
        ] {
            let pattern: OriginPattern = text.parse().unwrap();
            assert_eq!([&Origin::Person, &mcp, &other].map(|origin| pattern.has(origin)), expect, "{text}");
        }
    }

    #[test]
    fn a_name_cannot_pass_for_the_person_or_for_a_switch() {
        for name in ["", "person", "-mcp", "MCP", "a:b", "a b", "a\n", &"a".repeat(33)] {
            Origin::caller(name, &[0; 32]).unwrap_err();
        }
        for text in ["mcp:xyz", "mcp:ABC", "person:ab", "mcp:", &format!("mcp:{}", "a".repeat(65))] {
            assert_eq!(text.parse::<OriginPattern>().is_ok(), text == "mcp:", "{text}");
            text.parse::<Origin>().unwrap_err();
        }
    }
}
