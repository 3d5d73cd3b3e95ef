//! Compares the contract with the programs that define it: CPython and ansible-core.
//!
//! Every test sends many cases to a filter in `oracle/`, which an interpreter with ansible-core 2.19 runs, and compares
//! each answer. Cases are generated from a fixed seed, so that failures can be reproduced.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use modbox_contract::key_values::old_style_args;
use modbox_contract::{Dict, Value, decode, encode, python_str, repr};
use modbox_kinds::Kind;
use modbox_kinds::detect::detect;
use modbox_vocabulary::quoting;

use crate::support::oracle;
use crate::support::sample::Random;

/// Runs a filter over lines and returns its answers, one for each line.
pub(crate) fn ask(filter: &str, questions: &[Value]) -> Vec<Dict> {
    ask_with(&oracle::python(), filter, questions)
}

/// The same with an interpreter that has another release.
pub(crate) fn ask_with(python: &Path, filter: &str, questions: &[Value]) -> Vec<Dict> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/oracle").join(filter);
    let mut filter = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the oracle's interpreter starts");
    let input: String = questions.iter().map(|question| encode(question) + "\n").collect();
    let mut stdin = filter.stdin.take().expect("it is piped");
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = filter.wait_with_output().expect("the oracle ends");
    writer.join().expect("the writer does not panic").expect("the oracle reads everything");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = String::from_utf8(output.stdout).expect("the oracle answers in ASCII");
    let answers: Vec<_> = answers.lines().map(|line| decode(line).expect("the oracle answers in JSON")).collect();
    assert_eq!(answers.len(), questions.len());
    answers
        .into_iter()
        .map(|answer| match answer {
            Value::Dict(answer) => answer,
            other => panic!("the oracle answers with dicts, not {other:?}"),
        })
        .collect()
}

/// Standard base64.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let index = (group >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[index as usize]) } else { '=' });
        }
    }
    text
}

#[test]
fn detection_agrees_with_ansible() {
    let mut questions: Vec<Value> =
        generated_modules().iter().map(|bytes| Value::from([("bytes", base64(bytes))])).collect();
    questions.extend(real_files().iter().map(|path| Value::from([("path", path.display().to_string())])));
    assert!(questions.len() >= 300, "{} files", questions.len());
    let answers = ask("detect.py", &questions);
    let generated = generated_modules();
    for (index, (question, answer)) in questions.iter().zip(&answers).enumerate() {
        let bytes = match generated.get(index) {
            Some(bytes) => bytes.clone(),
            None => read(Path::new(python_str(&question.as_dict().expect("it is a dict")["path"]).as_str())),
        };
        let expect = match answer["substyle"].as_str().expect("a style is text") {
            "non_native_want_json" => Kind::WantJson,
            "old" => Kind::OldStyle,
            other => other.parse().expect("the other names are Ansible's"),
        };
        let got = detect(&bytes).map(|detection| detection.kind);
        // Ansible has no kind for wasm.
        let same = got == Ok(expect) || expect == Kind::Binary && got.is_ok_and(Kind::is_wasm);
        assert!(same, "{} for {}", expect, encode(question));
    }
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the file was listed")
}

/// ansible-core's own modules, and the system's scripts and executables.
fn real_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let root = oracle::python().parent().and_then(Path::parent).map(|root| root.join("lib")).unwrap_or_default();
    for version in list(&root) {
        files.extend(list(&version.join("site-packages/ansible/modules")));
    }
    files.extend(list(Path::new("/usr/bin")).into_iter().take(200));
    files.retain(|path| path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() < 1 << 20));
    files
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

/// Markers, near misses, and limits of text detection.
fn generated_modules() -> Vec<Vec<u8>> {
    let lines: Vec<Vec<u8>> = MARKER_LINES.iter().map(|line| line.as_bytes().to_vec()).collect();
    let mut modules = vec![Vec::new(), b"#!".to_vec(), b"\0asm\x01\0\0\0".to_vec(), b"\x7fELF\x02\x01\x01\0".to_vec()];
    modules.extend(lines.iter().map(|line| [b"#!/bin/sh\n# ", &line[..], b"\n"].concat()));
    for byte in 0..=255 {
        modules.push(vec![b'a', byte, b'b']);
    }
    for at in [0, 1, 1022, 1023, 1024, 1025] {
        let mut bytes = vec![b' '; 1100];
        bytes[at] = 0;
        modules.push(bytes);
    }
    let mut random = Random::new(0x5eed);
    for _ in 0..300 {
        let mut bytes = b"#!/bin/sh\n".to_vec();
        for _ in 0..random.below(4) {
            let mut line = random.pick(&lines).clone();
            match random.below(4) {
                0 => line.make_ascii_uppercase(),
                1 => drop(line.remove(random.below(line.len()))),
                2 => line.insert(random.below(line.len()), *random.pick(b" .\n\xff\x0b")),
                _ => {}
            }
            bytes.extend(line);
            bytes.push(*random.pick(b"\n "));
        }
        modules.push(bytes);
    }
    modules
}

const MARKER_LINES: &[&str] = &[
    "#<<INCLUDE_ANSIBLE_MODULE_COMMON>>",
    "from ansible.module_utils.basic import AnsibleModule",
    "from  ansible.module_utils import basic",
    "from ansible.module_utilsX import basic",
    "from ansible.module_utils.basic",
    "import ansible.module_utils.basic",
    "import ansible.module_utils",
    "from ansible_collections.a.b.plugins.module_utils.x import y",
    "import ansible_collections.a.b.plugins.module_utils",
    "import ansible_collections.a.b.c.plugins.module_utils",
    "from ...module_utils.x import y",
    "from .module_utils.x import y",
    "from .. module_utils import y",
    "# POWERSHELL_COMMON",
    "#Requires -Module Ansible.ModuleUtils.Legacy",
    "#requires -version 2",
    "#AnsibleRequires -OSVersion 6",
    "#ansiblerequires -powershell x",
    "#AnsibleRequires -CSharpUtil x",
    "#AnsibleRequires -Wrapper",
    "#AnsibleRequires -Other",
    "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>",
    "WANT_JSON",
    "want_json",
    "plain text",
];

