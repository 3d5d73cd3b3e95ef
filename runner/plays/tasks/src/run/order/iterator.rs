//! Which task comes next: through blocks, their rescues and what always runs, and through handlers.
//!
//! A stack of levels, one for each block that is open. A failure leaves levels until one has a rescue or something that
//! always runs. Nothing here runs tasks or evaluates conditions.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::model::block::{Block, Item};
use crate::model::task::Task;

/// The part of a block that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Tasks,
    Rescue,
    Always,
}

/// A block that is open.
#[derive(Debug)]
struct Level {
    part: Part,
    /// What is left of the part.
    items: VecDeque<Item>,
    rescue: Vec<Item>,
    always: Vec<Item>,
    has_rescue: bool,
    /// Whether the block failed, and was not rescued since.
    failed: bool,
}

/// The state of a play.
#[derive(Debug, Default)]
pub struct PlayIterator {
    levels: Vec<Level>,
    handlers: Option<VecDeque<Arc<Task>>>,
    failed: bool,
}

impl PlayIterator {
    /// Returns an iterator over the items of a play.
    #[must_use]
    pub fn new(items: Vec<Item>) -> Self {
        let bottom = Level {
            part: Part::Tasks,
            items: items.into(),
            rescue: Vec::new(),
            always: Vec::new(),
            has_rescue: false,
            failed: false,
        };
        Self { levels: vec![bottom], ..Self::default() }
    }

    /// Returns the next task. Handlers that were started come first.
    pub fn next_task(&mut self) -> Option<Arc<Task>> {
        if let Some(handlers) = &mut self.handlers {
            if let Some(handler) = handlers.pop_front() {
                return Some(handler);
            }
            self.handlers = None;
        }
        loop {
            let level = self.levels.last_mut()?;
            match level.items.pop_front() {
                Some(Item::Task(task)) => return Some(task),
                Some(Item::Block(block)) => self.levels.push(Level::of(&block)),
                None => self.end_part(),
            }
        }
    }

    /// Starts handlers, which run before the next task.
    pub fn start_handlers(&mut self, handlers: Vec<Arc<Task>>) {
        self.handlers = Some(handlers.into());
    }

    /// Says whether handlers are running.
    #[must_use]
    pub fn is_in_handlers(&self) -> bool {
        self.handlers.is_some()
    }

    /// Inserts what a dynamic include read, to run next.
    pub fn insert(&mut self, items: Vec<Item>) {
        if let Some(handlers) = &mut self.handlers {
            for item in items.into_iter().rev() {
                if let Item::Task(task) = item {
                    handlers.push_front(task);
                }
            }
        } else if let Some(level) = self.levels.last_mut() {
            for item in items.into_iter().rev() {
                level.items.push_front(item);
            }
        }
    }

    /// Records that the task that was returned last failed. Returns whether a block around it has a rescue.
    pub fn fail(&mut self) -> bool {
        let in_handlers = self.handlers.take().is_some();
        let rescuing = self
            .levels
            .iter()
            .enumerate()
            .any(|(depth, level)| level.has_rescue && (level.part == Part::Tasks || (in_handlers && depth == 0)));
        self.leave_failed();
        rescuing
    }

    /// Says whether the play failed, so that no further play runs on the host.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.failed
    }

    /// Ends the play without a failure. A rescue that is running counts as done.
    pub fn end(&mut self) {
        let rescuing = self.levels.last().is_some_and(|level| level.part == Part::Rescue);
        // The first level is the play's own, the second one that of the outermost block.
        self.failed |= !rescuing && self.levels.get(1).is_some_and(|level| level.failed);
        self.levels.clear();
        self.handlers = None;
    }

    /// Forgets failures, as `meta: clear_host_errors` does.
    pub fn clear_errors(&mut self) {
        self.failed = false;
        self.levels.iter_mut().for_each(|level| level.failed = false);
    }

    /// Drops the tasks that come next, as long as a function says so.
    pub fn skip_while(&mut self, mut skip: impl FnMut(&Arc<Task>) -> bool) {
        while let Some(task) = self.next_task() {
            if !skip(&task) {
                self.insert(vec![Item::Task(task)]);
                return;
            }
        }
    }

    /// Leaves levels that failed, until one has something to run.
    fn leave_failed(&mut self) {
        while let Some(level) = self.levels.last_mut() {
            level.failed = true;
            let next = match level.part {
                Part::Tasks if level.has_rescue => Some((Part::Rescue, std::mem::take(&mut level.rescue))),
                Part::Tasks | Part::Rescue if !level.always.is_empty() => {
                    Some((Part::Always, std::mem::take(&mut level.always)))
                }
                _ => None,
            };
            if let Some((part, items)) = next {
                level.part = part;
                level.items = items.into();
                return;
            }
            self.levels.pop();
        }
        self.failed = true;
    }

    /// Ends a part of the innermost level, whose items have all run.
    fn end_part(&mut self) {
        let Some(level) = self.levels.last_mut() else { return };
        match level.part {
            Part::Tasks | Part::Rescue => {
                level.failed = false;
                level.part = Part::Always;
                level.items = std::mem::take(&mut level.always).into();
            }
            Part::Always => {
                let failed = level.failed;
                self.levels.pop();
                if failed {
                    self.leave_failed();
                }
            }
        }
    }
}

