//! Interpreters that variables of a play name, and settings of Ansible that modbox does not read.

use std::fs;

use crate::support::{Modbox, RunOutput, TestDir, prefixed};

const PLAY: &str = "- hosts: all\n  gather_facts: false\n  tasks:\n";

fn play(dir: &TestDir, text: &str, args: &[&str]) -> RunOutput {
    dir.write("play.yml", text);
    Modbox::new(dir).arg("play").args(args).arg("play.yml").run()
}

/// A module that says which program runs it, and a copy of the shell. Returns the path of the copy.
fn own_shell(dir: &TestDir) -> String {
    dir.write("library/who.sh", "#!/bin/sh\n# WANT_JSON\necho \"{\\\"exe\\\": \\\"$(readlink /proc/$$/exe)\\\"}\"\n");
    let copy = dir.mkdir("own").join("sh");
    fs::copy("/bin/sh", &copy).unwrap();
    copy.display().to_string()
}

#[test]
fn the_operator_may_name_an_interpreter() {
    let dir = TestDir::new();
    let shell = own_shell(&dir);
    let text = format!("{PLAY}  - who:\n    register: r\n  - debug: {{var: r.exe}}\n");
    let said = |args: &[&str]| play(&dir, &text, args).exits_with(0).stdout_text();
    assert!(!said(&[]).contains(&shell));
    let named = said(&["-e", &format!("ansible_sh_interpreter={shell}")]);
    assert!(named.contains(&format!("\"r.exe\": \"{shell}\"")), "{named}");
}

#[test]
fn an_interpreter_that_a_play_names_needs_a_grant() {
    let dir = TestDir::new();
    let shell = own_shell(&dir);
    let text = format!(
        "{PLAY}  - who:\n    vars: {{ansible_sh_interpreter: {shell}}}\n    register: r\n  - debug: {{var: r.exe}}\n"
    );
    let denied = play(&dir, &text, &[]).exits_with(4).stdout_text();
    assert!(denied.contains(&format!("--allow-run {shell}")), "{denied}");
    let allowed = play(&dir, &text, &["--allow-run", &shell]).exits_with(0).stdout_text();
    assert!(allowed.contains(&format!("\"r.exe\": \"{shell}\"")), "{allowed}");
    // What a result names is not the operator's word either.
    dir.write("library/names.sh", format!("#!/bin/sh\n# WANT_JSON\necho '{{\"shell\": \"{shell}\"}}'\n"));
    let text = format!(
        "{PLAY}  - names:\n    register: n\n  - who:\n    vars: {{ansible_sh_interpreter: \"{{{{ n.shell }}}}\"}}\n"
    );
    play(&dir, &text, &[]).exits_with(4);
    // A program of the system is one that each module may start by itself.
    let text =
        format!("{PLAY}  - who:\n    vars: {{ansible_sh_interpreter: /bin/bash, ansible_python_interpreter: auto}}\n");
    play(&dir, &text, &[]).exits_with(0);
}

/// A module that tells its internal arguments, and arguments that it makes up.
const TELLER: &str = "#!/bin/sh\n# WANT_JSON\n\
    printf '{\"invocation\": {\"module_args\": 7}, \"told\": %s}' \"$(sed s/_ansible_/own_/g \"$1\")\"\n";

