//! What the path of a request stands for.

use std::sync::LazyLock;

use regex::Regex;

/// A resource of a repository, or of the registry itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route<'a> {
    /// The name of the repository; empty for what belongs to none.
    pub(super) name: &'a str,
    pub(super) resource: Resource<'a>,
}

/// What a path stands for, with its last part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource<'a> {
    Root,
    Token,
    Tags,
    Uploads,
    Upload(&'a str),
    Manifest(&'a str),
    Blob(&'a str),
    Referrers(&'a str),
    Unknown,
}

impl<'a> Route<'a> {
    /// Returns what a path stands for, whatever its query is.
    pub(super) fn of(path: &'a str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        let own = |resource| Self { name: "", resource };
        let Some(rest) = path.strip_prefix("/v2/") else {
            return own(if path == "/token" { Resource::Token } else { Resource::Unknown });
        };
        if rest.is_empty() {
            return own(Resource::Root);
        }
        Self::in_repository(rest).unwrap_or_else(|| own(Resource::Unknown))
    }

    fn in_repository(rest: &'a str) -> Option<Self> {
        if let Some(name) = rest.strip_suffix("/tags/list") {
            return Some(Self { name, resource: Resource::Tags });
        }
        let (name, resource) = if let Some((name, id)) = rest.rsplit_once("/blobs/uploads/") {
            (name, if id.is_empty() { Resource::Uploads } else { Resource::Upload(id) })
        } else if let Some((name, digest)) = rest.rsplit_once("/blobs/") {
            (name, Resource::Blob(digest))
        } else if let Some((name, reference)) = rest.rsplit_once("/manifests/") {
            (name, Resource::Manifest(reference))
        } else {
            let (name, digest) = rest.rsplit_once("/referrers/")?;
            (name, Resource::Referrers(digest))
        };
        Some(Self { name, resource })
    }
}

/// Returns whether a text is the name of a repository.
pub(super) fn is_name(text: &str) -> bool {
    const PART: &str = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*";
    static NAME: LazyLock<Regex> = LazyLock::new(|| expression(&format!("{PART}(?:/{PART})*")));
    NAME.is_match(text)
}

/// Returns whether a text is a tag.
pub(super) fn is_tag(text: &str) -> bool {
    static TAG: LazyLock<Regex> = LazyLock::new(|| expression("[a-zA-Z0-9_][a-zA-Z0-9._-]{0,127}"));
    TAG.is_match(text)
}

/// Returns whether a text is a digest by SHA-256. Others are not known here.
pub(super) fn is_digest(text: &str) -> bool {
    static DIGEST: LazyLock<Regex> = LazyLock::new(|| expression("sha256:[a-f0-9]{64}"));
    DIGEST.is_match(text)
}

fn expression(whole: &str) -> Regex {
    Regex::new(&format!("(?-u)^(?:{whole})$")).unwrap()
}
