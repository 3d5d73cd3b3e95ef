//! Contents of files: comparing and writing them.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

/// Size of the pieces that are compared.
const PIECE: usize = 64 << 10;

/// File systems that report a failed write only when the file is flushed: NFS, SMB, 9P, Ceph and FUSE.
const LATE: [u64; 6] = [0x6969, 0xfe53_4d42, 0xff53_4d42, 0x0102_1997, 0x00c3_6400, 0x6573_5546];

/// Returns whether two files have the same content.
pub(crate) fn is_same(one: &File, other: &File) -> io::Result<bool> {
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; PIECE], vec![0; PIECE]);
    let mut offset = 0;
    loop {
        let length = one.read_at(&mut left, offset)?;
        if length == 0 {
            return Ok(true);
        }
        match other.read_exact_at(&mut right[..length], offset) {
            Ok(()) if left[..length] == right[..length] => offset += length as u64,
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Writes the content of a file to a new one.
pub(crate) fn write_new(mut from: &File, mut to: &File) -> io::Result<()> {
    from.rewind()?;
    io::copy(&mut from, &mut to)?;
    flush(to)
}

/// Writes the content of a file over that of another. A full disk is noticed before anything is written, where the file
/// system can reserve space.
pub(crate) fn overwrite(mut from: &File, mut to: &File) -> io::Result<()> {
    let (old, new) = (to.metadata()?.len(), from.metadata()?.len());
    if new > old {
        match rustix::fs::fallocate(to, FallocateFlags::KEEP_SIZE, old, new - old) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    from.rewind()?;
    to.rewind()?;
    let mut written = || -> io::Result<()> {
        io::copy(&mut from, &mut to)?;
        to.set_len(new)?;
        flush(to)
    };
    written().map_err(|error| io::Error::other(format!("it is incomplete now, since writing it failed: {error}")))
}

/// Waits for the end of writing where a failure would otherwise be noticed by no process.
fn flush(file: &File) -> io::Result<()> {
    let is_late =
        rustix::fs::fstatfs(file.as_fd()).is_ok_and(|stat| LATE.contains(&(stat.f_type as u64 & 0xffff_ffff)));
    if is_late { file.sync_all() } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    #[test]
    fn contents_are_compared_to_the_last_byte() {
        let long = vec![b'x'; PIECE * 2];
        let other = [&long[..PIECE * 2 - 1], b"y"].concat();
        for (one, two, same) in [
            (&b""[..], &b""[..], true),
            (b"a", b"a", true),
            (b"a", b"ab", false),
            (&long, &long, true),
            (&long, &other, false),
        ] {
            assert_eq!(is_same(&file(one), &file(two)).unwrap(), same);
        }
    }

    #[test]
    fn a_file_is_overwritten_by_longer_and_shorter_content() {
        for (old, new) in [(&b"old"[..], &b"newer"[..]), (b"longer", b"new"), (b"", b"x"), (b"x", b"")] {
            let old = file(old);
            overwrite(&file(new), &old).unwrap();
            assert!(is_same(&old, &file(new)).unwrap());
        }
    }
}
