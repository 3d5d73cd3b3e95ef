//! Tags: which tasks run.

use std::collections::BTreeSet;

use modbox_python_json::Value;
use modbox_template::{Engine, Scope};

use crate::fields::{FieldError, Fields};
use crate::keywords::Keyword;
use crate::model::task::{ImplicitTask, Task, TaskKind};

/// The tags that the operator chose.
#[derive(Debug, Clone, Default)]
pub struct TagChoice {
    /// Tags of tasks to run; empty for all.
    pub only: Vec<String>,
    /// Tags of tasks not to run.
    pub skip: Vec<String>,
}

impl TagChoice {
    /// Says whether a task with these tags runs.
    #[must_use]
    pub fn runs(&self, tags: &BTreeSet<String>) -> bool {
        let untagged = BTreeSet::from(["untagged".to_owned()]);
        let has_tags = !tags.is_empty();
        let tags = if has_tags { tags } else { &untagged };
        let has = |tag: &str| tags.contains(tag);
        let all = ["all".to_owned()];
        let only = if self.only.is_empty() { &all[..] } else { &self.only };
        let chosen = |list: &[String], tag: &str| list.iter().any(|chosen| chosen == tag);
        let runs = has("always")
            || (chosen(only, "all") && !has("never"))
            || only.iter().any(|tag| has(tag))
            || (chosen(only, "tagged") && has_tags && !has("never"));
        if !runs || self.skip.is_empty() {
            return runs;
        }
        if chosen(&self.skip, "all") {
            return has("always") && !chosen(&self.skip, "always");
        }
        !(self.skip.iter().any(|tag| has(tag)) || (chosen(&self.skip, "tagged") && has_tags))
    }
}

/// Returns the tags of a task: its own, and those of everything around it.
///
/// # Errors
///
/// A template in the tags fails.
pub fn of_task(engine: &Engine, scope: &Scope, task: &Task) -> Result<BTreeSet<String>, FieldError> {
    let mut tags = BTreeSet::new();
    match task.kind {
        TaskKind::Implicit(ImplicitTask::GatherFacts | ImplicitTask::ValidatePlay) => {
            // A play begins with these for any choice of tags, unless it has tags itself.
            if task.frame.collected(Keyword::Tags).is_empty() {
                tags.insert("always".to_owned());
            }
        }
        TaskKind::Implicit(_) => drop(tags.insert("always".to_owned())),
        TaskKind::Task | TaskKind::Handler(_) => {}
    }
    let fields = Fields { engine, scope };
    for source in task.collected(Keyword::Tags) {
        match fields.source(Keyword::Tags, source)? {
            // Only a text that is written with commas is a list (ansible-core 2.21, `Taggable._load_tags`).
            Some(Value::Str(text)) if source.as_text().is_some_and(|written| written.contains(',')) => {
                tags.extend(text.split(',').map(|tag| tag.trim().to_owned()));
            }
            Some(value) => collect(&value, &mut tags),
            None => {}
        }
    }
    Ok(tags)
}

/// Adds the tags of a value: one, or a list of them.
fn collect(value: &Value, tags: &mut BTreeSet<String>) {
    match value {
        Value::List(items) => items.iter().for_each(|item| collect(item, tags)),
        Value::Null => {}
        other => drop(tags.insert(modbox_python_json::str(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_choose_tasks_as_in_ansible() {
        let check = |only: &str, skip: &str, tags: &str, expect: bool| {
            let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let choice = TagChoice { only: list(only), skip: list(skip) };
            let tags = list(tags).into_iter().collect();
            assert_eq!(choice.runs(&tags), expect, "only {only}, skip {skip}, tags {tags:?}");
        };
        check("", "", "", true);
        check("", "", "never", false);
        check("", "", "a never", false);
        check("a", "", "a never", true);
        check("a", "", "b", false);
        check("a", "", "b always", true);
        check("tagged", "", "", false);
        check("tagged", "", "x", true);
        check("tagged", "", "x never", false);
        check("untagged", "", "", true);
        check("untagged", "", "x", false);
        check("all", "a", "a b", false);
        check("all", "tagged", "a", false);
        check("all", "tagged", "", true);
        check("all", "untagged", "", false);
        check("", "all", "", false);
        check("", "all", "always", true);
        check("", "all always", "always", false);
        check("", "always", "always", false);
        check("never", "", "never", true);
    }
}
