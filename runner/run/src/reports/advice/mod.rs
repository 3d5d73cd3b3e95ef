//! Advice after a run: the option of `modbox run` that allows each denied use, and guesses at what a failed module is
//! missing.
//!
//! The guards and the observer record what was denied, with the option for exactly that. Often another option is
//! better, since it works when a person follows it: a path that an argument names is designated; a temporary file stands
//! for the file that it replaces; a file that a user may not write needs another user and no option. The rules:
//!
//! - A path that the value of an option names, or that lies in a directory so named: `--designate OPTION:ACCESS`, as far
//!   as the policy's `designated` setting allows.
//! - A temporary file: the option for the named file beside it, or else for the directory.
//! - A directory or a link that a module makes: the option for the directory around it.
//! - A directory that a module makes although it exists, as `mkdir -p` does when the module does not see it: the option
//!   for the named path below it.
//! - A path that does not exist, for reading, and a place that belongs to the module: no option.
//! - A new path where a grant of a name cannot make it: the option for the directory.
//! - Options that would contradict each other become one. A directory for writing comes with the paths inside it that
//!   are granted for reading.
//!
//! Advice grants nothing.

mod guesses;
mod named;
mod options;
mod temporary;

use std::path::{Path, PathBuf};

use modbox_policy::{Access, Policy, granted_host, is_own};
use modbox_vocabulary::{Capability, Denial, Operation};

pub(crate) use self::guesses::hints;
use self::named::NamedPaths;
use self::temporary::MadeUp;
use crate::request::run_request::RunRequest;

/// What allows a denied use.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Remedy {
    /// No option does.
    None,
    /// Treating the value of an option of the module as a path.
    Designation { option: String, access: Access },
    /// Granting a path.
    Path { path: PathBuf, access: Access },
    /// The option that came with the denial.
    Given,
}

/// Replaces the option of each denial by one that works when it is followed. `makes_names` says whether the module can make
/// and remove a path that is granted by its name alone.
pub(crate) fn improve(denials: &mut [Denial], request: &RunRequest<'_>, makes_names: bool) {
    let adviser = Adviser { policy: request.policy, named: NamedPaths::of(request.arguments.given()), makes_names };
    let mut remedies: Vec<Remedy> = denials.iter().map(|denial| adviser.remedy(denial)).collect();
    leave_questions(denials, &mut remedies);
    unite(&mut remedies);
    for (denial, remedy) in denials.iter_mut().zip(remedies) {
        match remedy {
            Remedy::Given => {}
            Remedy::None => denial.allow.clear(),
            Remedy::Designation { option, access } => denial.allow = options::designation(&option, access),
            Remedy::Path { path, access } => {
                let inner = if access == Access::Write { adviser.read_inside(&path) } else { Vec::new() };
                let paths = std::iter::once(path.as_path()).chain(inner);
                denial.allow = paths.map(|path| options::grant(path, access)).collect::<Vec<_>>().join(" ");
            }
        }
    }
}

/// Removes the remedies of looks whether a path can be written, if another denial has one. A program often asks so about
/// a path that it only reads.
fn leave_questions(denials: &[Denial], remedies: &mut [Remedy]) {
    let is_question = |denial: &Denial| (denial.capability, denial.operation) == (Capability::Write, Operation::Look);
    let mut others = denials.iter().zip(remedies.iter()).filter(|(denial, _)| !is_question(denial));
    if others.any(|(_, remedy)| *remedy != Remedy::None) {
        let questions = denials.iter().zip(remedies).filter(|(denial, _)| is_question(denial));
        questions.for_each(|(_, remedy)| *remedy = Remedy::None);
    }
}

/// Makes one option of those that contradict each other or repeat each other: the wider one.
fn unite(remedies: &mut [Remedy]) {
    let all = remedies.to_vec();
    for remedy in remedies {
        match remedy {
            Remedy::Designation { option, access } => {
                let writes = Remedy::Designation { option: option.clone(), access: Access::Write };
                if all.contains(&writes) {
                    *access = Access::Write;
                }
            }
            Remedy::Path { path, access } => {
                let around = |other: &Remedy| match other {
                    Remedy::Path { path: outer, access: Access::Write } if path.starts_with(outer) => {
                        Some(outer.clone())
                    }
                    _ => None,
                };
                if let Some(outer) = all.iter().filter_map(around).min_by_key(|outer| outer.as_os_str().len()) {
                    (*path, *access) = (outer, Access::Write);
                }
            }
            Remedy::None | Remedy::Given => {}
        }
    }
}

struct Adviser<'a> {
    policy: &'a Policy,
    named: NamedPaths,
    /// Whether a path that is granted by its name can be made and removed.
    makes_names: bool,
}

