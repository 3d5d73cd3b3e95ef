//! Whether a module was not started because its interpreter is missing, which only the shell's complaint says.

use crate::raw_output::RawOutput;

/// Returns the interpreter line when a shell or the kernel said that there is no such program. Ansible looks for
/// the whole line, which it starts as one word; we start it as several, so that the first is looked for as well.
pub(super) fn missing_interpreter<'a>(raw: &RawOutput<'a>) -> Option<&'a str> {
    let line = raw.shebang?.trim_start_matches(['!', '#']);
    let program = line.split(' ').next().unwrap_or(line);
    let said = |words: &str| contains(raw.stderr, words.as_bytes()) || contains(raw.stdout, words.as_bytes());
    let missing = ["No such file or directory", "not found", "command not found"]
        .iter()
        .any(|complaint| said(&format!("{line}: {complaint}")) || said(&format!("{program}: {complaint}")));
    missing.then_some(line)
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
