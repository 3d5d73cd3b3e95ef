//! What a program needs to start besides the system's own folders: the file that its links lead to, the interpreters of
//! its `#!` chain, shared libraries, and the libraries of its language.
//!
//! A program that is granted, or an interpreter that an operator chooses, is shown with these files and with nothing
//! beside them. Everything here is found by reading files; no program is started. What a module may change must not
//! decide what the module is shown, so [`ProgramNeeds::changed_by`] is asked first.

mod elf;
mod language;
mod libraries;
mod script;

use std::path::{Path, PathBuf};

use modbox_native::{base, trace};
use modbox_policy::run::STANDARD_DIRECTORIES;
use modbox_policy::{Access, PathDecision, PathGrant, Policy, Shape};
use modbox_vocabulary::{Capability, Grant, GrantSource, RuntimePath};

use crate::programs::libraries::Libraries;

/// Files that a program needs.
#[derive(Debug)]
pub(crate) struct ProgramNeeds {
    program: PathBuf,
    /// Paths that it reads, the program first.
    reads: Vec<PathBuf>,
    /// Further paths whose change would change `reads`, or what runs.
    decisive: Vec<PathBuf>,
    /// Paths that alone say where the others are: the program, the interpreters of its chain, and the settings of its
    /// language.
    roots: Vec<PathBuf>,
}

impl ProgramNeeds {
    /// Finds the needs of a program that is called by an absolute path. The variables of the policy count as its
    /// environment.
    pub(crate) fn of(program: &Path, policy: &Policy) -> Self {
        let mut needs =
            Self { program: program.to_owned(), reads: Vec::new(), decisive: Vec::new(), roots: Vec::new() };
        if !program.is_absolute() {
            return needs;
        }
        let folders = |name: &str| {
            let value = policy.env().iter().find(|grant| grant.name == name).map(|grant| grant.value.clone());
            value.map(|value| std::env::split_paths(&value).filter(|folder| folder.is_absolute()).collect::<Vec<_>>())
        };
        let search = folders("PATH").unwrap_or_else(|| STANDARD_DIRECTORIES.map(PathBuf::from).to_vec());
        let libraries_path = folders("LD_LIBRARY_PATH").unwrap_or_default();
        for path in script::chain(program, &search) {
            let Libraries { found, before } = Libraries::of(&path, &libraries_path);
            let hops = hops(&path);
            needs.decisive.extend(before);
            let settings = language::decisive(&path);
            needs.roots.extend(settings.iter().cloned().chain([path.clone()]));
            needs.decisive.extend(settings);
            needs.reads.push(path);
            needs.reads.extend(found);
            if !hops.iter().all(|hop| is_of_system(hop)) {
                needs.reads.extend(language::reads(&hops));
            }
        }
        needs
    }

