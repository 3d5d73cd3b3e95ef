//! What of the folder around a playbook belongs to the play: a project's files do; the home folder that it was saved in, dot files
//! and private keys do not.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Modbox, RunOutput, TestDir};

const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n";

/// A home folder with keys and documents, and a playbook of another person.
fn home(tasks: &str) -> TestDir {
    let dir = TestDir::new();
    for (path, text) in [
        ("home/.ssh/id_ed25519", KEY),
        ("home/.netrc", "secret"),
        ("home/Documents/plan", "secret"),
        ("home/notes.txt", "secret"),
        ("home/files/motd", "welcome"),
        ("home/files/.profile", "profile"),
        ("home/files/server.key", KEY),
        ("home/group_vars/all.yml", "greeting: hello\n"),
        ("home/play.yml", &format!("- hosts: localhost\n  gather_facts: false\n  tasks:\n{tasks}")),
    ] {
        dir.write(path, text);
    }
    dir
}

fn play(dir: &TestDir, playbook: &str, options: &[&str]) -> RunOutput {
    let run = Modbox::new(dir).env("HOME", dir.join("home")).arg("play").arg(dir.join(playbook)).args(options);
    run.run()
}

#[test]
fn a_play_in_a_home_folder_reads_what_ansible_searches_there() {
    let shows = |expression: &str| home(&format!("  - debug: {{msg: \"{{{{ {expression} }}}}\"}}\n"));
    for expression in ["lookup('file', 'motd')", "lookup('file', 'files/.profile')", "greeting"] {
        let ran = play(&shows(expression), "home/play.yml", &[]).exits_with(0);
        assert!(["welcome", "profile", "hello"].iter().any(|text| ran.stdout_text().contains(text)), "{ran}");
    }
    for (path, why) in [
        (".ssh/id_ed25519", "only those that Ansible searches belong to the play"),
        (".netrc", "only those that Ansible searches belong to the play"),
        ("Documents/plan", "only those that Ansible searches belong to the play"),
        ("notes.txt", "only those that Ansible searches belong to the play"),
        ("server.key", "it has a private key in it"),
    ] {
        let dir = shows(&format!("lookup('file', '{path}')"));
        let ran = play(&dir, "home/play.yml", &[]);
        let text = ran.stdout_text() + &ran.stderr_text();
        assert!(!ran.status.success() && text.contains("--allow-read"), "{path}: {ran}");
        assert!(!text.contains("secret") && !text.contains("b3Blb"), "{path}: {ran}");
        assert!(text.contains(why) || text.contains(&format!("see `{}", dir.join("home").display())), "{path}: {ran}");
        let whole =
            ["home/.ssh/id_ed25519", "home/.netrc", "home/Documents/plan", "home/notes.txt", "home/files/server.key"];
        let file = whole.iter().find(|whole| whole.ends_with(path)).unwrap();
        let granted = play(&dir, "home/play.yml", &["--allow-read", file]).exits_with(0).stdout_text();
        assert!(granted.contains("secret") || granted.contains("b3Blb"), "{path}: {granted}");
    }
}

