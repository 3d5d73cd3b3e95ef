//! Compares the masking of secrets with ansible-core 2.22: random secrets and values, by its masker and by modbox's.

use modbox_contract::{Dict, Redactor, Value, decode, encode};

use crate::core::contract::oracle_contract::ask_with;
use crate::support::oracle;
use crate::support::sample::{self, Random};

/// What texts are made of: few characters, so that secrets overlap and touch; those that JSON writes in other ways; white
/// space of all kinds. The placeholder is not among them: modbox takes it for an occurrence.
const CHARACTERS: [&str; 16] =
    ["a", "b", "a", "b", "1", "4", "5", ".", "\u{e9}", "\"", "\\", "\n", " ", "\u{1}", "\u{1d11e}", "\u{2028}"];

/// Numbers that are not small and whole.
const NUMBERS: [&str; 5] = ["4.5", "1e22", "-0.0", "145.25", "14514514514514514514514514"];

/// Cases of an ordinary run.
const CASES: usize = 4_000;

fn text(random: &mut Random, most: usize) -> String {
    (0..random.below(most + 1)).map(|_| *random.pick(&CHARACTERS)).collect()
}

/// Returns a text that has some of the secrets in it, in one of the forms that JSON has for them.
fn told(random: &mut Random, secrets: &[String]) -> String {
    let mut told = text(random, 6);
    for _ in 0..random.below(3) {
        let secret = random.pick(secrets).clone();
        let json = encode(&secret.as_str().into());
        match random.below(4) {
            0 => told += &json[1..json.len() - 1],
            // What is left of it after a cut is not a secret.
            1 => told.extend(secret.chars().skip(1)),
            2 => told += secret.trim(),
            _ => told += &secret,
        }
        told += &text(random, 2);
    }
    told
}

fn value(random: &mut Random, secrets: &[String], depth: usize) -> Value {
    match random.below(if depth == 0 { 7 } else { 10 }) {
        0 => Value::Null,
        1 => (random.below(2) == 0).into(),
        2 => i64::try_from(random.below(200_000)).unwrap().into(),
        3 => decode(NUMBERS[random.below(NUMBERS.len())]).unwrap(),
        4..=6 => told(random, secrets).into(),
        7 => (0..random.below(4)).map(|_| value(random, secrets, depth - 1)).collect::<Vec<_>>().into(),
        _ => dict(random, secrets, depth - 1).into(),
    }
}

fn dict(random: &mut Random, secrets: &[String], depth: usize) -> Dict {
    let mut entries = Dict::new();
    for _ in 0..random.below(5) {
        entries.insert(told(random, secrets), value(random, secrets, depth));
    }
    for (key, lines_key) in [("stdout", "stdout_lines"), ("stderr", "stderr_lines")] {
        if random.below(2) == 0 {
            let text = told(random, secrets);
            let lines = modbox_contract::split_lines(&text).into_iter().map(Value::from);
            let lines = match random.below(3) {
                0 => value(random, secrets, 0),
                _ => Value::List(lines.collect()),
            };
            let mut both = [(key, text.into()), (lines_key, lines)];
            if random.below(2) == 0 {
                both.reverse();
            }
            entries.extend(both.map(|(key, value)| (key.to_owned(), value)));
        }
    }
    entries
}

#[test]
fn secrets_are_masked_as_by_the_callbacks_of_ansible() {
    let Some(version) = oracle::next() else { return };
    let mut random = Random::new(0x5ec7);
    let cases = sample::cases(CASES, 100 * CASES);
    let asked: Vec<(Vec<String>, Dict)> = (0..cases)
        .map(|_| {
            let secrets: Vec<String> = (0..=random.below(6)).map(|_| text(&mut random, 5)).collect();
            let entries = dict(&mut random, &secrets, 3);
            (secrets, entries)
        })
        .collect();
    let questions: Vec<Value> = asked
        .iter()
        .map(|(secrets, entries)| {
            let secrets = secrets.iter().map(|secret| Value::from(secret.as_str())).collect::<Vec<_>>();
            Value::from([("secrets", Value::List(secrets)), ("value", Value::Dict(entries.clone()))])
        })
        .collect();
    let mut masked = 0;
    for ((secrets, entries), answer) in
        asked.into_iter().zip(ask_with(&oracle::python_of(version), "redact.py", &questions))
    {
        let before = encode(&Value::Dict(entries.clone()));
        let redactor = Redactor::new(secrets.iter().map(String::as_str));
        let ours = redactor.mask(Value::Dict(entries));
        let shown = encode(&ours);
        assert_eq!(answer["masked"].as_str(), Some(&*shown), "{secrets:?} in {before}");
        assert_eq!(encode(&redactor.mask(ours)), shown, "masking again: {secrets:?} in {before}");
        masked += usize::from(shown != before);
    }
    assert!(masked > cases / 2, "{masked} of {cases} values had secrets");
}