    /// Returns the grant by which the module could change what the program is or reads, or that shows another file in
    /// such a place.
    pub(crate) fn changed_by<'a>(&self, policy: &'a Policy) -> Option<&'a PathGrant> {
        if policy.paths().is_empty() {
            return None;
        }
        let decisive = self.decisive.iter().find_map(|path| grant_around(policy, path));
        decisive.or_else(|| self.reads.iter().find_map(|path| grant_over(policy, path)))
    }

    /// Returns the paths to show to a native module whose interpreter this is. Those that the module could choose are left
    /// out unless they are granted, with a note: a link that it makes could lead anywhere.
    pub(crate) fn for_module(&self, policy: &Policy, notes: &mut Vec<String>) -> Vec<RuntimePath> {
        let Some(grant) = self.changed_by(policy).filter(|_| !policy.allows_everything()) else {
            return self.runtime_paths(policy);
        };
        let may_change = |path: &PathBuf| grant_over(policy, path).is_some();
        if !self.roots.iter().any(|path| grant_around(policy, path).is_some()) {
            let mut paths = self.runtime_paths(policy);
            let granted = self.granted(policy);
            paths.retain(|runtime| granted.contains(runtime) || !may_change(&runtime.path));
            return paths;
        }
        notes.push(format!(
            "the module may write `{}`, so nothing more is shown of what `{}` needs; grant for reading what it lacks",
            grant.guest,
            self.program.display(),
        ));
        self.granted(policy)
    }

    /// Returns the paths that the policy grants at their own place, and those of the system.
    pub(crate) fn granted(&self, policy: &Policy) -> Vec<RuntimePath> {
        let is_granted = |real: &Path| match policy.decides(real) {
            PathDecision::Grant(grant) => Path::new(&grant.guest) == grant.host,
            PathDecision::Own | PathDecision::Nothing => is_of_system(real),
        };
        let mut paths = self.runtime_paths(policy);
        paths.retain(|runtime| trace(&runtime.path).real.is_some_and(|real| is_granted(&real)));
        paths
    }

    /// Returns the paths to show, and which of them a report lists.
    fn runtime_paths(&self, policy: &Policy) -> Vec<RuntimePath> {
        let needed_by = |path: &PathBuf| {
            let is_known =
                trace(path).real.is_none_or(|real| is_of_system(&real) || policy.covers(&real, Access::Read));
            (!is_known).then(|| self.program.display().to_string())
        };
        self.reads.iter().map(|path| RuntimePath { path: path.clone(), needed_by: needed_by(path) }).collect()
    }

    /// Returns the paths to show.
    pub(crate) fn into_reads(self) -> Vec<PathBuf> {
        self.reads
    }
}

/// Lists paths that a report shows as grants.
pub(crate) fn listed(paths: &[RuntimePath]) -> Vec<Grant> {
    let mut grants: Vec<Grant> = Vec::new();
    for RuntimePath { path, needed_by } in paths {
        let (Some(program), Some(real)) = (needed_by, trace(path).real) else { continue };
        let (subject, source) = (real.display().to_string(), GrantSource::Need(program.to_string()));
        if grants.iter().all(|grant| !real.starts_with(&grant.subject)) {
            grants.push(Grant { capability: Capability::Read, subject, source });
        }
    }
    grants
}

/// Lists what the granted commands read besides what is granted for reading. The grants of the commands name the
/// programs themselves.
#[must_use]
pub fn needed_by_commands(policy: &Policy) -> Vec<Grant> {
    if policy.allows_everything() {
        return Vec::new();
    }
    let programs = policy.run().iter().filter_map(|grant| grant.program());
    let mut grants: Vec<Grant> = Vec::new();
    for program in programs {
        let paths = ProgramNeeds::of(program, policy).runtime_paths(policy);
        let others = paths.into_iter().filter(|path| path.path != program || path.path.is_symlink());
        let needed = listed(&others.collect::<Vec<_>>());
        grants.extend(
            needed
                .into_iter()
                .filter(|grant| grants.iter().all(|known| known.subject != grant.subject))
                .collect::<Vec<_>>(),
        );
    }
    grants
}

/// Lists what a native module whose interpreter this is reads besides what is granted.
#[must_use]
pub fn needed_by_interpreter(program: &Path, policy: &Policy) -> Vec<Grant> {
    listed(&ProgramNeeds::of(program, policy).for_module(policy, &mut Vec::new()))
}

/// Returns whether every native module reads the path.
fn is_of_system(path: &Path) -> bool {
    base::paths().any(|base| path.starts_with(base))
}

/// Returns the path of a program, and the files that its links lead to, one after the other.
fn hops(program: &Path) -> Vec<PathBuf> {
    let trace = trace(program);
    let mut hops = vec![program.to_owned()];
    hops.extend(trace.links.into_iter().map(|(at, _)| at));
    hops.extend(trace.real);
    // Links to folders are on the way, too.
    hops.retain(|hop| !hop.is_dir());
    hops.dedup();
    hops
}

