//! One evaluation: the variables that it sees, what it read, and how much it may still do.
//!
//! Lazy containers hold it, so that the templates in them can be rendered when they are read. It ends with
//! [`Evaluation::finish`], which breaks the circles between variables that were read and containers that read them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use minijinja::Value;
use modbox_yaml::Position;

use crate::files::Files;
use crate::frame::Frame;
use crate::limits::{MAX_LEVELS, MAX_MADE, MAX_OUTPUT, MAX_STEPS, MAX_TEMPLATES, MAX_TIME};
use crate::machine::Machine;
use crate::marker::{Cause, Marker, Run, Stop, Trip};
use crate::origin::{Origin, Provenance};
use crate::processor_time::ProcessorTime;
use crate::scope::Scope;

/// The state of an evaluation.
#[derive(Debug)]
pub(crate) struct Evaluation {
    pub(crate) machine: Arc<Machine>,
    pub(crate) scope: Scope,
    /// Where other templates come from, if the evaluation is that of a file.
    pub(crate) files: Option<Files>,
    pub(crate) trip: Arc<Trip>,
    /// Whether the running filter may read markers from containers.
    accepts_markers: AtomicBool,
    /// Variables that were read.
    variables: Mutex<HashMap<Arc<str>, Value>>,
    provenance: Mutex<Provenance>,
    /// Scopes that macros hold.
    frames: Mutex<Vec<Arc<Frame>>>,
    steps: AtomicU64,
    time: ProcessorTime,
    levels: AtomicU32,
    templates: AtomicU32,
    /// The key that other code last looked for in a dict that does not have it.
    missing: Mutex<Option<Value>>,
    /// Where the template that runs begins.
    current: Mutex<Option<Position>>,
    output: AtomicU64,
    made: AtomicU64,
    limit: OnceLock<Arc<Marker>>,
}

impl Evaluation {
    pub(crate) fn new(machine: Arc<Machine>, scope: Scope, files: Option<Files>) -> Arc<Self> {
        Self::timed(machine, scope, files, ProcessorTime::start())
    }

    fn timed(machine: Arc<Machine>, scope: Scope, files: Option<Files>, time: ProcessorTime) -> Arc<Self> {
        Arc::new(Self {
            machine,
            scope,
            files,
            trip: Arc::default(),
            accepts_markers: AtomicBool::new(false),
            variables: Mutex::default(),
            provenance: Mutex::default(),
            frames: Mutex::default(),
            steps: AtomicU64::new(MAX_STEPS),
            time,
            levels: AtomicU32::new(0),
            templates: AtomicU32::new(0),
            missing: Mutex::default(),
            current: Mutex::default(),
            output: AtomicU64::new(MAX_OUTPUT),
            made: AtomicU64::new(MAX_MADE),
            limit: OnceLock::new(),
        })
    }

    /// Makes the evaluation of a file that a lookup of this one renders, which may do what is left of the limits.
    pub(crate) fn nested(&self, scope: Scope, files: Files) -> Arc<Self> {
        let inner = Self::timed(self.machine.clone(), scope, Some(files), self.time.shared());
        inner.steps.store(self.steps.load(Ordering::Relaxed), Ordering::Relaxed);
        inner.levels.store(self.levels.load(Ordering::Relaxed), Ordering::Relaxed);
        inner.templates.store(self.templates.load(Ordering::Relaxed), Ordering::Relaxed);
        inner.output.store(self.output.load(Ordering::Relaxed), Ordering::Relaxed);
        inner.made.store(self.made.load(Ordering::Relaxed), Ordering::Relaxed);
        inner
    }

    /// Ends a nested evaluation: counts what it did, and takes over what it read and the limit that it reached.
    pub(crate) fn absorb(&self, inner: &Self) {
        self.steps.store(inner.steps.load(Ordering::Relaxed), Ordering::Relaxed);
        self.output.store(inner.output.load(Ordering::Relaxed), Ordering::Relaxed);
        self.made.store(inner.made.load(Ordering::Relaxed), Ordering::Relaxed);
        if let Some(Stop(limit)) = inner.exceeded() {
            self.limit.get_or_init(|| limit);
        }
        let read = inner.finish();
        lock(&self.provenance).extend(&read);
    }

    /// Drops what was read, and returns the origins of it.
    pub(crate) fn finish(&self) -> Provenance {
        lock(&self.frames).drain(..).for_each(|frame| frame.clear());
        lock(&self.variables).clear();
        self.trip.take();
        std::mem::take(&mut lock(&self.provenance))
    }

    /// Adds an origin of what is read.
    pub(crate) fn read(&self, origin: &Origin) {
        lock(&self.provenance).insert(origin.clone());
    }

    /// Keeps a scope from outliving the evaluation, although a macro in it holds it.
    pub(crate) fn own(&self, frame: &Arc<Frame>) {
        lock(&self.frames).push(frame.clone());
    }

    pub(crate) fn known_variable(&self, name: &str) -> Option<Value> {
        lock(&self.variables).get(name).cloned()
    }

    pub(crate) fn keep_variable(&self, name: &str, value: &Value) {
        lock(&self.variables).insert(name.into(), value.clone());
    }

    pub(crate) fn marker(&self, cause: Cause, message: impl Into<Arc<str>>, at: &Position, line: u32) -> Arc<Marker> {
        self.marker_of(None, cause, message.into(), at, line)
    }

    fn marker_of(
        &self,
        name: Option<Arc<str>>,
        cause: Cause,
        message: Arc<str>,
        at: &Position,
        line: u32,
    ) -> Arc<Marker> {
        Arc::new(Marker { cause, message, name, at: at.clone(), line, trip: self.trip.clone() })
    }

