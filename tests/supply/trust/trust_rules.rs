//! Who signed a module decides the most that it may be granted, whatever else grants.

use std::fs;

use modbox_trust::statement::Statement;
use serde_json::{Value, json};

use crate::supply::trust::trust_place::{CEILING, Place, digest, public, signed, statement};
use crate::support::Modbox;

#[test]
fn a_ceiling_holds_whatever_grants() {
    let place = Place::new(CEILING);
    place.sign(Some("acme/lineinfile"), None, &[1]);
    let report = place.runs("app/a", &[]);
    let signature = &report["module"]["signature"];
    assert_eq!((&signature["verified"], &signature["signers"][0]), (&true.into(), &"release@acme.example".into()));
    assert!(signature["rules"][0].as_str().unwrap().ends_with("policy.yaml:5"), "{signature}");
    let subject = "release@acme.example may not be given";
    place.refuses("elsewhere/a", &[], &format!("{subject} write `{}`", place.dir.join("elsewhere/a").display()));
    place.refuses("app/b", &["--allow-write", "elsewhere"], "which --allow-write grants");
    place.refuses("app/b", &["--allow-env", "HOME"], &format!("{subject} env `HOME`"));
    place.refuses("app/b", &["--allow-net", "*"], &format!("{subject} net `*`"));
    place.refuses("app/b", &["--allow-run", "true"], &format!("{subject} run `true`"));
    place.refuses("app/b", &["--allow-all"], &format!("{subject} everything"));
    place.runs("app/b", &["--allow-env", "LANG"]);
    // Links do not lead around it.
    std::os::unix::fs::symlink(place.dir.join("elsewhere"), place.dir.join("app/link")).unwrap();
    place.refuses("app/link/c", &[], subject);
    place.dir.assert_nothing_left();
}

#[test]
fn a_ceiling_holds_the_level_of_confinement() {
    let place = Place::new(CEILING);
    place.sign(Some("acme/lineinfile"), None, &[1]);
    let because = "release@acme.example may not be confined as little as level 1";
    place.refuses("app/a", &["--min-confinement", "1"], because);
    place.runs("app/a", &["--min-confinement", "2"]);
    place.dir.write("more.yaml", "modules: {lineinfile: {min-confinement: 1}}\n");
    place.refuses("app/b", &["--policy", "more.yaml"], because);
    // What a file says of every module is cut.
    place.dir.write("more.yaml", "min-confinement: 1\n");
    place.runs("app/b", &["--policy", "more.yaml"]);
    place.set_rules(&CEILING.replace("env: [LANG]", "min-confinement: 1"));
    place.runs("app/c", &["--min-confinement", "1"]);
    place.refuses("app/d", &["--min-confinement", "0"], "as little as level 0");
}

#[test]
fn grants_to_every_module_are_cut_and_those_to_one_are_refused() {
    let place = Place::new(CEILING);
    place.sign(Some("acme/lineinfile"), None, &[1]);
    let at = place.dir.path().display().to_string();
    place.dir.write("more.yaml", format!("allow: {{write: [{at}/elsewhere], read: [{at}], env: [HOME, LANG]}}\n"));
    let report = place.runs("app/a", &["--policy", "more.yaml"]);
    let subjects: Vec<&str> =
        report["grants"].as_array().unwrap().iter().map(|grant| grant["subject"].as_str().unwrap()).collect();
    assert_eq!(subjects[0], format!("{at}/app"), "{subjects:?}");
    assert!(
        subjects.iter().all(|subject| *subject == "LANG" || subject.starts_with(&format!("{at}/app"))),
        "{subjects:?}"
    );
    place.dir.write("more.yaml", format!("modules: {{lineinfile: {{allow: {{write: [{at}/elsewhere]}}}}}}\n"));
    place.refuses("app/b", &["--policy", "more.yaml"], "may not be given write");
    // What a further file allows does not widen the ceiling of the first, and what it forbids holds as well.
    place.dir.write("more.yaml", "trust: {rules: [{signer: '*'}]}\n");
    place.refuses("elsewhere/b", &["--policy", "more.yaml"], "may not be given write");
    place
        .dir
        .write("more.yaml", format!("trust: {{rules: [{{signer: '*', at-most: {{write: [{at}/elsewhere]}}}}]}}\n"));
    place.refuses("app/b", &["--policy", "more.yaml"], "trust rule 1, ");
}

#[test]
fn a_module_without_a_signature_that_counts_is_an_unsigned_one() {
    let place = Place::new(CEILING);
    let unsigned = "a module without a signature that counts may not be given write";
    place.refuses("app/a", &[], unsigned);
    // No rule is for this signer, for this name, or for a key that is revoked.
    place.sign(Some("acme/lineinfile"), None, &[2]);
    place.refuses("app/a", &[], unsigned);
    place.sign(Some("other/lineinfile"), None, &[1]);
    place.refuses("app/a", &[], unsigned);
    place.sign(None, None, &[1]);
    place.refuses("app/a", &[], unsigned);
    place.sign(Some("acme/lineinfile"), None, &[1]);
    place.runs("app/a", &[]);
    place.dir.write("revoked", public(1));
    place.refuses("app/b", &[], unsigned);
    place.dir.write("revoked", format!("sha256:{}", digest(&fs::read(&place.module).unwrap())));
    place.refuses("app/b", &[], "is revoked");
}

