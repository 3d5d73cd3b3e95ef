//! The cache of compiled code.
//!
//! Compiling takes tens of milliseconds for a small guest and seconds for a language runtime; loading
//! compiled code takes a fraction of one. But compiled code is machine code that the engine trusts, so an
//! entry is used only if a keyed hash over its name and bytes says that this user's modbox wrote it: a
//! damaged, truncated or planted entry is discarded and compiled again. Entries are written beside
//! their place and renamed, so that a reader never sees half of one.
//!
//! A cache that cannot be used (a read-only or full disk, a folder of somebody else's) costs time, never a
//! run: it is reported as a note.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::FlockOperation;

use crate::sandbox::cleanup::{Cleanup, UndoGuard};

/// Last bytes of an entry. The number grows when the layout changes.
const MAGIC: &[u8; 16] = b"modbox compiled2";

/// Larger than the compiled code of any module that the module size limit lets in.
const MAX_ENTRY: u64 = 2 << 30;

const HASH: usize = blake3::OUT_LEN;

const TRAILER: usize = HASH + MAGIC.len();

const EXTENSION: &str = "cwasm";

/// How long a run waits for another one that compiles the same module. A language runtime takes ten seconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(30);

const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// A folder of compiled code that belongs to one user.
#[derive(Debug, Clone)]
pub struct CompileCache {
    dir: PathBuf,
}

/// Held while a module is compiled.
#[derive(Debug)]
pub(super) struct CompileLock {
    _undo: UndoGuard,
    _file: File,
}

/// One entry, as a listing shows it.
#[derive(Debug, Clone)]
pub struct CacheEntry {
    /// SHA-256 of the module, in hex.
    pub module: String,
    /// Bytes on disk.
    pub bytes: u64,
    /// When it was written.
    pub written: SystemTime,
}

/// Why the cache could not be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// An operation of the operating system failed.
    #[error("failed to {verb} `{}`", path.display())]
    Io {
        /// What was tried.
        verb: &'static str,
        /// On what.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// The folder, or the key in it, is open to other users.
    #[error("`{}` belongs to another user or is writable by others; remove it or run `chmod go-rwx` on it", .0.display())]
    NotPrivate(PathBuf),
    /// The key file has the wrong length.
    #[error("the key `{}` is damaged; `modbox cache clear` makes a new one", .0.display())]
    DamagedKey(PathBuf),
}

impl CompileCache {
    /// Names the folder. It is made, with mode 0700, when the first entry is written.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Returns the folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns the file stored under `name`, or `None` when there is none or it is damaged. What was checked
    /// is the open file: whatever is renamed to its place afterwards is another one.
    ///
    /// # Errors
    ///
    /// A folder or key that is not private, or cannot be read.
    pub(super) fn load(&self, name: &str) -> Result<Option<File>, CacheError> {
        let path = self.entry_path(name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(CacheError::Io { verb: "open", path, source }),
        };
        let key = self.key()?;
        let authentic = is_authentic(&key, name, &file);
        let authentic = authentic.map_err(|source| CacheError::Io { verb: "read", path, source })?;
        Ok(authentic.then_some(file))
    }

    /// Stores bytes under `name`, in one step. Another writer of the same name may win; both wrote the same.
    ///
    /// # Errors
    ///
    /// A folder that is not private or cannot be written.
    pub(super) fn store(&self, name: &str, bytes: &[u8], cleanup: &Cleanup) -> Result<(), CacheError> {
        let key = self.key()?;
        let io = |verb| move |source, path: &Path| CacheError::Io { verb, path: path.to_owned(), source };
        let mut file = tempfile::Builder::new()
            .prefix(".writing-")
            .tempfile_in(&self.dir)
            .map_err(|source| io("create a file in")(source, &self.dir))?;
        let unfinished = file.path().to_owned();
        let guard = cleanup.register(move || drop(fs::remove_file(unfinished)));
        let write = |file: &mut File| {
            file.write_all(bytes)?;
            file.write_all(hasher(&key, name, bytes.len() as u64).update(bytes).finalize().as_bytes())?;
            file.write_all(MAGIC)
        };
        write(file.as_file_mut()).map_err(|source| io("write")(source, file.path()))?;
        let path = self.entry_path(name);
        file.persist(&path).map_err(|error| io("rename a file to")(error.error, &path))?;
        guard.disarm();
        Ok(())
    }

