//! What may not be seen of changed files: secrets in names, links and lines, and all lines of files that a run under
//! `no_log` may have written.
//!
//! Which of its grants such a run used is not known, so all that it may write is hidden. The paths that its arguments
//! name are shown, since its grants and changes are about them.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use modbox_argument_spec::Secrets;
use modbox_contract::{Dict, Value};
use modbox_policy::{Access, Policy, Shape};

use crate::reports::live_secrets;
use crate::reports::parts::effect_report::Remark;
use crate::reports::secrets::TaskSecrets;
use crate::reports::shown_path;

/// Bytes of the shortest argument of a run under `no_log` that is looked for in names of files. Most shorter ones are modes,
/// numbers and states.
const LEAST_NAME: usize = 4;

/// What may not be seen of changed files.
#[derive(Debug, Clone, Default)]
pub struct HiddenContent {
    names: Secrets,
    lines: Secrets,
    places: Vec<(HiddenPlace, Secrets)>,
}

/// Files of which nothing but their existence is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HiddenPlace {
    /// A path with all below it.
    Below(PathBuf),
    /// A file, with backups and temporary files of its name beside it.
    Name(PathBuf),
}

impl HiddenContent {
    /// Returns what is hidden of saved changes: secrets in names, and the lines of these files.
    pub(crate) fn of_saved(names: &[String], files: impl IntoIterator<Item = PathBuf>) -> Self {
        let mut hidden = Self::default();
        names.iter().for_each(|name| hidden.names.add(name.as_str()));
        hidden.places.extend(files.into_iter().map(|file| (HiddenPlace::Below(file), Secrets::default())));
        hidden
    }

    /// Adds what a run hides, with the grants and arguments that it has.
    pub fn add_run(&mut self, secrets: &TaskSecrets, arguments: &Dict, policy: &Policy) {
        let written = policy.paths().iter().filter(|grant| grant.access == Access::Write);
        let places = written.map(|grant| match grant.shape {
            Shape::Directory => HiddenPlace::Below(grant.host.clone()),
            Shape::Name => HiddenPlace::Name(grant.host.clone()),
        });
        self.add(secrets, arguments, places);
    }

    /// Adds what a run hides that may write these places.
    pub(crate) fn add(
        &mut self,
        secrets: &TaskSecrets,
        arguments: &Dict,
        places: impl IntoIterator<Item = HiddenPlace>,
    ) {
        self.names.extend(&secrets.declared().with_escapes());
        self.names.extend(&live_secrets::of_play());
        self.lines.extend(&secrets.suspected().with_escapes());
        if !secrets.hides_content() {
            return;
        }
        let texts = long_texts(arguments);
        for place in places {
            match self.places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, known)) => known.extend(&texts),
                None => self.places.push((place, texts.clone())),
            }
        }
    }

    /// Returns whether no line of a file may be seen.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.places.iter().any(|(place, _)| place.has(path))
    }

    /// Returns a path as text without secrets.
    pub(crate) fn path(&self, path: &Path) -> String {
        let mut shown = path.to_owned();
        for (place, texts) in &self.places {
            if let (HiddenPlace::Below(top), Some(rest)) = (place, place.below(&shown)) {
                shown = top.join(OsStr::from_bytes(&texts.mask_bytes(rest.as_os_str().as_bytes())));
            }
        }
        shown_path::masked(&shown, &self.names)
    }

    /// Returns the target of a link, or the name of an attribute, without secrets. `path` is that of the file.
    pub(crate) fn of_file(&self, path: &Path, target: &Path) -> String {
        let mut secrets = self.names.clone();
        self.places.iter().filter(|(place, _)| place.has(path)).for_each(|(_, texts)| secrets.extend(texts));
        shown_path::masked(target, &secrets)
    }

    /// Returns a remark without secrets.
    pub(crate) fn remark(&self, remark: Remark) -> Remark {
        let path = self.path(Path::new(&remark.path));
        let why = self.places.iter().fold(self.names.mask_text(&remark.why), |why, (_, texts)| texts.mask_text(&why));
        Remark { path, why }
    }

    /// Returns the secrets that are in names of files, for those who list the names later.
    pub(crate) fn secrets_in_names(&self, paths: impl Iterator<Item = PathBuf>) -> Vec<String> {
        let mut found = BTreeSet::new();
        for path in paths {
            let of_places = self.places.iter().filter_map(|(place, texts)| Some((place.below(&path)?, texts)));
            for (name, secrets) in of_places.chain([(path.as_path(), &self.names)]) {
                found.extend(secrets.found_in(name.as_os_str().as_bytes()).map(str::to_owned));
            }
        }
        found.into_iter().collect()
    }

    /// Returns whether secrets are looked for in lines.
    pub(crate) fn has_secrets_in_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Returns whether bytes of a file have a secret.
    pub(crate) fn has_secret(&self, bytes: &[u8]) -> bool {
        self.lines.found_in(bytes).next().is_some()
    }

    /// Returns the secrets in the target of a link, or in the name of an attribute. `path` is that of the file.
    pub(crate) fn secrets_in_target(&self, path: &Path, target: &[u8]) -> Vec<String> {
        let of_places = self.places.iter().filter(|(place, _)| place.has(path)).map(|(_, texts)| texts);
        of_places.chain([&self.names]).flat_map(|secrets| secrets.found_in(target)).map(str::to_owned).collect()
    }

    /// Returns lines of files without secrets.
    pub(crate) fn lines(&self, lines: &str) -> String {
        self.lines.mask_text(lines)
    }
}