#[test]
fn tasks_decide_whether_results_repeat_arguments() {
    let dir = TestDir::new();
    dir.write("library/teller.sh", TELLER);
    // What a module of another kind than Python says by itself stays, as in ansible-core 2.21.
    let shown = "- debug: {msg: \"{{ r.told.own_inject_invocation }} {{ r.told.own_version }} {{ r.invocation.module_args }}\"}";
    let text = |vars: &str| format!("{PLAY}  - teller:\n    vars: {{{vars}}}\n    register: r\n  {shown}\n");
    let said = |vars: &str, variable: &str, args: &[&str]| {
        dir.write("play.yml", text(vars));
        let ran =
            Modbox::new(&dir).arg("play").args(args).arg("play.yml").env("ANSIBLE_INJECT_INVOCATION", variable).run();
        ran.exits_with(0).stdout_text()
    };
    for (vars, variable, expect) in [
        ("", "", "False 2.21.5 7"),
        ("ansible_inject_invocation: true", "", "True 2.21.5 7"),
        ("", "true", "True 2.21.5 7"),
        ("ansible_inject_invocation: '{{ 1 > 2 }}'", "true", "False 2.21.5 7"),
    ] {
        let said = said(vars, variable, &[]);
        assert!(said.contains(expect), "`{expect}` is missing: {said}");
    }
    assert!(said("", "", &["--contract", "2.22"]).contains("False 2.22.0rc1 7"));
}

/// A play that shows what settings do: one line for each host and task.
const SHOWING: &str = "- hosts: all\n  gather_facts: false\n  tasks:\n  - debug: {msg: \"roles {{ lookup('config', 'DEFAULT_ROLES_PATH') | first }}\"}\n    \
    tags: shown\n  - debug: {msg: other}\n  - debug: {msg: waits}\n    changed_when: true\n    notify: nothing\n    tags: [never, notifies]\n  \
    handlers: []\n";

/// Runs a play with a setting, once by the variable and once by the file, and returns the outputs.
fn set(setting: (&str, &str), key: (&str, &str), text: &str, args: &[&str]) -> [RunOutput; 2] {
    let dir = TestDir::new();
    dir.write("hosts", "here ansible_connection=local\n");
    dir.write("play.yml", text);
    let home = dir.mkdir("home");
    let run = || Modbox::new(&dir).env("HOME", &home).args(["play", "play.yml"]).args(args);
    let by_variable = run().env(setting.0, setting.1).run();
    dir.write("ansible.cfg", format!("[{}]\n{} = {} ; a comment\n", key.0, key.1, setting.1));
    [by_variable, run().run()]
}

#[test]
fn settings_of_the_environment_and_of_the_file_are_honoured() {
    let check = |variable: &str, key: (&str, &str), value: &str, args: &[&str], expect: &str| {
        for ran in set((variable, value), key, SHOWING, args) {
            let all = format!("{}{}", ran.stdout_text(), ran.stderr_text());
            assert!(all.contains(expect), "{variable}={value}: {ran}");
        }
    };
    let defaults = |key: &'static str| ("defaults", key);
    check("ANSIBLE_INVENTORY", defaults("inventory"), "hosts", &["-t", "shown"], "ok: [here]");
    check("ANSIBLE_ROLES_PATH", defaults("roles_path"), "own:more", &["-t", "shown"], "\"roles own\"");
    for ran in set(("ANSIBLE_GATHERING", "explicit"), defaults("gathering"), "- hosts: all\n  tasks: [debug: ]\n", &[])
    {
        assert!(ran.stdout_text().contains("ok=1 ") && !ran.stdout_text().contains("Gathering"), "{ran}");
    }
    check("ANSIBLE_RUN_TAGS", ("tags", "run"), "shown", &["--skip-tags", "x"], "ok=1 ");
    check("ANSIBLE_SKIP_TAGS", ("tags", "skip"), "shown", &["-t", "all"], "\"other\"");
    check("ANSIBLE_NO_LOG", defaults("no_log"), "yes", &["-t", "shown", "-v"], "the output has been hidden");
    check("ANSIBLE_VERBOSITY", defaults("verbosity"), "2", &["-t", "shown"], "plays in ");
    check(
        "ANSIBLE_ERROR_ON_MISSING_HANDLER",
        defaults("error_on_missing_handler"),
        "no",
        &["-t", "notifies"],
        "changed=1",
    );
    check("ANSIBLE_FORKS", defaults("forks"), "x", &[], "expected a whole number");
    check("ANSIBLE_GATHERING", defaults("gathering"), "never", &[], "use `implicit`, `explicit` or `smart`");
    // What is not honoured is told, or refused where it would change what the play means.
    check(
        "ANSIBLE_ACTION_PLUGINS",
        defaults("action_plugins"),
        "x",
        &["-t", "x"],
        "makes no difference: plugins in Python",
    );
    check("ANSIBLE_HASH_BEHAVIOUR", defaults("hash_behaviour"), "mix", &[], "use `replace` or `merge`");
    check("ANSIBLE_HASH_BEHAVIOUR", defaults("hash_behaviour"), "replace", &["-t", "x"], "PLAY RECAP");
    check("ANSIBLE_STRATEGY", defaults("strategy"), "free", &["-t", "x"], "PLAY RECAP");
    let groups = ("ANSIBLE_TRANSFORM_INVALID_GROUP_CHARS", defaults("force_valid_group_names"));
    check(groups.0, groups.1, "ignore", &["-t", "x"], "PLAY RECAP");
    check(groups.0, groups.1, "always", &[], "groups keep their names");
    let mismatch = ("ANSIBLE_HOST_PATTERN_MISMATCH", ("inventory", "host_pattern_mismatch"));
    check(mismatch.0, mismatch.1, "never", &[], "use `warning`, `error` or `ignore`");
    check("ANSIBLE_STRATEGY", defaults("strategy"), "debug", &[], "set `strategy` in the play");
    check("ANSIBLE_TIMEOUT", defaults("timeout"), "7", &["-v", "-t", "x"], "makes no difference here");
    check(
        "ANSIBLE_NO_SUCH",
        defaults("no_such"),
        "x",
        &["-t", "x"],
        "make no difference: ansible-core itself has no such",
    );
}

