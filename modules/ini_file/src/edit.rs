//! Changes the lines: text in, text out.
//!
//! The file is split into the part before the section, the section with its header, and the rest. Options outside all
//! sections are a section without a header.

use crate::line::{Setting, is_head_of, says_nothing, setting};

/// A condition on the contents of a section.
pub(crate) struct Condition<'a> {
    pub(crate) option: &'a str,
    /// The allowed values. An empty list allows any value.
    pub(crate) values: &'a [String],
}

/// A change to make.
pub(crate) struct Edit<'a> {
    pub(crate) section: Option<&'a str>,
    pub(crate) conditions: Vec<Condition<'a>>,
    pub(crate) option: Option<&'a str>,
    pub(crate) present: bool,
    pub(crate) exclusive: bool,
    /// The text between an option and its value.
    pub(crate) equals: &'a str,
    pub(crate) ignore_spaces: bool,
    pub(crate) allow_no_value: bool,
    /// Whether lines that are comments count too.
    pub(crate) inactive: bool,
}

/// The lines of the section to change.
struct Section {
    /// Each line, with whether it was handled.
    lines: Vec<(String, bool)>,
    /// The number of header lines: one or, outside all sections, none.
    head: usize,
    changed: bool,
    message: &'static str,
}

impl Edit<'_> {
    /// Returns the new text, whether it changed, and what was done.
    pub(crate) fn apply(&self, before: &str, values: Vec<String>) -> (String, bool, &'static str) {
        let mut lines: Vec<String> = before.split_inclusive('\n').map(str::to_owned).collect();
        if lines.is_empty() {
            lines.push("\n".to_owned());
        }
        let unended = lines.last_mut().filter(|last| !last.ends_with('\n')).map(|last| last.push('\n')).is_some();
        let mut left: Vec<String> = Vec::new();
        for value in values {
            if !left.contains(&value) {
                left.push(value);
            }
        }
        let found = self.find(&lines);
        let (start, end, head) = found.unwrap_or_default();
        let tail = lines.split_off(end);
        let own = lines.split_off(start).into_iter().map(|line| (line, false)).collect();
        let mut section = Section { lines: own, head, changed: unended, message: "OK" };
        match (self.present, self.option) {
            (true, Some(option)) if found.is_some() => self.set(&mut section, option, &mut left),
            (true, _) => {}
            (false, Some(option)) => self.unset(&mut section, option, &left),
            (false, None) if found.is_some() => {
                section.lines.clear();
                section.done("section removed");
            }
            (false, None) => {}
        }
        lines.extend(section.lines.into_iter().map(|(line, _)| line).chain(tail));
        if found.is_none() && self.present {
            section.message = self.append(&mut lines, left);
            section.changed = true;
        }
        (lines.concat(), section.changed, section.message)
    }

    /// Returns start and end of the section, and the length of its header.
    fn find(&self, lines: &[String]) -> Option<(usize, usize, usize)> {
        let is_head = |line: &String| line.starts_with('[');
        let end_of =
            |start: usize| lines[start..].iter().position(is_head).map_or(lines.len(), |length| start + length);
        let Some(name) = self.section else {
            let end = end_of(0);
            return self.holds(&lines[..end]).then_some((0, end, 0));
        };
        let starts = (0..lines.len()).filter(|index| is_head_of(&lines[*index], name));
        starts.map(|start| (start, end_of(start + 1), 1)).find(|(start, end, _)| self.holds(&lines[*start..*end]))
    }

    fn holds(&self, lines: &[String]) -> bool {
        self.conditions.iter().all(|condition| {
            let fits = |found: Setting<'_>| {
                condition.values.is_empty() || condition.values.iter().any(|value| value == found.value)
            };
            lines.iter().any(|line| setting(line, condition.option).is_some_and(fits))
        })
    }

    fn setting<'l>(&self, line: &'l str, option: &str) -> Option<Setting<'l>> {
        setting(line, option).filter(|found| self.inactive || !found.inactive)
    }

    fn line(&self, option: &str, value: &str) -> String {
        format!("{option}{}{value}\n", self.equals)
    }

    /// Sets lines with a wanted value first, then other lines of the option, then new lines.
    fn set(&self, section: &mut Section, option: &str, left: &mut Vec<String>) {
        let bare = format!("{option}\n");
        let mut has_bare = false;
        for index in 0..section.lines.len() {
            let Some(value) = self.setting(&section.lines[index].0, option).map(|found| found.value.to_owned()) else {
                continue;
            };
            if let Some(place) = left.iter().position(|wanted| *wanted == value) {
                has_bare |= value.is_empty() && self.allow_no_value;
                let line = if has_bare && value.is_empty() { bare.clone() } else { self.line(option, &value) };
                self.update(section, index, option, line);
                left.remove(place);
            } else if left.is_empty() && self.allow_no_value {
                self.update(section, index, option, bare.clone());
                has_bare = true;
                break;
            }
        }
        if self.exclusive && !self.allow_no_value {
            self.set_others(section, option, left);
        }
        let last = section.lines.iter().rposition(|(line, _)| !says_nothing(line));
        let at = match last {
            Some(last) => last + 1,
            None => 0,
        };
        let mut new: Vec<String> = left.iter().map(|value| self.line(option, value)).collect();
        if left.is_empty() && self.allow_no_value && !has_bare {
            new.push(bare);
        }
        if !new.is_empty() {
            section.lines.splice(at..at, new.into_iter().map(|line| (line, true)));
            section.done("option added");
        }
    }

    /// Sets the other lines of the option: some get a wanted value, and the rest are removed.
    fn set_others(&self, section: &mut Section, option: &str, left: &mut Vec<String>) {
        for index in 0..section.lines.len() {
            let (line, done) = &section.lines[index];
            if !left.is_empty() && !done && self.setting(line, option).is_some() {
                let line = self.line(option, &left.remove(0));
                self.update(section, index, option, line);
            }
        }
        section.remove(|line, done| !done && active(line, option).is_some());
    }

    fn unset(&self, section: &mut Section, option: &str, values: &[String]) {
        let exclusive = self.exclusive;
        section.remove(|line, _| {
            active(line, option).is_some_and(|value| exclusive || values.iter().any(|wanted| wanted == value))
        });
    }

    fn update(&self, section: &mut Section, index: usize, option: &str, line: String) {
        let old = &section.lines[index].0;
        let same = match (setting(old, option), setting(&line, option)) {
            (Some(old), Some(new)) if self.ignore_spaces && !old.inactive => old.value == new.value,
            _ => *old == line,
        };
        if !same {
            section.lines[index].0 = line;
            section.done("option changed");
        }
        section.lines[index].1 = true;
    }

    /// Adds the section at the end, with all its required contents.
    fn append(&self, lines: &mut Vec<String>, mut left: Vec<String>) -> &'static str {
        lines.push(format!("[{}]\n", self.section.unwrap_or_default()));
        for condition in &self.conditions {
            if Some(condition.option) != self.option {
                lines.extend(condition.values.iter().map(|value| self.line(condition.option, value)));
                if condition.values.is_empty() && self.allow_no_value {
                    lines.push(format!("{}\n", condition.option));
                }
            } else if !self.exclusive {
                for value in condition.values {
                    if !left.contains(value) {
                        left.push(value.clone());
                    }
                }
            }
        }
        match self.option {
            Some(option) if !left.is_empty() => lines.extend(left.iter().map(|value| self.line(option, value))),
            Some(option) if self.allow_no_value => lines.push(format!("{option}\n")),
            _ => return "only section added",
        }
        "section and option added"
    }
}

impl Section {
    fn done(&mut self, message: &'static str) {
        self.changed = true;
        self.message = message;
    }

    fn remove(&mut self, goes: impl Fn(&str, bool) -> bool) {
        let (before, head) = (self.lines.len(), self.head);
        let mut index = 0;
        self.lines.retain(|(line, done)| {
            index += 1;
            index <= head || !goes(line, *done)
        });
        if self.lines.len() < before {
            self.done("option changed");
        }
    }
}

/// Returns the value of an option in a line that is not a comment.
fn active<'a>(line: &'a str, option: &str) -> Option<&'a str> {
    setting(line, option).filter(|found| !found.inactive).map(|found| found.value)
}
