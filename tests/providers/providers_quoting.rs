//! Quoting for providers: each value that an argument can hold is what a shell reads.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;

use proptest::collection::vec;
use proptest::prelude::{Just, any};
use proptest::prop_oneof;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::providers::providers_runs::resource;
use crate::support::TestDir;

/// Values of any bytes that an argument can hold.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let special = proptest::sample::select(b"'\"\\$`!*?[]{}()<>|&;#~=,:% \t\n\r\x01\x7f\x80\xff".to_vec());
    let piece = prop_oneof![
        4 => special.prop_map(|byte| vec![byte]),
        2 => vec(1..=u8::MAX, 0..8),
        1 => any::<char>().prop_filter("a NUL ends an argument", |letter| *letter != '\0').prop_map(|letter| letter.to_string().into_bytes()),
        1 => proptest::sample::select(vec!["'\\''", "$(id)", "`id`", "\\\n", "''", "-n", "--", "\r\n"]).prop_map(|text| text.as_bytes().to_vec()),
        1 => Just(Vec::new()),
    ];
    vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// Each value goes as an argument of its own, so that one run of the shell shows many.
#[test]
fn every_value_is_what_a_shell_reads() {
    const RUNS: usize = 4;
    const VALUES: usize = 100;
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let values = vec(value(), VALUES);
    let dir = TestDir::new();
    for _ in 0..RUNS {
        let values = values.new_tree(&mut runner).unwrap().current();
        let attributes: String = (0..VALUES).map(|n| format!("    v{n}:\n")).collect();
        let metadata = format!(
            "provider:\n  type: echo\n  invoke: simple\n  suitable: true\n  attributes:\n    name:\n{attributes}"
        );
        dir.write("data/providers/echo.yaml", metadata);
        // A NUL between values is what no value has.
        let prints: String = (0..VALUES).map(|n| format!(" \"$v{n}\"")).collect();
        let script = format!(
            "#!/bin/sh\neval \"$@\"\necho '# simple'\n[ $ral_action = update ] && printf '%s\\0'{prints} > OUT/values\n\
            echo ral_derive: true\n"
        );
        let script = script.replace(
            "echo ral_derive: true",
            "[ $ral_action = update ] && echo ral_derive: true || echo ral_unknown: 1",
        );
        let out = dir.mkdir("out").display().to_string();
        dir.write_executable("data/providers/echo.prov", script.replace("OUT", &out));
        let words = values
            .iter()
            .enumerate()
            .map(|(n, value)| OsString::from_vec([format!("v{n}=").as_bytes(), value].concat()));
        let mut command = resource(&dir, &["echo", "n", "--allow-write", "out"]);
        for word in words {
            command = command.arg(word);
        }
        command.run().exits_with(0);
        let read = fs::read(dir.join("out/values")).unwrap();
        let read: Vec<&[u8]> = read.split(|byte| *byte == 0).collect();
        assert_eq!(read.len(), VALUES + 1);
        for (value, read) in values.iter().zip(read) {
            assert_eq!(value.escape_ascii().to_string(), read.escape_ascii().to_string());
        }
    }
}