#[test]
fn tasks_become_the_user_of_the_settings() {
    let dir = TestDir::new();
    let text = format!("{PLAY}  - who:\n    register: w\n  - debug: {{msg: \"by {{{{ w.user }}}}\"}}\n");
    dir.write("play.yml", text);
    dir.write("library/who.sh", "#!/bin/sh\n# WANT_JSON\necho \"{\\\"user\\\": \\\"$(id -u)\\\"}\"\n");
    let home = dir.mkdir("home");
    let play = || Modbox::new(&dir).env("HOME", &home).args(["play", "--allow-all", "play.yml"]);
    let by_variables = play().env("ANSIBLE_BECOME", "true").env("ANSIBLE_BECOME_USER", "65534").run();
    dir.write("ansible.cfg", "[privilege_escalation]\nbecome = true\nbecome_user = 65534\n");
    for ran in [by_variables, play().run()] {
        match rustix::process::geteuid().is_root() {
            true => assert!(ran.stdout_text().contains("by 65534"), "{ran}"),
            false => assert!(ran.stderr_text().contains("start it with `sudo`"), "{ran}"),
        }
    }
}

#[test]
fn links_of_a_play_lead_its_settings_nowhere_else() {
    let (dir, elsewhere) = (TestDir::new(), TestDir::new());
    elsewhere.write("key", "elsewhere-secret");
    elsewhere.write("hosts", "elsewhere-secret ansible_connection=local\n");
    std::os::unix::fs::symlink(elsewhere.path(), dir.join("linked")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(dir.join("pipe")).status().unwrap();
    assert!(pipe.success());
    dir.write("play.yml", format!("{PLAY}  - debug: {{msg: \"{{{{ lookup('file', 'linked/key') }}}}\"}}\n"));
    let home = dir.mkdir("home");
    let cases = [
        ("roles_path = ./linked", "--roles-path "),
        ("library = ./linked", "--module-path "),
        ("collections_path = ./linked", "--collections-path "),
        ("inventory = ./linked/hosts", "-i "),
        ("vault_password_file = ./linked/key", "--vault-password-file "),
        ("vault_identity_list = dev@linked/key", "--vault-password-file "),
        ("vault_password_file = pipe", "--vault-password-file "),
    ];
    for (setting, switch) in cases {
        dir.write("ansible.cfg", format!("[defaults]\n{setting}\n"));
        let ran = Modbox::new(&dir).env("HOME", &home).args(["play", "play.yml"]).run();
        assert!(ran.stderr_text().contains(&format!("use `{switch}")), "{setting}: {ran}");
        assert!(!ran.stdout_text().contains("elsewhere-secret"), "{setting}: {ran}");
    }
    std::fs::remove_file(dir.join("ansible.cfg")).unwrap();
    std::os::unix::fs::symlink("linked/key", dir.join("ansible.cfg")).unwrap();
    let ran = Modbox::new(&dir).env("HOME", &home).args(["play", "play.yml"]).run();
    assert!(ran.stderr_text().contains("a link that leads out of its folder"), "{ran}");
    assert!(!ran.stdout_text().contains("elsewhere-secret"), "{ran}");
}

#[test]
fn the_file_of_a_play_names_no_folders_outside_of_its_own() {
    let (dir, elsewhere) = (TestDir::new(), TestDir::new());
    elsewhere.write("roles/r/tasks/main.yml", "- debug: {msg: from elsewhere}\n");
    dir.write("play.yml", "- hosts: all\n  gather_facts: false\n  roles: [r]\n");
    let text = format!("[defaults]\nroles_path = {}\n", elsewhere.join("roles").display());
    dir.write("ansible.cfg", &text);
    let home = dir.mkdir("home");
    let run = || Modbox::new(&dir).env("HOME", &home).args(["play", "play.yml"]);
    for run in [run(), run().env("ANSIBLE_CONFIG", "ansible.cfg")] {
        let refused = run.run().exits_with(2).stderr_text();
        let expect = "is left out: it is outside of the folder of the file; use `--roles-path ";
        assert!(refused.contains(expect), "{refused}");
    }
    // The file of the user is the user's word.
    dir.write("home/.ansible.cfg", &text);
    std::fs::remove_file(dir.join("ansible.cfg")).unwrap();
    let own = run().run().exits_with(0).stdout_text();
    assert!(own.contains("from elsewhere"), "{own}");
}

#[test]
fn the_file_of_a_play_names_no_folders_that_do_not_belong_to_the_play() {
    let dir = TestDir::new();
    let show =
        |path: &str| format!("{PLAY}  - debug: {{msg: \"{{{{ lookup('file', playbook_dir ~ '/{path}') }}}}\"}}\n");
    for (folder, settings, path, says) in [
        (
            "project",
            "filter_plugins = .git",
            ".git/config",
            "a dot file does not belong to the play; use `ANSIBLE_FILTER_PLUGINS=",
        ),
        ("project", "roles_path = linked", ".git/config", "a dot file does not belong to the play; use `--roles-path "),
        ("home", "roles_path = Documents", "Documents/plan", "belong to the play; use `--roles-path "),
        ("home", "inventory = Documents", "Documents/plan", "belong to the play; use `-i "),
        ("home", "roles_path = .", "Documents/plan", "--allow-read"),
    ] {
        for file in [".git/config", "Documents/plan"] {
            dir.write(&format!("{folder}/{file}"), "kept-secret");
        }
        let link = dir.join(folder).join("linked");
        if !link.is_symlink() {
            std::os::unix::fs::symlink(".git", link).unwrap();
        }
        dir.write(&format!("{folder}/play.yml"), show(path));
        dir.write(&format!("{folder}/ansible.cfg"), format!("[defaults]\n{settings}\n"));
        let in_folder = |command: std::process::Command| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", "cd \"$0\" && exec \"$@\""]).arg(dir.join(folder));
            prefixed(shell, &command)
        };
        let ran = Modbox::new(&dir).env("HOME", dir.join("home")).args(["play", "play.yml"]).behind(in_folder).run();
        let text = ran.stdout_text() + &ran.stderr_text();
        assert!(text.contains(says) && !text.contains("kept-secret"), "{settings}: {ran}");
    }
    // Where collections are, nothing else is.
    dir.write("project/.galaxy/ansible_collections/a/b/files/text", "of a collection");
    dir.write("project/play.yml", show(".galaxy/ansible_collections/a/b/files/text"));
    dir.write("ansible.cfg", "[defaults]\ncollections_path = project/.galaxy\n");
    let ran = Modbox::new(&dir).args(["play", "project/play.yml"]).run().exits_with(0);
    assert!(ran.stdout_text().contains("of a collection"), "{ran}");
    let told = Modbox::new(&dir).env("ANSIBLE_OF_A_PLUGIN", "1").args(["play", "project/play.yml"]).run().stderr_text();
    assert!(told.contains("`ANSIBLE_OF_A_PLUGIN` make no difference") && told.contains("only by a rule"), "{told}");
}

