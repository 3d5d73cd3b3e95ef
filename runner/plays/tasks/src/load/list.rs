//! Reading lists of tasks and blocks into drafts.

use std::sync::Arc;

use modbox_yaml::{Map, Source};

use crate::error::{LoadError, Problem};
use crate::keywords::Place;
use crate::load::context::Loader;
use crate::load::draft::{Draft, DraftBlock};
use crate::load::{task, templates, values};
use crate::model::frame::{Frame, FrameKind};

/// Reads a list of tasks and blocks. Errors are reported to the loader; entries that have them are left out.
#[must_use]
pub fn read(loader: &Loader<'_>, source: &Source, frame: &Arc<Frame>, handlers: bool) -> Vec<Draft> {
    if source.is_null() {
        return Vec::new();
    }
    let Some(entries) = source.as_list() else {
        loader.report(values::wrong_type(source, "tasks", "a list of tasks"));
        return Vec::new();
    };
    entries.iter().filter_map(|entry| loader.check(read_entry(loader, entry, frame, handlers))).collect()
}

fn read_entry(loader: &Loader<'_>, entry: &Source, frame: &Arc<Frame>, handlers: bool) -> Result<Draft, LoadError> {
    let map = values::map(entry, "task")?;
    if !["block", "rescue", "always"].iter().any(|key| map.get(key).is_some()) {
        return task::read(loader, entry, frame, handlers);
    }
    if handlers {
        let reason = "a handler cannot be a block; use `include_tasks` as the handler".to_owned();
        return Err(LoadError::new(entry.position(), Problem::Refused { keyword: "block".to_owned(), reason }));
    }
    read_block(loader, entry, map, frame)
}

fn read_block(loader: &Loader<'_>, entry: &Source, map: &Map, frame: &Arc<Frame>) -> Result<Draft, LoadError> {
    const PARTS: [&str; 3] = ["block", "rescue", "always"];
    for part in ["rescue", "always"] {
        if map.get(part).is_some() && map.get("block").is_none_or(Source::is_null) {
            let (keyword, other) = (part.to_owned(), "an empty `block`".to_owned());
            let problem = Problem::Conflict { keyword, other, remedy: "write the tasks below `block`" };
            return Err(LoadError::new(entry.position(), problem));
        }
    }
    let own = Arc::new(frame_of(loader, map, frame, entry, &PARTS));
    templates::check_frame(loader, &own, map.get("vars"));
    let part = |name: &str| map.get(name).map(|source| read(loader, source, &own, false)).unwrap_or_default();
    let takes_errors = map.get("rescue").is_some_and(|rescue| !rescue.is_null());
    let tasks = if takes_errors { loader.templates.within_rescue(|| part("block")) } else { part("block") };
    // What `rescue` has is reached only after an error.
    let rescue = loader.templates.within_rescue(|| part("rescue"));
    let always = part("always");
    Ok(Draft::Block(DraftBlock { frame: own, tasks, rescue, always }))
}

/// Returns the frame of a block's keywords.
#[must_use]
pub fn frame_of(loader: &Loader<'_>, map: &Map, outer: &Arc<Frame>, entry: &Source, parts: &[&str]) -> Frame {
    let mut skipped = parts.to_vec();
    skipped.push("vars");
    Frame {
        kind: FrameKind::Block,
        keywords: task::read_keywords(loader, Place::Block, map, &skipped),
        vars: values::vars(loader, map.get("vars")),
        outer: Some(Arc::clone(outer)),
        position: entry.position().clone(),
    }
}
