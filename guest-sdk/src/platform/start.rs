//! What a module does of itself before its author's code runs: by WASI in a component, by the standard library elsewhere.

#[cfg(target_family = "wasm")]
pub(crate) use modbox_wasi::{enter_initial, read};

#[cfg(not(target_family = "wasm"))]
pub(crate) use self::native::{enter_initial, read};

#[cfg(not(target_family = "wasm"))]
mod native {
    use std::fs::File;
    use std::io::{self, Read};
    use std::path::Path;

    /// Longer than most: they are then read at once, where reading without room begins with a few bytes.
    const USUAL_BYTES: usize = 8 << 10;

    /// Reads a file, but no more of it than `limit` bytes.
    pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(USUAL_BYTES);
        File::open(path)?.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A process starts where its parent says.
    pub(crate) fn enter_initial() {}
}