#[test]
fn only_the_file_that_ansible_would_read_counts() {
    let dir = TestDir::new();
    let home = dir.mkdir("home");
    dir.write("play/play.yml", "- hosts: all\n  gather_facts: false\n  tasks: [debug: ]\n");
    dir.write("play/ansible.cfg", "[tags]\nskip = all\n");
    let run = || Modbox::new(&dir).env("HOME", &home).args(["play", "play/play.yml"]);
    let beside = run().run().exits_with(0);
    assert!(
        beside.stdout_text().contains("ok=1") && beside.stderr_text().contains("looks in the current folder"),
        "{beside}"
    );
    dir.write("other.cfg", "no section\n");
    let wrong = run().env("ANSIBLE_CONFIG", "other.cfg").run().exits_with(2).stderr_text();
    assert!(wrong.contains("other.cfg`: File contains no section headers; line 1"), "{wrong}");
    let named = run().env("ANSIBLE_CONFIG", "play").run().exits_with(0);
    assert!(!named.stdout_text().contains("ok=1"), "a folder stands for the file in it: {named}");
}

#[test]
fn tags_that_select_tasks_are_warned_about() {
    let dir = TestDir::new();
    let text =
        format!("{PLAY}  - debug:\n    tags: [x, tagged]\n  - debug:\n    tags: y,all\n  - debug:\n    tags: always\n");
    let said = play(&dir, &text, &[]).exits_with(0).stderr_text();
    for expect in ["play.yml:5:11: Found reserved tagnames in tags: ['tagged'], we do not", "tags: ['all'], we do not"]
    {
        assert!(said.contains(expect), "`{expect}` is missing: {said}");
    }
    assert_eq!(said.matches("reserved tagnames").count(), 2, "{said}");
}

