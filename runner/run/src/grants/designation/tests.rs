//! Tests of what arguments grant, with real directories and links.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use modbox_argument_spec::Metadata;
use modbox_policy::{Access, Designated, EnvGrant, FailingPath, PathGrant, Policy, Shape};
use modbox_python_json::{Value, decode, encode};
use modbox_vocabulary::GrantSource;
use rustix::io::Errno;

use super::{Caller, EffectiveGrants, MAX_PATHS, apply};
use crate::modules::path_uses::PathUses;
use crate::reports::missing_grant::MissingGrant;
use crate::request::run_request::Arguments;

const SPEC: &str = r#"{"name": "x", "argument_spec": {
    "src": {"type": "path", "access": "read", "aliases": ["from"]},
    "dest": {"type": "path", "access": "write"},
    "all": {"type": "list", "elements": "path", "access": "read"},
    "items": {"type": "list", "elements": "dict", "options": {"log": {"type": "path", "access": "write"}}},
    "plain": {"type": "path"}}}"#;

struct Case {
    dir: tempfile::TempDir,
    policy: Policy,
    environment: Vec<(OsString, OsString)>,
    is_native: bool,
}

impl Case {
    /// Makes a directory with `file`, `dir/inner`, `link` to `dir/inner` and a home; `designated: write`.
    fn new() -> Self {
        // Not below `/tmp`, which has special rules. With another target directory, this one does not exist yet.
        let target = env!("CARGO_MANIFEST_DIR").to_owned() + "/../target";
        fs::create_dir_all(&target).unwrap();
        let dir = tempfile::tempdir_in(target).unwrap();
        for name in ["dir", "home"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        for name in ["file", "dir/inner", "home/own"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        symlink("dir/inner", dir.path().join("link")).unwrap();
        symlink("dir", dir.path().join("linked")).unwrap();
        let mut policy = Policy::default();
        policy.set_designated(Designated::Write);
        let mut case = Self { dir, policy, environment: Vec::new(), is_native: false };
        case.environment.push(("HOME".into(), case.path("home").into()));
        case
    }

    fn path(&self, name: &str) -> String {
        let root = self.dir.path().canonicalize().unwrap();
        if name.is_empty() { root.display().to_string() } else { root.join(name).display().to_string() }
    }

    fn allow(&mut self, name: &str, access: Access) {
        let (host, guest) = (self.path(name).into(), self.path(name));
        let shape = if Path::new(&host).is_dir() { Shape::Directory } else { Shape::Name };
        self.policy
            .allow_path(PathGrant { host, shape, guest, access, source: GrantSource::named("operator") })
            .unwrap();
    }

    fn apply_with(&self, spec: &str, args: &str) -> EffectiveGrants {
        let metadata = Metadata::from_json(spec).unwrap();
        let Value::Dict(args) = decode(&args.replace("%", &self.path(""))).unwrap() else { panic!("a dict") };
        let root = self.dir.path().canonicalize().unwrap();
        let caller = Caller { directory: &root, environment: &self.environment, is_native: self.is_native };
        apply(&metadata, &PathUses::default(), &self.policy, &Arguments::Complete(args), &[], &caller)
    }

    /// Compares the grants beside the operator's, and the arguments for the module.
    #[track_caller]
    fn check(&self, args: &str, grants: &[&str], leave: &str) {
        let effective = self.apply_with(SPEC, args);
        assert_eq!(self.shown(&effective), grants, "grants of {args}");
        assert_eq!(effective.missing, [], "{args}");
        let Arguments::Complete(args) = effective.arguments else { panic!("as they came") };
        assert_eq!(encode(&Value::Dict(args)).replace(&self.path(""), "%"), leave);
    }

    /// Compares the missing grants, as `operation capability subject: remedy`.
    #[track_caller]
    fn denies(&self, spec: &str, args: &str, expect: &[&str]) {
        let effective = self.apply_with(spec, args);
        assert_eq!(self.shown(&effective), Vec::<String>::new(), "grants of {args}");
        let line = |MissingGrant { denial, .. }: &MissingGrant| {
            let line = format!("{} {} {}: {}", denial.operation, denial.capability, denial.subject, denial.allow);
            line.replace(&self.path(""), "%")
        };
        assert_eq!(effective.missing.iter().map(line).collect::<Vec<_>>(), expect);
    }

    fn shown(&self, effective: &EffectiveGrants) -> Vec<String> {
        let own = effective.policy.paths().iter().filter(|grant| grant.source != GrantSource::named("operator"));
        let line = |grant: &PathGrant| {
            let (shape, host) = (if grant.shape == Shape::Name { "" } else { "/" }, grant.host.display().to_string());
            let host = if host == grant.guest { String::new() } else { format!("{host}::") };
            let line = format!("{} {host}{}{shape} ({})", grant.access.as_str(), grant.guest, grant.source);
            line.replace(&self.path(""), "%")
        };
        own.map(line).collect()
    }
}

#[test]
fn exactly_what_is_named_is_granted() {
    let case = Case::new();
    case.check(r#"{"src": "%/file"}"#, &["read %/file (argument src)"], r#"{"src": "%/file"}"#);
    case.check(r#"{"from": "%/dir"}"#, &["read %/dir/ (argument from)"], r#"{"from": "%/dir"}"#);
    case.check(r#"{"dest": "%/dir/new"}"#, &["write %/dir/new (argument dest)"], r#"{"dest": "%/dir/new"}"#);
    case.check(
        r#"{"all": "%/file,dir/inner", "items": [{"log": "%/log"}]}"#,
        &["read %/file (argument all[0])", "read %/dir/inner (argument all[1])", "write %/log (argument items[0].log)"],
        r#"{"all": ["%/file", "%/dir/inner"], "items": [{"log": "%/log"}]}"#,
    );
    case.check(r#"{"plain": "%/file", "other": "%/file"}"#, &[], r#"{"plain": "%/file", "other": "%/file"}"#);
}

#[test]
fn a_native_module_is_denied_a_path_that_is_not_utf8() {
    let mut case = Case::new();
    let (one, inner) = (
        r#"{"src": "%/dir/n\udcff", "plain": "%/n\udcff"}"#,
        r#"{"all": ["file", "n\udcff"], "items": [{"log": "%/n\udcff"}]}"#,
    );
    // A component that looks for it is refused that.
    assert_eq!(case.apply_with(SPEC, one).missing, []);
    case.is_native = true;
    case.denies(SPEC, one, &["argument read %/dir/n\u{fffd}: --allow-read %/dir"]);
    let effective = case.apply_with(SPEC, inner);
    let missing: Vec<String> = effective.missing.iter().map(ToString::to_string).collect();
    assert_eq!(missing.len(), 2, "{missing:?}");
    assert!(
        missing[1].contains("its name is not UTF-8, so that naming it grants nothing; allow it with `--allow-write"),
        "{missing:?}"
    );
    case.allow("dir", Access::Read);
    assert_eq!(case.apply_with(SPEC, one).missing, []);
}

#[test]
fn internal_arguments_designate_nothing() {
    Case::new().check(r#"{"_ansible_tmpdir": "%/dir"}"#, &[], r#"{"_ansible_tmpdir": "%/dir"}"#);
    let reserved = r#"{"name": "x", "argument_spec": {"_ansible_tmpdir": {"type": "path", "access": "write"}}}"#;
    assert!(Metadata::from_json(reserved).is_err(), "no spec can change that");
}

#[test]
fn relative_paths_and_homes_are_the_callers() {
    let case = Case::new();
    case.check(r#"{"src": "file"}"#, &["read %/file (argument src)"], r#"{"src": "%/file"}"#);
    case.check(r#"{"src": "./dir//inner"}"#, &["read %/dir/inner (argument src)"], r#"{"src": "%/./dir//inner"}"#);
    case.check(r#"{"dest": "dir/"}"#, &["write %/dir/ (argument dest)"], r#"{"dest": "%/dir/"}"#);
    case.check(r#"{"src": "~/own"}"#, &["read %/home/own (argument src)"], r#"{"src": "%/home/own"}"#);
    case.check(r#"{"src": "~unknown user/x"}"#, &[], r#"{"src": "~unknown user/x"}"#);
    case.check(r#"{"src": "$UNKNOWN"}"#, &["read %/$UNKNOWN (argument src)"], r#"{"src": "%/$UNKNOWN"}"#);
}

#[test]
fn a_native_module_keeps_a_bare_name_of_a_missing_file() {
    let case = Case { is_native: true, ..Case::new() };
    case.check(r#"{"src": "file"}"#, &["read %/file (argument src)"], r#"{"src": "%/file"}"#);
    case.check(r#"{"src": "missing"}"#, &[], r#"{"src": "missing"}"#);
    case.check(r#"{"src": "./missing"}"#, &["read %/missing (argument src)"], r#"{"src": "%/./missing"}"#);
    case.check(r#"{"dest": "missing"}"#, &["write %/missing (argument dest)"], r#"{"dest": "%/missing"}"#);
}

#[test]
fn a_link_is_shown_and_its_target_granted_at_its_own_place() {
    let case = Case::new();
    case.check(r#"{"src": "link"}"#, &["read %/dir/inner (argument src)"], r#"{"src": "%/link"}"#);
    case.check(r#"{"dest": "linked/new"}"#, &["write %/dir/new (argument dest)"], r#"{"dest": "%/linked/new"}"#);
    assert_eq!(case.apply_with(SPEC, r#"{"dest": "linked/new"}"#).policy.waypoints().links(), [case.path("linked")]);
    // The module can replace a link that is named for writing.
    let grants = ["write %/dir/inner (argument dest)", "write %/link (argument dest)"];
    case.check(r#"{"dest": "link"}"#, &grants, r#"{"dest": "%/link"}"#);
    // `..` leaves the target of the link, as it does for the kernel.
    symlink(case.path("home"), case.path("dir/away")).unwrap();
    case.check(r#"{"src": "dir/away/../file"}"#, &["read %/file (argument src)"], r#"{"src": "%/dir/away/../file"}"#);
    let policy = case.apply_with(SPEC, r#"{"src": "dir/away/../file"}"#).policy;
    let ways = policy.waypoints();
    assert_eq!((ways.links(), ways.passed()), (&[case.path("dir/away")][..], &[case.path("home")][..]));
}

#[test]
fn a_link_that_another_user_can_have_made_is_not_followed_for_writing() {
    let mut case = Case::new();
    fs::set_permissions(case.path(""), fs::Permissions::from_mode(0o777)).unwrap();
    case.check(r#"{"dest": "link"}"#, &["write %/link (argument dest)"], r#"{"dest": "%/link"}"#);
    case.check(r#"{"src": "link"}"#, &["read %/dir/inner (argument src)"], r#"{"src": "%/link"}"#);
    case.denies(SPEC, r#"{"dest": "%/linked/new"}"#, &["argument write %/linked/new: "]);
    case.is_native = true;
    case.denies(SPEC, r#"{"dest": "%/link"}"#, &["argument write %/link: "]);
}

#[test]
fn a_path_that_the_kernel_does_not_find_grants_nothing() {
    let case = Case::new();
    for (args, at, errno) in [
        (r#"{"dest": "typo/.."}"#, "typo", Errno::NOENT),
        (r#"{"dest": "typo/../file"}"#, "typo", Errno::NOENT),
        (r#"{"src": "file/../dir"}"#, "file", Errno::NOTDIR),
        (r#"{"src": "file/"}"#, "file", Errno::NOTDIR),
    ] {
        let policy = case.apply_with(SPEC, args).policy;
        assert_eq!(policy.paths(), [], "{args}");
        let failing = FailingPath { path: case.path(at), errno: errno.raw_os_error() };
        assert_eq!(policy.waypoints().failing(), [failing], "{args}");
    }
    case.check(r#"{"dest": ""}"#, &[], r#"{"dest": ""}"#);
}

#[test]
fn covered_paths_are_not_granted_again() {
    let mut case = Case::new();
    case.allow("dir", Access::Write);
    case.check(r#"{"src": "dir/inner"}"#, &[], r#"{"src": "%/dir/inner"}"#);
    case.check(r#"{"dest": "dir/new"}"#, &[], r#"{"dest": "%/dir/new"}"#);
    // A link that leads out of the grant is not covered by it.
    symlink(case.path("file"), case.path("dir/out")).unwrap();
    case.check(r#"{"src": "dir/out"}"#, &["read %/file (argument src)"], r#"{"src": "%/dir/out"}"#);
}

#[test]
fn a_path_for_writing_is_writable_in_what_is_granted_for_reading() {
    let mut case = Case::new();
    case.allow("dir", Access::Read);
    case.check(r#"{"dest": "%/dir/new"}"#, &["write %/dir/new (argument dest)"], r#"{"dest": "%/dir/new"}"#);
    let effective = case.apply_with(SPEC, r#"{"dest": "%/dir/new", "src": "%/dir/inner"}"#);
    for (name, access, expect) in [
        ("dir/new", Access::Write, true),
        ("dir/inner", Access::Read, true),
        ("dir/inner", Access::Write, false),
        ("file", Access::Read, false),
    ] {
        assert_eq!(effective.policy.covers(Path::new(&case.path(name)), access), expect, "{name}");
    }
    // A grant of the whole directory for writing includes the one for reading.
    let effective = case.apply_with(SPEC, r#"{"dest": "%"}"#);
    assert!(effective.policy.covers(Path::new(&case.path("dir/inner")), Access::Write));
}

#[test]
fn the_designated_setting_bounds_designation() {
    let mut case = Case::new();
    case.policy.set_designated(Designated::Read);
    case.check(r#"{"src": "file"}"#, &["read %/file (argument src)"], r#"{"src": "%/file"}"#);
    case.denies(SPEC, r#"{"dest": "%/file"}"#, &["argument write %/file: --allow-write %/file"]);
    case.denies(SPEC, r#"{"dest": "%/no/such"}"#, &["argument write %/no/such: --allow-write %"]);
    case.policy.set_designated(Designated::None);
    case.denies(SPEC, r#"{"src": "%/missing"}"#, &["argument read %/missing: --allow-read %"]);
    case.denies(SPEC, r#"{"dest": "%/missing"}"#, &["argument write %/missing: --allow-write %/missing"]);
    case.denies(SPEC, r#"{"src": "file"}"#, &["argument read file: src=%/file --allow-read %/file"]);
    case.denies(SPEC, r#"{"src": "~/own"}"#, &["argument read ~/own: --allow-read %/home/own"]);
}

#[test]
fn defaults_and_variables_grant_nothing() {
    let mut case = Case::new();
    case.policy.allow_env(EnvGrant {
        name: "CONF".to_owned(),
        value: case.path("file"),
        source: GrantSource::named(""),
    });
    let spec =
        |option: &str| format!(r#"{{"name": "x", "argument_spec": {{"a": {option}}}}}"#).replace('%', &case.path(""));
    case.denies(
        &spec(r#"{"type": "path", "access": "write", "default": "%/new"}"#),
        "{}",
        &["default write %/new: a=%/new"],
    );
    case.denies(
        &spec(r#"{"type": "path", "access": "read", "fallback": ["env_fallback", ["CONF"]]}"#),
        "{}",
        &["default read %/file: a=%/file"],
    );
    case.denies(
        &spec(r#"{"type": "list", "elements": "path", "access": "write", "default": ["%/a"]}"#),
        "{}",
        &["default write %/a: --allow-write %/a"],
    );
    // The module expands the variable, so the caller did not name that path.
    case.denies(SPEC, r#"{"dest": "$CONF"}"#, &["argument write %/file: --allow-write %/file"]);
    for harmless in [
        r#"{"type": "path", "access": "read", "default": "%/missing"}"#,
        r#"{"type": "path", "access": "write", "default": "own/file"}"#,
        r#"{"type": "path", "access": "write", "default": "~/own"}"#,
        r#"{"type": "path", "default": "%/file"}"#,
        r#"{"type": "path", "access": "read", "fallback": ["env_fallback", ["HOME"]]}"#,
    ] {
        case.denies(&spec(harmless), "{}", &[]);
    }
}

#[test]
fn the_tmp_of_guests_cannot_be_designated() {
    let case = Case::new();
    case.denies(SPEC, r#"{"src": "/tmp"}"#, &["argument read /tmp: --allow-read /tmp::/host/tmp"]);
    case.denies(SPEC, r#"{"dest": "/tmp/../tmp/"}"#, &["argument write /tmp: --allow-write /tmp::/host/tmp"]);
    let inside = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    let path = inside.path().display().to_string();
    let effective = case.apply_with(SPEC, &format!(r#"{{"src": "{path}"}}"#));
    assert_eq!((case.shown(&effective), effective.missing), (vec![format!("read {path} (argument src)")], Vec::new()));
}

#[test]
fn a_directory_that_is_missing_grants_nothing_and_says_so() {
    let case = Case::new();
    let effective = case.apply_with(SPEC, r#"{"dest": "no/such/file"}"#);
    assert_eq!((case.shown(&effective), effective.missing.len()), (Vec::new(), 0));
    assert_eq!(effective.notes.len(), 1);
    assert!(effective.notes[0].contains("which grants nothing: its directory does not exist"), "{:?}", effective.notes);
    // A module that makes the directory makes it in one of its own.
    let missing = effective.policy.missing().next().unwrap();
    assert_eq!((&missing.path, &missing.first), (&case.path("no/such/file"), &case.path("no")));
    assert_eq!(case.apply_with(SPEC, r#"{"src": "no/such/file"}"#).policy.missing().next(), None);
}

#[test]
fn a_missing_file_that_is_also_named_for_writing_is_granted() {
    let case = Case { is_native: true, ..Case::new() };
    let read = case.apply_with(SPEC, r#"{"src": "%new"}"#);
    assert_eq!(read.policy.missing().count(), 1);
    let both = case.apply_with(SPEC, r#"{"src": "%new", "dest": "%new"}"#);
    assert_eq!((case.shown(&both), both.policy.missing().count()), (vec!["write %new (argument dest)".to_owned()], 0));
}

#[test]
fn designated_paths_and_missing_grants_are_bounded() {
    let case = Case::new();
    let many: Vec<String> = (0..MAX_PATHS * 4).map(|n| format!("\"%/dir/{n}\"")).collect();
    let effective = case.apply_with(SPEC, &format!(r#"{{"all": [{}]}}"#, many.join(",")));
    assert_eq!(case.shown(&effective).len(), MAX_PATHS);
    assert_eq!((effective.missing.len(), effective.notes.len()), (super::MAX_MISSING, 1));
}
