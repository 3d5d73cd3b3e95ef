//! The key of a policy rule for one module: a digest or a name.
//!
//! A digest identifies the module. A name proves nothing: it is the name that the caller typed or the name of the file,
//! so any user that can put a file in that place can use the name. Rules by name are for folders that only trusted people
//! can write to.

use std::fmt;

/// The key of a rule for one module.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ModuleKey {
    /// SHA-256 of the file, 64 lower-case hex digits.
    Digest(String),
    /// A name; that of a module from a registry is its repository, such as `oci://ghcr.io/acme/lineinfile`.
    Name(String),
}

/// Beginning of the names of modules from registries.
const REGISTRY: &str = "oci://";

const DIGEST_PREFIX: &str = "sha256:";

/// Beginning of the full names of ansible-core's own modules.
const BUILTIN: &str = "ansible.builtin.";

/// Beginning of the full names of modules that are in a folder of the library, or else ansible-core's own.
const LEGACY: &str = "ansible.legacy.";

impl ModuleKey {
    /// Parses a key of a policy file.
    ///
    /// # Errors
    ///
    /// Text of another form; the message states the expected one.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(digits) = text.strip_prefix(DIGEST_PREFIX) {
            let hex = digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            return if hex {
                Ok(Self::Digest(digits.to_ascii_lowercase()))
            } else {
                Err(format!("`{text}` is not `sha256:` and 64 hex digits, as `modbox inspect` shows them"))
            };
        }
        if let Some(repository) = text.strip_prefix(REGISTRY) {
            return match is_repository(repository) {
                true => Ok(Self::Name(text.to_owned())),
                false => Err(format!(
                    "`{text}` is not the repository of a module; expected `{REGISTRY}HOST/NAME`, without a tag and without a digest"
                )),
            };
        }
        if text.is_empty() || text.contains(['/', '\0']) {
            return Err(format!("`{text}` is not the name of a module; expected a name such as `copy`, or a digest"));
        }
        Ok(Self::Name(text.to_owned()))
    }

    /// Returns whether the rule is for a module of this name and digest.
    #[must_use]
    pub fn matches(&self, name: &str, digest: &str) -> bool {
        match self {
            Self::Digest(own) => own == digest,
            Self::Name(own) => own == name || is_short_for(own, name),
        }
    }
}

/// Returns whether a name in a rule is a short one of ansible-core's module: `copy` and `ansible.legacy.copy` find
/// `ansible.builtin.copy` where no folder of the library has another `copy`. The other way, `ansible.builtin.copy` is ansible-core's own
/// module and no other.
fn is_short_for(own: &str, name: &str) -> bool {
    let (legacy, plain) = match own.strip_prefix(LEGACY) {
        Some(plain) => (true, plain),
        None => (false, own),
    };
    if plain.contains('.') {
        return false;
    }
    let of = |prefix: &str| name.strip_prefix(prefix) == Some(plain);
    of(BUILTIN) || of(LEGACY) || (legacy && name == plain)
}

/// Returns whether a text is a host and a name below it, without a tag or digest.
fn is_repository(text: &str) -> bool {
    let Some((host, name)) = text.split_once('/') else { return false };
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte);
    let is_host = !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'@');
    is_host && name.split('/').all(|part| !part.is_empty() && part.bytes().all(is_plain))
}

impl fmt::Display for ModuleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digest(digits) => write!(f, "{DIGEST_PREFIX}{digits}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_also_that_of_ansible_cores_module() {
        let fits = |key: &str, name: &str| ModuleKey::parse(key).unwrap().matches(name, "x");
        for key in ["copy", "ansible.legacy.copy"] {
            for name in ["copy", "ansible.builtin.copy", "ansible.legacy.copy"] {
                assert!(fits(key, name), "{key} {name}");
            }
            for name in ["acme.web.copy", "ansible.builtin.copy2", "ansible.builtin.acme.copy", "ansible.builtin."] {
                assert!(!fits(key, name), "{key} {name}");
            }
        }
        assert!(fits("ansible.builtin.copy", "ansible.builtin.copy"));
        // A file of the library may have this name, too.
        assert!(!fits("ansible.builtin.copy", "copy") && !fits("ansible.builtin.copy", "ansible.legacy.copy"));
        assert!(!fits("web.copy", "ansible.builtin.web.copy"));
    }

    #[test]
    fn a_key_is_a_digest_or_a_name() {
        let digest = "AB".repeat(32);
        let key = ModuleKey::parse(&format!("sha256:{digest}")).unwrap();
        assert!(key.matches("x", &digest.to_ascii_lowercase()) && !key.matches(&digest, "x"));
        assert!(ModuleKey::parse("copy").unwrap().matches("copy", "x"));
        let repository = "oci://ghcr.io:443/acme/line-in.file";
        assert!(ModuleKey::parse(repository).unwrap().matches(repository, "x"));
        for wrong in ["oci://", "oci://h", "oci://h/", "oci://h/a:1", "oci://h/a@sha256:ab", "oci://h/A", "oci://u@h/a"]
        {
            assert!(ModuleKey::parse(wrong).unwrap_err().contains("without a tag"), "{wrong}");
        }
        for wrong in ["", "a/b", "sha256:", "sha256:ab", &format!("sha256:{}", "g".repeat(64))] {
            assert!(ModuleKey::parse(wrong).is_err(), "{wrong}");
        }
    }
}
