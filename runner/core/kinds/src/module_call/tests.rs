//! Sources with literal specs, and with others.

use modbox_contract::{decode, encode};

use super::*;

#[track_caller]
fn reads(source: &str, expect: &str) {
    let spec = read(source.as_bytes()).unwrap().spec.unwrap_or_else(|error| panic!("{error}\n{source}"));
    let entries = [("options", Value::Dict(spec.options)), ("rules", Value::Dict(spec.rules))];
    let expect = decode(expect).unwrap();
    assert_eq!(encode(&Value::from(entries)), encode(&expect), "{source}");
}

#[track_caller]
fn fails(source: &str, expect: &str) {
    let error = read(source.as_bytes())
        .map_err(|error| error.to_string())
        .and_then(|call| call.spec.map(|spec| format!("{spec:?}")).map_err(|error| error.to_string()));
    assert_eq!(error.unwrap_err(), expect, "{source}");
}

#[test]
fn literal_specs_are_read() {
    for spec in [
        "AnsibleModule(argument_spec=dict(a=dict(type='int', default=-1), b={'choices': ['x', u'y'] + ['z']}))",
        "AnsibleModule(dict(dict(a=dict(type='int', default=-1)), b={'choices': ('x', 'y', 'z')}))",
        "basic.AnsibleModule(argument_spec={**A, 'b': B})\nA = dict(a=dict(type='int', default=-1))\nB = {}\nB['choices'] = list(C)\nC = ['x', 'y', \"z\"]",
        "def main():\n  spec = {}\n  spec.update(a=dict(type='int', default=-1))\n  spec.update({'b': dict(choices=['x', 'y', 'z'])})\n  \
         module = AnsibleModule(argument_spec=spec)\n  spec.pop('a')\n  other(spec)\n",
    ] {
        let source = format!("import os\n{spec}\n");
        reads(
            &source,
            r#"{"options": {"a": {"type": "int", "default": -1}, "b": {"choices": ["x", "y", "z"]}}, "rules": {}}"#,
        );
    }
    reads(
        "def main():\n    AnsibleModule(\n        argument_spec=dict(a=dict(fallback=(env_fallback, ['A']))),\n        required_if=[('a', True, ['b'])],\n        supports_check_mode=True)",
        r#"{"options": {"a": {"fallback": ["env_fallback", ["A"]]}}, "rules": {"required_if": [["a", true, ["b"]]]}}"#,
    );
}

#[test]
fn what_is_not_literal_is_said_with_its_line() {
    for (source, expect) in [
        ("AnsibleModule(argument_spec=url_argument_spec())", "line 1: `url_argument_spec()` is called"),
        ("AnsibleModule(\n  argument_spec=dict(a=dict(default=os.getenv('A'))))", "line 2: `getenv()` is called"),
        ("AnsibleModule(argument_spec=dict(a={'choices': {'a'}}))", "line 1: an expression is not literal"),
        ("AnsibleModule(argument_spec=dict(a=dict(type=int)))", "line 1: the value of `int` is not known"),
        ("from x import S\nAnsibleModule(argument_spec=S)", "line 1: what happens to `S` is not followed"),
        ("S = {}\nif x:\n  S['a'] = {}\nAnsibleModule(argument_spec=S)", "line 3: what happens to `S` is not followed"),
        ("def f(s):\n  AnsibleModule(argument_spec=s)", "line 2: `s` is a parameter of `f()`"),
        (
            "def f():\n  s = {}\n  add(s)\n  AnsibleModule(argument_spec=s)",
            "line 3: what happens to `s` is not followed",
        ),
        (
            "def f():\n  s = {'a': {}}\n  s['a']['b'] = 1\n  AnsibleModule(argument_spec=s)",
            "line 3: what happens to `s` is not followed",
        ),
        (
            "def f():\n  s = {'a': {}}\n  s['a'].update(b=1)\n  AnsibleModule(argument_spec=s)",
            "line 3: what happens to `s` is not followed",
        ),
        (
            "S = {}\ndef f():\n  global S\n  S['a'] = {}\nAnsibleModule(argument_spec=S)",
            "line 4: what happens to `S` is not followed",
        ),
        ("for s in x: pass\nAnsibleModule(argument_spec=s)", "line 1: what happens to `s` is not followed"),
        ("a = b\nb = a\nAnsibleModule(argument_spec=a)", "line 1: the expression is too large"),
        ("AnsibleModule(**x)", "line 1: the arguments of the call are not listed"),
        ("AnsibleModule()", "line 1: the call has no argument spec"),
        ("AnsibleModule([])", "line 1: the argument spec is not a dict"),
        ("x()", "it does not call `AnsibleModule` itself"),
        ("AnsibleModule({})\nAnsibleModule({})", "it calls `AnsibleModule` in several places"),
        ("print 'x'", "line 1: Simple statements must be separated by newlines or semicolons"),
    ] {
        fails(source, expect);
    }
}

#[test]
fn values_are_bounded() {
    let mut source = "a0 = ['x', 'x']\n".to_owned();
    for n in 1..30 {
        source += &format!("a{n} = [a{0}, a{0}, a{0}, a{0}]\n", n - 1);
    }
    let error = read(format!("{source}AnsibleModule(dict(a=a29))").as_bytes()).unwrap().spec.unwrap_err();
    assert_eq!(error.reason, "the expression is too large");
}

#[test]
fn check_mode_is_read_without_a_literal_spec() {
    for (arguments, expect) in [
        ("supports_check_mode=True", Some(true)),
        ("argument_spec=f()", Some(false)),
        ("supports_check_mode=f()", None),
        ("**f()", None),
    ] {
        let call = read(format!("AnsibleModule({arguments})").as_bytes()).unwrap();
        assert_eq!(call.supports_check_mode, expect, "{arguments}");
    }
}

#[test]
fn options_for_files_are_read() {
    let options = file_options(b"import x\nFILE_COMMON_ARGUMENTS = dict(\n    mode=dict(type='raw'),\n)\n").unwrap();
    assert_eq!(encode(&Value::Dict(options)), r#"{"mode": {"type": "raw"}}"#);
    assert_eq!(file_options(b"FILE_COMMON_ARGUMENTS = f()"), None);
}