/// Returns the grant that lets a module change a file or a part of a folder, or its way through links.
fn grant_over<'a>(policy: &'a Policy, path: &Path) -> Option<&'a PathGrant> {
    let inside = || {
        let real = trace(path).real.filter(|real| real.is_dir())?;
        policy.paths().iter().find(|grant| grant.access == Access::Write && grant.host.starts_with(&real))
    };
    grant_around(policy, path).or_else(inside)
}

/// Returns the grant that lets a module change a path or its way through links, or that maps another file to it.
fn grant_around<'a>(policy: &'a Policy, path: &Path) -> Option<&'a PathGrant> {
    let trace = trace(path);
    let parent = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    let way = trace.links.iter().map(|(at, _)| at.clone()).chain(trace.real.clone());
    let way: Vec<PathBuf> = way.chain([path.to_owned()]).chain(parent()).collect();
    let writes = |grant: &&PathGrant| {
        grant.access == Access::Write
            && way.iter().any(|path| match grant.shape {
                Shape::Directory => path.starts_with(&grant.host),
                Shape::Name => *path == grant.host,
            })
    };
    let maps = |path: &PathBuf| match policy.decides(path) {
        PathDecision::Grant(grant) if Path::new(&grant.guest) != grant.host => Some(grant),
        _ => None,
    };
    policy.paths().iter().find(writes).or_else(|| way.iter().find_map(maps))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Paths below a folder that a program brings.
    fn brings(root: &Path, program: &Path) -> Vec<String> {
        let needs = ProgramNeeds::of(program, &Policy::default());
        let mut paths: Vec<String> = needs
            .into_reads()
            .into_iter()
            .filter_map(|path| path.strip_prefix(root).ok()?.to_str().map(str::to_owned))
            .collect();
        paths.sort();
        paths.dedup();
        paths
    }

    fn root(files: &[(&str, &str)]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (name, text) in files {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        (dir, root)
    }

    #[test]
    fn a_program_brings_itself_and_its_interpreters() {
        let (_dir, root) =
            root(&[("opt/bin/tool", ""), ("opt/etc/secret", ""), ("opt/lib/x", ""), ("opt/bin/other", "")]);
        assert_eq!(brings(&root, &root.join("opt/bin/tool")), ["opt/bin/tool"]);
        fs::write(root.join("opt/script"), format!("#!{}\n", root.join("opt/bin/tool").display())).unwrap();
        assert_eq!(brings(&root, &root.join("opt/script")), ["opt/bin/tool", "opt/script"]);
        assert!(brings(&root, Path::new("tool")).is_empty());
    }

    #[test]
    fn an_interpreter_brings_the_libraries_of_its_language() {
        let (_dir, root) = root(&[
            ("py/bin/python3.11", ""),
            ("py/lib/python3.11/os.py", ""),
            ("py/lib/libpython3.11.so.1.0", ""),
            ("py/etc/secret", ""),
            ("env/pyvenv.cfg", ""),
            ("env/bin/tool", ""),
            ("env/lib/python3.11/site-packages/x.py", ""),
            ("env/etc/secret", ""),
            ("ruby/bin/ruby", ""),
            ("ruby/lib/ruby/x.rb", ""),
            ("tools/bin/pythonic", ""),
            ("tools/lib/python3/x.py", ""),
        ]);
        fs::write(root.join("env/pyvenv.cfg"), format!("home = {}\n", root.join("py/bin").display())).unwrap();
        symlink(root.join("py/bin/python3.11"), root.join("env/bin/python")).unwrap();
        fs::write(root.join("env/bin/tool"), format!("#!{}\n", root.join("env/bin/python").display())).unwrap();
        let python = ["py/lib/libpython3.11.so.1.0", "py/lib/python3.11"];
        assert_eq!(brings(&root, &root.join("py/bin/python3.11")), [&["py/bin/python3.11"][..], &python].concat());
        let environment = ["env/bin", "env/bin/python", "env/lib/python3.11", "env/pyvenv.cfg"];
        assert_eq!(brings(&root, &root.join("env/bin/python")), [&environment[..], &python].concat());
        let tool = brings(&root, &root.join("env/bin/tool"));
        assert!(
            tool.contains(&"env/lib/python3.11".to_owned()) && tool.contains(&"py/lib/python3.11".to_owned()),
            "{tool:?}"
        );
        assert_eq!(brings(&root, &root.join("ruby/bin/ruby")), ["ruby/bin/ruby", "ruby/lib/ruby"]);
        assert_eq!(brings(&root, &root.join("tools/bin/pythonic")), ["tools/bin/pythonic"]);
    }

    #[test]
    fn a_module_that_may_change_its_interpreter_is_shown_what_is_granted() {
        let files =
            [("env/bin/tool", ""), ("secret", ""), ("other/x", ""), ("c/bin/python3", ""), ("c/lib/python3/x", "")];
        let (_dir, root) = root(&files);
        symlink(root.join("secret"), root.join("env/bin/python")).unwrap();
        let shown = |program: &str, guest: &Path| {
            let host = if guest.starts_with(root.join("c")) { guest.to_owned() } else { root.join("env") };
            let guest = guest.display().to_string();
            let mut policy = Policy::default();
            let (shape, access) = (Shape::Directory, Access::Write);
            policy.allow_path(PathGrant { host, shape, guest, access, source: GrantSource::named("") }).unwrap();
            let (needs, mut notes) = (ProgramNeeds::of(&root.join(program), &policy), Vec::new());
            let paths: Vec<PathBuf> = needs.for_module(&policy, &mut notes).into_iter().map(|it| it.path).collect();
            (paths, notes.len())
        };
        assert_eq!(shown("env/bin/tool", &root.join("env")), (vec![root.join("env/bin/tool")], 1));
        assert_eq!(shown("env/bin/python", &root.join("env")), (vec![], 1));
        // It may change a library, and that does not choose another one.
        let reads = ["c/bin/python3", "c/lib/python3"].map(|path| root.join(path)).to_vec();
        assert_eq!(shown("c/bin/python3", &root.join("c/lib")), (reads, 0));
        // Another folder is mapped to the place of the program.
        assert_eq!(shown("other/x", &root.join("other")), (vec![], 1));
    }

    #[test]
    fn a_grant_over_any_part_of_the_way_changes_a_program() {
        let (_dir, root) = root(&[
            ("a/tool", "#!/bin/sh\n"),
            ("b/inner", "#!/bin/sh\n"),
            ("c/lib/python3/x", ""),
            ("c/bin/python", ""),
        ]);
        symlink("../b", root.join("a/folder")).unwrap();
        fs::write(root.join("a/script"), format!("#!{}\n", root.join("a/folder/inner").display())).unwrap();
        let changed = |program: &str, granted: &str, shape: Shape, access: Access| {
            let host = root.join(granted);
            let guest = host.display().to_string();
            let mut policy = Policy::default();
            policy.allow_path(PathGrant { host, shape, guest, access, source: GrantSource::named("") }).unwrap();
            ProgramNeeds::of(&root.join(program), &policy).changed_by(&policy).is_some()
        };
        let (folder, name) = (Shape::Directory, Shape::Name);
        for (program, granted, shape, expect) in [
            ("a/tool", "a", folder, true),
            ("a/tool", "a/tool", name, true),
            ("a/tool", "b", folder, false),
            ("a/script", "b/inner", name, true),
            ("a/script", "b", folder, true),
            ("a/script", "a/folder", name, true),
            ("c/bin/python", "c/lib/python3/x", name, true),
            ("c/bin/python", "c/lib/python3", folder, true),
            ("c/bin/python", "c/etc", folder, false),
            ("c/bin/python", "c/bin/pyvenv.cfg", name, true),
        ] {
            assert_eq!(changed(program, granted, shape, Access::Write), expect, "{program} {granted}");
            assert!(!changed(program, granted, shape, Access::Read), "{program} {granted}");
        }
    }
}
