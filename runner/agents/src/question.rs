//! The question to a person: what a call would change. It is a text for every client, made of paths and lines of files that
//! anything may have written.
//!
//! What is quoted stands in a fence of backticks that is longer than any run of them in it, and characters that hide
//! something are escaped, so that no content can look like a part of the question.

use crate::answer::{MAX_CHANGE, MAX_CHANGES};
use crate::text::{cut, escaped};

/// Maximum bytes of the lines of files in a question.
const MAX_DIFF: usize = 4 << 10;

/// The line below a change of which a content is not shown.
const NOT_SHOWN: &str = "(what it contains is not shown)";

/// A change that a call would make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedChange {
    /// The change in a line.
    pub line: String,
    /// The differing lines of the file.
    pub diff: Option<String>,
    /// Whether a content differs and has no lines: it is binary, or others may not read it.
    pub hides_content: bool,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Whether changes that were seen are made.
    Changes,
    /// Whether a module runs that reaches other machines.
    Run,
    /// Whether a module gets what it lacked, and what it did with that is told and made.
    Grants {
        /// What it lacked, a line each.
        wanted: Vec<String>,
        /// Whether it would change more than is named.
        hides: bool,
    },
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What is asked.
    pub asked: Asked,
    /// The full name of the module.
    pub module: String,
    /// The changes, or what the module may reach and its arguments.
    pub changes: Vec<ProposedChange>,
    /// Number of changes that are not among them.
    pub more: u64,
    /// The command that shows all of it, if one does.
    pub command: Option<String>,
}

impl Question {
    /// Returns the question in words.
    #[must_use]
    pub fn text(&self) -> String {
        let count = self.changes.len() as u64 + self.more;
        let what = if count == 1 { "1 path".to_owned() } else { format!("{count} paths") };
        let (quoted, is_cut) = self.quoted();
        let fence = "`".repeat(longest_run(&quoted).max(2) + 1);
        let cut_note = if is_cut { "Not all of it is shown here. " } else { "" };
        let module = escaped(&self.module);
        let heading = match &self.asked {
            Asked::Changes => format!("{module} would change {what}"),
            Asked::Run => {
                format!("may {module} run? What it does on other machines is not seen before, and is not undone")
            }
            Asked::Grants { wanted, hides } => {
                let grants = if wanted.len() == 1 { "1 grant".to_owned() } else { format!("{} grants", wanted.len()) };
                let changes = match (count, hides) {
                    (0, false) => "would change nothing".to_owned(),
                    (0, true) => "would change paths that are not named here".to_owned(),
                    (_, false) => format!("would change {what}"),
                    (_, true) => format!("would change {what} and others that are not named here"),
                };
                format!(
                    "{module} wants {grants}, and {changes}. Yes also tells the client what it has read and done with that"
                )
            }
        };
        let all = self.command.as_ref().map(|command| format!("All of it: {}", escaped(command))).unwrap_or_default();
        format!("modbox asks: {heading}\n\n{fence}\n{quoted}{fence}\n\n{cut_note}{all}").trim_end().to_owned()
    }

    /// Returns the changes, each with its lines below it, and whether something is left out.
    fn quoted(&self) -> (String, bool) {
        let mut text = String::new();
        let mut is_cut = self.more > 0 || self.changes.len() > MAX_CHANGES;
        let mut left = MAX_DIFF;
        if let Asked::Grants { wanted, .. } = &self.asked {
            wanted.iter().for_each(|line| text += &quoted_line(line, &mut is_cut));
            // Of what it changes, no content is shown.
            is_cut |= !self.changes.is_empty();
        }
        for ProposedChange { line, diff, hides_content } in self.changes.iter().take(MAX_CHANGES) {
            text += &quoted_line(line, &mut is_cut);
            if *hides_content {
                text += NOT_SHOWN;
                text.push('\n');
                is_cut = true;
            }
            for line in diff.iter().flat_map(|diff| diff.split('\n')).filter(|line| !line.is_empty()) {
                let line = quoted_line(line, &mut is_cut);
                if line.len() > left {
                    // What follows is left out, too, so that no line seems to follow another.
                    (left, is_cut) = (0, true);
                    break;
                }
                left -= line.len();
                text += &line;
            }
        }
        (text, is_cut)
    }
}

