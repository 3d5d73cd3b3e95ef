//! What the rounds have taught: options of `modbox run`, and arguments with absolute paths.

use std::ffi::OsString;

use modbox_contract::{Dict, Value};
use modbox_run::suggestion::RunRecord;
use modbox_vocabulary::quoting;

/// Options whose effects no copy contains.
const EFFECTS: [&str; 3] = ["--allow-net", "--allow-listen", "--allow-run"];

/// Options that grant something else. Every other one, such as `--allow-all`, gives up confinement and is not learned.
const GRANTS: [&str; 5] = ["--allow-read", "--allow-write", "--allow-own", "--allow-env", "--designate"];

/// The options and arguments that rounds have taught.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Learned {
    options: Vec<[String; 2]>,
    arguments: Dict,
}

/// What one round has taught.
#[derive(Debug, Default)]
pub(super) struct Lesson {
    /// Options and arguments for the next round, quoted for a shell.
    pub(super) new: Vec<String>,
    /// Options that are not taken, since they have real effects.
    pub(super) refused: Vec<String>,
}

impl Learned {
    /// Takes what a failed run names as missing. `task` has the arguments of the command line.
    pub(super) fn learn(&mut self, record: &RunRecord, task: &Dict, takes_effects: bool) -> Lesson {
        let mut lesson = Lesson::default();
        if record.succeeded {
            return lesson;
        }
        for missing in &record.missing {
            let Ok(words) = quoting::split(&missing.allow) else { continue };
            let (argument, options) = match words.split_first() {
                Some((argument, rest)) if !argument.starts_with("--") => (argument.split_once('='), rest),
                _ => (None, &words[..]),
            };
            if let Some((name, value)) = argument {
                self.learn_argument(name, value, task, &mut lesson);
            }
            if let [option, value] = options {
                self.learn_option([option.clone(), value.clone()], takes_effects, &mut lesson);
            }
        }
        lesson
    }

    fn learn_argument(&mut self, name: &str, value: &str, task: &Dict, lesson: &mut Lesson) {
        let value = Value::from(value);
        if task.contains_key(name) && self.arguments.get(name) != Some(&value) {
            lesson.new.push(format!("{name}={}", quoting::quote(value.as_str().unwrap_or_default())));
            self.arguments.insert(name.to_owned(), value);
        }
    }

    fn learn_option(&mut self, option: [String; 2], takes_effects: bool, lesson: &mut Lesson) {
        let shown = format!("{} {}", option[0], quoting::quote(&option[1]));
        let has_effects = EFFECTS.contains(&option[0].as_str());
        if has_effects && !takes_effects {
            if !lesson.refused.contains(&shown) {
                lesson.refused.push(shown);
            }
        } else if (has_effects || GRANTS.contains(&option[0].as_str())) && !self.options.contains(&option) {
            lesson.new.push(shown);
            self.options.push(option);
        }
    }

    /// Returns the number of options.
    pub(super) fn len(&self) -> usize {
        self.options.len()
    }

    /// Returns the same without one option.
    pub(super) fn without(&self, index: usize) -> Self {
        let mut fewer = self.clone();
        fewer.options.remove(index);
        fewer
    }

    /// Returns the arguments without any option.
    pub(super) fn arguments_alone(&self) -> Self {
        Self { options: Vec::new(), arguments: self.arguments.clone() }
    }

    /// Returns the options as words of the command line, one for each, so that a value can begin with a dash.
    pub(super) fn words(&self) -> impl Iterator<Item = OsString> {
        self.options.iter().map(|[option, value]| OsString::from(format!("{option}={value}")))
    }

    /// Returns the arguments of the command line, with the learned ones in their place.
    pub(super) fn applied(&self, mut task: Dict) -> Dict {
        task.extend(self.arguments.clone());
        task
    }

    /// Returns whether an option that a run names was learned and kept.
    pub(super) fn has(&self, allow: &str) -> bool {
        let words = quoting::split(allow).unwrap_or_default();
        let options = if words.first().is_some_and(|word| !word.starts_with("--")) { &words[1..] } else { &words };
        self.options.iter().any(|option| option == options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modbox_run::suggestion::Lacking;

    fn record(allows: &[&str]) -> RunRecord {
        let lacking = |allow: &&str| Lacking {
            capability: "read".to_owned(),
            subject: String::new(),
            cause: String::new(),
            allow: (*allow).to_owned(),
        };
        RunRecord { missing: allows.iter().map(lacking).collect(), ..RunRecord::default() }
    }

    #[test]
    fn options_are_learned_once_and_real_effects_only_on_request() {
        let task = Dict::from_iter([("path".to_owned(), Value::from("file"))]);
        let mut learned = Learned::default();
        for (allows, effects, new, refused) in [
            (&["--allow-read /a", "--allow-read /a", ""][..], false, &["--allow-read /a"][..], &[][..]),
            (&["--allow-read /a"], false, &[], &[]),
            (&["--allow-all", "--min-confinement 0", "--unknown x", "'"], true, &[], &[]),
            (&["--allow-net x:80", "--allow-run 'ls *'"], false, &[], &["--allow-net x:80", "--allow-run 'ls *'"]),
            (&["--allow-net x:80"], true, &["--allow-net x:80"], &[]),
            (&["path=/w/file --allow-write '/w/a b'"], false, &["path=/w/file", "--allow-write '/w/a b'"], &[]),
            (&["other=/w/file"], false, &[], &[]),
        ] {
            let lesson = learned.learn(&record(allows), &task, effects);
            assert_eq!(
                (lesson.new, lesson.refused),
                (new.iter().map(|it| (*it).to_owned()).collect(), refused.iter().map(|it| (*it).to_owned()).collect()),
                "{allows:?}"
            );
        }
        let words: Vec<OsString> = learned.words().collect();
        assert_eq!(words, ["--allow-read=/a", "--allow-net=x:80", "--allow-write=/w/a b"]);
        assert_eq!(learned.applied(task)["path"], Value::from("/w/file"));
        assert!(learned.has("path=/w/file --allow-write '/w/a b'") && !learned.has("--allow-read /b"));
        assert!(!learned.without(0).has("--allow-read /a"));
    }
}
