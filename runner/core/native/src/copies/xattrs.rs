//! Extended attributes of a file, of which an access list is one, within a bound.
//!
//! Two sorts are carried between a file and its copy: those of users (`user.*`) and the access list. The others belong
//! to the kernel, to security modules and to root: a module must not choose them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::XattrFlags;
use rustix::io::Errno;

/// Attributes by name.
pub(crate) type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Name of the access list.
pub(crate) const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Attributes that belong to the content of a file; new content must not have them.
const OF_CONTENT: [&[u8]; 3] = [b"security.capability", b"security.evm", b"security.ima"];

/// Labels that the machine gives to every new file.
const LABELS: [&[u8]; 2] = [b"security.selinux", b"security.SMACK64"];

/// Maximum size of the list of names and of one value: the kernel's own.
const MAX_PART: usize = 64 << 10;

/// Maximum size of all attributes of a file that are read.
const MAX_BYTES: usize = 1 << 20;

/// Returns whether an attribute is carried between a file and its copy.
pub(crate) fn is_carried(name: &[u8]) -> bool {
    name.starts_with(b"user.") || name == ACCESS_LIST
}

/// Returns whether an attribute belongs to the content of a file.
pub(crate) fn is_of_content(name: &[u8]) -> bool {
    OF_CONTENT.contains(&name)
}

/// Returns whether the machine gives the attribute to every new file.
pub(crate) fn is_label(name: &[u8]) -> bool {
    LABELS.contains(&name)
}

/// Returns the attributes of a file that this user may read.
///
/// # Errors
///
/// Fails when a carried attribute cannot be read, or when they are larger than the bound.
pub(crate) fn read(file: impl AsFd) -> io::Result<Xattrs> {
    let mut names = vec![0_u8; MAX_PART];
    let length = match rustix::fs::flistxattr(&file, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => return Ok(Xattrs::new()),
        Err(errno) => return Err(failed("list its extended attributes", errno)),
    };
    let mut value = vec![0_u8; if length > 0 { MAX_PART } else { 0 }];
    let (mut xattrs, mut total) = (Xattrs::new(), 0);
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let length = match rustix::fs::fgetxattr(&file, name, &mut value[..]) {
            Ok(length) => length,
            Err(Errno::NODATA) => continue,
            Err(_) if !is_carried(name) => continue,
            Err(errno) => return Err(failed(&format!("read its {}", described(name)), errno)),
        };
        total += name.len() + length;
        if total > MAX_BYTES {
            return Err(io::Error::other(format!("it has more than {MAX_BYTES} bytes of extended attributes")));
        }
        xattrs.insert(name.to_owned(), value[..length].to_vec());
    }
    Ok(xattrs)
}

/// Sets an attribute.
pub(crate) fn set(file: impl AsFd, name: &[u8], value: &[u8]) -> io::Result<()> {
    rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())
        .map_err(|errno| failed(&format!("set its {}", described(name)), errno))
}

/// Removes an attribute.
pub(crate) fn remove(file: impl AsFd, name: &[u8]) -> io::Result<()> {
    match rustix::fs::fremovexattr(file, name) {
        Ok(()) | Err(Errno::NODATA) => Ok(()),
        Err(errno) => Err(failed(&format!("remove its {}", described(name)), errno)),
    }
}

/// Returns the words for an attribute in a message.
pub(crate) fn described(name: &[u8]) -> String {
    match name {
        ACCESS_LIST => "access list".to_owned(),
        name => format!("extended attribute `{}`", String::from_utf8_lossy(name)),
    }
}

fn failed(action: &str, errno: Errno) -> io::Error {
    io::Error::new(io::Error::from(errno).kind(), format!("failed to {action}: {}", io::Error::from(errno)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_users_and_access_lists_are_carried() {
        for name in ["user.a", "user.", "system.posix_acl_access"] {
            assert!(is_carried(name.as_bytes()), "{name}");
        }
        for name in ["security.capability", "security.selinux", "trusted.a", "system.posix_acl_default", "users.a"] {
            assert!(!is_carried(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn attributes_are_read_set_and_removed_and_bounded() {
        let file = tempfile::tempfile().unwrap();
        set(&file, b"user.a", b"one").unwrap();
        set(&file, b"user.b", b"").unwrap();
        remove(&file, b"user.b").unwrap();
        remove(&file, b"user.b").unwrap();
        assert_eq!(read(&file).unwrap().get(&b"user.a"[..]), Some(&b"one".to_vec()));
        let error = set(&file, b"no-namespace", b"").unwrap_err();
        assert!(error.to_string().contains("`no-namespace`"), "{error}");
    }
}