    /// Waits until no other process compiles what belongs under `name`, for a while: two hundred runs of a new
    /// module should compile it once. The caller looks into the cache again once it holds the guard. Without one
    /// (the other process takes too long, the folder cannot be used) it compiles all the same.
    pub(super) fn lock(&self, name: &str, cleanup: &Cleanup) -> Option<CompileLock> {
        self.make_private_dir().ok()?;
        let path = self.dir.join(format!(".writing-{name}.lock"));
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path).ok()?;
        let deadline = Instant::now() + LOCK_PATIENCE;
        while rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > deadline {
                return None;
            }
            thread::sleep(LOCK_PAUSE);
        }
        // Who waits for a removed lock finds the entry; who comes later makes a new lock.
        Some(CompileLock { _undo: cleanup.register(move || drop(fs::remove_file(path))), _file: file })
    }

    /// Lists the entries, the newest first.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read; one that does not exist is an empty list.
    pub fn list(&self) -> Result<Vec<CacheEntry>, CacheError> {
        let mut entries: Vec<CacheEntry> = self.files()?.iter().filter_map(|path| describe(path)).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.written));
        Ok(entries)
    }

    /// Removes every entry, what an interrupted writer left, and the key. Returns how many files went.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read, or a file that cannot be removed.
    pub fn clear(&self) -> Result<u64, CacheError> {
        let mut removed = 0;
        for path in self.files()? {
            match fs::remove_file(&path) {
                Ok(()) => removed += 1,
                Err(source) if source.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(CacheError::Io { verb: "remove", path, source }),
            }
        }
        Ok(removed)
    }

    /// The files that are ours: entries, unfinished entries and the key. Nothing else is ever touched.
    fn files(&self) -> Result<Vec<PathBuf>, CacheError> {
        let read = match fs::read_dir(&self.dir) {
            Ok(read) => read,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(CacheError::Io { verb: "read", path: self.dir.clone(), source }),
        };
        let ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name == "key" || name.starts_with(".writing-") || path.extension().is_some_and(|e| e == EXTENSION)
        };
        Ok(read.flatten().map(|entry| entry.path()).filter(ours).collect())
    }

    fn entry_path(&self, name: &str) -> PathBuf {
        self.dir.join(name).with_extension(EXTENSION)
    }

    /// Reads the key that authenticates entries, and makes it, and the folder, when they are missing.
    fn key(&self) -> Result<[u8; HASH], CacheError> {
        self.make_private_dir()?;
        let path = self.dir.join("key");
        if let Some(key) = read_key(&path)? {
            return Ok(key);
        }
        let mut key = [0; HASH];
        let fill = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty());
        fill.map_err(|errno| CacheError::Io { verb: "make", path: path.clone(), source: errno.into() })?;
        write_key(&self.dir, &path, &key)?;
        // Another process may have been first: its key is the one that counts.
        read_key(&path)?.ok_or(CacheError::DamagedKey(path))
    }

    fn make_private_dir(&self) -> Result<(), CacheError> {
        let io = |verb| move |source| CacheError::Io { verb, path: self.dir.clone(), source };
        let metadata = match fs::metadata(&self.dir) {
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.dir).map_err(io("create"))?;
                fs::metadata(&self.dir).map_err(io("look at"))?
            }
            metadata => metadata.map_err(io("look at"))?,
        };
        if is_private(&metadata) { Ok(()) } else { Err(CacheError::NotPrivate(self.dir.clone())) }
    }
}

