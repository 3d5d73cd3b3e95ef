//! Writes `tar` archives with the headers of Python's `tarfile`, in its format PAX.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use modbox_compression::Codec;
use modbox_sdk::files::{Attributes, FileTime};
use modbox_sdk::fs::{OutputFile, host_bytes};
use modbox_sdk::text_file::cannot;
use modbox_sdk::{Failure, Value};
use tar::{Builder, EntryType, Header};

use crate::item::{Item, Patterns};

/// The longest name in a header.
const MAX_NAME: usize = 100;

/// The length of a record, which archives have whole.
const RECORD: u64 = 10_240;

/// Writes an archive, and returns the packed paths.
pub(crate) fn write(
    items: &[Item],
    patterns: &Patterns,
    file: OutputFile,
    codec: Codec,
) -> Result<Vec<String>, Failure> {
    let mut builder = Builder::new(Counted { inner: codec.writer(BufWriter::new(file))?, count: 0 });
    let mut names: HashMap<(u64, u64), &str> = HashMap::new();
    let mut archived = Vec::new();
    for item in items {
        let path = Path::new(&item.path);
        // Names in archives have no slash at their start.
        let name = item.name.trim_start_matches('/');
        let (found, id) = (&item.found, (item.found.device, item.found.inode));
        let other = names.get(&id).copied().filter(|other| found.links > 1 && *other != name);
        if found.target.is_none() && !found.directory && other.is_none() {
            // As in `tarfile`, one that is then excluded counts, too.
            names.insert(id, name);
        }
        if patterns.exclude(name)? {
            continue;
        }
        let mut member = Member::new(found, item.modified);
        match (&found.target, other) {
            (Some(target), _) => member.link(EntryType::Symlink, target),
            (None, _) if found.directory => member.header.set_entry_type(EntryType::Directory),
            (None, Some(other)) => member.link(EntryType::Link, &host_bytes(other)),
            (None, None) => {
                let opened = File::open(path).map_err(cannot("read", path))?;
                member.header.set_size(found.size);
                let mut contents = Counted { inner: opened.take(found.size), count: 0 };
                member.append(&mut builder, name, &mut contents)?;
                if contents.count != found.size {
                    return Err(Failure::new(format!("{}: it became shorter while it was read", item.path)));
                }
                archived.extend((name == item.name).then(|| item.path.clone()));
                continue;
            }
        }
        member.append(&mut builder, name, io::empty())?;
        // The original looks for the name that it gave, and finds no other.
        archived.extend((name == item.name).then(|| item.path.clone()));
    }
    let mut writer = builder.into_inner()?;
    // `tarfile` fills the last record.
    let rest = writer.count.next_multiple_of(RECORD) - writer.count;
    io::copy(&mut io::repeat(0).take(rest), &mut writer)?;
    writer.inner.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(archived)
}

/// A member: its header, and what is too long or too exact for that.
struct Member {
    header: Header,
    records: Vec<(&'static str, Vec<u8>)>,
}

impl Member {
    fn new(found: &Attributes, modified: FileTime) -> Self {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_size(0);
        header.set_mode(found.mode);
        header.set_uid(found.uid.into());
        header.set_gid(found.gid.into());
        let seconds = modified.as_seconds();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times before 1970 are 0 here")]
        header.set_mtime(seconds.round_ties_even().max(0.0) as u64);
        // A name that is too long for the field is left out.
        let _ = found.user.as_deref().map(|name| header.set_username(name));
        let _ = found.group.as_deref().map(|name| header.set_groupname(name));
        let time = modbox_sdk::json::str(&Value::Float(seconds));
        Self { header, records: vec![("mtime", time.into_bytes())] }
    }

    fn link(&mut self, kind: EntryType, target: &[u8]) {
        self.header.set_entry_type(kind);
        put(&mut self.header.as_old_mut().linkname, target, "linkpath", &mut self.records);
    }

    /// Appends the member, with the name as it is: the library would leave out `./`.
    fn append(mut self, builder: &mut Builder<impl io::Write>, name: &str, contents: impl Read) -> io::Result<()> {
        let mut name = host_bytes(name).into_owned();
        if self.header.entry_type().is_dir() && !name.ends_with(b"/") {
            name.push(b'/');
        }
        put(&mut self.header.as_old_mut().name, &name, "path", &mut self.records);
        builder.append_pax_extensions(self.records.iter().map(|(key, value)| (*key, value.as_slice())))?;
        self.header.set_cksum();
        builder.append(&self.header, contents)
    }
}

/// Puts a name into a field of a header, or into a record if it is too long.
fn put(field: &mut [u8; MAX_NAME], name: &[u8], record: &'static str, records: &mut Vec<(&'static str, Vec<u8>)>) {
    let short = name.len().min(MAX_NAME);
    field.fill(0);
    field[..short].copy_from_slice(&name[..short]);
    if name.len() > MAX_NAME {
        records.push((record, name.to_vec()));
    }
}

/// A reader or a writer that counts bytes.
struct Counted<I> {
    inner: I,
    count: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.count += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.count += read as u64;
        Ok(read)
    }
}
