//! The tasks of the table through `modbox-python`: observed, then confined to what the observation suggests, they do and say
//! what they do with Python.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use modbox_contract::Value as PythonValue;

use super::table::{Group, Table};
use super::{ONLY, Place, begin, beside, comparable, holds, leave_out, machine, plays};
use crate::support::{Modbox, modbox, sample};

/// Part of the groups that is a sample.
const SAMPLE: usize = 12;

/// Modules that do something else in a confined run, with the reason.
const OTHERWISE: [(&str, &str); 4] = [
    (
        "apt_key",
        "a module that may read a whole directory makes no sockets with paths, and gpg needs one for its agent",
    ),
    ("iptables", "no confined module speaks with the kernel's packet filter"),
    ("service", NO_SCRIPT),
    ("sysvinit", NO_SCRIPT),
];

/// Why some modules see no script of a service. On a machine of an operator it is there.
const NO_SCRIPT: &str = "a task of the group makes the script of the service, so no rule for it is suggested before";

/// Where Ansible's modules run.
pub(super) struct Interpreter<'a> {
    /// The program.
    pub(super) path: &'a Path,
    /// The folder with a folder of settings for each group.
    pub(super) config: &'a Path,
}

/// Fills the folders of all groups anew.
fn reset(groups: &[Group], side: &Path) {
    let _ = fs::remove_dir_all(side);
    groups.iter().for_each(|group| begin(&side.join(&group.name)));
}

/// Compares the results of the same tasks on two sides, and the folders. Those of the modules in `except` may differ.
fn differences(
    how: &str,
    groups: &[Group],
    (ours, side): (&[Vec<PythonValue>], &Path),
    (theirs, their_side): (&[Vec<PythonValue>], &Path),
    except: &[(&str, &str)],
) -> String {
    let mut wrong = String::new();
    for ((group, ours), theirs) in groups.iter().zip(ours).zip(theirs) {
        for ((task, ours), theirs) in group.tasks.iter().zip(ours).zip(theirs) {
            if except.iter().any(|(module, _)| *module == task.module) {
                continue;
            }
            let shown =
                |result: &PythonValue, side: &Path| comparable(result.as_dict().unwrap(), &side.join(&group.name));
            let (ours, theirs): (BTreeMap<_, _>, BTreeMap<_, _>) = (shown(ours, side), shown(theirs, their_side));
            let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            for key in keys.into_iter().filter(|key| ours.get(*key) != theirs.get(*key)) {
                if !task.differs.contains_key(key) {
                    let (ours, theirs) = (ours.get(key), theirs.get(key));
                    wrong += &format!("{how}, {}: {task}\n  {key}: {ours:?}\n  not: {theirs:?}\n", group.name);
                }
            }
        }
    }
    let (ours, theirs) = (holds(side), holds(their_side));
    let is_compared = |name: &str| !except.iter().any(|(module, _)| name.starts_with(folder_of(groups, module)));
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).filter(|name| is_compared(name)).collect();
    for name in names.into_iter().filter(|name| ours.get(*name) != theirs.get(*name)) {
        wrong += &format!("{how}, {name}: {:?}\n  not: {:?}\n", ours.get(name), theirs.get(name));
    }
    wrong
}

fn folder_of<'g>(groups: &'g [Group], module: &str) -> &'g str {
    let has_it = |group: &&Group| group.tasks.iter().any(|task| task.module == module);
    groups.iter().find(has_it).map_or("no group", |group| &group.name)
}

/// Leaves a sample of the groups, unless some were asked for.
pub(super) fn take_sample(table: &mut Table, part: usize) {
    if std::env::var(ONLY).is_err() {
        let count = table.groups.len() / part;
        table.groups = sample::sample(std::mem::take(&mut table.groups), count);
    }
}

/// Runs groups by Python, by `modbox-python` observed, and confined to what the observation suggests, and compares
/// results and folders; those of the modules in `otherwise` not in the confined runs. Returns the results by Python.
pub(super) fn compare(place: &Place, groups: &[Group], otherwise: &[(&str, &str)]) -> Vec<Vec<PythonValue>> {
    let programs = place.programs.as_deref();
    let (theirs, ours) = (place.dir.mkdir("ansible-side"), place.dir.mkdir("modbox--side"));
    reset(groups, &theirs);
    let by_python = plays(place, groups, &theirs, None);

    let path = place.dir.mkdir("bin").join("modbox-python");
    symlink(modbox(), &path).unwrap();
    let config = place.dir.mkdir("config");
    let interpreter = Interpreter { path: &path, config: &config };
    // Each group has rules of its own, since each may have a machine of its own.
    let audit = |group: &Group| place.dir.join(&format!("{}.jsonl", group.name));
    let policy = |group: &Group, text: &str| {
        place.dir.write(&format!("config/{}/modbox/policy.yaml", group.name), text);
    };
    for group in groups {
        policy(group, &format!("audit: {}\npython-modules: observe\n", audit(group).display()));
    }
    reset(groups, &ours);
    let observed = plays(place, groups, &ours, Some(&interpreter));
    let mut wrong = differences("observed", groups, (&observed, &ours), (&by_python, &theirs), &[]);

    // A path is suggested if it can be granted, so the folders begin anew before.
    reset(groups, &ours);
    let mut suggested = String::new();
    for group in groups {
        let changes = beside(&ours.join(&group.name));
        let _ = fs::remove_dir_all(&changes);
        let machine = machine::prefix(group, &changes, programs, None);
        let suggest = Modbox::new(&place.dir).args(["policy", "suggest", "--by", "name"]).arg(audit(group));
        let text = suggest.behind(|command| machine::within(&machine, command)).run().exits_with(0).stdout_text();
        policy(group, &text);
        let _ = write!(suggested, "{}:\n{text}", group.name);
    }
    let confined = plays(place, groups, &ours, Some(&interpreter));
    wrong += &differences("confined", groups, (&confined, &ours), (&by_python, &theirs), otherwise);
    assert!(wrong.is_empty(), "{wrong}\nby:\n{suggested}");
    by_python
}

#[test]
fn modules_by_modbox_python_do_the_same_as_observation_suggests() {
    let place = Place::new();
    let mut table = Table::read("tasks");
    leave_out(&mut table, &place);
    take_sample(&mut table, SAMPLE);
    compare(&place, &table.groups, &OTHERWISE);
    place.dir.assert_nothing_left();
}
