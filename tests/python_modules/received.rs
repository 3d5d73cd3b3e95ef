//! The tasks of the table through `modbox-python`: observed, then confined to what the observation suggests, they do and say
//! what they do with Python.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use modbox_contract::Value as PythonValue;

use super::table::{Group, Table};
use super::{ONLY, Place, begin, beside, comparable, holds, leave_out, machine, plays};
use crate::support::{Modbox, modbox, sample};

/// Part of the groups that is a sample.
const SAMPLE: usize = 8;

/// Modules that do something else in a confined run, with the reason.
const OTHERWISE: [(&str, &str); 1] = [(
    "apt_key",
    "a module that may read a whole directory makes no sockets with paths, and gpg needs one for its agent",
)];

/// Where Ansible's modules run.
pub(super) struct Interpreter<'a> {
    /// The program.
    pub(super) path: &'a Path,
    /// The Python behind it.
    pub(super) python: &'a Path,
    /// The folder with a folder of settings for each group.
    pub(super) config: &'a Path,
}

/// Fills the folders of all groups anew.
fn reset(groups: &[Group], side: &Path) {
    let _ = fs::remove_dir_all(side);
    groups.iter().for_each(|group| begin(&side.join(&group.name)));
}

/// Compares results of the same tasks on two sides.
fn differences(
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
            let keys: std::collections::BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            for key in keys.into_iter().filter(|key| ours.get(*key) != theirs.get(*key)) {
                if !task.differs.contains_key(key) {
                    wrong += &format!("{task}\n  {key}: {:?}\n  not: {:?}\n", ours.get(key), theirs.get(key));
                }
            }
        }
    }
    wrong
}

/// Returns the folder of the group that has a module, or of no group.
fn folder_of<'g>(groups: &'g [Group], module: &str) -> &'g str {
    let has_it = |group: &&Group| group.tasks.iter().any(|task| task.module == module);
    groups.iter().find(has_it).map_or("no group", |group| &group.name)
}

#[test]
fn modules_by_modbox_python_do_the_same_as_observation_suggests() {
    let place = Place::new();
    let mut table = Table::read();
    leave_out(&mut table, &place);
    if std::env::var(ONLY).is_err() {
        let count = table.groups.len() / SAMPLE;
        table.groups = sample::sample(table.groups, count);
    }
    let groups = &table.groups;
    let (server, programs) = (place.server.address, place.programs.as_deref());
    let (theirs, ours) = (place.dir.mkdir("ansible-side"), place.dir.mkdir("modbox--side"));
    reset(groups, &theirs);
    let by_python = plays(groups, &theirs, server, programs, None);

    let path = place.dir.mkdir("bin").join("modbox-python");
    symlink(modbox(), &path).unwrap();
    let config = place.dir.mkdir("config");
    let interpreter = Interpreter { path: &path, python: &place.python, config: &config };
    // Each group has rules of its own, since each may have a machine of its own.
    let audit = |group: &Group| place.dir.join(&format!("{}.jsonl", group.name));
    let policy = |group: &Group, text: &str| {
        place.dir.write(&format!("config/{}/modbox/policy.yaml", group.name), text);
    };
    for group in groups {
        policy(group, &format!("audit: {}\npython-modules: observe\n", audit(group).display()));
    }
    reset(groups, &ours);
    let observed = plays(groups, &ours, server, programs, Some(&interpreter));
    let wrong = differences(groups, (&observed, &ours), (&by_python, &theirs), &[]);
    assert!(wrong.is_empty(), "observed:\n{wrong}");
    assert_eq!(holds(&ours), holds(&theirs), "observed");

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
    let confined = plays(groups, &ours, server, programs, Some(&interpreter));
    let wrong = differences(groups, (&confined, &ours), (&by_python, &theirs), &OTHERWISE);
    assert!(wrong.is_empty(), "confined:\n{wrong}\nby:\n{suggested}");
    let is_compared = |name: &String| !OTHERWISE.iter().any(|(module, _)| name.starts_with(folder_of(groups, module)));
    let compared = |side: &Path| {
        let held = holds(side).into_iter().filter(|(name, _)| is_compared(name));
        held.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(compared(&ours), compared(&theirs), "confined");
    place.dir.assert_nothing_left();
}
