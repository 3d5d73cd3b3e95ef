//! Dotted names of imports and of modules.

use std::fmt;
use std::path::Path;

/// A dotted Python name, split into its parts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DottedName(Vec<String>);

impl DottedName {
    /// Splits a name at its dots.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        Self(name.split('.').map(str::to_owned).collect())
    }

    /// Makes a name of its parts.
    #[must_use]
    pub fn of(parts: &[String]) -> Self {
        Self(parts.to_vec())
    }

    /// Returns the parts.
    #[must_use]
    pub fn parts(&self) -> &[String] {
        &self.0
    }

    /// Returns the name of a member.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(name.to_owned());
        Self(parts)
    }

    /// Returns the first `count` parts.
    #[must_use]
    pub fn first(&self, count: usize) -> Self {
        Self(self.0[..count.min(self.0.len())].to_vec())
    }

    /// Returns whether the name begins with these parts.
    #[must_use]
    pub fn starts_with(&self, parts: &[&str]) -> bool {
        self.0.len() >= parts.len() && self.0.iter().zip(parts).all(|(own, other)| own == other)
    }

    /// Returns the path of its file in a payload.
    #[must_use]
    pub fn file(&self, is_package: bool) -> String {
        let path = self.0.join("/");
        if is_package { format!("{path}/__init__.py") } else { format!("{path}.py") }
    }
}

impl fmt::Display for DottedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

/// Returns the dotted name that a module runs under. Its relative imports start from that name. For ansible-core's own
/// modules and those of collections it follows from the path; for all others it is `ansible.legacy.NAME` (ansible-core
/// 2.19, `_get_ansible_module_fqn`). `core` is the package `ansible` in which the module may be.
#[must_use]
pub fn module_name(path: &Path, core: Option<&Path>, name: &str) -> DottedName {
    let is_python = path.extension().is_some_and(|extension| extension == "py");
    let parts = |path: &Path| parts(&path.with_extension("")).filter(|_| is_python);
    let of_core = core.and_then(|core| {
        let parts = parts(path.strip_prefix(core).ok()?)?;
        (parts.first()? == "modules").then(|| [vec!["ansible".to_owned()], parts].concat())
    });
    let of_collection = || {
        let mut parts = parts(path)?;
        let root = parts.iter().rposition(|part| part == "ansible_collections")?;
        let parts = parts.split_off(root);
        (parts.len() >= 6 && parts[3] == "plugins" && parts[4] == "modules").then_some(parts)
    };
    match of_core.or_else(of_collection).filter(|parts| parts.iter().all(|part| !part.is_empty())) {
        Some(parts) => DottedName(parts),
        None => DottedName(["ansible".into(), "legacy".into(), plain(name)].into()),
    }
}

/// Returns the parts of a path. A part that cannot be in a dotted name becomes empty.
fn parts(path: &Path) -> Option<Vec<String>> {
    let parts = path.components().filter_map(|component| match component {
        std::path::Component::Normal(part) => Some(part.to_str().map(str::to_owned)),
        _ => None,
    });
    // A dot is allowed in the folders above the name's own parts.
    parts.map(|part| part.map(|part| if part.contains('.') { String::new() } else { part })).collect()
}

/// Replaces the characters that a part of a dotted name or a file name cannot have.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    if name.is_empty() { "module".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modules_name_follows_from_its_path() {
        let core = Path::new("/x/ansible");
        for (path, expect) in [
            ("/x/ansible/modules/ping.py", "ansible.modules.ping"),
            ("/x/ansible/modules/system/ping.py", "ansible.modules.system.ping"),
            ("/x/ansible/plugins/ping.py", "ansible.legacy.n"),
            ("/v1.2/ansible_collections/a/b/plugins/modules/c.py", "ansible_collections.a.b.plugins.modules.c"),
            ("/y/ansible_collections/a/b/plugins/modules/d/c.py", "ansible_collections.a.b.plugins.modules.d.c"),
            ("/y/ansible_collections/a/b/plugins/c.py", "ansible.legacy.n"),
            ("library/ping.py", "ansible.legacy.n"),
            ("/x/ansible/modules/a.b.py", "ansible.legacy.n"),
            ("/x/ansible/modules/ping", "ansible.legacy.n"),
        ] {
            assert_eq!(module_name(Path::new(path), Some(core), "n").to_string(), expect, "{path}");
        }
        assert_eq!(module_name(Path::new("m"), None, "../a.b\n").to_string(), "ansible.legacy.___a_b_");
    }
}
