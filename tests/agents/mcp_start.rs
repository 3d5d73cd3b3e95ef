//! When `modbox mcp` serves at all: what policy files must and must not say, and that files of the working directory count for
//! nothing.

use std::fs;

use serde_json::{Value, json};

use crate::agents::client::{Client, state};
use crate::agents::mcp_tools::{policy, site};
use crate::support::{Modbox, TestDir, guest};

fn mcp(dir: &TestDir) -> Modbox {
    Modbox::new(dir).args(["mcp", "--policy", "agent.yaml", "--module-path", "modules"])
}

#[test]
fn a_file_must_say_which_modules_are_tools_and_what_confirms() {
    let dir = site();
    dir.write("agent.yaml", "allow: {read: [/srv]}");
    mcp(&dir).run().exits_with(2).says("no policy file says which modules are tools");
    dir.write("agent.yaml", "tools: {modules: [stat], confirm: maybe}");
    mcp(&dir).run().exits_with(2).says("expected one of `none`, `client`, `person`, `hand`, `never`");
    dir.write("agent.yaml", "tools: {modules: [nowhere], confirm: never}");
    mcp(&dir)
        .run()
        .exits_with(3)
        .says("`nowhere` cannot be a tool")
        .says("none of the modules of `tools` can be a tool");
}

#[test]
fn what_a_person_may_do_is_not_what_the_agent_may_do() {
    let dir = site();
    let secret = dir.join("secret");
    dir.write("home/.config/modbox/policy.yaml", format!("allow: {{read: [{}]}}\n", secret.display()));
    let mut client = Client::legacy(&dir, &[]);
    let denied = client.structure(1, "slurp", &json!({"src": secret}));
    assert_eq!(denied["status"], "denied", "{denied}");
    drop(client);
    // Restrictions hold: here, a limit.
    dir.write("home/.config/modbox/policy.yaml", "limits: {output: 10}\n");
    let mut client = Client::legacy(&dir, &[]);
    let limited = client.structure(1, "slurp", &json!({"src": dir.join("site/motd")}));
    assert_eq!(limited["status"], "limit", "{limited}");
}

#[test]
fn no_rule_takes_a_tool_out_of_confinement() {
    let dir = site();
    let module = dir.join("modules/slurp.wasm");
    let inspected = Modbox::new(&dir).args(["inspect", "--json"]).arg(&module).run().exits_with(0).json();
    let digest = inspected["digest"].as_str().unwrap();
    policy(&dir, "[slurp]", &format!("modules: {{'{digest}': {{unconfined: true}}}}\n"));
    let secret = json!({"src": dir.join("secret")});
    let denied = Client::legacy(&dir, &[]).structure(1, "slurp", &secret);
    assert_eq!(denied["status"], "denied", "{denied}");
    // For a person, it does.
    dir.write("own.yaml", format!("modules: {{'{digest}': {{unconfined: true}}}}\n"));
    let run = Modbox::run_module(&dir, &module).args(["--policy", "own.yaml", "--designated", "none"]);
    run.json_args(&secret).run().exits_with(0);
}

#[test]
fn files_of_the_working_directory_count_for_nothing() {
    let dir = site();
    for place in ["library/stat", "stat", "stat.wasm", "library/stat.wasm"] {
        dir.write(place, fs::read(guest("put")).unwrap());
    }
    dir.write("modbox.lock", "not a lock file");
    dir.write("ansible_collections/a/b/plugins/modules/c.py", "DOCUMENTATION = 'module: c'\n");
    let shown = mcp(&dir).arg("--show").env("MODBOX_LIBRARY", "library:.").env("ANSIBLE_COLLECTIONS_PATH", ".").run();
    let text = shown.exits_with(0).stdout_text();
    assert!(text.contains(&format!("file: {}", dir.join("modules/stat.wasm").display())), "{text}");
    // Found only there, a module is not found.
    policy(&dir, "[stat, planted, a.b.c]", "");
    dir.write("library/planted.wasm", fs::read(guest("put")).unwrap());
    let shown = mcp(&dir).arg("--show").run().exits_with(0).stdout_text();
    assert!(shown.contains("left out:\n  planted: ") && shown.contains("\n  a.b.c: "), "{shown}");
}