#[test]
fn a_signature_can_be_required_of_name_version_and_number() {
    let place = Place::new("  require-signature: true\n");
    place.refuses("app/a", &[], "requires a signature of the module, and none counts: the signature file");
    place.sign(None, None, &[3]);
    place.refuses("app/a", &[], "is not listed");
    place.sign(None, None, &[2]);
    place.runs("app/a", &[]);
    // Another file can neither take the requirement back nor fulfil it with keys of its own.
    place.dir.write("own-signers", format!("me@x {}", public(3)));
    let own = format!("trust: {{require-signature: false, signers: {}}}\n", place.dir.join("own-signers").display());
    place.dir.write("own.yaml", own);
    place.sign(None, None, &[3]);
    place.refuses("app/b", &["--policy", "own.yaml"], "requires a signature");
    place.set_rules("  require-signature: true\n  rules: [{signer: '*.example', signatures: 2, versions: '>=1.4'}]\n");
    for (version, seeds, runs) in [
        (Some("1.4.0"), &[1, 2][..], true),
        (Some("1.5.0"), &[2, 1], true),
        (Some("1.4.0"), &[1], false),
        (Some("1.4.0"), &[1, 1], false),
        (Some("1.4.0"), &[1, 3], false),
        (Some("1.3.9"), &[1, 2], false),
        (Some("one"), &[1, 2], false),
        (None, &[1, 2], false),
    ] {
        place.sign(None, version, seeds);
        match runs {
            true => drop(place.runs("app/b", &[])),
            false => place.refuses("app/c", &[], "no trust rule fits its signers"),
        }
    }
}

#[test]
fn a_statement_whose_name_no_rule_fits_says_so() {
    let required = "  require-signature: true\n  rules: [{signer: release@acme.example, modules: ['*']}]\n";
    let place = Place::new(required);
    place.sign(None, None, &[1]);
    let told = "its statement has no name, and no module without a name fits the `modules` of trust rule 1";
    place.refuses("app/a", &[], told);
    place.sign(Some("acme/lineinfile"), None, &[1]);
    place.runs("app/a", &[]);
    place.set_rules(&required.replace("'*'", "'other/*'"));
    place.refuses("app/b", &[], "its name `acme/lineinfile` does not fit the `modules` of trust rule 1");
    // Also where no signature is required, and the module is held to be an unsigned one.
    place.set_rules(CEILING);
    place.sign(None, None, &[1]);
    let (_, report) = place.run("app/b", &[]);
    assert!(report["module"]["signature"]["reason"].as_str().unwrap().contains("has no name"), "{report}");
}

