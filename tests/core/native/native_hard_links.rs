//! Single files that have several names: a native module has a copy for each name that it may write, and a change that it did not
//! see under another name of the file is lost.

use std::fs;

use crate::core::native::native_folders::{DONE, folder, script};
use crate::core::native::native_programs::Place;

#[test]
fn two_granted_names_of_one_file_are_two_copies_and_a_note_says_so() {
    for place in Place::all().into_iter().filter(|place| place.level == 3) {
        let conf = folder(&place);
        fs::hard_link(conf.join("app.ini"), conf.join("second.ini")).unwrap();
        let report = script(&place, "cat app.ini second.ini >/dev/null", &["app.ini", "second.ini"]);
        assert_eq!(report["status"], "changed", "{report:#}");
        assert!(
            report["notes"].to_string().contains("are one file, of which the module sees two copies"),
            "{report:#}"
        );
        let report = script(&place, "echo 1 > app.ini; echo 2 > second.ini", &["app.ini", "second.ini"]);
        assert_eq!(report["status"], "failed", "{report:#}");
        assert!(report["result"]["msg"].to_string().contains("two names of one file"), "{report:#}");
        assert_eq!(fs::read_to_string(conf.join("app.ini")).unwrap(), "old");
        fs::remove_file(conf.join("second.ini")).unwrap();
        let report = script(&place, "cat app.ini >/dev/null", &["app.ini"]);
        assert!(!report["notes"].to_string().contains("two copies"), "{report:#}");
    }
}

#[test]
fn a_change_is_lost_that_another_name_of_the_file_did_not_show_to_the_module() {
    for place in Place::all().into_iter().filter(|place| place.level == 3) {
        let conf = folder(&place);
        let (app, other) = (conf.join("app.ini"), conf.join("sub/second.ini"));
        fs::hard_link(&app, &other).unwrap();
        // A module that packs what it has emptied, as `archive` does, would pack what was in it.
        for change in ["cat sub/second.ini > app.ini; test -s app.ini", "chmod 600 app.ini"] {
            let report = script(&place, change, &["app.ini"]);
            assert_eq!(report["status"], "failed", "{change}: {report:#}");
            let said = report["result"]["msg"].as_str().unwrap();
            let why = format!(
                "`{}` is another name of the same file, which the module saw as it was before",
                other.display()
            );
            assert!(said.contains(&format!("{why}; allow it with `--allow-write {}`", conf.display())), "{said}");
            assert_eq!(report["lost"][0]["allow"], format!("--allow-write {}", conf.display()), "{report:#}");
            assert_eq!(fs::read_to_string(&app).unwrap(), "old", "{change}");
        }
        // A name that is replaced or removed leaves the others as they are, which is what the module saw.
        let report = script(&place, "echo new > tmp && mv tmp app.ini", &["app.ini"]);
        assert_eq!(report["status"], "changed", "{report:#}");
        assert_eq!((&*fs::read_to_string(&app).unwrap(), &*fs::read_to_string(&other).unwrap()), ("new\n", "old"));
        fs::remove_file(&app).unwrap();
        fs::hard_link(&other, &app).unwrap();
        // What the module changes as the other name is not in the copy.
        let both = [
            "--allow-write",
            &app.display().to_string(),
            "--allow-write",
            &other.parent().unwrap().display().to_string(),
        ];
        let text = format!(
            "#!/bin/sh\n# WANT_JSON\necho new > {}; cat {} >/dev/null\n{DONE}\n",
            other.display(),
            app.display()
        );
        let report = place.module(&text, &both);
        assert_eq!(report["status"], "failed", "{report:#}");
        assert!(report["result"]["msg"].to_string().contains("which the module may have done as"), "{report:#}");
        // With the directory granted, it is one file.
        let conf = conf.display().to_string();
        let text = format!(
            "#!/bin/sh\n# WANT_JSON\ncd {conf} && echo 1 > app.ini && test \"$(cat sub/second.ini)\" = 1\n{DONE}\n"
        );
        assert_eq!(place.module(&text, &["--allow-write", &conf])["status"], "changed");
    }
}

#[test]
fn a_transaction_writes_all_names_of_a_file_or_refuses() {
    for place in Place::all().into_iter().filter(|place| place.level == 3) {
        let conf = folder(&place);
        let (app, other) = (conf.join("app.ini"), place.at("other"));
        fs::hard_link(&app, &other).unwrap();
        let path = app.display().to_string();
        let text = |change: &str| format!("#!/bin/sh\n# WANT_JSON\nset -e\ncd {}\n{change}\n{DONE}\n", conf.display());
        let run = |change: &str, door: &str| place.module(&text(change), &[door, "--allow-write", &path]);
        let contents = || [&app, &other].map(|file| fs::read_to_string(file).unwrap());
        let report = run("echo more >> app.ini", "--transaction");
        assert_eq!(report["status"], "failed", "{report:#}");
        assert!(report["result"]["msg"].to_string().contains("1 more names outside the grant"), "{report:#}");
        assert_eq!(contents(), ["old", "old"]);
        let report = run("echo more >> app.ini", "--preview");
        assert_eq!(report["status"], "changed", "{report:#}");
        assert!(report["result"]["warnings"].to_string().contains("the preview is incomplete"), "{report:#}");
        // A module that replaces the file leaves the other name alone, as without a transaction.
        let report = run("cat app.ini > new; echo more >> new; mv new app.ini", "--transaction");
        assert_eq!(report["status"], "changed", "{report:#}");
        assert_eq!(contents(), ["oldmore\n", "old"]);
        fs::remove_file(&other).unwrap();
        let report = run("echo more >> app.ini", "--transaction");
        assert_eq!(report["status"], "changed", "{report:#}");
        assert_eq!(fs::read_to_string(&app).unwrap(), "oldmore\nmore\n");
    }
}