#[test]
fn no_grant_reaches_what_decides_about_grants() {
    let dir = site();
    let root = dir.path().canonicalize().unwrap();
    let grants = |path: &str| format!("modules: {{stat: {{allow: {{write: [{}]}}}}}}\n", root.join(path).display());
    dir.write("keys/allowed_signers", "");
    fs::create_dir_all(root.join("home/.config/modbox")).unwrap();
    fs::create_dir_all(root.join("home/.local/state/modbox")).unwrap();
    for (path, what) in [
        ("agent.yaml", "a policy file"),
        ("", "a policy file"),
        ("home/.local/state", "a folder of modbox"),
        ("modules", "a folder of modules"),
        ("modules/stat.wasm", "a folder of modules"),
        ("audit.jsonl", "an audit file"),
        ("home/.config", "a policy file"),
        ("home/.config/modbox/new.yaml", "the folder of a policy file"),
        ("keys", "a file of the trust rules"),
    ] {
        let trust = format!("trust: {{signers: {}}}\n", root.join("keys/allowed_signers").display());
        let audit = format!("audit: {}\n", root.join("audit.jsonl").display());
        let tools = "tools: {modules: [stat], confirm: never}\n".to_owned();
        dir.write("agent.yaml", tools + &audit + &grants(path) + &trust);
        let ran = mcp(&dir).env("XDG_STATE_HOME", state(&dir)).run();
        let ran = ran.exits_with(2).says("so an agent could change what it may do");
        assert!(ran.stderr_text().contains(&format!("`, {what}, so")), "{path}: {}", ran.stderr_text());
    }
    // Who can put another link there decides what a grant is of, whichever module has it.
    std::os::unix::fs::symlink("site", root.join("link")).unwrap();
    let read = format!("stat: {{allow: {{read: [{}]}}}}", root.join("link").display());
    let write = format!("lineinfile: {{allow: {{write: [{}]}}}}", root.display());
    for modules in ["[stat, lineinfile]", "[lineinfile, stat]"] {
        let tools = format!("tools: {{modules: {modules}, confirm: person}}\n");
        dir.write("elsewhere/agent.yaml", format!("{tools}modules: {{{read}, {write}}}\n"));
        fs::rename(root.join("elsewhere/agent.yaml"), root.join("agent.yaml")).unwrap();
        mcp(&dir).run().exits_with(2).says("so an agent could change what it may do");
    }
    dir.write("agent.yaml", "tools: {modules: [stat], confirm: never}\n".to_owned() + &grants("site"));
    mcp(&dir).arg("--show").run().exits_with(0);
}

#[test]
fn no_tool_turns_a_link_to_what_another_tool_is_granted() {
    let dir = site();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("site/sub/deep")).unwrap();
    std::os::unix::fs::symlink("sub", root.join("site/in")).unwrap();
    let site = root.join("site").display().to_string();
    let tools = "tools: {modules: [stat, lineinfile], confirm: none}\n";
    let write = |granted: &str| format!("lineinfile: {{allow: {{write: ['{granted}']}}}}");
    for section in
        ["allow: {read: [SITE/in]}", "allow: {write: [SITE/in/deep]}", "ask: {read: ['SITE/in/deep::/deep']}"]
    {
        let section = section.replace("SITE", &site);
        dir.write("agent.yaml", format!("{tools}modules: {{stat: {{{section}}}, {}}}\n", write(&site)));
        let ran = mcp(&dir).arg("--show").run().exits_with(2).says("a link on the way to a granted path");
        assert!(ran.stderr_text().contains(&format!("`{site}/in`")), "{section}: {}", ran.stderr_text());
        dir.write(
            "agent.yaml",
            format!("{tools}modules: {{stat: {{{section}}}, {}}}\n", write(&format!("{site}/sub"))),
        );
        mcp(&dir).arg("--show").run().exits_with(0);
    }
}

#[test]
fn no_tool_writes_what_runs_modules() {
    let dir = site();
    let root = dir.path().canonicalize().unwrap();
    for folder in ["py/bin", "py/lib/python3.99", "other", "links"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("/bin/sh", root.join("py/bin/shell")).unwrap();
    std::os::unix::fs::symlink(root.join("py/bin"), root.join("links/bin")).unwrap();
    dir.write("modules/spy.yml", "DOCUMENTATION: {module: spy, short_description: A spy., options: {}}\n");
    let granting = |interpreter: &str, granted: &str| {
        let line = root.join(interpreter);
        dir.write("modules/spy", format!("#!{}\n# WANT_JSON\n", line.display()));
        let write = format!("modules: {{spy: {{allow: {{write: ['{}']}}}}}}", root.join(granted).display());
        dir.write("agent.yaml", format!("tools: {{modules: [spy], confirm: none}}\n{write}\n"));
        mcp(&dir).arg("--show").run()
    };
    for interpreter in ["py/bin/shell", "links/bin/shell -e", "links/bin/../bin/shell"] {
        for granted in ["py", "py/bin/shell"] {
            granting(interpreter, granted).exits_with(2).says("an interpreter of modules, so an agent");
        }
        granting(interpreter, "other").exits_with(0);
    }
    granting("links/bin/shell", "links").exits_with(2).says("so an agent");
    granting("py/bin/shell", "py/lib/python3.99/x").exits_with(2).says("what an interpreter of modules imports");
}

#[test]
fn what_is_shown_is_what_clients_get() {
    let dir = site();
    policy(&dir, "[stat, lineinfile, nowhere]", "");
    let shown = mcp(&dir).arg("--show").run().exits_with(0).stdout_text();
    assert!(shown.starts_with("stat (only reads)\n  module: stat (sha256:"), "{shown}");
    assert!(shown.contains(&format!("\n  may: read {}\n", dir.join("site").display())), "{shown}");
    assert!(
        shown.contains("\n  lineinfile: it changes what its option `path` names, and these tools only read\n"),
        "{shown}"
    );
    assert!(shown.contains("\n  nowhere: "), "{shown}");
    let listed: Value = mcp(&dir).args(["--show", "--json"]).run().exits_with(0).json();
    let mut client = Client::legacy(&dir, &[]);
    let got = client.ask(1, "tools/list", &json!({}));
    assert_eq!(got["result"]["tools"], listed["tools"]);
}
