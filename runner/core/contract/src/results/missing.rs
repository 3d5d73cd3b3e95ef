//! Detects that a module did not start because its interpreter is missing. Only the shell's error message shows that.

use crate::results::raw_output::RawOutput;

/// Returns the interpreter line when a shell or the kernel reported that the program does not exist. Ansible starts the
/// line as one word and searches for the whole line. We start it as several words, so this function searches for the
/// first word as well.
pub(crate) fn missing_interpreter<'a>(raw: &RawOutput<'a>) -> Option<&'a str> {
    let line = raw.shebang?.trim_start_matches(['!', '#']);
    let program = line.split(' ').next().unwrap_or(line);
    let reported = |words: &str| contains(raw.stderr, words.as_bytes()) || contains(raw.stdout, words.as_bytes());
    let missing = ["No such file or directory", "not found", "command not found"]
        .iter()
        .any(|complaint| reported(&format!("{line}: {complaint}")) || reported(&format!("{program}: {complaint}")));
    missing.then_some(line)
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