#[test]
fn modules_get_no_file_that_does_not_belong_to_the_play() {
    for source in [".ssh/id_ed25519", "Documents/plan", "files/server.key", "Documents/"] {
        let dir = home(&format!("  - copy: {{src: '{source}', dest: '{{{{ out }}}}/copy'}}\n"));
        let out = dir.mkdir("out");
        let ran = play(&dir, "home/play.yml", &["-e", &format!("out={}", out.display())]);
        assert!(!ran.status.success(), "{source}: {ran}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "{source}: {ran}");
    }
}

#[test]
fn the_folder_of_a_project_belongs_to_its_play_without_dot_files() {
    let dir = TestDir::new();
    let tasks =
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - debug: {msg: \"{{ lookup('file', name) }}\"}\n";
    for (path, text) in
        [("site/play.yml", tasks), ("site/index.html", "page"), ("site/conf/app", "page"), ("site/.env", "secret")]
    {
        dir.write(path, text);
    }
    let show = |name: &str| play(&dir, "site/play.yml", &["-e", &format!("name={name}")]);
    for name in ["index.html", "conf/app"] {
        assert!(show(name).exits_with(0).stdout_text().contains("page"), "{name}");
    }
    let ran = show(".env");
    let text = ran.stdout_text() + &ran.stderr_text();
    assert!(!ran.status.success() && !text.contains("secret") && text.contains("--allow-read"), "{ran}");
}

#[test]
fn a_link_within_the_folder_leads_to_no_file_that_is_left_out() {
    let dir = home("  - debug: {msg: \"{{ lookup('file', name) }}\"}\n");
    dir.write("site/play.yml", fs::read(dir.join("home/play.yml")).unwrap());
    dir.write("site/.git/config", "secret");
    dir.write("site/conf/text", "welcome");
    for (target, link) in [
        ("../.netrc", "home/files/netrc"),
        ("../Documents", "home/files/documents"),
        ("motd", "home/files/linked"),
        ("../.git/config", "site/files/config"),
        ("../.git", "site/files/git"),
        ("../conf/text", "site/files/linked"),
    ] {
        fs::create_dir_all(dir.join(link).parent().unwrap()).unwrap();
        symlink(target, dir.join(link)).unwrap();
    }
    let show = |playbook: &str, name: &str| play(&dir, playbook, &["-e", &format!("name={name}")]);
    for (playbook, name) in [
        ("home/play.yml", "files/netrc"),
        ("home/play.yml", "files/documents/plan"),
        ("site/play.yml", "files/config"),
        ("site/play.yml", "files/git/config"),
    ] {
        let ran = show(playbook, name);
        let text = ran.stdout_text() + &ran.stderr_text();
        assert!(!ran.status.success() && !text.contains("secret") && text.contains("--allow-read"), "{name}: {ran}");
    }
    for playbook in ["home/play.yml", "site/play.yml"] {
        assert!(show(playbook, "files/linked").exits_with(0).stdout_text().contains("welcome"), "{playbook}");
    }
}

#[test]
fn links_in_the_place_of_sources_open_no_other_folder() {
    let (dir, elsewhere) = (TestDir::new(), TestDir::new());
    elsewhere.write("all.yml", "secret: elsewhere\n");
    let tasks =
        "- hosts: localhost\n  gather_facts: false\n  tasks:\n  - debug: {msg: \"{{ lookup('file', name) }}\"}\n";
    dir.write("site/play.yml", tasks);
    dir.write("site/hosts", "localhost ansible_connection=local\n");
    dir.write("site/kept/inner", "within");
    for link in ["site/group_vars", "site/more"] {
        symlink(elsewhere.path(), dir.join(link)).unwrap();
    }
    symlink("kept", dir.join("site/roles")).unwrap();
    let shown = |path: &str| dir.join(path).display().to_string();
    let run = |name: &str, options: &[&str]| {
        let name = format!("name={}", shown(name));
        play(&dir, "site/play.yml", &[&["-i", "site/hosts", "-e", &name], options].concat())
    };
    for (name, options) in [
        ("site/group_vars/all.yml", &[][..]),
        ("site/more/all.yml", &["--roles-path", "site/more"]),
        ("site/more/all.yml", &["-i", "site/more"]),
    ] {
        let ran = run(name, options);
        let text = ran.stdout_text() + &ran.stderr_text();
        assert!(!ran.status.success() && !text.contains("secret: elsewhere"), "{name}: {ran}");
        let says = format!("is left out: a link leads it to `{}`", elsewhere.path().display());
        assert!(ran.stderr_text().contains(&says) && ran.stderr_text().contains("--allow-read"), "{name}: {ran}");
    }
    // What is granted is open by that name, too, and a link within the play opens what is open.
    let granted = run(
        "site/more/all.yml",
        &["--roles-path", "site/more", "--allow-read", &elsewhere.path().display().to_string()],
    );
    assert!(granted.exits_with(0).stdout_text().contains("secret: elsewhere"));
    assert!(run("site/roles/inner", &["--roles-path", "site/roles"]).exits_with(0).stdout_text().contains("within"));
}
