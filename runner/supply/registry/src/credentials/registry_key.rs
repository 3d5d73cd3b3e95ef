//! The forms in which a file names registries: `HOST`, `https://HOST`, `HOST/v2/`, and `HOST/NAMESPACE` of podman.

/// The name that docker's tools have for Docker Hub, also towards helpers.
pub(super) const HUB: &str = "https://index.docker.io/v1/";

const HUB_HOSTS: [&str; 3] = ["docker.io", "index.docker.io", "registry-1.docker.io"];

/// A key of a file: a host, and the beginning of the names of its repositories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RegistryKey<'k> {
    written: &'k str,
    host: &'k str,
    /// Empty for all repositories.
    namespace: &'k str,
}

impl<'k> RegistryKey<'k> {
    /// Reads a key.
    pub(super) fn new(written: &'k str) -> Self {
        let without_scheme = written.strip_prefix("https://").or_else(|| written.strip_prefix("http://"));
        let rest = without_scheme.unwrap_or(written);
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let namespace = path.trim_end_matches('/');
        // `HOST/v2` alone may be a namespace.
        let is_url = without_scheme.is_some() || namespace != path;
        let namespace = if is_url && matches!(namespace, "v1" | "v2") { "" } else { namespace };
        Self { written, host, namespace }
    }

    /// Returns whether the key is for a whole host, and for this one.
    pub(super) fn is_host(&self, host: &str) -> bool {
        self.namespace.is_empty() && is_same(self.host, host)
    }

    /// Returns whether the key is for a repository.
    pub(super) fn covers(&self, host: &str, repository: &str) -> bool {
        let is_below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        let in_namespace = || repository.strip_prefix(self.namespace).is_some_and(is_below);
        is_same(self.host, host) && (self.namespace.is_empty() || in_namespace())
    }

    /// Returns a value by which keys for the same repository are compared: the longest counts, and of equal ones the
    /// one that a tool writes today.
    pub(super) fn rank(&self) -> (usize, u8) {
        let is_plain =
            self.written.len() == self.host.len() + self.namespace.len() + usize::from(!self.namespace.is_empty());
        let form = if self.written == HUB { 2 } else { u8::from(is_plain) };
        (self.namespace.len(), form)
    }
}

/// Returns the name by which a helper knows a host.
pub(super) fn server_of(host: &str) -> &str {
    if is_hub(host) { HUB } else { host }
}

/// Returns whether a host is Docker Hub.
pub(super) fn is_hub(host: &str) -> bool {
    HUB_HOSTS.iter().any(|hub| hub.eq_ignore_ascii_case(host))
}

fn is_same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other) || (is_hub(one) && is_hub(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_many_forms() {
        for key in ["h:5000", "https://h:5000", "http://h:5000/", "h:5000/v2/", "https://h:5000/v1", "H:5000/v1/"] {
            assert!(RegistryKey::new(key).is_host("h:5000"), "{key}");
        }
        for key in ["h", "h:500", "h:5000/v2", "h:5000/a", "https://h:5000/v1/access-token", "", "/", "https://"] {
            assert!(!RegistryKey::new(key).is_host("h:5000"), "{key}");
        }
        for key in ["docker.io", "index.docker.io", "registry-1.docker.io", HUB, "https://index.docker.io/v2/"] {
            for host in HUB_HOSTS {
                assert!(RegistryKey::new(key).is_host(host), "{key} {host}");
                assert_eq!(server_of(host), HUB);
            }
            assert!(!RegistryKey::new(key).is_host("docker.io.example"), "{key}");
        }
        assert_eq!(server_of("h:5000"), "h:5000");
    }

    #[test]
    fn a_namespace_ends_at_a_slash() {
        let covers = |key: &str, name: &str| RegistryKey::new(key).covers("h", name);
        assert!(covers("h", "a/b") && covers("h/a", "a") && covers("h/a", "a/b") && covers("https://h/a/", "a/b/c"));
        assert!(!covers("h/a", "ab") && !covers("h/a/b", "a") && !covers("g/a", "a") && !covers("h/v2", "a"));
        assert!(covers("h/v2", "v2/a"));
    }

    #[test]
    fn the_longest_and_plainest_key_counts() {
        let rank = |key: &str| RegistryKey::new(key).rank();
        assert!(rank("h/a") > rank("h") && rank("h") > rank("https://h") && rank(HUB) > rank("docker.io"));
        assert!(rank("h/a") > rank("h/a/") && rank("h/a/") > rank("h"));
    }
}
