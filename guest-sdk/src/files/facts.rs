//! Adds the facts of a result's file, as ansible-core 2.19's `add_path_info` does. The file is `path`, or `dest` if
//! there is no `path`.

use modbox_python_json::{Dict, Value};

use crate::files::mode::written;
use crate::path_argument;
use crate::platform;

/// Adds owner, group, mode, state and size of the file that a result names, if it exists and is accessible.
pub(crate) fn add_file_facts(entries: &mut Dict) {
    let path = entries.get("path").or_else(|| entries.get("dest")).and_then(path_argument::path);
    let Some(path) = path.as_deref().filter(|_| platform::AVAILABLE) else { return };
    // A link without a target has no facts.
    let Ok(target) = crate::fs::real_path(path).and_then(|real| platform::stat(&real, false)) else { return };
    let Ok(found) = platform::stat(path, false) else { return };
    let state = match &found {
        found if found.target.is_some() => "link",
        found if found.directory => "directory",
        _ if target.links > 1 => "hard",
        _ => "file",
    };
    let name = |name: &Option<String>, id: u32| name.clone().unwrap_or_else(|| id.to_string());
    for (key, value) in [
        ("uid", Value::from(found.uid)),
        ("gid", Value::from(found.gid)),
        ("owner", name(&found.user, found.uid).into()),
        ("group", name(&found.group, found.gid).into()),
        ("mode", written(found.mode).into()),
        ("state", state.into()),
        ("size", found.size.into()),
    ] {
        entries.insert(key.to_owned(), value);
    }
}
