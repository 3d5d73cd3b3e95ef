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
    if !is_block(map) {
        return task::read(loader, entry, frame, handlers);
    }
    if handlers {
        check_handlers(loader, map)?;
    }
    read_block(loader, entry, map, frame, handlers)
}

/// Says whether an entry of a list of tasks is a block.
fn is_block(map: &Map) -> bool {
    PARTS.iter().any(|key| map.get(key).is_some())
}

/// Checks a block around handlers. Ansible takes blocks at the top of a list alone. It reads `rescue` and `always` of them and never
/// runs these (ansible-core 2.21, `PlayIterator`), nor finds what is notified there.
fn check_handlers(loader: &Loader<'_>, map: &Map) -> Result<(), LoadError> {
    let parts = || PARTS.iter().filter_map(|part| Some((*part, map.get(part).filter(|source| !source.is_null())?)));
    for (part, source) in parts().filter(|(part, _)| *part != "block") {
        loader.warn(format!("{}: handlers of a block do not run its `{part}`", source.position()));
    }
    let inner = |(_, source)| Source::as_list(source).unwrap_or_default();
    match parts().flat_map(inner).find(|entry| entry.as_map().is_some_and(is_block)) {
        Some(entry) => {
            let text = "Using a block as a handler is not supported; write its tasks into the outer block".to_owned();
            Err(LoadError::new(entry.position(), Problem::Other(text)))
        }
        None => Ok(()),
    }
}

const PARTS: [&str; 3] = ["block", "rescue", "always"];

fn read_block(
    loader: &Loader<'_>,
    entry: &Source,
    map: &Map,
    frame: &Arc<Frame>,
    handlers: bool,
) -> Result<Draft, LoadError> {
    for part in ["rescue", "always"] {
        if map.get(part).is_some() && map.get("block").is_none_or(Source::is_null) {
            let (keyword, other) = (part.to_owned(), "an empty `block`".to_owned());
            let problem = Problem::Conflict { keyword, other, remedy: "write the tasks below `block`" };
            return Err(LoadError::new(entry.position(), problem));
        }
    }
    let own = Arc::new(frame_of(loader, map, frame, entry, &PARTS));
    templates::check_frame(loader, &own, map.get("vars"));
    let part = |name: &str| map.get(name).map(|source| read(loader, source, &own, handlers)).unwrap_or_default();
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