impl Adviser<'_> {
    fn remedy(&self, denial: &Denial) -> Remedy {
        let access = match denial.capability {
            Capability::Read => Access::Read,
            Capability::Write => Access::Write,
            _ => return Remedy::Given,
        };
        let path = Path::new(&denial.subject);
        // A path of the guest that is another one on the host, and a place that belongs to the guest.
        let is_mapped = granted_host(&denial.allow) != denial.allow;
        let is_before_start = matches!(denial.operation, Operation::Argument | Operation::Default | Operation::Request);
        if denial.allow.is_empty() || is_mapped || is_before_start || !path.is_absolute() {
            return Remedy::Given;
        }
        match (access, denial.operation, path.symlink_metadata().is_ok()) {
            (Access::Read, Operation::MakeDirectory, _) => self.for_hidden(path),
            (Access::Write, Operation::Look, true) if path.is_dir() => {
                self.for_named_below(path).unwrap_or_else(|| self.for_path(path, Access::Write))
            }
            (Access::Read, _, false) => Remedy::None,
            (Access::Read, _, true) => self.for_path(path, Access::Read),
            (Access::Write, _, true) => self.for_path(path, Access::Write),
            // Only single files are taken back from a native module.
            (Access::Write, Operation::MakeDirectory | Operation::MakeLink, false) => self.for_directory_of(path),
            (Access::Write, ..) => self.for_new(path),
        }
    }

    fn for_path(&self, path: &Path, access: Access) -> Remedy {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_obstructed = access == Access::Write && modbox_native::write_obstacle(&real).is_some();
        if is_obstructed || path.to_str().is_some_and(is_own) {
            return Remedy::None;
        }
        let option = self.named.option_of(path).or_else(|| self.named.option_around(path));
        if let Some(option) = option.filter(|_| self.policy.designated().allows(access)) {
            let option = option.to_owned();
            if !self.is_designated(&option, access) {
                return Remedy::Designation { option, access };
            }
        }
        if access == Access::Write && self.is_granted_for_writing(path) {
            // The path itself is granted, and what the module does to it needs its directory.
            return self.for_directory_of(path);
        }
        Remedy::Path { path: path.to_owned(), access }
    }

    /// Returns the remedy for making a path.
    fn for_new(&self, path: &Path) -> Remedy {
        if !self.makes_names {
            return self.for_directory_of(path);
        }
        match path.file_name().and_then(|name| temporary::recognize(&name.to_string_lossy())) {
            _ if self.named.option_of(path).is_some() => self.for_path(path, Access::Write),
            Some(MadeUp::Temporary) => match self.named.replaced_by(path) {
                Some(replaced) if !self.policy.covers(replaced, Access::Write) => {
                    self.for_path(replaced, Access::Write)
                }
                _ => self.for_directory_of(path),
            },
            Some(MadeUp::Backup) => self.for_directory_of(path),
            None => self.for_path(path, Access::Write),
        }
    }

    fn for_directory_of(&self, path: &Path) -> Remedy {
        match path.parent().filter(|directory| directory.parent().is_some()) {
            Some(directory) if !self.is_granted_for_writing(directory) => self.for_path(directory, Access::Write),
            _ => Remedy::None,
        }
    }

    /// Returns the remedy for an existing directory that the module did not see and wanted to make. The whole of a
    /// top-level directory, such as `/var`, is not suggested.
    fn for_hidden(&self, directory: &Path) -> Remedy {
        let is_top = directory.parent().is_none_or(|parent| parent.parent().is_none());
        self.for_named_below(directory).unwrap_or_else(|| match is_top {
            true => Remedy::None,
            false => self.for_path(directory, Access::Write),
        })
    }

    /// Returns the remedy for the path below a directory that the arguments name, or for the innermost existing
    /// directory around that path.
    fn for_named_below(&self, directory: &Path) -> Option<Remedy> {
        let path = self.named.below(directory)?;
        if path.parent().is_some_and(Path::is_dir) {
            return Some(self.for_path(path, Access::Write));
        }
        let existing = path.ancestors().find(|ancestor| ancestor.exists())?;
        Some(self.for_path(existing, Access::Write))
    }

    fn is_designated(&self, option: &str, access: Access) -> bool {
        self.policy.paths().iter().any(|grant| grant.source.option() == Some(option) && grant.access >= access)
    }

    /// Returns the paths inside a directory that an operator granted for reading alone. They would contradict a grant
    /// of the directory for writing, and need the same grant.
    fn read_inside(&self, directory: &Path) -> Vec<&Path> {
        let paths = self.policy.paths().iter();
        let paths = paths.filter(|grant| grant.access == Access::Read && grant.source.option().is_none());
        let paths = paths.map(|grant| Path::new(&grant.guest));
        paths.filter(|path| path.starts_with(directory) && *path != directory).collect()
    }

    fn is_granted_for_writing(&self, path: &Path) -> bool {
        self.policy.paths().iter().any(|grant| Path::new(&grant.guest) == path && grant.access == Access::Write)
    }
}