#[test]
fn shebangs_agree_with_ansible() {
    let lines = ["/bin/sh", " /bin/sh  -e\r", "/usr/bin/env 'a b' \"c\"", "\t/x\\ y", "/bin/sh #c", ""];
    let modules: Vec<_> = lines.iter().map(|line| format!("#!{line}\nbody")).collect();
    let questions: Vec<_> = modules.iter().map(|module| Value::from([("bytes", base64(module.as_bytes()))])).collect();
    for (line, answer) in lines.iter().zip(ask("detect.py", &questions)) {
        let words = quoting::split(line.trim_end()).expect("the lines are well-formed");
        let expect = if words.is_empty() { "IndexError".into() } else { Value::from(words) };
        assert_eq!(answer["shebang"], expect, "for {line:?}");
    }
}

#[test]
fn quoting_agrees_with_python() {
    const ALPHABET: &[char] = &[
        'a', 'Z', '0', '_', '@', '%', '+', '=', ':', ',', '.', '/', '-', ' ', '\t', '\n', '\r', '\'', '"', '\\', '#',
        '$', '~', 'é', '\u{a0}', '\u{2028}', '😀', '\u{7f}',
    ];
    let mut random = Random::new(0x9007);
    let mut questions = Vec::new();
    for index in 0..6000 {
        let mut text = || (0..random.below(9)).map(|_| *random.pick(ALPHABET)).collect::<String>();
        let question = match index % 3 {
            0 => Value::from([("quote", text())]),
            1 => Value::from([("split", text())]),
            _ => {
                let nested = Value::from([(text(), Value::from(vec![text()])), (text(), true.into())]);
                let dict = Value::from([("a", text().into()), ("b", nested), ("c", Value::Null), ("d", 1e20.into())]);
                Value::from([("old_style", dict)])
            }
        };
        questions.push(question);
    }
    for (question, answer) in questions.iter().zip(ask("quoting.py", &questions)) {
        let (what, value) = question.as_dict().and_then(|question| question.first()).expect("it has one key");
        let got = match (what.as_str(), value) {
            ("quote", Value::Str(text)) => Ok(Value::from(quoting::quote(text))),
            ("split", Value::Str(text)) => quoting::split(text).map(Value::from),
            (_, Value::Dict(args)) => Ok(Value::from_os_bytes(&old_style_args(args))),
            other => panic!("{other:?}"),
        };
        match got {
            Ok(value) => assert_eq!(answer.get("value"), Some(&value), "for {}", encode(question)),
            Err(error) => assert_eq!(answer.get("error"), Some(&error.to_string().into()), "for {}", encode(question)),
        }
    }
}

#[test]
fn json_agrees_with_python() {
    let texts = mutated_documents(20_000);
    let questions: Vec<_> = texts.iter().map(|text| Value::from(text.as_str())).collect();
    for (text, answer) in texts.iter().zip(ask("json_decode.py", &questions)) {
        match decode(text) {
            Ok(value) => {
                assert_eq!(answer.get("dumps"), Some(&encode(&value).into()), "for {text:?}");
                let known = answer["repr"] != Value::Null;
                assert!(!known || answer["repr"] == repr(&value).into(), "for {text:?}");
            }
            // Python keeps such a key, but output that contains one is never accepted as a result.
            Err(error) if error.surrogate_key().is_some() => {}
            Err(error) => assert_eq!(answer.get("error"), Some(&error.to_string().into()), "for {text:?}"),
        }
    }
}

fn mutated_documents(count: usize) -> Vec<String> {
    const DOCUMENTS: &[&str] = &[
        r#"{"a": [1, -2.5e3, true, null, "x\n\u00e9"], "b": {"c": "d"}, "": []}"#,
        r#"["\ud83d\ude00", "\udcff", "\ud800", NaN, Infinity, -Infinity, 1E400, -0, 0.1e-7, 123456789012345678901]"#,
        "{\"é\u{2028}\": \"\u{7f}\u{85}😀\",\n\t\"k\" : {},\r\n \"it's\": 'x'}",
        r#" {"n": 1.0, "m": 1e16, "o": 1e-5, "p": 12345678.9, "q": 5e-324, "r": 0.30000000000000004} "#,
    ];
    const PIECES: &[&str] = &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "\\ud83d",
        "\\ude00",
        "0",
        "-",
        ".",
        "e",
        "E+",
        "N",
        "NaN",
        "true",
        "null",
        " ",
        "\n",
        "\t",
        "\u{0}",
        "é",
        "😀",
        "\u{feff}",
        "'",
        "1",
        "9999999999999999999999",
    ];
    let mut random = Random::new(0xf022);
    let mut texts = Vec::new();
    for _ in 0..count {
        let mut chars: Vec<char> = random.pick(DOCUMENTS).chars().collect();
        for _ in 0..=random.below(3) {
            let at = random.below(chars.len());
            let end = (at + random.below(4)).min(chars.len());
            let piece = if random.below(3) == 0 { "" } else { random.pick(PIECES) };
            chars.splice(at..end, piece.chars());
            if random.below(20) == 0 {
                chars.truncate(at.max(1));
            }
            if chars.is_empty() {
                chars.push(' ');
            }
        }
        texts.push(chars.into_iter().collect());
    }
    texts
}