#[test]
fn settings_about_facts_roles_and_files_are_honoured() {
    let check = |setting: (&str, &str), key: (&str, &str), text: &str, expect: &str, not: &str| {
        for ran in set(setting, key, text, &[]) {
            let all = format!("{}{}", ran.stdout_text(), ran.stderr_text());
            assert!(all.contains(expect) && (not.is_empty() || !all.contains(not)), "{setting:?}: {ran}");
        }
    };
    let defaults = |key: &'static str| ("defaults", key);
    // `set_fact` with `cacheable` makes a fact, without a module.
    let facts = format!(
        "{PLAY}  - set_fact: {{own: 1, cacheable: true}}\n  - debug: {{msg: \"{{{{ hostvars.localhost.ansible_facts.own }}}} \
         {{{{ ansible_local | default('none') }}}}\"}}\n"
    );
    check(("ANSIBLE_INJECT_FACT_VARS", "false"), defaults("inject_facts_as_vars"), &facts, "\"msg\": \"1 {}\"", "");
    check(("ANSIBLE_INJECT_FACT_VARS", "true"), defaults("inject_facts_as_vars"), &facts, "\"msg\": \"1 none\"", "");
    let other = "- hosts: nowhere\n  gather_facts: false\n  tasks: []\n";
    let mismatch = |value: &'static str, expect: &str, not: &str| {
        let key = ("inventory", "host_pattern_mismatch");
        check(("ANSIBLE_HOST_PATTERN_MISMATCH", value), key, other, expect, not);
    };
    mismatch("ignore", "PLAY RECAP", "no host fits");
    mismatch("warning", "[WARNING]: no host fits `nowhere`", "[ERROR]");
    mismatch("error", "[ERROR]: no host fits `nowhere`", "[WARNING]");
    let twice = format!("{PLAY}  - debug: {{msg: 1, msg: 2}}\n");
    let key = defaults("duplicate_dict_key");
    check(("ANSIBLE_DUPLICATE_YAML_DICT_KEY", "error"), key, &twice, "Found duplicate mapping key", "\"msg\": 2");
    check(("ANSIBLE_DUPLICATE_YAML_DICT_KEY", "ignore"), key, &twice, "\"msg\": 2", "duplicate");
    check(("ANSIBLE_DUPLICATE_YAML_DICT_KEY", "warn"), key, &twice, "\"msg\": 2", "[ERROR]");
    let skipped = format!("{PLAY}  - name: never\n    debug:\n    when: false\n  - name: then\n    debug:\n");
    let key = defaults("display_skipped_hosts");
    check(("ANSIBLE_DISPLAY_SKIPPED_HOSTS", "no"), key, &skipped, "TASK [then]", "never");
    check(("ANSIBLE_DISPLAY_SKIPPED_HOSTS", "yes"), key, &skipped, "TASK [never]", "");
}

