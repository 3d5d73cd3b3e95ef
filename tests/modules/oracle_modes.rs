//! Compares how the SDK parses file modes with ansible-core: symbolic clauses, octal digits and invalid modes.

use modbox_contract::{Dict, Value};
use modbox_sdk::files::{CurrentMode, WrongMode, resolve_mode};

use crate::core::contract::oracle_contract::ask;
use crate::support::sample::Random;

const CASES: usize = 20_000;

/// Generates modes: mostly symbolic clauses, valid and almost valid.
fn wanted(random: &mut Random) -> Value {
    let mut pick = |from: &[&str]| from[random.below(from.len())].to_owned();
    match pick(&["number", "octal", "octal", "clauses", "clauses", "clauses", "clauses", "clauses", "clauses"]).as_str()
    {
        "number" => return Value::from(i64::try_from(random.below(0o11000)).unwrap()),
        "octal" => {
            let sign = pick(&["", "", "", "0o", "0O", "+", "-", " ", "0_", "u"]);
            let digits: String = (0..4).map(|_| pick(&["0", "1", "4", "5", "6", "7", "7", "", "8", "_"])).collect();
            return (sign + &digits).as_str().into();
        }
        _ => {}
    }
    let clauses: usize = pick(&["1", "1", "2", "3"]).parse().unwrap();
    let mut text = Vec::new();
    for _ in 0..clauses {
        let mut clause = pick(&["", "a", "u", "g", "o", "ug", "go", "uo", "ugo", "uu", "ua", "z"]);
        for _ in 0..pick(&["1", "1", "1", "2", "0"]).parse().unwrap() {
            clause += &pick(&["+", "-", "="]);
            for _ in 0..pick(&["0", "1", "1", "2", "3"]).parse().unwrap() {
                clause += &pick(&["r", "w", "x", "X", "s", "t", "u", "g", "o", "r", "w", "x", "X", "q"]);
            }
        }
        text.push(clause);
    }
    text.join(",").as_str().into()
}

#[test]
fn modes_are_read_as_ansible_core_reads_them() {
    let mut random = Random::new(0x6d6f_6465);
    let cases: Vec<(Value, CurrentMode)> = (0..CASES)
        .map(|_| {
            let bits = |random: &mut Random, bound: usize| u32::try_from(random.below(bound)).unwrap();
            let wanted = wanted(&mut random);
            let mode = bits(&mut random, 0o10000);
            let umask = [0o022, 0o077, 0o002, 0, 0o137][random.below(5)];
            (wanted, CurrentMode { mode, directory: random.below(2) == 0, umask })
        })
        .collect();
    let questions: Vec<Value> = cases
        .iter()
        .map(|(wanted, now)| {
            let entries: [(&str, Value); 4] = [
                ("wanted", wanted.clone()),
                ("mode", now.mode.into()),
                ("directory", now.directory.into()),
                ("umask", now.umask.into()),
            ];
            Value::from(entries)
        })
        .collect();
    let mut good = 0;
    for ((wanted, now), answer) in cases.iter().zip(ask("modes.py", &questions)) {
        let text = |text: &str| Value::from(text);
        let ours: Dict = match resolve_mode(wanted, *now) {
            Ok(mode) => {
                good += 1;
                Dict::from_iter([("mode".to_owned(), format!("0{mode:03o}").as_str().into())])
            }
            Err(WrongMode::Form(details)) => Dict::from_iter([
                ("msg".to_owned(), text("mode must be in octal or symbolic form")),
                ("details".to_owned(), details.as_str().into()),
            ]),
            // ansible-core has an error for these, too, but not for digits: the kernel gets the number, and cuts it.
            Err(WrongMode::Bits(_)) => {
                let number = answer.get("mode").and_then(Value::as_str).unwrap_or_else(|| panic!("{answer:?}"));
                let fits = i64::from_str_radix(number, 8).is_ok_and(|number| (0..=0o7777).contains(&number));
                assert!(!fits, "{wanted:?}: {number}");
                continue;
            }
        };
        assert_eq!(ours, answer, "{wanted:?} {now:?}");
    }
    assert!(good > CASES / 3, "most cases are modes: {good}");
}