impl HiddenPlace {
    /// Returns what a path has below the place.
    fn below<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let Self::Below(top) = self else { return None };
        path.strip_prefix(top).ok().filter(|rest| !rest.as_os_str().is_empty())
    }

    fn has(&self, path: &Path) -> bool {
        match self {
            Self::Below(top) => path.starts_with(top),
            Self::Name(file) => {
                let (Some(own), Some(name)) = (file.file_name(), path.file_name()) else { return file == path };
                let (own, name) = (own.as_bytes(), name.as_bytes());
                path.parent() == file.parent() && name.windows(own.len()).any(|part| part == own)
            }
        }
    }
}

/// Returns the texts of arguments that are long enough to be looked for.
fn long_texts(arguments: &Dict) -> Secrets {
    let mut texts = Secrets::default();
    arguments.values().for_each(|value| add_long(value, &mut texts));
    texts
}

fn add_long(value: &Value, texts: &mut Secrets) {
    match value {
        Value::Str(text) if text.len() >= LEAST_NAME => texts.add(text.as_str()),
        Value::List(items) => items.iter().for_each(|item| add_long(item, texts)),
        Value::Dict(entries) => entries.values().for_each(|value| add_long(value, texts)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modbox_vocabulary::Limits;

    use crate::modules::locate::ModuleFile;
    use crate::modules::module::Module;
    use crate::request::run_request::{Arguments, RunRequest};

    fn secrets(arguments: &Dict) -> TaskSecrets {
        let module =
            Module::new(ModuleFile { path: "m".into(), bytes: b"#!/bin/sh\n# WANT_JSON\n".as_slice().into() }, None);
        {
            let (policy, limits) = (Policy::default(), Limits::default());
            let arguments = Arguments::Complete(arguments.clone());
            TaskSecrets::of(&module, &RunRequest::new("m", arguments, &policy, &limits))
        }
    }

    fn arguments(json: &str) -> Dict {
        modbox_contract::decode(json).unwrap().as_dict().unwrap().clone()
    }

    #[test]
    fn a_run_under_no_log_hides_lines_of_all_that_it_may_write() {
        let hiding = arguments(r#"{"_ansible_no_log": true, "token": "Q7x9", "mode": "644", "dest": "/srv/app"}"#);
        let mut hidden = HiddenContent::default();
        let places = [HiddenPlace::Below("/srv/app".into()), HiddenPlace::Name("/etc/motd".into())];
        hidden.add(&secrets(&hiding), &hiding, places);
        for (path, expect) in [
            ("/srv/app/x", true),
            ("/etc/motd", true),
            ("/etc/motd.4711.bak~", true),
            ("/etc/.motd.tmp", true),
            ("/etc/other", false),
            ("/srv/other", false),
        ] {
            assert_eq!(hidden.hides(Path::new(path)), expect, "{path}");
        }
        assert_eq!(hidden.path(Path::new("/srv/app/a-Q7x9-644")), "/srv/app/a-********-644");
        assert_eq!(hidden.path(Path::new("/srv/app")), "/srv/app");
        let paths = ["/srv/app/a-Q7x9", "/etc/Q7x9"].map(PathBuf::from);
        assert_eq!(hidden.secrets_in_names(paths.into_iter()), ["Q7x9"]);
        assert_eq!(hidden.path(Path::new("/etc/Q7x9")), "/etc/Q7x9");
        assert_eq!(hidden.of_file(Path::new("/srv/app/x"), Path::new("../Q7x9")), "../********");
        assert_eq!(hidden.of_file(Path::new("/srv/x"), Path::new("../Q7x9")), "../Q7x9");
    }

    #[test]
    fn another_run_hides_its_secrets() {
        let given = arguments(r#"{"password": "Q7x9"}"#);
        let mut hidden = HiddenContent::default();
        hidden.add(&secrets(&given), &given, [HiddenPlace::Below("/srv".into())]);
        assert!(!hidden.hides(Path::new("/srv/x")));
        assert_eq!(hidden.lines("a=Q7x9"), "a=********");
        // Only the name of the option says that the value is secret.
        assert_eq!(hidden.path(Path::new("/srv/Q7x9")), "/srv/Q7x9");
    }
}