#[test]
fn variables_of_roles_are_private_where_a_setting_says_so() {
    let dir = TestDir::new();
    let home = dir.mkdir("home");
    dir.write("roles/r/defaults/main.yml", "own: of the role\n");
    dir.write("roles/r/tasks/main.yml", "- debug: {msg: \"{{ own }}\"}\n");
    let task = "- debug: {msg: \"after {{ own | default('nothing') }}\"}";
    dir.write("play.yml", format!("- hosts: all\n  gather_facts: false\n  roles: [r]\n  tasks:\n  {task}\n"));
    let run = || Modbox::new(&dir).env("HOME", &home).args(["play", "play.yml"]);
    let usual = run().run().exits_with(0).stdout_text();
    assert!(usual.contains("after of the role"), "{usual}");
    let by_variable = run().env("ANSIBLE_PRIVATE_ROLE_VARS", "true").run();
    dir.write("ansible.cfg", "[defaults]\nprivate_role_vars = true\n");
    for ran in [by_variable, run().run()] {
        let said = ran.exits_with(0).stdout_text();
        assert!(said.contains("\"msg\": \"of the role\"") && said.contains("after nothing"), "{said}");
    }
}

#[test]
fn a_setting_says_what_templates_are_managed_by() {
    let dir = TestDir::new();
    let home = dir.mkdir("home");
    dir.write("ansible.cfg", "[defaults]\nansible_managed = made of {file} in %Y by hand\n");
    let file = dir.write("templates/t.j2", "{{ ansible_managed }}");
    let year = std::process::Command::new("date").args(["+%Y", "-r"]).arg(&file).output().unwrap().stdout;
    let show = "- debug: {msg: \"{{ lookup('template', 't.j2') }}\"}";
    dir.write("play.yml", format!("{PLAY}  {show}\n  {show}\n    vars: {{ansible_managed: a variable}}\n"));
    let ran = Modbox::new(&dir).env("HOME", &home).args(["play", "play.yml"]).run().exits_with(0).stdout_text();
    let expect = format!("made of t.j2 in {} by hand", String::from_utf8_lossy(&year).trim());
    assert!(ran.contains(&expect) && ran.contains("\"a variable\""), "{expect}: {ran}");
}
