//! Writes `tar` archives with the headers of Python's `tarfile`.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use modbox_compression::Codec;
use modbox_sdk::files::{self, Attributes};
use modbox_sdk::fs::OutputFile;
use modbox_sdk::text_file::cannot;
use modbox_sdk::{Failure, Value};
use tar::{Builder, EntryType, Header};

use crate::walk::{Item, Patterns};

/// Writes an archive, and returns the packed paths.
pub(crate) fn write(
    items: &[Item],
    patterns: &Patterns,
    file: OutputFile,
    codec: Codec,
) -> Result<Vec<String>, Failure> {
    let mut builder = Builder::new(codec.writer(BufWriter::new(file))?);
    let mut names: HashMap<(u64, u64), String> = HashMap::new();
    let mut archived = Vec::new();
    for item in items {
        if patterns.exclude(&item.name)? {
            continue;
        }
        let path = Path::new(&item.path);
        let found = files::stat(path, false).map_err(cannot("access", path))?;
        let since = fs::symlink_metadata(path)?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut header = header(&found, since)?;
        if since.subsec_nanos() != 0 {
            let time = modbox_sdk::json::str(&Value::Float(since.as_secs_f64()));
            builder.append_pax_extensions([("mtime", time.as_bytes())])?;
        }
        let id = (found.device, found.inode);
        match (&found.target, names.get(&id)) {
            (Some(target), _) => {
                header.set_entry_type(EntryType::Symlink);
                builder.append_link(&mut header, &item.name, String::from_utf8_lossy(target).as_ref())?;
            }
            (None, _) if found.directory => {
                header.set_entry_type(EntryType::Directory);
                builder.append_data(&mut header, format!("{}/", item.name), io::empty())?;
            }
            (None, Some(other)) if found.links > 1 && *other != item.name => {
                header.set_entry_type(EntryType::Link);
                builder.append_link(&mut header, &item.name, other)?;
            }
            (None, _) => {
                let opened = File::open(path).map_err(cannot("read", path))?;
                header.set_size(found.size);
                append_file(&mut builder, &mut header, item, &opened, found.size)?;
                names.insert(id, item.name.clone());
            }
        }
        archived.push(item.path.clone());
    }
    let writer = builder.into_inner()?;
    writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(archived)
}

/// Packs a file, whose length must be that in its header.
fn append_file(
    builder: &mut Builder<impl io::Write>,
    header: &mut Header,
    item: &Item,
    file: &File,
    size: u64,
) -> Result<(), Failure> {
    let mut contents = Counted { inner: file.take(size), read: 0 };
    builder.append_data(header, &item.name, &mut contents)?;
    if contents.read != size {
        return Err(Failure::new(format!("{}: it became shorter while it was read", item.path)));
    }
    Ok(())
}

struct Counted<R> {
    inner: R,
    read: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.read += read as u64;
        Ok(read)
    }
}

fn header(found: &Attributes, since: Duration) -> io::Result<Header> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(0);
    header.set_mode(found.mode);
    header.set_uid(found.uid.into());
    header.set_gid(found.gid.into());
    header.set_mtime(since.as_secs());
    // A name that is too long for the field is left out.
    let _ = found.user.as_deref().map(|name| header.set_username(name));
    let _ = found.group.as_deref().map(|name| header.set_groupname(name));
    Ok(header)
}
