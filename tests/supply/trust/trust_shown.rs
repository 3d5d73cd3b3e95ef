//! What trust rules object to is listed wherever grants are: in reports, and without a run.

use serde_json::{Value, json};

use crate::supply::trust::trust_place::{CEILING, Place};
use crate::support::{Modbox, RunOutput};

/// Shows the policy for a run that writes below a folder of the place.
fn show(place: &Place, path: &str, options: &[&str]) -> RunOutput {
    let path = format!("path={}", place.dir.join(path).display());
    let show = Modbox::new(&place.dir).args(["policy", "show", "--policy", "policy.yaml"]).args(options);
    show.arg(&place.module).args([&path, "line=x", "create=yes"]).run().exits_with(0)
}

#[test]
fn grants_that_exceed_a_ceiling_are_denials_of_the_report() {
    let place = Place::new(CEILING);
    place.sign(Some("acme/lineinfile"), None, &[1]);
    let denials = |path: &str, options: &[&str]| {
        let (status, report) = place.run(path, options);
        assert_eq!((status, report["status"].as_str()), (4, Some("denied")), "{report}");
        report["denials"].clone()
    };
    let denial = |capability: &str, subject: String| -> Value {
        json!({"capability": capability, "subject": subject, "operation": "trust", "allow": ""})
    };
    let target = place.dir.join("elsewhere/a").display().to_string();
    assert_eq!(denials("elsewhere/a", &[]), json!([denial("write", target)]));
    let expected = json!([denial("env", "HOME".to_owned()), denial("net", "*".to_owned())]);
    assert_eq!(denials("app/a", &["--allow-env", "HOME", "--allow-net", "*"]), expected);
    assert_eq!(denials("app/a", &["--allow-all"]), json!([denial("all", "*".to_owned())]));
    // No policy file is suggested that would not help.
    let suggest = |path: &str| {
        let report = place.dir.write("report.json", place.run(path, &[]).1.to_string());
        Modbox::new(&place.dir).args(["policy", "suggest"]).arg(report).run().exits_with(0).stdout_text()
    };
    let suggested = suggest("elsewhere/a");
    assert!(suggested.contains("no option allows this: write") && !suggested.contains("\n      write:"), "{suggested}");
}

#[test]
fn the_policy_is_shown_with_what_the_rules_object_to() {
    let place = Place::new(CEILING);
    place.sign(Some("acme/lineinfile"), None, &[1]);
    let at = place.dir.path().display().to_string();
    let rule = "(trust rule 1, policy.yaml:5), which argument path grants";
    let objection = format!("release@acme.example may not be given write `{at}/elsewhere/a` {rule}");
    let shown = show(&place, "elsewhere/a", &[]).stdout_text();
    assert!(shown.contains(&format!("\nthe trust rules refuse the run:\n  {objection}\n")), "{shown}");
    assert!(!shown.contains("\nmissing:"), "{shown}");
    let shown = show(&place, "elsewhere/a", &["--json"]).json();
    assert_eq!((&shown["objections"], &shown["missing"]), (&json!([objection]), &json!([])), "{shown}");
    let shown = show(&place, "app/a", &["--json"]).json();
    assert_eq!((&shown["objections"], &shown["missing"]), (&json!([]), &json!([])), "{shown}");
    // A module that may not run at all.
    place.set_rules("  require-signature: true\n");
    place.dir.write("lineinfile.wasm.sig", "nonsense");
    let shown = show(&place, "app/a", &[]).stdout_text();
    assert!(shown.contains("the trust rules refuse the run:\n  `policy.yaml` requires a signature"), "{shown}");
}

#[test]
fn a_play_is_explained_with_what_the_rules_object_to() {
    let place = Place::new(CEILING);
    place.sign(Some("acme/lineinfile"), None, &[1]);
    let path = place.dir.join("elsewhere/p").display().to_string();
    let task = format!("lineinfile: {{path: {path}, line: x, create: true}}");
    place.dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n  - {task}\n"));
    let explain = ["play", "play.yml", "--explain", "--policy", "policy.yaml", "--module-path", "."];
    let told = Modbox::new(&place.dir).args(explain).run().stdout_text();
    assert!(told.contains(&format!("note: release@acme.example may not be given write `{path}`")), "{told}");
    assert!(!told.contains("--allow-write"), "{told}");
}
