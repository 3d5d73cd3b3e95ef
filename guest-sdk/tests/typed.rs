//! Tests specs of structs, and how structs are filled, through the derive macros.

#![allow(deprecated, reason = "options without a doc comment, of which the compiler warns, work like others")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use modbox_sdk::argument_spec::{ArgumentSpec, NoEnvironment, OptionSpec};
use modbox_sdk::json::{decode, encode};
use modbox_sdk::typed::{Extent, Piece, join, length};
use modbox_sdk::{Args, Choice, Dict, Exit, Failure, Metadata, Module, Value, call_typed};

/// Manages users.
///
/// Of this
/// machine.
#[derive(Args, Debug)]
#[expect(dead_code, reason = "shown as a whole")]
#[args(
    mutually_exclusive("home", "size"),
    required_if("state", "present", ["home"]),
    required_if_any("state", "absent", ["size", "home"]),
    required_by("size", ["state"])
)]
struct Users {
    /// Whether they are "there".
    #[arg(default = "present")]
    state: State,
    #[arg(
        access = "write",
        aliases("folder", "dir"),
        deprecated_alias(name = "dir", version = "2.0", collection = "a.b")
    )]
    home: Option<PathBuf>,
    #[arg(type = "bytes", env("SIZE"), version_added = "1.2")]
    size: Option<u64>,
    /// The users.
    users: Vec<User>,
    #[arg(default = [1, 2], choices(1, 2, 3))]
    levels: Vec<u8>,
    #[arg(name = "type", default = -1.5, deprecated(date = "2030-01-01"))]
    kind: f64,
    r#match: Option<Value>,
    labels: Option<BTreeMap<String, String>>,
    #[arg(apply_defaults)]
    limits: Limits,
}

#[derive(Choice, Debug, PartialEq, Clone, Copy)]
enum State {
    Present,
    Absent,
    #[choice(name = "as-is")]
    AsItIs,
}

#[derive(Args, Debug)]
#[expect(dead_code, reason = "shown as a whole")]
#[args(required_one_of("name", "password"))]
struct User {
    name: String,
    #[arg(no_log)]
    password: Option<String>,
    #[arg(default = false)]
    admin: bool,
}

#[derive(Args, Debug)]
struct Limits {
    #[arg(default = 10)]
    files: u32,
}

mod fallback {
    pub(crate) const PLACE: &str = "/srv/\"a\"";
    pub(crate) const PORT: u16 = 8080;
    pub(crate) const LEAST: i64 = i64::MIN;
}

const LOUD: bool = true;

/// Its defaults are names.
#[derive(Args)]
#[expect(dead_code, reason = "only its spec is looked at")]
struct Named {
    #[arg(default = State::AsItIs)]
    state: State,
    #[arg(default = [State::Present, State::Absent])]
    states: Vec<State>,
    #[arg(default = fallback::PLACE)]
    place: PathBuf,
    #[arg(default = fallback::PORT)]
    port: u16,
    #[arg(default = [fallback::LEAST, -1])]
    numbers: Vec<i64>,
    #[arg(default = LOUD)]
    loud: bool,
    #[arg(default = [])]
    none: Vec<String>,
    #[arg(default = Self::TEXT)]
    text: String,
}

impl Named {
    const TEXT: &str = "own";
}

#[test]
fn a_name_is_a_default_by_its_value() {
    const PIECES: &[Piece] = &[Piece::Text("{"), Piece::Of(Named::OPTIONS), Piece::Text("}")];
    const TEXT: [u8; length(PIECES, Extent::Spec)] = join(PIECES, Extent::Spec);
    let spec: Dict = decode(str::from_utf8(&TEXT).unwrap()).unwrap().as_dict().unwrap().clone();
    let default = |name: &str| encode(&spec[name].as_dict().unwrap()["default"]);
    for (name, expect) in [
        ("state", "\"as-is\""),
        ("states", "[\"present\", \"absent\"]"),
        ("place", "\"/srv/\\\"a\\\"\""),
        ("port", "8080"),
        ("numbers", "[-9223372036854775808, -1]"),
        ("loud", "true"),
        ("none", "[]"),
        ("text", "\"own\""),
    ] {
        assert_eq!(default(name), expect, "{name}");
    }
}

const SPEC: &str = r#"{
    "state": {"type": "str", "choices": ["present", "absent", "as-is"], "default": "present", "description": ["Whether they are \"there\"."]},
    "home": {"type": "path", "access": "write", "aliases": ["folder", "dir"],
        "deprecated_aliases": [{"name": "dir", "version": "2.0", "collection_name": "a.b"}]},
    "size": {"type": "bytes", "fallback": ["env_fallback", ["SIZE"]], "version_added": "1.2"},
    "users": {"type": "list", "elements": "dict", "options": {
        "name": {"type": "str", "required": true}, "password": {"type": "str", "no_log": true}, "admin": {"type": "bool", "default": false}},
        "required_one_of": [["name", "password"]], "required": true, "description": ["The users."]},
    "levels": {"type": "list", "elements": "int", "default": [1, 2], "choices": [1, 2, 3]},
    "type": {"type": "float", "default": -1.5, "removed_at_date": "2030-01-01"},
    "match": {"type": "raw"},
    "labels": {"type": "dict"},
    "limits": {"type": "dict", "options": {"files": {"type": "int", "default": 10}}, "apply_defaults": true}}"#;

