//! Names of files as bytes: on Linux they are.

/// Returns a path as a call takes it.
pub(crate) fn encoded(path: &[u8]) -> Vec<u8> {
    path.to_vec()
}

/// Returns the bytes of a name that a call has returned.
pub(crate) fn decoded(name: &[u8]) -> Vec<u8> {
    name.to_vec()
}