/// Whether a file or folder is this user's and nobody else can write it.
fn is_private(metadata: &fs::Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

fn read_key(path: &Path) -> Result<Option<[u8; HASH]>, CacheError> {
    let io = |source| CacheError::Io { verb: "read", path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(io(source)),
    };
    let metadata = file.metadata().map_err(io)?;
    if !is_private(&metadata) || metadata.mode() & 0o077 != 0 {
        return Err(CacheError::NotPrivate(path.to_owned()));
    }
    let mut bytes = Vec::new();
    file.take(HASH as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
    bytes.try_into().map(Some).map_err(|_| CacheError::DamagedKey(path.to_owned()))
}

/// Writes the key whole or not at all: a linked file is never seen half-written, and a link fails when
/// another process was first.
fn write_key(dir: &Path, path: &Path, key: &[u8]) -> Result<(), CacheError> {
    let io = |source| CacheError::Io { verb: "write", path: path.to_owned(), source };
    let unfinished = dir.join(format!(".writing-key-{}", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(key)?;
        match fs::hard_link(&unfinished, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    };
    let written = write();
    drop(fs::remove_file(&unfinished));
    written.map_err(io)
}

/// Begins the hash of an entry: over its name, its length and then its bytes.
fn hasher(key: &[u8; HASH], name: &str, length: u64) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new_keyed(key);
    hasher.update(&(name.len() as u64).to_le_bytes()).update(name.as_bytes()).update(&length.to_le_bytes());
    hasher
}

/// Whether this user's modbox wrote the file under this name. The compiled code comes first, so that the
/// engine can map the file as it is; hash and magic follow.
fn is_authentic(key: &[u8; HASH], name: &str, file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let Some(payload) = length.checked_sub(TRAILER as u64).filter(|_| length <= MAX_ENTRY) else {
        return Ok(false);
    };
    let mut hasher = hasher(key, name, payload);
    let mut reader = file;
    hasher.update_reader(reader.take(payload))?;
    let mut trailer = [0; TRAILER];
    match reader.read_exact(&mut trailer) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    let (hash, magic) = trailer.split_at(HASH);
    // `blake3::Hash` compares in constant time.
    Ok(magic == MAGIC && blake3::Hash::from_slice(hash).is_ok_and(|hash| hasher.finalize() == hash))
}

fn describe(path: &Path) -> Option<CacheEntry> {
    let name = path.file_name()?.to_str()?;
    let module = name.strip_suffix(EXTENSION)?.strip_suffix('.')?.split('-').next()?.to_owned();
    let metadata = fs::metadata(path).ok()?;
    Some(CacheEntry { module, bytes: metadata.len(), written: metadata.modified().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, CompileCache) {
        let dir = tempfile::tempdir().unwrap();
        let cache = CompileCache::new(dir.path().join("cache"));
        (dir, cache)
    }

    #[test]
    fn returns_what_was_stored() {
        let (_dir, cache) = cache();
        assert!(cache.load("a-1").unwrap().is_none());
        cache.store("a-1", b"code", &Cleanup::default()).unwrap();
        assert!(cache.load("a-1").unwrap().is_some());
        assert_eq!(cache.list().unwrap()[0].module, "a");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test wrote the file itself")]
    fn discards_every_damaged_entry() {
        let (_dir, cache) = cache();
        cache.store("a-1", b"some code", &Cleanup::default()).unwrap();
        let path = cache.entry_path("a-1");
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(cache.load("a-1").unwrap().is_none(), "byte {at} flipped");
            fs::write(&path, &good[..at]).unwrap();
            assert!(cache.load("a-1").unwrap().is_none(), "cut at {at}");
        }
    }

    #[test]
    fn an_entry_counts_only_under_its_own_name() {
        let (_dir, cache) = cache();
        cache.store("a-1", b"code", &Cleanup::default()).unwrap();
        fs::copy(cache.entry_path("a-1"), cache.entry_path("b-1")).unwrap();
        assert!(cache.load("b-1").unwrap().is_none());
    }

    #[test]
    fn refuses_a_folder_that_others_can_write() {
        use std::os::unix::fs::PermissionsExt;
        let (_dir, cache) = cache();
        fs::create_dir(&cache.dir).unwrap();
        fs::set_permissions(&cache.dir, fs::Permissions::from_mode(0o777)).unwrap();
        let error = cache.store("a-1", b"code", &Cleanup::default()).unwrap_err();
        assert!(matches!(error, CacheError::NotPrivate(_)), "{error}");
    }

    #[test]
    fn clearing_removes_what_is_ours_and_nothing_else() {
        let (_dir, cache) = cache();
        cache.store("a-1", b"code", &Cleanup::default()).unwrap();
        fs::write(cache.dir.join("notes.txt"), b"mine").unwrap();
        assert_eq!(cache.clear().unwrap(), 2);
        assert_eq!(fs::read_dir(&cache.dir).unwrap().count(), 1);
    }
}