const RULES: &str = r#"{"mutually_exclusive": [["home", "size"]], "required_if": [["state", "present", ["home"], false],
    ["state", "absent", ["size", "home"], true]], "required_by": {"size": ["state"]}}"#;

const PIECES: &[Piece] = &[
    Piece::Text("{\"name\": \"users\", \"supports_check_mode\": true, \"argument_spec\": {"),
    Piece::Of(Users::OPTIONS),
    Piece::Text("}"),
    Piece::Text(Users::RULES),
    Piece::Text("}"),
];

const WHOLE: [u8; length(PIECES, Extent::Everything)] = join(PIECES, Extent::Everything);
const RUNNING: [u8; length(PIECES, Extent::Spec)] = join(PIECES, Extent::Spec);

fn metadata() -> Metadata {
    Metadata::from_json(str::from_utf8(&WHOLE).unwrap()).unwrap()
}

#[test]
fn a_module_runs_by_the_same_spec_without_what_is_for_readers() {
    let [text, spec] = [&WHOLE[..], &RUNNING].map(|bytes| str::from_utf8(bytes).unwrap());
    let [mut spec, mut whole] = [spec, text].map(|text| Metadata::from_json(text).unwrap());
    assert_ne!(spec.argument_spec, whole.argument_spec);
    for metadata in [&mut spec, &mut whole] {
        metadata.argument_spec.options.values_mut().for_each(strip);
    }
    assert_eq!(spec, whole);
}

/// Removes keys that only document the spec.
fn strip(option: &mut OptionSpec) {
    option.description.clear();
    option.version_added = None;
    if let Some(sub_spec) = &mut option.sub_spec {
        sub_spec.options.values_mut().for_each(strip);
    }
}

fn run(args: Users, _module: &mut Module) -> Result<Exit, Failure> {
    Ok(Exit::unchanged().with("args", format!("{args:?}")))
}

#[track_caller]
fn check(arguments: &str, expect: &str) {
    let arguments = decode(arguments).unwrap().as_dict().unwrap().clone();
    let result = call_typed(&metadata(), arguments, &NoEnvironment, run).result;
    let shown = result.get("args").or_else(|| result.get("msg")).unwrap();
    assert_eq!(shown.as_str(), Some(expect));
}

#[test]
fn a_struct_is_a_spec() {
    let rules = decode(RULES).unwrap();
    let expect = ArgumentSpec::parse_with_constraints(&decode(SPEC).unwrap(), rules.as_dict().unwrap()).unwrap();
    assert_eq!(metadata().argument_spec, expect);
    assert_eq!(Users::DESCRIPTION, r#"["Manages users.", "Of this machine."]"#);
}

#[test]
fn a_struct_is_filled() {
    check(
        r#"{"users": [{"name": "a"}, "name=b password=sesame admin=yes"], "folder": "/h", "levels": "3,1", "labels": {"x": "y"}, "match": [null]}"#,
        "Users { state: Present, home: Some(\"/h\"), size: None, users: [User { name: \"a\", password: None, admin: false }, \
         User { name: \"b\", password: Some(\"********\"), admin: true }], levels: [3, 1], kind: -1.5, match: Some(List([Null])), \
         labels: Some({\"x\": \"y\"}), limits: Limits { files: 10 } }",
    );
}

#[test]
fn what_does_not_fit_is_named() {
    check(
        r#"{"users": [], "state": "gone", "home": "/h"}"#,
        "value of state must be one of: present, absent, as-is, got: gone",
    );
    check(
        r#"{"users": [], "state": "as-is", "limits": {"files": -1}}"#,
        "failed to read the arguments: at `limits.files`: -1 is not a number that fits in `u32`",
    );
    check(
        r#"{"users": [], "state": "as-is", "levels": [1, 2, 3, 4]}"#,
        "value of levels must be one or more of: 1, 2, 3. Got no match for: 4",
    );
    check(r#"{"users": [{"name": "a"}]}"#, "state is present but all of the following are missing: home");
}

#[test]
fn choices_have_names() {
    assert_eq!([State::Present, State::AsItIs].map(|state| state.as_str()), ["present", "as-is"]);
    assert_ne!(State::Absent, State::AsItIs);
}

#[test]
fn a_struct_can_be_filled_by_hand() {
    let mut arguments: Dict = decode(r#"{"files": 3}"#).unwrap().as_dict().unwrap().clone();
    assert_eq!(Limits::fill(&mut arguments).unwrap().files, 3);
    assert_eq!(encode(&arguments.into()), r#"{"files": null}"#);
}
