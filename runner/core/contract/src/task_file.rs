//! The arguments file of a task, written without a dict of all arguments in between.

use modbox_python_json::{Dict, Value, to_json};
use serde::{Serialize, Serializer};

use crate::internal_args::InternalArgs;
use crate::internal_keys::InternalKeys;
use crate::release::Release;

/// The arguments of a task, then the reserved ones. No key is in both.
#[derive(Serialize)]
struct TaskFile<'a> {
    #[serde(flatten)]
    args: Entries<'a>,
    #[serde(flatten)]
    internal: InternalKeys<'a>,
}

/// Entries of a dict in an order of their own.
struct Entries<'a>(Vec<(&'a String, &'a Value)>);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

/// Returns the file's text. `args` has no reserved key. ansible-core 2.19 sorts the task's arguments by name; older
/// releases keep their order.
pub(crate) fn encode(args: &Dict, internal: &InternalArgs, tmpdir: &str) -> String {
    let mut entries: Vec<_> = args.iter().collect();
    if internal.release >= Release::V2_19 {
        entries.sort_unstable_by_key(|(key, _)| *key);
    }
    let file = TaskFile { args: Entries(entries), internal: internal.keys(Some(tmpdir)) };
    to_json(&file).expect("every argument has a JSON form")
}
