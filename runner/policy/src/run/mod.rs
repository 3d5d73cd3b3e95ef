//! Which commands a module may run: rules of words, each about one program and what may stand behind it.
//!
//! ```text
//! rule    = program { word }
//! program = absolute path | name
//! word    = text with `*` for any characters and `?` for one
//! ```
//!
//! A rule is cut into words as a shell cuts them: blanks separate, single and double quotes and backslashes keep what they hold
//! together and as it is, wildcards too. Then, in this order:
//!
//! 1. The program is exactly the one that the rule names. A name is looked up once, when the policy is read, in the
//!    [standard directories](STANDARD_DIRECTORIES); so is where else the same directory is known by a link.
//! 2. Each further word of the rule is about one argument, the first about the first; an argument is never cut, and two are never joined. A wildcard
//!    matches within that argument: blanks, slashes and leading dashes and dots as well, and nothing at all in the case of `*`.
//! 3. There are as many arguments as words, unless the last word is a bare `*`: that is any number of further arguments, none
//!    among them.
//!
//! No shell is involved, so `|`, `;`, `$` and the like are characters among others.

mod rule;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use modbox_vocabulary::{Capability, CommandRefusal, Denial, Operation, quoting};
use serde::{Deserialize, Serialize};

pub use self::rule::{RunRule, RunRuleError};

/// Bytes of a command that a denial shows.
const MAX_SHOWN: usize = 4 << 10;

/// Where the programs of a system are, in the order in which a name is looked for.
pub const STANDARD_DIRECTORIES: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Commands that a module may run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunGrant {
    /// Which.
    pub rule: RunRule,
    /// The program: the one that is started, then the other paths by which the same one is known. Absolute.
    pub programs: Vec<PathBuf>,
    /// Who granted it.
    pub source: String,
}

impl RunGrant {
    /// Returns whether a command is one of these. A program without a slash is the one of that name in the standard
    /// directories.
    #[must_use]
    pub fn covers(&self, program: &str, arguments: &[String]) -> bool {
        let is = |path: &PathBuf| match program.contains('/') {
            true => path.as_os_str() == program,
            false => STANDARD_DIRECTORIES.iter().any(|directory| *path == Path::new(directory).join(program)),
        };
        !matches!(program, "" | "." | "..") && self.programs.iter().any(is) && self.rule.covers(arguments)
    }

    /// Returns what is started.
    #[must_use]
    pub fn program(&self) -> Option<&Path> {
        self.programs.first().map(PathBuf::as_path)
    }
}

/// Returns the paths by which a program of the standard directories is known: the first directory that has a program of this
/// name, as `is_program` tells, and those that `real` says are the same.
#[must_use]
pub fn look_up(
    name: &str,
    is_program: impl Fn(&Path) -> bool,
    real: impl Fn(&Path) -> Option<PathBuf>,
) -> Vec<PathBuf> {
    let directories = STANDARD_DIRECTORIES.map(Path::new);
    match directories.iter().find(|directory| is_program(&directory.join(name))) {
        Some(directory) => known_as(&directory.join(name), real),
        None => Vec::new(),
    }
}

/// Returns a program's path, and those by which the same file is known in standard directories that are links to its own.
#[must_use]
pub fn known_as(program: &Path, real: impl Fn(&Path) -> Option<PathBuf>) -> Vec<PathBuf> {
    let mut paths = vec![program.to_owned()];
    let (Some(directory), Some(name)) = (program.parent(), program.file_name()) else { return paths };
    let Some(own) = real(directory) else { return paths };
    for other in STANDARD_DIRECTORIES.map(Path::new) {
        let path = other.join(name);
        if real(other).as_ref() == Some(&own) && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Writes a command as the rule that covers it and nothing else.
#[must_use]
pub fn exactly(program: &str, arguments: &[String]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    quoting::join(words)
}

/// Writes the switch that grants a rule, to be pasted into a shell.
#[must_use]
pub fn switch(rule: &str) -> String {
    format!("--allow-run {}", quoting::quote(rule))
}

/// Returns the refusal of a command that nothing grants.
#[must_use]
pub fn denied(program: &str, arguments: &[String]) -> CommandRefusal {
    let mut subject = exactly(program, arguments);
    if subject.len() > MAX_SHOWN {
        subject.truncate(subject.floor_char_boundary(MAX_SHOWN));
        subject.push('…');
    }
    let allow = switch(&subject);
    CommandRefusal::Denied(Denial { capability: Capability::Run, subject, operation: Operation::Run, allow })
}
