//! Limits of an evaluation. Templates come from people who write plays, and values from hosts; both may be hostile.

use std::time::Duration;

/// How many nodes of templates one evaluation may run.
pub(crate) const MAX_STEPS: u64 = 10_000_000;

/// How much processor time one evaluation may take: filters work on long values in one step.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(20);

/// How many templates may render each other. Deeper nesting is a loop in practice.
pub(crate) const MAX_TEMPLATES: u32 = 50;

/// How many levels of expressions and blocks may be open at once, over all templates of an evaluation. A level takes at
/// most two kilobytes of stack in a release build.
pub(crate) const MAX_LEVELS: u32 = 400;

/// How many bytes of text, and how many items of lists, one evaluation may produce.
pub(crate) const MAX_OUTPUT: u64 = 32 * 1024 * 1024;

/// How many bytes filters, methods, slices and lookups may make in one evaluation, whether they are kept or not.
pub(crate) const MAX_MADE: u64 = 256 * 1024 * 1024;

/// How many bytes an item of a list or dict counts for.
pub(crate) const ITEM_SIZE: usize = 8;

/// How many expressions, operations and statements may be open at once while a text is parsed. Python refuses more than 200
/// parentheses in each other, each of which is two of these. One takes less than two kilobytes of stack in a debug build.
pub(crate) const MAX_OPEN: u32 = 400;

/// How deep an expression may nest. A deeper one could not be run, see [`MAX_LEVELS`].
pub(crate) const MAX_NESTED: u32 = 1000;

/// How many bytes a text with templates may have.
pub(crate) const MAX_TEXT: usize = 4 * 1024 * 1024;

/// How many compiled templates an engine keeps.
pub(crate) const MAX_CACHED: usize = 65_536;
