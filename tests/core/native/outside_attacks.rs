//! Modules that lie about commands outside: each gets what the rules permit, and nothing beyond. The attacks are in
//! `programs/outside.py`; what ran is known by what the permitted program noted on the machine.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::core::native::native_outside::{program, words};
use crate::core::native::native_place::{Ended, Place};
use crate::support::repository;

/// The call returns this for what runs in the room.
const INSIDE: i64 = 0x1000;

/// Runs an attack with a permitted program, which root alone can change, and returns what the attack returned.
#[track_caller]
fn attack(place: &Place, name: &str, (rest, rule): (&str, &str), switches: &[&str]) -> (Value, Ended) {
    let tool = program(place, "tool", rest);
    let attacks = std::fs::read_to_string(repository().join("tests/core/native/programs/outside.py")).unwrap();
    let code = format!("{attacks}\nresult['value'] = {name}({tool:?})");
    let ended = place.python(&code, &[&["--allow-outside", &format!("{tool} {rule}")], switches].concat());
    assert_eq!((&ended.report["status"], ended.exit), (&json!("changed"), Some(0)), "{:#}", ended.report);
    (ended.report["result"]["value"].clone(), ended)
}

/// Asserts that nothing but permitted words ran outside, this often, and that the report says so.
#[track_caller]
fn only_permitted(place: &Place, ended: &Ended, count: usize) {
    let words = words(place);
    assert!(words.iter().all(|words| words == "ok"), "{words:?}");
    assert_eq!(words.len(), count, "{:#}", ended.report);
    let listed = ended.report["outside"].as_array().map(Vec::as_slice).unwrap_or_default();
    assert_eq!(listed.len(), count.min(256), "{:#}", ended.report);
    assert!(listed.iter().all(|ran| ran["command"].as_str().unwrap().ends_with("/theirs/tool ok")), "{listed:?}");
}

const PLAIN: (&str, &str) = ("", "ok");

/// A command that lasts a second, so that something happens meanwhile.
const LASTS: &str = "end=$(($(date +%s) + 2)); until [ $(date +%s) -ge $end ]; do sleep 0.05; done";

#[test]
fn words_that_change_while_they_are_judged_are_those_that_were_judged() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "rewriter", PLAIN, &[]);
        let values: BTreeSet<i64> = value.as_array().unwrap().iter().filter_map(Value::as_i64).collect();
        assert!(values.is_subset(&BTreeSet::from([0, INSIDE])), "{values:?}");
        only_permitted(&place, &ended, words(&place).len());
    }
}

#[test]
fn the_memory_of_a_stub_is_out_of_reach() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "rewritten_stub", (LASTS, "ok"), &[]);
        assert_eq!(value, json!([0, 2]));
        only_permitted(&place, &ended, 1);
    }
}

#[test]
fn other_words_run_in_the_room() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "other_words", PLAIN, &[]);
        assert_eq!(value, json!([INSIDE]));
        only_permitted(&place, &ended, 0);
        let denials = ended.report["denials"].as_array().unwrap();
        assert!(denials.iter().filter(|denial| denial["capability"] == "outside").count() > 15, "{denials:#?}");
    }
}

#[test]
fn broken_calls_fail() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "broken_calls", PLAIN, &[]);
        let values: Vec<i64> = value.as_array().unwrap().iter().filter_map(Value::as_i64).collect();
        assert!(values.len() == 10 && values.iter().all(|value| *value < 0 || *value == INSIDE), "{values:?}");
        only_permitted(&place, &ended, 0);
    }
}

#[test]
fn any_stream_is_the_callers_own() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "hostile_streams", PLAIN, &[]);
        assert_eq!(value, json!([0, 0, 0, 0, 0, 0]), "{:#}", ended.report);
        only_permitted(&place, &ended, 6);
    }
}

#[test]
fn variables_of_loaders_and_shells_do_not_pass() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "variables", ("env > $d/data/env; umask > $d/data/umask", "ok"), &[]);
        assert_eq!(value, json!([0, 0]));
        only_permitted(&place, &ended, 2);
        let environment = place.read("data/env");
        assert!(
            !environment.contains("/tmp/x") && !environment.contains("LC_") && !environment.contains('%'),
            "{environment}"
        );
        assert_eq!(place.read("data/umask"), "0022\n");
    }
}

#[test]
fn an_asker_that_is_gone_leaves_nothing_to_another() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "dying_askers", PLAIN, &["--max-processes", "200"]);
        assert_eq!(value, 0);
        let count = words(&place).len();
        assert!((1..=201).contains(&count), "{count}");
        assert!(words(&place).iter().all(|words| words == "ok"), "{:#}", ended.report);
    }
}

#[test]
fn signals_make_no_second_ask() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "signals", (LASTS, "ok"), &[]);
        assert_eq!(value, json!([0, 0]));
        only_permitted(&place, &ended, 2);
    }
}

#[test]
fn ten_thousand_asks_are_the_most() {
    let place = Place::new(None);
    let (value, ended) = attack(&place, "many", PLAIN, &[]);
    assert_eq!(value, json!([9_995, 5, -libc::EDQUOT]), "{:#}", ended.report);
    only_permitted(&place, &ended, 5);
    assert!(ended.report["notes"].to_string().contains("more than 10000 commands outside"), "{:#}", ended.report);
}

#[test]
fn sixteen_commands_at_once_are_the_most() {
    let place = Place::new(None);
    let rest = ": > $d/data/$$; until [ $(ls $d/data | wc -l) -ge 17 ] && [ -e $d/signal/go ]; do sleep 0.05; done";
    std::fs::write(place.at("signal/go"), "").unwrap();
    let (value, ended) = attack(&place, "at_once", (rest, "ok"), &["--max-processes", "200"]);
    let values: Vec<i64> = value.as_array().unwrap().iter().filter_map(Value::as_i64).collect();
    let started = values.iter().filter(|value| **value == 0).count();
    assert!(started >= 16 && values.iter().all(|value| [0, 126].contains(value)), "{values:?}");
    only_permitted(&place, &ended, started);
}

#[test]
fn stubs_cannot_be_replaced() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "replaced_stub", PLAIN, &[]);
        assert_eq!(value, json!([18, 0]), "{:#}", ended.report);
        only_permitted(&place, &ended, 1);
    }
}

#[test]
fn an_input_is_a_file_that_the_module_can_read() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "linked_input", ("cat \"$1\" >> $d/data/content", "<input>"), &[]);
        let values: BTreeSet<i64> = value.as_array().unwrap().iter().filter_map(Value::as_i64).collect();
        assert!(values.is_subset(&BTreeSet::from([0, -i64::from(libc::EINVAL)])), "{values:?}");
        let content = std::fs::read(place.at("data/content")).unwrap_or_default();
        let content = String::from_utf8_lossy(&content);
        assert!(!content.contains("TMPDIR") && !content.contains("LANG="), "{:#}", ended.report);
    }
}

#[test]
fn a_fifo_as_an_input_holds_nothing_up() {
    for place in Place::all() {
        let (value, ended) = attack(&place, "slow_input", ("", "<input>"), &[]);
        assert_eq!(value, json!([-libc::EINVAL, true]), "{:#}", ended.report);
        only_permitted(&place, &ended, 0);
    }
}
