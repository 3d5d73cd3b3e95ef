//! What a case grants, for the side on Linux: which place a grant covers, and with which access.

use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::words;

/// A granted path, without links in it.
#[derive(Debug)]
struct Grant {
    path: PathBuf,
    writable: bool,
    /// Whether it was a folder when it was granted, so that it stays one.
    is_folder: bool,
}

/// The grants of a case.
#[derive(Debug)]
pub(crate) struct Grants {
    grants: Vec<Grant>,
    /// Links on the way of a granted path. They can be read, not changed.
    links: Vec<PathBuf>,
    /// Those of them that can be replaced.
    replaced: Vec<PathBuf>,
}

/// What the grants say of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cover {
    /// A grant covers it.
    Granted { writable: bool },
    /// It is a link on the way of a granted path.
    Link,
    /// It is a folder on the way to a grant.
    Above,
    /// Nothing covers it.
    Outside,
}

impl Grants {
    /// Reads the grants of a case: objects with `path`, a word, `access`, which is `read`, `write`, `link` or
    /// `replaced-link`, and `folder`.
    pub(crate) fn read(list: &Value) -> Self {
        let mut read = Self { grants: Vec::new(), links: Vec::new(), replaced: Vec::new() };
        for grant in list.as_array().into_iter().flatten() {
            let path = words::bytes(grant["path"].as_str().expect("a grant has a path"));
            let path = PathBuf::from(std::ffi::OsString::from_vec(path));
            let is_folder = grant["folder"] == true;
            match grant["access"].as_str() {
                Some("link") => read.links.push(path),
                Some("replaced-link") => {
                    read.replaced.push(path.clone());
                    read.links.push(path);
                }
                access => read.grants.push(Grant { path, writable: access == Some("write"), is_folder }),
            }
        }
        read
    }

    /// Returns what the grants say of a place.
    pub(crate) fn cover(&self, place: &Path) -> Cover {
        if let Some(grant) = self.around(place) {
            return Cover::Granted { writable: grant.writable };
        }
        if self.links.iter().any(|link| link == place) {
            return Cover::Link;
        }
        let leads = |to: &Path| to.starts_with(place);
        let is_above = self.grants.iter().any(|grant| leads(&grant.path)) || self.links.iter().any(|link| leads(link));
        if is_above { Cover::Above } else { Cover::Outside }
    }

    /// Returns why the name of a place may not be made, removed or replaced; `None` if it may.
    pub(crate) fn refuses_entry(&self, place: &Path) -> Option<&'static str> {
        match self.around(place) {
            None => Some("not-granted"),
            Some(grant) if !grant.writable => Some("read-only"),
            Some(grant) if grant.is_folder && grant.path == place => {
                let around = place.parent().and_then(|folder| self.around(folder));
                if around.is_some_and(|around| around.writable) { None } else { Some("top") }
            }
            Some(_) => None,
        }
    }

    /// Returns whether a grant was given by way of a link.
    pub(crate) fn follow_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// Returns whether a place is a granted one itself, not one below it.
    pub(crate) fn is_granted_itself(&self, place: &Path) -> bool {
        self.grants.iter().any(|grant| grant.path == place)
    }

    /// Returns whether a place is that of a granted single name.
    pub(crate) fn is_name(&self, place: &Path) -> bool {
        self.grants.iter().any(|grant| grant.path == place && !grant.is_folder)
    }

    /// Returns whether a place lies beside a granted single name that is writable, where a guest can make temporaries.
    pub(crate) fn is_beside_name(&self, place: &Path) -> bool {
        let names = self.grants.iter().filter(|grant| grant.writable && !grant.is_folder).map(|grant| &grant.path);
        names.chain(&self.replaced).any(|name| name.parent() == place.parent())
    }

    /// Returns the innermost grant around a place.
    fn around(&self, place: &Path) -> Option<&Grant> {
        let around = self.grants.iter().filter(|grant| place.starts_with(&grant.path));
        around.max_by_key(|grant| grant.path.components().count())
    }
}
