//! What each word of the rule language reaches: whether a run with it leaves its own view, and whether it is as powerful as root.
//!
//! The words are those that the language itself lists in its errors, so that a new word fails here until it is decided.

use std::path::Path;

use modbox_policy::outside::Kind;
use modbox_policy::{Designated, GrantedProfile, Located, Place, PolicyFile, Profile, merge};
use modbox_run::reaches_out;
use modbox_vocabulary::GrantSource;

use super::files;
use crate::cli::process::environment::Environment;

/// What a word reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reach {
    /// Whether the run leaves its view.
    out: bool,
    /// Whether it is as powerful as root.
    root: bool,
}

const NOTHING: Reach = Reach { out: false, root: false };
const OUT: Reach = Reach { out: true, root: false };
const ROOT: Reach = Reach { out: false, root: true };
const BOTH: Reach = Reach { out: true, root: true };

/// Returns what the rules for one module reach.
#[track_caller]
fn reach(rules: &str) -> Reach {
    let digest = format!("sha256:{}", "0a".repeat(32));
    let file = PolicyFile::parse(&format!("modules: {{'{digest}': {{{rules}}}}}")).unwrap();
    of_rules(&file.modules[0].1)
}

#[track_caller]
fn of_rules(written: &modbox_policy::FileRules) -> Reach {
    let environment = Environment::empty(Path::new("/"));
    let resolved = files::resolve(&environment, written, &GrantSource::named("test"));
    assert!(resolved.wrong.is_empty(), "{written:?}");
    let policy = merge(&[resolved.rules]).unwrap().policy;
    // That everything is granted says it itself.
    let root = policy.allows_everything() || !policy.root_powers().is_empty();
    Reach { out: reaches_out(&policy), root }
}

/// Returns the words that the language knows at a place, from its error about one that it does not know.
fn known_words(text: &str) -> Vec<String> {
    let error = PolicyFile::parse(text).unwrap_err().to_string();
    let list = error.rsplit_once("expected one of ").unwrap_or_else(|| panic!("{error}")).1;
    let list = list.split_once(" at line ").map_or(list, |(list, _)| list);
    list.split(", ").map(|word| word.trim_matches('`').to_owned()).collect()
}

#[test]
fn each_grant_is_decided() {
    let grants: [(&str, &[(&str, Reach)]); 8] = [
        ("read", &[("/usr", NOTHING), ("/etc/shadow", NOTHING)]),
        ("write", &[("/srv", NOTHING), ("/etc/sudoers.d", ROOT), ("/usr", ROOT), ("/", ROOT)]),
        ("own", &[("root", NOTHING), ("1000:1000+setid", NOTHING), ("0+setid", ROOT), (":0+setid", ROOT)]),
        ("env", &[("STAGE=test", NOTHING)]),
        ("net", &[("example.org:443", OUT)]),
        ("listen", &[("127.0.0.1:8080", OUT)]),
        ("run", &[("systemctl restart *", NOTHING)]),
        ("outside", &[("nginx -t", OUT), ("sh <input>", BOTH), ("systemctl start reboot", BOTH)]),
    ];
    assert_eq!(known_words("modules: {m: {allow: {x: []}}}"), grants.map(|(key, _)| key));
    for (key, values) in grants {
        for (value, expect) in values {
            assert_eq!(reach(&format!("allow: {{{key}: ['{value}']}}")), *expect, "{key} {value}");
        }
    }
}

#[test]
fn each_other_word_of_a_module_is_decided() {
    let words = [
        ("designated", "designated: manage", NOTHING),
        ("designated-by-results", "designated-by-results: manage", NOTHING),
        ("allow", "allow: all", BOTH),
        ("ask", "ask: {outside: ['sh <input>'], write: [/etc]}", NOTHING),
        ("profiles", "profiles: [update-packages]", BOTH),
        ("check", "check: observe", NOTHING),
        ("python", "python: native", NOTHING),
        ("python-modules", "python-modules: observe", NOTHING),
        ("min-confinement", "min-confinement: 0", NOTHING),
        ("limits", "limits: {files: 1}", NOTHING),
        ("unconfined", "unconfined: true", BOTH),
    ];
    assert_eq!(known_words("modules: {m: {x: y}}"), words.map(|(key, ..)| key));
    for (key, text, expect) in words {
        assert_eq!(reach(text), expect, "{key}");
    }
    // No argument is known before a run; see the tests of `modbox policy show` and of plays for what it grants then.
    assert!(Designated::ALL.iter().filter(|value| value.allows_managing()).eq([&Designated::Manage]));
}

#[test]
fn each_profile_is_decided_without_names_with_one_and_with_a_reserved_one() {
    for profile in Profile::ALL {
        let (plain, reserved) = match profile {
            Profile::Facts | Profile::Packages | Profile::Services | Profile::Users => {
                assert_eq!(reach(&format!("profiles: [{profile}]")), NOTHING, "{profile}");
                continue;
            }
            Profile::UpdatePackages => {
                assert_eq!(reach(&format!("profiles: [{profile}]")), BOTH, "{profile}");
                continue;
            }
            Profile::ManageHost => {
                assert_eq!(reach(&format!("profiles: [{profile}]")), OUT, "{profile}");
                continue;
            }
            Profile::ManageCron | Profile::ManageUsers => ("deploy", Some("root")),
            Profile::ManageServices => ("nginx", Some("reboot.target")),
            Profile::ManageKernel => ("vm.swappiness", Some("kernel.core_pattern")),
            Profile::ManagePackages => ("nginx", None),
            Profile::ManageFirewall => ("INPUT", None),
        };
        let all = if matches!(profile, Profile::ManageCron | Profile::ManageUsers) { BOTH } else { OUT };
        assert_eq!(reach(&format!("profiles: [{profile}]")), all, "{profile}");
        assert_eq!(reach(&format!("profiles: [{{{profile}: [{plain}]}}]")), OUT, "{profile} of {plain}");
        if let Some(name) = reserved {
            assert_eq!(reach(&format!("profiles: [{{{profile}: [{name}]}}]")), BOTH, "{profile} of {name}");
        }
    }
}

#[test]
fn each_kind_is_decided() {
    for kind in Kind::ALL {
        // A program that places what an argument names, one that does not, and one that installs packages.
        let is_file = matches!(kind, Kind::Path | Kind::Home | Kind::Input | Kind::Text);
        for (rule, expect) in [
            (format!("tee <{kind}>"), BOTH),
            (format!("nginx -t <{kind}>"), OUT),
            (format!("apt-get install <{kind}>"), if is_file { BOTH } else { OUT }),
        ] {
            assert_eq!(reach(&format!("allow: {{outside: ['{rule}']}}")), expect, "{rule}");
        }
    }
}

#[test]
fn the_rules_for_tasks_reach_what_those_for_modules_do() {
    for rules in ["allow: all", "profiles: [manage-users]", "allow: {outside: [nginx -t]}"] {
        let file = PolicyFile::parse(&format!("tasks: {{t: {{{rules}}}}}")).unwrap();
        assert_eq!(of_rules(&file.tasks[0].1), reach(rules), "{rules}");
    }
    let profile = |profile: Profile| Located {
        value: GrantedProfile { profile, names: Default::default() },
        place: Place::default(),
    };
    let rules = modbox_policy::FileRules { profiles: Profile::ALL.map(profile).to_vec(), ..Default::default() };
    assert_eq!(of_rules(&rules), BOTH);
}
