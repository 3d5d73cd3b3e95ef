//! Tests of the search for credentials, with files and helpers as the tools of docker and podman write them.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::RwLock;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{CWD, FileType, Mode, OFlags, fcntl_setfl, mknodat};

use super::*;

/// Held for reading while a helper starts. A script that is open for writing at that time, even in the fork of another
/// test, cannot be started.
static SCRIPTS: RwLock<()> = RwLock::new(());

/// A helper that answers with what it was asked.
const ECHO: &str = r#"[ "$*" = get ] && printf '{"ServerURL":"x","Username":"helper","Secret":"%s"}' "$(cat)""#;

/// A folder with files and helpers.
struct Home {
    dir: tempfile::TempDir,
    found: CredentialFiles,
}

impl Home {
    /// Makes a folder with these files, in their order.
    fn new(files: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (number, text) in files.iter().enumerate() {
            let path = dir.path().join(format!("{number}.json"));
            fs::write(&path, text).unwrap();
            paths.push(path);
        }
        let helper_path = vec![dir.path().to_owned()];
        Self { dir, found: CredentialFiles { files: paths, helper_path } }
    }

    fn helper(self, name: &str, script: &str) -> Self {
        let _writing = SCRIPTS.write().unwrap();
        let path = self.dir.path().join(format!("docker-credential-{name}"));
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn find(&self, host: &str, repository: &str) -> Result<Option<Credentials>, CredentialsError> {
        self.find_within(Duration::from_secs(20), host, repository)
    }

    fn find_within(
        &self,
        patience: Duration,
        host: &str,
        repository: &str,
    ) -> Result<Option<Credentials>, CredentialsError> {
        let _starting = SCRIPTS.read().unwrap();
        self.found.find_within(patience, host, repository)
    }

    /// Returns the user and the password that are found, as `USER:PASSWORD`, or `-`.
    #[track_caller]
    fn login(&self, host: &str, repository: &str) -> String {
        match self.find(host, repository).unwrap() {
            Some(Credentials::Password { user, password }) => format!("{user}:{}", password.reveal()),
            Some(Credentials::IdentityToken(token)) => format!("<token>:{}", token.reveal()),
            None => "-".to_owned(),
        }
    }

    #[track_caller]
    fn error(&self, host: &str) -> String {
        let error = self.find(host, "a").unwrap_err();
        chain(&error)
    }
}

/// Returns the messages of an error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn entry(login: &str) -> String {
    format!(r#"{{"auth": "{}"}}"#, STANDARD.encode(login))
}

fn auths(entries: &[(&str, &str)]) -> String {
    let entries: Vec<_> = entries.iter().map(|(key, login)| format!(r#""{key}": {}"#, entry(login))).collect();
    format!(r#"{{"auths": {{{}}}, "HttpHeaders": {{"a": [1, {{}}]}}, "psFormat": "x"}}"#, entries.join(", "))
}

#[test]
fn entries_are_read_in_each_form() {
    let home = Home::new(&[r#"{"auths": {
        "plain": {"username": "u", "password": "p:q", "email": "e"},
        "token": {"auth": "dTo=", "identitytoken": "t"},
        "both": {"auth": "dTpw", "username": "other", "password": "other"},
        "no-password": {"auth": "dTo="},
        "zeros": {"auth": "dTpwAAA="},
        "empty": {}, "null": null, "email": {"email": "e", "auth": ""}
    }, "credHelpers": null, "credsStore": ""}"#]);
    for (host, login) in
        [("plain", "u:p:q"), ("token", "<token>:t"), ("both", "u:p"), ("no-password", "u:"), ("zeros", "u:p")]
    {
        assert_eq!(home.login(host, "a"), login, "{host}");
    }
    for host in ["empty", "null", "email", "other"] {
        assert_eq!(home.login(host, "a"), "-", "{host}");
    }
}

#[test]
fn hosts_are_found_in_each_form() {
    let keys = [("https://index.docker.io/v1/", "hub:1"), ("https://a", "a:1"), ("b/v2/", "b:1"), ("c:5000", "c:1")];
    let home = Home::new(&[&auths(&keys)]);
    for host in ["docker.io", "index.docker.io", "registry-1.docker.io"] {
        assert_eq!(home.login(host, "library/x"), "hub:1");
    }
    assert_eq!(["a", "b", "c:5000", "c"].map(|host| home.login(host, "x")), ["a:1", "b:1", "c:1", "-"]);
    let home = Home::new(&[&auths(&[("docker.io", "podman:1"), ("https://h", "old:1"), ("h", "new:1")])]);
    assert_eq!((home.login("registry-1.docker.io", "x"), home.login("h", "x")), ("podman:1".into(), "new:1".into()));
}

#[test]
fn the_longest_prefix_counts() {
    let keys = [("h", "host:1"), ("h/a", "a:1"), ("h/a/b", "b:1"), ("g/x", "x:1"), ("docker.io/me", "me:1")];
    let home = Home::new(&[&auths(&keys)]);
    let found = ["a/b/c", "a/b", "a/bc", "a", "ab", "z"].map(|name| home.login("h", name));
    assert_eq!(found, ["b:1", "b:1", "a:1", "a:1", "host:1", "host:1"]);
    assert_eq!((home.login("g", "x/y"), home.login("g", "y")), ("x:1".into(), "-".into()));
    assert_eq!(home.login("registry-1.docker.io", "me/x"), "me:1");
}

#[test]
fn the_first_file_with_an_entry_counts() {
    let mut home = Home::new(&[&auths(&[("a", "first:1")]), "", &auths(&[("a", "second:1"), ("b", "second:2")])]);
    home.found.files.insert(0, home.dir.path().join("missing.json"));
    home.found.files.insert(0, home.dir.path().join("0.json/x"));
    assert_eq!(["a", "b", "c"].map(|host| home.login(host, "x")), ["first:1", "second:2", "-"]);
    assert_eq!(CredentialFiles::default().find("a", "x").unwrap(), None);
}

#[test]
fn wrong_entries_name_the_file_the_host_and_the_remedy() {
    for entry in [
        r#"{"auth": "sEcReT!"}"#,
        r#"{"auth": "c0VjUmVU"}"#,
        r#"{"auth": "OnNFY1JlVA=="}"#,
        r#"{"auth": "/zpzRWNSZVQ="}"#,
        r#"{"username": "sEcReT"}"#,
        r#"{"password": "sEcReT"}"#,
    ] {
        let home = Home::new(&[&format!(r#"{{"auths": {{"https://h": {entry}}}}}"#)]);
        let error = home.error("h");
        assert!(error.contains("0.json") && error.contains("`docker login h`"), "{error}");
        assert!(!error.contains("sEcReT"), "{error}");
        // Another host's entry is not looked at.
        assert_eq!(home.login("g", "x"), "-");
    }
    let error = Home::new(&[r#"{"auths": {"h": {"registrytoken": "sEcReT"}}}"#]).error("h");
    assert!(error.contains("`registrytoken`") && error.contains("`docker login h`"), "{error}");
}

#[test]
fn files_of_another_form_are_errors_without_their_content() {
    let deep = format!("{{\"x\": {}", "[".repeat(100_000));
    for (text, place) in [
        ("{\n  \"auths\": {\"h\": \"sEcReT\"}\n}", "line 2, column 25"),
        ("{\"auths\": {\"h\": {\"auth\": sEcReT}}}", "line 1, column 26"),
        ("{\"credsStore\": [\"sEcReT\"]}", "line 1, column 15"),
        ("{\"auths\": {\"h\": {\"auth\": \"sEcReT\"}}", "line 1, column 35"),
        ("sEcReT", "line 1, column 1"),
        ("\u{0}\u{1}sEcReT", "line 1, column 1"),
        (&deep, "line 1, column 100006"),
    ] {
        let home = Home::new(&[text]);
        let error = home.find("h", "x").unwrap_err();
        assert!(matches!(error, CredentialsError::Json { .. }));
        let words = chain(&error) + &format!("{error:?}");
        assert!(words.contains("0.json") && words.contains(place), "{words}");
        assert!(!words.contains("sEcReT"), "{words}");
    }
    let home = Home::new(&[]);
    let mut found = home.found.clone();
    found.files = vec![home.dir.path().join("x")];
    fs::write(&found.files[0], [b"{\"auths\": {\"h\": {\"auth\": \"", &[0xff, 0xfe][..], b"\"}}}"].concat()).unwrap();
    assert!(matches!(found.find("h", "x"), Err(CredentialsError::Json { .. })));
}

#[test]
fn only_regular_files_of_some_size_are_read() {
    let home = Home::new(&[]);
    let path = |name: &str| home.dir.path().join(name);
    let find = |path: &Path| CredentialFiles { files: vec![path.to_owned()], helper_path: vec![] }.find("h", "x");
    mknodat(CWD, path("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    for other in [&path("fifo"), home.dir.path(), Path::new("/dev/zero")] {
        assert!(matches!(find(other), Err(CredentialsError::NotRegular(_))), "{}", other.display());
    }
    fs::write(path("large"), vec![b' '; (1 << 20) + 1]).unwrap();
    assert!(matches!(find(&path("large")), Err(CredentialsError::TooLarge(_))));
    fs::write(path("largest"), vec![b' '; 1 << 20]).unwrap();
    assert_eq!(find(&path("largest")).unwrap(), None);
    symlink("loop", path("loop")).unwrap();
    let error = find(&path("loop")).unwrap_err();
    assert!(matches!(error, CredentialsError::Read { .. }) && error.to_string().contains("loop"));
    fs::write(path("file"), auths(&[("h", "u:p")])).unwrap();
    symlink("file", path("link")).unwrap();
    assert!(find(&path("link")).unwrap().is_some());
}

#[test]
fn helpers_are_asked_about_their_hosts() {
    let config = r#"{
        "auths": {"own": {"auth": "dTpw"}, "store": {}, "file": {"auth": "dTpw"}, "free": {"auth": "dTpw"}},
        "credHelpers": {"own": "none", "https://url": "echo", "index.docker.io": "echo", "h/a": "none", "free": ""},
        "credsStore": "store"}"#;
    let not_found = "echo 'credentials not found in native keychain'; exit 1";
    let store =
        format!("case $(cat) in file) {not_found};; *) echo '{{\"Username\":\"<token>\",\"Secret\":\"t\"}}';; esac");
    let home = Home::new(&[config]).helper("echo", ECHO).helper("none", not_found).helper("store", &store);
    // The helper of a host decides, and its store leaves what it does not have to the file.
    assert_eq!((home.login("own", "x"), home.login("free", "x")), ("-".into(), "u:p".into()));
    assert_eq!((home.login("file", "x"), home.login("store", "x")), ("u:p".into(), "<token>:t".into()));
    assert_eq!((home.login("url", "x"), home.login("h", "a")), ("helper:url".into(), "<token>:t".into()));
    assert_eq!(home.login("docker.io", "x"), "helper:index.docker.io");
    let home = Home::new(&[r#"{"credsStore": "echo"}"#]).helper("echo", ECHO);
    assert_eq!(home.login("registry-1.docker.io", "x"), "helper:https://index.docker.io/v1/");
    assert_eq!(home.login("h:5000", "x"), "helper:h:5000");
}

#[test]
fn an_answer_of_nothing_leads_to_the_next_file() {
    for script in [
        "echo 'credentials not found in native keychain'; exit 1",
        "echo 'note: x' >&2; echo '  credentials not found in native keychain' >&2; exit 1",
        r#"echo '{"ServerURL":"","Username":"","Secret":""}'"#,
    ] {
        let files = [r#"{"credHelpers": {"h": "x"}}"#, &auths(&[("h", "next:1")])];
        assert_eq!(Home::new(&files).helper("x", script).login("h", "a"), "next:1", "{script}");
    }
}

#[test]
fn helpers_are_found_only_in_absolute_folders() {
    let mut home = Home::new(&[r#"{"credsStore": "x"}"#]).helper("x", ECHO);
    let folder = home.dir.path().to_owned();
    let other = tempfile::tempdir().unwrap();
    fs::create_dir(other.path().join("docker-credential-x")).unwrap();
    let plain = tempfile::tempdir().unwrap();
    fs::write(plain.path().join("docker-credential-x"), "#!/bin/sh\n").unwrap();
    home.found.helper_path = vec![other.path().to_owned(), plain.path().to_owned(), folder.clone()];
    assert_eq!(home.login("h", "a"), "helper:h", "folders and files that are not programs are passed over");
    let up = "../".repeat(40);
    home.found.helper_path = vec!["".into(), ".".into(), format!("{up}{}", folder.display()).into()];
    let error = home.error("h");
    assert!(error.contains("`docker-credential-x`") && error.contains("install it"), "{error}");
    assert!(error.contains("0.json"), "{error}");
}

#[test]
fn only_plain_words_name_helpers() {
    for name in ["../x", "a/b", "/bin/sh", "a b", "a;b", "$x", "ä", "a\\nb"] {
        let home = Home::new(&[&format!(r#"{{"credsStore": "{name}"}}"#)]).helper("x", ECHO);
        let error = home.find("h", "a").unwrap_err();
        assert!(matches!(&error, CredentialsError::Helper { source: HelperError::Name, .. }), "{name}");
    }
    let home = Home::new(&[r#"{"credsStore": "a-B_c.1"}"#]).helper("a-B_c.1", ECHO);
    assert_eq!(home.login("h", "a"), "helper:h");
}

#[test]
fn helpers_that_fail_are_errors_without_their_output() {
    for (script, reason) in [
        ("echo sEcReT; echo sEcReT >&2; exit 1", "it failed (exit status: 1)"),
        ("echo 'credentials not found in native keychain'; exit 2", "it failed (exit status: 2)"),
        ("kill -9 $$", "it failed (signal: 9 (SIGKILL))"),
        ("echo sEcReT", "its answer is not JSON"),
        ("", "its answer is not JSON"),
        (r#"echo '{"Username": "u"}'"#, "its answer is not JSON"),
        (r#"echo '{"Username": "", "Secret": "sEcReT"}'"#, "its answer is not JSON"),
        (r#"echo '{"Username": "u", "Secret": "sEcReT"} sEcReT'"#, "its answer is not JSON"),
        ("printf '\\377\\376'", "its answer is not JSON"),
        ("exec 2>&1; while :; do echo sEcReTsEcReTsEcReTsEcReT; done", "it printed more than 65536 bytes"),
        ("while :; do echo sEcReTsEcReTsEcReTsEcReT; done >&2", "it printed more than 65536 bytes"),
    ] {
        let home = Home::new(&[r#"{"credsStore": "x"}"#]).helper("x", script);
        let error = home.find("h", "a").unwrap_err();
        let words = chain(&error) + &format!("{error:?}");
        assert!(words.contains("`docker-credential-x`") && words.contains(reason), "{script}: {words}");
        assert!(words.contains("`echo h | docker-credential-x get`"), "{words}");
        assert!(!words.contains("sEcReT"), "{words}");
    }
    let home = Home::new(&[r#"{"credsStore": "x"}"#]).helper("x", "");
    let script = home.dir.path().join("docker-credential-x");
    {
        let _writing = SCRIPTS.write().unwrap();
        fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    }
    assert!(home.error("h").contains("it does not start"));
}

/// Makes a named pipe, and opens it for reading before it has a writer.
fn pipe(path: &Path) -> File {
    mknodat(CWD, path, FileType::Fifo, Mode::from(0o600), 0).unwrap();
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path).unwrap();
    fcntl_setfl(&file, OFlags::empty()).unwrap();
    file
}

#[test]
fn helpers_that_hang_are_killed_with_what_they_started() {
    let scripts = ["wait", "exec >&- 2>&-; wait", "trap '' TERM INT HUP; while :; do wait; done"];
    let homes = scripts.map(|script| {
        // All its processes hold one end of a pipe.
        let script = format!(
            "cd \"$(dirname \"$0\")\"; exec 9>alive; touch started; (sleep 60; touch late) & {script}; sleep 60"
        );
        Home::new(&[r#"{"credsStore": "x"}"#]).helper("x", &script)
    });
    let hang = |home: &Home| {
        let mut alive = pipe(&home.dir.path().join("alive"));
        let error = home.find_within(Duration::from_secs(4), "h", "a").unwrap_err();
        assert!(chain(&error).contains("did not end within 4 s"), "{}", chain(&error));
        // It ends with the last of the processes: at once when they are killed, else after `late` is there.
        assert_eq!(alive.read(&mut [0]).unwrap(), 0);
    };
    thread::scope(|scope| homes.iter().for_each(|home| drop(scope.spawn(|| hang(home)))));
    for home in homes {
        assert!(home.dir.path().join("started").exists());
        assert!(!home.dir.path().join("late").exists());
    }
}

#[test]
fn what_a_helper_leaves_behind_is_not_waited_for() {
    let home = Home::new(&[r#"{"credsStore": "x"}"#]);
    let script = format!("cd \"$(dirname \"$0\")\"; echo $$ > group; sleep 60 & {ECHO}");
    let home = home.helper("x", &script);
    assert_eq!(home.login("h", "a"), "helper:h");
    // It is still there.
    let group: i32 = read(&home.dir.path().join("group")).trim().parse().unwrap();
    let group = rustix::process::Pid::from_raw(group).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
}

#[test]
fn input_that_is_not_read_is_not_an_error() {
    let home = Home::new(&[r#"{"credsStore": "x"}"#]).helper("x", r#"echo '{"Username": "u", "Secret": "p"}'"#);
    assert_eq!(home.login("h", "a"), "u:p");
    assert!(home.error(&"h".repeat(5000)).contains("the name of the host is too long"));
}

#[expect(clippy::disallowed_methods, reason = "the tests wrote the file themselves")]
fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}
