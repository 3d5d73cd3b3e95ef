//! Which runs of an audit log are shown.

use std::time::SystemTime;

use modbox_policy::NamePattern;

use crate::cli::audit_view::entry::AuditEntry;

/// Conditions that all must hold.
#[derive(Debug, Default)]
pub(crate) struct AuditFilter {
    /// The run began then or later.
    pub(crate) since: Option<SystemTime>,
    /// Something was denied.
    pub(crate) denied: bool,
    /// The status is not `ok`, `changed` or `skipped`.
    pub(crate) failed: bool,
    /// The module's name, path or file name fits.
    pub(crate) module: Option<NamePattern>,
    /// The host's name fits.
    pub(crate) host: Option<NamePattern>,
}

impl AuditFilter {
    /// Returns whether a run is shown.
    pub(crate) fn matches(&self, entry: &AuditEntry) -> bool {
        let named = |pattern: &NamePattern| {
            let path = entry.path();
            let file = path.rsplit('/').next().unwrap_or_default();
            [entry.module().as_str(), &path, file].into_iter().any(|name| pattern.matches(name))
        };
        self.since.is_none_or(|since| entry.time() >= since)
            && (!self.denied || entry.is_denied())
            && (!self.failed || entry.has_failed())
            && self.module.as_ref().is_none_or(named)
            && self.host.as_ref().is_none_or(|pattern| pattern.matches(&entry.host()))
    }
}