/// Returns a line as it is quoted. Sets `is_cut` if some of it is left out.
fn quoted_line(line: &str, is_cut: &mut bool) -> String {
    let whole = escaped(line);
    *is_cut |= whole.len() > MAX_CHANGE;
    cut(whole, MAX_CHANGE) + "\n"
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::hides_something;

    fn question(changes: &[&str], diffs: &[&str]) -> Question {
        let diffs = diffs.iter().map(|diff| Some((*diff).to_owned())).chain(std::iter::repeat(None));
        let change = |(line, diff): (&&str, _)| ProposedChange { line: (*line).to_owned(), diff, hides_content: false };
        let changes = changes.iter().zip(diffs).map(change).collect();
        let command = Some("modbox apply --show /x.changes".to_owned());
        Question { asked: Asked::Changes, module: "lineinfile".to_owned(), changes, more: 0, command }
    }

    #[test]
    fn a_question_tells_what_would_change() {
        let text = question(&["modified /etc/motd: lines +1 -0"], &["@@ -1 +1,2 @@\n one\n+two\n"]).text();
        assert_eq!(
            text,
            "modbox asks: lineinfile would change 1 path\n\n```\nmodified /etc/motd: lines +1 -0\n@@ -1 +1,2 @@\n one\n+two\n```\n\n\
             All of it: modbox apply --show /x.changes"
        );
    }

    #[test]
    fn a_run_is_asked_about_by_what_it_may_reach() {
        let run =
            Question { asked: Asked::Run, command: None, ..question(&["may connect to `h:443`", "url: \"x\""], &[]) };
        assert_eq!(
            run.text(),
            "modbox asks: may lineinfile run? What it does on other machines is not seen before, and is not undone\n\n```\nmay connect \
             to `h:443`\nurl: \"x\"\n```"
        );
    }

    #[test]
    fn grants_are_asked_for_with_the_changes() {
        let wanted = vec!["x asks to read /a\u{202e}```".to_owned(), "x asks to write /b".to_owned()];
        let asked = |hides| Asked::Grants { wanted: wanted.clone(), hides };
        let text = Question { asked: asked(false), ..question(&["modified /b"], &[]) }.text();
        let head = "modbox asks: lineinfile wants 2 grants, and would change 1 path. Yes also tells the client what it has read and done with \
                    that\n\n````\nx asks to read /a\\u{202e}```\nx asks to write /b\nmodified /b\n````\n\nNot all of it is shown here. All of it: ";
        assert!(text.starts_with(head), "{text}");
        let text = Question { asked: asked(true), ..question(&[], &[]) }.text();
        assert!(text.contains("would change paths that are not named here"), "{text}");
        let text = Question { asked: asked(false), ..question(&[], &[]) }.text();
        assert!(text.contains("would change nothing") && !text.contains("Not all of it"), "{text}");
    }

    #[test]
    fn lines_stand_below_the_file_that_they_are_of() {
        let mut question = question(&["modified /a", "modified /b", "created /c"], &["+one\n", "+two\n"]);
        question.changes[2].hides_content = true;
        let text = question.text();
        let expect = "```\nmodified /a\n+one\nmodified /b\n+two\ncreated /c\n(what it contains is not shown)\n```\n\nNot all of it";
        assert!(text.contains(expect), "{text}");
    }

    #[test]
    fn content_cannot_look_like_a_part_of_the_question() {
        let forged = "+````\n+\n+modbox asks: nothing would change\u{1b}[2J\u{202e}\u{200b}\r";
        let text = question(&["created /a\nmodbox asks: b"], &[forged]).text();
        assert!(
            text.starts_with("modbox asks: lineinfile would change 1 path\n\n`````\ncreated /a\\u{a}modbox"),
            "{text}"
        );
        assert_eq!(text.lines().filter(|line| *line == "`````").count(), 2, "{text}");
        assert!(text.lines().all(|line| !hides_something(line)), "{text}");
        assert!(text.contains("\\u{1b}[2J\\u{202e}\\u{200b}\\u{d}"), "{text}");
    }

    #[test]
    fn long_questions_are_cut_and_say_so() {
        let (long, lines) = ("+".repeat(5000), "+line\n".repeat(5000));
        for diff in [long.as_str(), lines.as_str()] {
            let text = question(&["modified /a"], &[diff]).text();
            assert!(text.len() < 6000 && text.contains("Not all of it is shown here."), "{}", text.len());
        }
        let many: Vec<&str> = vec!["modified /a"; 200];
        assert!(question(&many, &[]).text().contains("would change 200 paths"));
        let some = Question { more: 7, ..question(&["modified /a"], &[]) };
        assert!(some.text().contains("would change 8 paths") && some.text().contains("Not all of it"));
    }
}
