//! The denial of a command that no rule covers.

use modbox_vocabulary::quoting::quote;
use modbox_vocabulary::{Capability, Denial, Operation};

use crate::outside::rule::OutsideRule;

/// Maximum length of a command in denials and reports, in bytes.
const MAX_SHOWN: usize = 4 << 10;

/// Formats a command for people: its words, quoted for a shell, shortened. What is not UTF-8 is replaced.
#[must_use]
pub fn shown_command(program: &str, arguments: &[impl AsRef<[u8]>]) -> String {
    let mut text = quote(program);
    for argument in arguments {
        if text.len() > MAX_SHOWN {
            break;
        }
        text = format!("{text} {}", quote(&String::from_utf8_lossy(argument.as_ref())));
    }
    if text.len() > MAX_SHOWN {
        text.truncate(text.floor_char_boundary(MAX_SHOWN));
        text.push('…');
    }
    text
}

/// Returns the denial of a command that no rule covers. Its option has the rule that covers exactly this command, unless no rule
/// can: for words that are not UTF-8 or have control characters, and for long commands.
#[must_use]
pub fn denied(program: &[u8], arguments: &[impl AsRef<[u8]>]) -> Denial {
    let subject = shown_command(&String::from_utf8_lossy(program), arguments);
    let words = || {
        let arguments = arguments.iter().map(AsRef::as_ref);
        let words = std::iter::once(program).chain(arguments).map(|word| str::from_utf8(word).ok().map(quote));
        words.collect::<Option<Vec<String>>>().map(|words| words.join(" "))
    };
    let rule = words().filter(|rule| rule.len() <= MAX_SHOWN && rule.parse::<OutsideRule>().is_ok());
    let allow = rule.map_or_else(String::new, |rule| format!("--allow-outside {}", quote(&rule)));
    Denial { capability: Capability::Outside, subject, operation: Operation::Run, allow }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outside::{BoundNames, OutsideGrant};

    fn check(words: &[&[u8]], subject: &str, allow: &str) {
        let denial = denied(words[0], &words[1..]);
        assert_eq!((denial.subject.as_str(), denial.allow.as_str()), (subject, allow));
    }

    #[test]
    fn a_denial_names_the_rule_that_is_missing() {
        check(
            &[b"/usr/sbin/useradd", b"-m", b"app"],
            "/usr/sbin/useradd -m app",
            "--allow-outside '/usr/sbin/useradd -m app'",
        );
        check(&[b"/bin/x", b"a\nb"], "/bin/x 'a\nb'", "");
        check(&[b"/bin/x", b"\xff"], "/bin/x '\u{fffd}'", "");
        let long = denied(b"/bin/x", &["x".repeat(5000)]);
        assert!(long.subject.ends_with('…') && long.subject.len() < 4200 && long.allow.is_empty());
    }

    #[test]
    fn the_rule_covers_this_command_alone() {
        let words = ["a b", "<unit>", "*", "(a|b)", "x>y", "it's", "", "--opt=<n>", "\\", "…", "<pkg>…"];
        let denial = denied(b"/bin/x", &words);
        let rule = denial.allow.strip_prefix("--allow-outside ").unwrap();
        let rule: OutsideRule = modbox_vocabulary::quoting::split(rule).unwrap()[0].parse().unwrap();
        let (names, source) = (BoundNames::default(), modbox_vocabulary::GrantSource::named("test"));
        let grant =
            OutsideGrant { rule, programs: vec!["/bin/x".into()], names, is_query: false, is_shipped: false, source };
        assert!(grant.covers("/bin/x", &words, "root").is_some());
        for (index, _) in words.iter().enumerate() {
            let mut others = words;
            others[index] = "nginx";
            assert!(grant.covers("/bin/x", &others, "root").is_none(), "{index}");
        }
    }
}
