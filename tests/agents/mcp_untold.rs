//! What no answer before a yes tells of a run that was given what a person is asked for: the same answers whatever it has read.

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};

use crate::agents::client::Client;
use crate::agents::mcp_ask::{MARKER, decide, place, question, secret};
use crate::agents::mcp_gate::asked;

#[test]
fn no_answer_before_the_yes_depends_on_what_was_read() {
    for confirm in ["hand", "client"] {
        let dir = place(confirm);
        let (site, secrets) = (dir.join("site").display().to_string(), dir.join("secrets").display().to_string());
        // What the module does if the file has the marker, and if it has not.
        let codes = [
            format!("open('{secrets}/log', 'a').write('x')"),
            format!("open('{site}/motd', 'a').write('x')"),
            format!("open('{secrets}/more').read()"),
            format!("os.mkfifo('{secrets}/fifo')"),
            "raise OSError(text)".to_owned(),
            "sum(range(3000000))".to_owned(),
        ];
        // A client that cannot ask a person.
        let mut client = Client::legacy(&dir, &[]);
        let mut told = |id: String, code: &str, word: &str| {
            let code = format!("if {word:?} in text: {code}");
            let call = json!({"path": secret(&dir), "do": code});
            let mut answer = client.structure(id, "spy", &call);
            let plan = answer["plan"].take();
            let note = answer["notes"].take().to_string().replace(plan.as_str().unwrap_or_default(), "PLAN");
            (answer, note)
        };
        for (number, code) in codes.iter().enumerate() {
            let [has, has_not] = [MARKER, "something else"].map(|word| told(format!("{number} {word}"), code, word));
            assert_eq!(has, has_not, "{confirm}: {code}");
            assert_eq!(has.0["status"], "planned", "{}", has.0);
        }
        // The same of a module that says what it writes.
        let mut client = Client::legacy(&dir, &[]);
        let [same, other] = [MARKER, "new"].map(|line| {
            let mut answer = client.structure(line, "lineinfile", &json!({"path": secret(&dir), "line": line}));
            answer["plan"].take();
            answer["notes"].take();
            answer
        });
        assert_eq!(same, other, "{confirm}");
    }
}

#[test]
fn the_time_of_a_person_begins_when_the_question_is_told() {
    let dir = place("person");
    let mut client = asked(&dir);
    let begun = Instant::now();
    let (id, _) = question(&mut client, "1", "spy", &json!({"path": secret(&dir), "do": "sum(range(2000000))"}));
    decide(&mut client, &id, "1", "apply");
    let whole = u64::try_from(begun.elapsed().as_millis()).unwrap();
    assert!(client.end().1.success());
    let audit = fs::read_to_string(dir.join("audit.jsonl")).unwrap();
    let answers = audit.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["answer"].take());
    let answer = answers.into_iter().find(|answer| answer.is_object()).expect("an answer");
    let after = answer["after_ms"].as_u64().unwrap();
    // A question about what was read is told half a second after the call at the earliest, and that is not the person's time.
    assert!(after + 450 <= whole, "{answer}, {whole} ms for the call");
}