impl Level {
    fn of(block: &Block) -> Self {
        Self {
            part: Part::Tasks,
            items: block.tasks.clone().into(),
            rescue: block.rescue.clone(),
            always: block.always.clone(),
            has_rescue: !block.rescue.is_empty(),
            failed: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::frame::{Frame, FrameKind};
    use crate::model::keywords::KeywordValues;
    use crate::model::task::{Args, TaskKind};
    use crate::vars::layer;
    use modbox_yaml::{Position, Source};

    fn frame() -> Arc<Frame> {
        Arc::new(Frame {
            kind: FrameKind::Play,
            keywords: KeywordValues::default(),
            vars: layer::empty(),
            outer: None,
            position: Position::start_of("x"),
        })
    }

    fn task(name: &'static str) -> Item {
        Item::Task(Arc::new(Task {
            action: Source::literal(name),
            args: Args::default(),
            lookup: None,
            loop_control: KeywordValues::default(),
            keywords: KeywordValues::default(),
            vars: layer::empty(),
            frame: frame(),
            position: Position::start_of("x"),
            kind: TaskKind::Task,
        }))
    }

    fn block(tasks: &[&'static str], rescue: &[&'static str], always: &[&'static str]) -> Item {
        let items = |names: &[&'static str]| names.iter().map(|name| task(name)).collect();
        Item::Block(Arc::new(Block {
            frame: frame(),
            tasks: items(tasks),
            rescue: items(rescue),
            always: items(always),
        }))
    }

    /// Runs the items; names that start with `!` fail. Returns the names that ran, and whether the play failed.
    fn run(items: Vec<Item>) -> (String, bool) {
        let mut iterator = PlayIterator::new(items);
        let mut names = Vec::new();
        while let Some(task) = iterator.next_task() {
            names.push(task.action_text().to_owned());
            if task.action_text().starts_with('!') {
                iterator.fail();
            }
        }
        (names.join(" "), iterator.is_failed())
    }

    #[test]
    fn failures_are_rescued_and_always_runs() {
        let check = |items: Vec<Item>, names: &str, failed: bool| assert_eq!(run(items), (names.to_owned(), failed));
        check(vec![task("a"), task("!b"), task("c")], "a !b", true);
        check(vec![block(&["!a", "b"], &["r"], &["w"]), task("c")], "!a r w c", false);
        check(vec![block(&["!a"], &["!r"], &["w"]), task("c")], "!a !r w", true);
        check(vec![block(&["!a"], &[], &["w"]), task("c")], "!a w", true);
        check(vec![block(&["a"], &["r"], &["!w", "v"]), task("c")], "a !w", true);
        check(vec![block(&["a"], &["r"], &[]), task("c")], "a c", false);
    }

    #[test]
    fn an_inner_failure_reaches_the_outer_rescue() {
        let inner = block(&["!a"], &[], &["w"]);
        let Item::Block(outer) = block(&["x"], &["r"], &["v"]) else { panic!("it is a block") };
        let mut outer = Block::clone(&outer);
        outer.tasks.insert(0, inner);
        let (names, failed) = run(vec![Item::Block(Arc::new(outer)), task("c")]);
        assert_eq!((names.as_str(), failed), ("!a w r v c", false));
    }

    #[test]
    fn included_tasks_and_handlers_run_next() {
        let mut iterator = PlayIterator::new(vec![task("a"), task("b")]);
        let next = |iterator: &mut PlayIterator| iterator.next_task().map(|task| task.action_text().to_owned());
        assert_eq!(next(&mut iterator).as_deref(), Some("a"));
        iterator.insert(vec![task("i"), task("j")]);
        assert_eq!(next(&mut iterator).as_deref(), Some("i"));
        let Item::Task(handler) = task("h") else { panic!("it is a task") };
        iterator.start_handlers(vec![handler]);
        assert_eq!(next(&mut iterator).as_deref(), Some("h"));
        iterator.insert(vec![task("k")]);
        assert_eq!(next(&mut iterator).as_deref(), Some("k"));
        assert_eq!(next(&mut iterator).as_deref(), Some("j"));
        assert_eq!(next(&mut iterator).as_deref(), Some("b"));
        assert_eq!(next(&mut iterator), None);
        assert!(!iterator.is_failed());
    }

    #[test]
    fn a_handler_that_fails_fails_what_it_interrupted() {
        let mut iterator = PlayIterator::new(vec![block(&["a", "b"], &["r"], &[]), task("c")]);
        let _ = iterator.next_task();
        let Item::Task(handler) = task("h") else { panic!("it is a task") };
        iterator.start_handlers(vec![handler]);
        let _ = iterator.next_task();
        assert!(iterator.fail());
        assert_eq!(iterator.next_task().map(|task| task.action_text().to_owned()).as_deref(), Some("r"));
    }
}
