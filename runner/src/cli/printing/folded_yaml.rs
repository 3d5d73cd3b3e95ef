//! YAML whose lines are short enough for the checkers of Ansible: `ansible-test sanity` allows 160 characters.
//!
//! A writer of YAML puts each text on one line. A break in a text means a space, so a long line is broken at a space. What the
//! text says is compared afterwards, since in some forms of YAML a break means something else.

use modbox_python_json::Value;

/// Longest line, in characters.
const MAX: usize = 140;

/// Returns YAML that says the same in lines of at most [`MAX`] characters, as far as that can be.
pub(crate) fn folded(yaml: &str) -> String {
    let lines: Vec<String> = yaml.lines().map(folded_line).collect();
    let folded = lines.join("\n") + "\n";
    let read = |text: &str| serde_saphyr::from_str::<Value>(text).ok();
    if read(&folded) == read(yaml) { folded } else { yaml.to_owned() }
}

/// Breaks a line before words that begin with a letter; anything else could begin another thing than text.
fn folded_line(line: &str) -> String {
    let indent = line.len() - line.trim_start().len() + 2;
    let (mut folded, mut length) = (String::new(), 0);
    for (number, word) in line.split(' ').enumerate() {
        let size = word.chars().count();
        let can_break = word.starts_with(|first: char| first.is_alphabetic()) && !folded.ends_with(' ');
        if number > 0 && can_break && length + 1 + size > MAX {
            folded.push('\n');
            folded.push_str(&" ".repeat(indent));
            length = indent;
        } else if number > 0 {
            folded.push(' ');
            length += 1;
        }
        folded.push_str(word);
        length += size;
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(yaml: &str, lines: usize) {
        let made = folded(yaml);
        let read = |text: &str| serde_saphyr::from_str::<Value>(text).unwrap();
        assert_eq!(read(&made), read(yaml), "{made}");
        assert_eq!(made.lines().count(), lines, "{made}");
    }

    #[test]
    fn long_texts_are_broken_and_say_the_same() {
        let long = "Some words that are repeated. ".repeat(12);
        let long = long.trim_end();
        check("a: b\nc:\n- d\n", 3);
        check(&format!("description:\n- {long}\n- short\n"), 5);
        check(&format!("description:\n- \"{long}: `x`\"\n"), 4);
        check(&format!("a:\n  b: '{long}: it''s'\n  c: d\n"), 5);
    }

    #[test]
    fn what_cannot_be_broken_stays() {
        let long = "words ".repeat(40);
        check(&format!("a: |\n  {long}\nb: c\n"), 3);
        check(&format!("a: {}\n", "x".repeat(300)), 2);
    }
}
