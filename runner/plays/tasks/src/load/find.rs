//! Finding files of plays and roles, in the order in which Ansible looks for them.

use crate::files::PlayFiles;
use crate::paths;

/// Returns the first path of a list that something lies at, or the last one if nothing does.
#[must_use]
pub fn first_or_last(files: &dyn PlayFiles, candidates: &[String]) -> Option<String> {
    candidates.iter().find(|path| files.exists(path)).or_else(|| candidates.last()).cloned()
}

/// Lists the places where a file can be that a play or a role names, most preferred first.
///
/// `folder` is that of the play or the role, `kind` the name of the folder in it for such files, such as `tasks`, and
/// `base` the folder of the playbook.
#[must_use]
pub fn relative(files: &dyn PlayFiles, folder: &str, kind: &str, name: &str, base: &str, role: bool) -> Vec<String> {
    if name.starts_with('/') || name.starts_with('~') {
        return vec![paths::normalize(name)];
    }
    let role = role || is_role(files, folder);
    let own = if role && ends_in_tasks(folder) { paths::parent(folder) } else { folder };
    let mut candidates = vec![
        paths::join(&paths::join(folder, kind), name),
        paths::normalize(&paths::join(&paths::join(own, kind), name)),
    ];
    if role && !name.ends_with(kind) {
        candidates.push(paths::normalize(&paths::join(&paths::join(own, "tasks"), name)));
    }
    candidates.push(paths::normalize(&paths::join(own, name)));
    candidates.push(paths::normalize(&paths::join(&paths::join(base, kind), name)));
    candidates.push(paths::normalize(&paths::join(base, name)));
    candidates
}

/// Lists the places where a file can be for a task: in each folder of its search path, first in the folder for such
/// files.
#[must_use]
pub fn stack(files: &dyn PlayFiles, search: &[String], kind: &str, name: &str, base: &str) -> Vec<String> {
    if name.starts_with('/') || name.starts_with('~') {
        return vec![paths::normalize(name)];
    }
    let named = name.split('/').next() == Some(kind);
    let mut candidates = Vec::new();
    for folder in search {
        let folder = paths::normalize(folder);
        let above = paths::parent(&folder);
        if above.ends_with("/tasks") && is_role(files, &folder) {
            candidates.push(paths::join(&paths::join(paths::parent(above), kind), name));
            candidates.push(paths::join(above, name));
        }
        if !named {
            candidates.push(paths::join(&paths::join(&folder, kind), name));
        }
        candidates.push(paths::join(&folder, name));
    }
    if !named {
        candidates.push(paths::join(&paths::join(base, kind), name));
    }
    candidates.push(paths::join(base, name));
    candidates
}

/// Says whether a folder is that of a role, or the folder of tasks in one.
fn is_role(files: &dyn PlayFiles, folder: &str) -> bool {
    const MAINS: [&str; 3] = ["main.yml", "main.yaml", "main"];
    let normal = paths::normalize(folder);
    let inside =
        |base: &str, kind: &str| MAINS.iter().any(|main| files.exists(&paths::join(&paths::join(base, kind), main)));
    let above = paths::parent(&normal);
    (ends_in_tasks(folder) && MAINS.iter().any(|main| files.exists(&paths::join(folder, main))))
        || [normal.as_str(), above].iter().any(|base| inside(base, "tasks") || inside(base, "meta"))
}

fn ends_in_tasks(folder: &str) -> bool {
    folder.strip_suffix('/').unwrap_or(folder).ends_with("/tasks")
}