    /// Makes the marker for a name, attribute or item that does not exist. `none` is a key without a name.
    pub(crate) fn missing_name(
        &self,
        name: &Value,
        message: impl Into<Arc<str>>,
        at: &Position,
        line: u32,
    ) -> Arc<Marker> {
        let name = (!name.is_none()).then(|| name.to_string().into());
        self.marker_of(name, Cause::Undefined, message.into(), at, line)
    }

    /// Counts a step.
    pub(crate) fn step(&self, at: &Position, line: u32) -> Run<()> {
        if self.steps.load(Ordering::Relaxed) == 0 || self.time.is_over(MAX_TIME) {
            return Err(self.exceed("the template runs for too long", at, line));
        }
        self.steps.fetch_sub(1, Ordering::Relaxed);
        self.limit.get().map_or(Ok(()), |limit| Err(Stop(limit.clone())))
    }

    /// Counts bytes or items that are made.
    pub(crate) fn produce(&self, size: usize, at: &Position, line: u32) -> Run<()> {
        let spent = spend(&self.output, size);
        spent.ok_or_else(|| self.exceed("the template makes too much output", at, line))
    }

    /// Counts bytes of values that are made on the way to the output.
    pub(crate) fn make(&self, size: usize, at: &Position, line: u32) -> Run<()> {
        let spent = spend(&self.made, size);
        spent.ok_or_else(|| self.exceed("the template makes too many values", at, line))
    }

    /// Counts bytes of a value that comes from elsewhere, in the template that runs.
    pub(crate) fn make_here(&self, size: usize) -> Run<()> {
        let at = self.current_position();
        self.make(size, &at, 1)
    }

    /// Opens a level of nesting.
    pub(crate) fn enter(&self, at: &Position, line: u32) -> Run<()> {
        if self.levels.fetch_add(1, Ordering::Relaxed) >= MAX_LEVELS {
            self.levels.fetch_sub(1, Ordering::Relaxed);
            return Err(self.exceed("Recursive loop detected in template: nested too deeply", at, line));
        }
        Ok(())
    }

    /// Closes a level of nesting.
    pub(crate) fn leave(&self) {
        self.levels.fetch_sub(1, Ordering::Relaxed);
    }

    /// Begins a template within others.
    pub(crate) fn begin_template(&self, at: &Position) -> Run<()> {
        if self.templates.fetch_add(1, Ordering::Relaxed) >= MAX_TEMPLATES {
            self.templates.fetch_sub(1, Ordering::Relaxed);
            let message = format!("Recursive loop detected in template: {MAX_TEMPLATES} templates render each other");
            // As in Python, a template that does not use the value may go on.
            return Err(Stop(self.marker(Cause::Failed, message, at, 1)));
        }
        *lock(&self.current) = Some(at.clone());
        Ok(())
    }

    /// Returns the beginning of the template that calls a filter.
    fn current_position(&self) -> Position {
        lock(&self.current).clone().unwrap_or_else(|| Position::start_of("<template>"))
    }

    /// Makes the marker for an item that a filter did not find.
    pub(crate) fn undefined_item(&self) -> Arc<Marker> {
        let at = self.current_position();
        let missing = lock(&self.missing).clone();
        let named = missing.and_then(|key| Some((modbox_jinja::values::repr(&key).ok()?, key)));
        match named {
            Some((shown, key)) => {
                self.missing_name(&key, format!("object of type 'dict' has no attribute {shown}"), &at, 1)
            }
            None => self.marker(Cause::Undefined, "an item is undefined", &at, 1),
        }
    }

    /// Makes the marker for what a filter did not find.
    pub(crate) fn absent(&self, reason: String) -> Arc<Marker> {
        let at = self.current_position();
        self.marker(Cause::Undefined, reason, &at, 1)
    }

    /// Makes the marker for an attribute or item that a filter did not find.
    pub(crate) fn absent_item(&self, key: &Value, reason: String) -> Arc<Marker> {
        let at = self.current_position();
        self.missing_name(key, reason, &at, 1)
    }

    /// Records that other code looked for a key that a dict does not have.
    pub(crate) fn miss(&self, key: &Value) {
        *lock(&self.missing) = Some(key.clone());
    }

    /// Ends a template within others.
    pub(crate) fn end_template(&self) {
        self.templates.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ends the evaluation: a limit cannot be settled by `default`.
    fn exceed(&self, message: &str, at: &Position, line: u32) -> Stop {
        let made = || self.marker(Cause::Limit, message, at, line);
        Stop(self.limit.get_or_init(made).clone())
    }

    /// Returns the limit that was reached.
    pub(crate) fn exceeded(&self) -> Option<Stop> {
        self.limit.get().cloned().map(Stop)
    }

    /// Sets whether reading a marker from a container is a use of it, and returns the old setting.
    pub(crate) fn accept_markers(&self, accept: bool) -> bool {
        self.accepts_markers.swap(accept, Ordering::Relaxed)
    }

    /// Records that other code reads a value from a container.
    pub(crate) fn hand_out(&self, value: Value) -> Value {
        if !self.accepts_markers.load(Ordering::Relaxed)
            && let Some(marker) = Marker::of(&value)
        {
            self.trip.set(&marker);
        }
        value
    }
}

/// Takes a size from what is left of a limit, if that is enough.
fn spend(left: &AtomicU64, size: usize) -> Option<()> {
    let size = u64::try_from(size).unwrap_or(u64::MAX);
    left.store(left.load(Ordering::Relaxed).checked_sub(size)?, Ordering::Relaxed);
    Some(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
