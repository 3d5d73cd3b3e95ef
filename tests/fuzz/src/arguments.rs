//! Arguments of modules, and what modules print.

use modbox_contract::args::{decode_file, encode_file, parse_pair};
use modbox_contract::{ModuleResult, RawOutput, Release, ResultLines, Value, decode, log_lines};

/// Arguments are written and read again as the same ones. A result is one JSON object in one line, whatever was printed.
pub fn run(data: &[u8]) -> bool {
    let args = decode_file(data);
    if let Ok(args) = &args {
        // Compared as text: `NaN` is not equal to itself.
        let written = encode_file(args);
        assert_eq!(decode_file(&written).map(|args| encode_file(&args)), Ok(written));
    }
    let (log, rest) = log_lines::take(data);
    assert!(log.is_empty() == (rest.len() == data.len()));
    let raw = RawOutput { stdout: data, stderr: &rest, rc: 0, shebang: None };
    for (lines, release) in [ResultLines::Ansible, ResultLines::LastJsonLine].into_iter().zip(Release::ALL) {
        check(&ModuleResult::parse_as(&raw, lines, release));
    }
    let result = ModuleResult::parse(&raw);
    check(&result);
    args.is_ok() || result.parsed() || parse_pair(data).is_ok()
}

fn check(result: &ModuleResult) {
    let json = result.to_json();
    assert!(!json.contains('\n') && json.is_ascii());
    assert!(matches!(decode(&json), Ok(Value::Dict(_))), "{json}");
}
