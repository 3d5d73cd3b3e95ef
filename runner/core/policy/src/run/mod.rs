//! Rules for the commands that a module may run. A rule names one program and the arguments that it may have.
//!
//! ```text
//! rule    = program { word }
//! program = absolute path | name
//! word    = text with `*` for any characters and `?` for one
//! ```
//!
//! A rule is split into words like a shell command: blanks separate words; single quotes, double quotes and backslashes
//! keep characters together and take away their special meaning, also that of wildcards. A rule covers a command under
//! these conditions:
//!
//! 1. The program is exactly the one that the rule names. A name is looked up once, when the policy is read, in the
//!    [standard directories](STANDARD_DIRECTORIES). Its paths through standard directories that are links to the same
//!    directory count as well.
//! 2. Each further word of the rule matches one argument, in order. Arguments are never split or joined. A wildcard
//!    matches only within one argument. It matches blanks, slashes, leading dashes and leading dots as well. `*` also
//!    matches the empty text.
//! 3. There are as many arguments as words. Only if the last word is a bare `*`, any number of further arguments may
//!    follow, including none.
//!
//! No shell is involved, so `|`, `;`, `$` and the like have no special meaning.

mod rule;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use modbox_vocabulary::{Capability, CommandRefusal, Denial, GrantSource, Operation, quoting};
use serde::{Deserialize, Serialize};

pub use self::rule::{RunRule, RunRuleError};

/// Maximum length of a command in a denial, in bytes.
const MAX_SHOWN: usize = 4 << 10;

/// The directories of a system's programs, in the order of lookup.
pub const STANDARD_DIRECTORIES: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// A grant to run commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunGrant {
    /// The rule for commands.
    pub rule: RunRule,
    /// The absolute paths of the program: first the one that is started, then other paths of the same file.
    pub programs: Vec<PathBuf>,
    /// The switch or policy file that granted it.
    pub source: GrantSource,
}

impl RunGrant {
    /// Returns whether the grant covers a command. A program without a slash stands for the one in the standard
    /// directories.
    #[must_use]
    pub fn covers(&self, program: &str, arguments: &[String]) -> bool {
        let is = |path: &PathBuf| match program.contains('/') {
            true => path.as_os_str() == program,
            false => STANDARD_DIRECTORIES.iter().any(|directory| *path == Path::new(directory).join(program)),
        };
        !matches!(program, "" | "." | "..") && self.programs.iter().any(is) && self.rule.covers(arguments)
    }

    /// Returns whether the grant permits all commands that another one does.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        other.programs.iter().all(|program| self.programs.contains(program)) && self.rule.includes(&other.rule)
    }

    /// Returns the path of the program to start.
    #[must_use]
    pub fn program(&self) -> Option<&Path> {
        self.programs.first().map(PathBuf::as_path)
    }
}

/// Returns the paths of a program in the standard directories: the one in the first directory where `is_program` finds
/// it, and the other paths of the same file. `real` resolves links.
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

/// Returns a program's path, and its paths in the standard directories that are links to the same directory.
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

/// Formats the rule that covers exactly one command.
#[must_use]
pub fn exactly(program: &str, arguments: &[String]) -> String {
    let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
    quoting::join(words)
}

/// Formats the option that grants a rule, quoted for a shell.
#[must_use]
pub fn switch(rule: &str) -> String {
    format!("--allow-run {}", quoting::quote(rule))
}

/// Returns the refusal of a command that no grant covers.
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