#[test]
fn jobs_and_tasks_have_ceilings_too() {
    let place = Place::new(CEILING);
    place.sign(Some("acme/lineinfile"), None, &[1]);
    let job = |path: &str| {
        let path = place.dir.join(path);
        format!(
            "{{\"module\": {:?}, \"args\": {{\"path\": {path:?}, \"line\": \"x\", \"create\": true}}}}\n",
            place.module
        )
    };
    let ran = Modbox::new(&place.dir).args(["batch", "--policy", "policy.yaml"]);
    let ran = ran.stdin(job("app/a") + &job("elsewhere/a")).run();
    let reports: Vec<Value> = ran.stdout_text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let status = |report: &Value| report["status"].as_str().unwrap_or_default().to_owned();
    let mut statuses: Vec<String> = reports.iter().map(status).collect();
    statuses.sort();
    assert_eq!(statuses, ["changed", "denied"], "{ran}");
    let play = |path: &str| {
        let path = place.dir.join(path).display().to_string();
        place.dir.write("play.yml", format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n  - lineinfile: {{path: {path}, line: x, create: true}}\n"));
        Modbox::new(&place.dir).args(["play", "play.yml", "--policy", "policy.yaml", "--module-path", "."]).run()
    };
    play("app/p").exits_with(0);
    let refused = play("elsewhere/p").exits_with(4).stdout_text();
    assert!(refused.contains("release@acme.example may not be given write"), "{refused}");
}

#[test]
fn providers_that_are_not_signed_are_not_asked() {
    let place = Place::new("  require-signature: true\n");
    let describe =
        "provider:\n  type: thing\n  invoke: json\n  actions: [list]\n  suitable: true\n  attributes:\n    name: {}\n";
    let asked = place.dir.join("asked").display().to_string();
    let text = format!("#!/bin/sh\ntouch {asked}\nprintf '%s' '---\n{describe}'\n");
    let provider = place.dir.write("data/providers/thing.prov", text);
    fs::set_permissions(&provider, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran =
        Modbox::new(&place.dir).arg("run").arg(&provider).args(["--policy", "policy.yaml", "ral_action=list"]).run();
    let result = ran.exits_with(4).json();
    assert!(result["msg"].as_str().unwrap().contains("requires a signature of the module"), "{result}");
    assert!(!place.dir.join("asked").exists());
    let list = || {
        let ran = Modbox::new(&place.dir).args(["resource", "--policy", "policy.yaml", "--include", "data"]).run();
        ran.stderr_text().contains("`data/providers/thing.prov` is left out")
            || ran.stderr_text().contains("is left out: `policy.yaml` requires a signature")
    };
    assert!(list());
    place.dir.write("data/providers/thing.prov.sig", signed(statement(&provider, None, None), &[1]));
    assert!(!list());
}

#[test]
fn tasks_of_controllers_bring_their_signatures() {
    let place = Place::new(CEILING);
    let statement = statement(&place.module, Some("acme/lineinfile"), None);
    let digest = format!("sha256:{}", statement.digest);
    place.dir.write("home/.config/modbox/policy.yaml", fs::read_to_string(place.dir.join("policy.yaml")).unwrap());
    let send = |args: &[&str], input: Vec<u8>| {
        Modbox::new(&place.dir).own_cache(&place.dir).arg("task").args(args).stdin(input).run()
    };
    send(&["--store", &digest], fs::read(&place.module).unwrap()).exits_with(0);
    let task = |more: Value| {
        let path = place.dir.join("app/task");
        let mut task = json!({"contract": 3, "module": digest, "args": {"path": path, "line": "x", "create": true}});
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        send(&[], task.to_string().into_bytes()).stdout_text()
    };
    let unsigned = "a module without a signature that counts may not be given write";
    assert!(task(json!({})).contains(unsigned));
    assert!(task(json!({"signature": signed(statement.clone(), &[2])})).contains(unsigned));
    assert!(task(json!({"signature": "nonsense"})).contains(unsigned));
    let ran = task(json!({"signature": signed(statement, &[1])}));
    assert!(ran.contains("\"changed\": true"), "{ran}");
}

#[test]
fn signatures_may_lie_in_a_folder_by_digest() {
    let place = Place::new("  require-signature: true\n  signatures: AT/signatures\n");
    let statement = statement(&place.module, None, None);
    place.dir.write(&format!("signatures/{}.sig", statement.digest), signed(statement.clone(), &[1]));
    place.runs("app/a", &[]);
    // A file beside the module that does not count hides none that does.
    for junk in ["nonsense".to_owned(), signed(Statement { name: Some("junk/x".to_owned()), ..statement }, &[3])] {
        place.dir.write("lineinfile.wasm.sig", junk);
        place.runs("app/a", &[]);
    }
}

#[test]
fn what_is_wrong_with_trust_rules_is_named_before_a_run() {
    let place = Place::new("");
    let at = place.dir.path().display().to_string();
    let check = |text: &str, status: i32, expect: &str| {
        place.dir.write("policy.yaml", text.replace("AT", &at));
        let ran = Modbox::new(&place.dir).args(["policy", "check", "policy.yaml"]).run().exits_with(status);
        assert!(ran.stdout_text().contains(expect), "{text}: {ran}");
        ran.stdout_text()
    };
    check("trust: {signers: signers}", 2, "the file of signers `signers` must be an absolute path");
    check("trust: {signers: AT/none}", 2, "failed to find `");
    check("trust: {rules: [{at-most: {}}]}", 2, "either `signer: NAME` or `unsigned: true`");
    check("trust: {rules: [{unsigned: true, versions: '>1'}]}", 2, "are of signed modules");
    check("trust: {rules: [{signer: a, versions: one}]}", 2, "`one` is not a requirement of versions");
    check("trust: {rules: [{signer: a, signatures: 0}]}", 2, "from 1 to 16");
    check("trust: {rules: [{signer: a, at-most: {walk: []}}]}", 2, "unknown key `walk`");
    check("trust: {signers: AT/signers, rules: [{signer: unknown@x}]}", 0, "signs for `unknown@x`");
    check("trust: {signers: AT/signers, rules: [{signer: '*@acme.example'}]}", 0, "no trust rule is for line 2");
    let by_core = "trust: {signers: AT/signers, ansible-core: SIGNER, rules: [{signer: '*@acme.example'}]}";
    check(&by_core.replace("SIGNER", "ops@x"), 0, "signs for `ops@x`");
    let told = check(&by_core.replace("SIGNER", "team@other.example"), 0, "");
    assert!(!told.contains("no trust rule is for line 2"), "{told}");
    check("trust: {signers: AT/signers, rules: [{signer: '*'}, {signer: a@b}]}", 0, "this rule is never reached");
    place.dir.write("signers", format!("a@b valid-before=\"20200101Z\" {}\n", public(1)));
    check("trust: {signers: AT/signers}", 0, "was valid before 2020-01-01");
    place.dir.write("signers", "a@b ssh-ed25519 nonsense\n");
    check("trust: {signers: AT/signers}", 2, "line 1 ");
    check("trust: {signers: AT/signers, revoked: AT/signers}", 2, "line 1 ");
}
