//! The cache of compiled code.
//!
//! Compiling takes tens of milliseconds for a small guest and seconds for a language runtime; loading compiled code
//! takes a fraction of a millisecond. But compiled code is machine code that the engine trusts. So an entry is used
//! only if a keyed hash over its name and bytes shows that this user's modbox wrote it. A damaged, truncated or planted
//! entry is ignored, and the module is compiled again. While an entry's file does not change, it is hashed only once an
//! hour; see `seal`. An entry is written as an unnamed file or under a temporary name, and then renamed, so that a
//! reader never sees half of it. The folder also holds notes on the modules' files, so that an unchanged module need
//! not be read again; see `notes`.
//!
//! The cache has a maximum size; see `eviction`. A cache that cannot be used (a read-only or full disk, a folder of
//! another user) costs time but fails no run: a note reports it.

mod entry;
mod eviction;
mod key;
mod lock;
mod notes;
mod seal;

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use modbox_cleanup::{Cleanup, UndoGuard};
use modbox_vocabulary::FileFingerprint;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use tracing::debug;

use self::key::Key;
use self::lock::CompileLock;

/// Default size of the cache: some thousand small modules, or fifty language runtimes.
pub const DEFAULT_MAX_CACHE: u64 = 1 << 30;

const EXTENSION: &str = "cwasm";

/// Prefix of unfinished files, which no reader opens.
const UNFINISHED: &str = ".writing-";

/// A folder of compiled code that belongs to one user.
#[derive(Debug, Clone)]
pub struct CompileCache {
    dir: PathBuf,
    max_size: u64,
}

/// One entry, as listed for the user.
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
    /// The key file has the wrong length even after it was replaced.
    #[error("the key `{}` is damaged, and a new one did not last; remove it", .0.display())]
    DamagedKey(PathBuf),
    /// The code is larger than the whole cache.
    #[error("the compiled code has {bytes} bytes, more than the whole cache may have ({max})")]
    TooLarge {
        /// How large it is.
        bytes: u64,
        /// How large the cache may be.
        max: u64,
    },
}

impl CacheError {
    /// Returns the error for compiled code that cannot be read in order to store it.
    pub(super) fn unreadable_code(source: io::Error) -> Self {
        Self::Io { verb: "read", path: PathBuf::from("the compiled code"), source }
    }
}

impl CompileCache {
    /// Creates a cache in a folder, with the size [`DEFAULT_MAX_CACHE`]. The folder is created with mode 0700 when the
    /// first entry is written.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, max_size: DEFAULT_MAX_CACHE }
    }

    /// Sets how many bytes of compiled code the cache may hold.
    #[must_use]
    pub fn max_size(self, max_size: u64) -> Self {
        Self { max_size, ..self }
    }

    /// Returns the folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Opens the entry `name`. Returns `None` if it is missing or damaged. The returned file is the one that was
    /// checked, even if another file is renamed to its place afterwards.
    ///
    /// # Errors
    ///
    /// Fails if the folder or the key is not private, or cannot be read.
    pub(super) fn load(&self, name: &str, cleanup: &Cleanup) -> Result<Option<File>, CacheError> {
        let path = self.entry_path(name);
        // Without NONBLOCK, opening a FIFO in the entry's place would block.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(errno) => return Err(CacheError::Io { verb: "open", path, source: errno.into() }),
        };
        let io = |source| CacheError::Io { verb: "read", path: path.clone(), source };
        let metadata = file.metadata().map_err(io)?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let fingerprint = FileFingerprint::from(&metadata);
        if !self.is_sealed(name, &fingerprint) {
            if !entry::is_authentic(&self.key()?, name, &file).map_err(io)? {
                return Ok(None);
            }
            debug!(entry = name, "hashed");
            self.seal(name, &fingerprint, cleanup);
        }
        // Changes the file's fingerprint once an hour, so that the file is then hashed again.
        eviction::touch(&file);
        Ok(Some(file))
    }

    /// Stores code under `name` atomically, and makes room for it. If two writers store the same name, either may win:
    /// both wrote the same code.
    ///
    /// # Errors
    ///
    /// Fails if the folder is not private or cannot be written, or if the code is larger than the cache.
    pub(super) fn store(
        &self,
        name: &str,
        code: &mut impl Read,
        length: u64,
        cleanup: &Cleanup,
    ) -> Result<(), CacheError> {
        if length > self.max_size {
            return Err(CacheError::TooLarge { bytes: length, max: self.max_size });
        }
        let key = self.key()?;
        let mut unfinished = Unfinished::create(&self.dir, cleanup)?;
        let io = |verb: &'static str, path: &Path| {
            let path = path.to_owned();
            move |source| CacheError::Io { verb, path, source }
        };
        let path = self.entry_path(name);
        let bytes = entry::write(&key, name, code, length, &mut unfinished.file).map_err(io("write", &path))?;
        unfinished.publish(&path)?;
        // The new one counts, and is the one that was used last.
        if bytes <= self.max_size {
            eviction::evict(self, self.max_size).map(drop)
        } else {
            eviction::remove(&path).map(drop)
        }
    }

    /// Removes the least recently used entries until at most `max_size` bytes of compiled code are left. Also removes
    /// the files of killed processes. Returns the number of removed files.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read or a file cannot be removed.
    pub fn prune(&self, max_size: u64) -> Result<u64, CacheError> {
        eviction::evict(self, max_size)
    }

    /// Waits for some time until no other process compiles the entry `name`. With the lock, the caller looks into the
    /// cache again. Without it, because the other process takes too long or the folder cannot be used, the caller
    /// compiles anyway.
    pub(super) fn lock(&self, name: &str) -> Option<CompileLock> {
        self.make_private_dir().ok()?;
        lock::wait(&self.dir, name)
    }

    /// Lists the entries, the newest first. The list is empty if the folder does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read.
    pub fn list(&self) -> Result<Vec<CacheEntry>, CacheError> {
        let entries = self.files()?.into_iter().filter(|path| is_entry(path));
        let mut entries: Vec<CacheEntry> = entries.filter_map(|path| describe(&path)).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.written));
        Ok(entries)
    }

    /// Removes all entries, notes and unfinished files, and the key. Returns the number of removed files.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read or a file cannot be removed.
    pub fn clear(&self) -> Result<u64, CacheError> {
        self.files()?.iter().map(|path| eviction::remove(path)).sum()
    }

    /// Returns the files of the cache: entries, notes, unfinished files, the key and the locks. Other files are never
    /// touched.
    fn files(&self) -> Result<Vec<PathBuf>, CacheError> {
        let read = match fs::read_dir(&self.dir) {
            Ok(read) => read,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(CacheError::Io { verb: "read", path: self.dir.clone(), source }),
        };
        let is_cache_file = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name == key::NAME || name == lock::NAME || name.starts_with(UNFINISHED) || is_entry(path) || is_note(path)
        };
        Ok(read.flatten().map(|entry| entry.path()).filter(is_cache_file).collect())
    }

    fn entry_path(&self, name: &str) -> PathBuf {
        self.dir.join(name).with_extension(EXTENSION)
    }

    /// Reads the key that authenticates entries. Creates it, and the folder, if missing.
    fn key(&self) -> Result<Key, CacheError> {
        self.make_private_dir()?;
        key::read_or_create(&self.dir)
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

/// A file that is being written. Where the filesystem supports it, the file has no name until it is published, so that
/// a killed process leaves no file behind.
struct Unfinished {
    file: File,
    /// The temporary path: of the file itself, or of the link that is then renamed.
    beside: PathBuf,
    named: bool,
    undo: UndoGuard,
}

impl Unfinished {
    fn create(dir: &Path, cleanup: &Cleanup) -> Result<Self, CacheError> {
        let mut random = [0; 8];
        // If random bytes fail, the name still has the process id, and an existing file is not opened.
        let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
        let random = u64::from_le_bytes(random);
        let beside = dir.join(format!("{UNFINISHED}{}-{random:016x}", std::process::id()));
        let removed = beside.clone();
        let undo = cleanup.register(move || drop(fs::remove_file(removed)));
        let owner_only = Mode::RUSR | Mode::WUSR;
        let nameless = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let (opened, named) = match rustix::fs::open(dir, nameless, owner_only) {
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::INVAL) => {
                let new = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
                (rustix::fs::open(&beside, new, owner_only), true)
            }
            opened => (opened, false),
        };
        let in_dir = |errno: rustix::io::Errno| CacheError::Io {
            verb: "create a file in",
            path: dir.to_owned(),
            source: errno.into(),
        };
        Ok(Self { file: opened.map_err(in_dir)?.into(), beside, named, undo })
    }

    /// Renames the file to its final path, and replaces any file there.
    fn publish(self, path: &Path) -> Result<(), CacheError> {
        let failed = |source| CacheError::Io { verb: "rename a file to", path: path.to_owned(), source };
        if !self.named {
            // A link cannot replace an existing file, but a rename can.
            let nameless = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            rustix::fs::linkat(CWD, nameless, CWD, &self.beside, AtFlags::SYMLINK_FOLLOW)
                .map_err(|errno| failed(errno.into()))?;
        }
        fs::rename(&self.beside, path).map_err(failed)?;
        self.undo.disarm();
        Ok(())
    }
}

/// Returns whether this user owns a file or folder and no other user can write to it.
fn is_private(metadata: &fs::Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

fn is_entry(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == notes::EXTENSION)
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

    fn store(cache: &CompileCache, name: &str, mut code: &[u8]) -> Result<(), CacheError> {
        let length = code.len() as u64;
        cache.store(name, &mut code, length, &Cleanup::default())
    }

    #[test]
    fn returns_what_was_stored() {
        let (_dir, cache) = cache();
        assert!(cache.load("a-1", &Cleanup::default()).unwrap().is_none());
        store(&cache, "a-1", b"code").unwrap();
        assert!(cache.load("a-1", &Cleanup::default()).unwrap().is_some());
        assert_eq!(cache.list().unwrap()[0].module, "a");
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test wrote the file itself")]
    fn discards_every_damaged_entry() {
        let (_dir, cache) = cache();
        store(&cache, "a-1", b"some code").unwrap();
        let path = cache.entry_path("a-1");
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            fs::write(&path, &bad).unwrap();
            assert!(cache.load("a-1", &Cleanup::default()).unwrap().is_none(), "byte {at} flipped");
            fs::write(&path, &good[..at]).unwrap();
            assert!(cache.load("a-1", &Cleanup::default()).unwrap().is_none(), "cut at {at}");
        }
    }

    #[test]
    fn an_entry_is_valid_only_under_its_own_name() {
        let (_dir, cache) = cache();
        store(&cache, "a-1", b"code").unwrap();
        fs::copy(cache.entry_path("a-1"), cache.entry_path("b-1")).unwrap();
        assert!(cache.load("b-1", &Cleanup::default()).unwrap().is_none());
    }

    #[test]
    fn refuses_a_folder_that_others_can_write() {
        use std::os::unix::fs::PermissionsExt;
        let (_dir, cache) = cache();
        fs::create_dir(&cache.dir).unwrap();
        fs::set_permissions(&cache.dir, fs::Permissions::from_mode(0o777)).unwrap();
        let error = store(&cache, "a-1", b"code").unwrap_err();
        assert!(matches!(error, CacheError::NotPrivate(_)), "{error}");
    }

    #[test]
    fn clearing_removes_only_files_of_the_cache() {
        let (_dir, cache) = cache();
        store(&cache, "a-1", b"code").unwrap();
        fs::write(cache.dir.join("notes.txt"), b"mine").unwrap();
        assert_eq!(cache.clear().unwrap(), 2);
        assert_eq!(fs::read_dir(&cache.dir).unwrap().count(), 1);
    }

    /// Sets the times of last use and last write of an entry.
    fn set_times(cache: &CompileCache, name: &str, age: u64) {
        let file = File::options().write(true).open(cache.entry_path(name)).unwrap();
        let time = SystemTime::now() - std::time::Duration::from_secs(age);
        file.set_times(fs::FileTimes::new().set_accessed(time).set_modified(time)).unwrap();
    }

    fn total(cache: &CompileCache) -> u64 {
        cache.list().unwrap().iter().map(|entry| entry.bytes).sum()
    }

    #[test]
    fn evicts_the_least_recently_used_entry() {
        let (_dir, cache) = cache();
        let cache = cache.max_size(3500);
        for (name, age) in [("a-1", 300_000), ("b-1", 200_000), ("c-1", 100_000)] {
            store(&cache, name, &[7; 1000]).unwrap();
            set_times(&cache, name, age);
        }
        let open = cache.load("b-1", &Cleanup::default()).unwrap().unwrap();
        // Uses the oldest entry again.
        assert!(cache.load("a-1", &Cleanup::default()).unwrap().is_some());
        set_times(&cache, "b-1", 200_000);
        store(&cache, "d-1", &[7; 1000]).unwrap();
        let mut names: Vec<String> = cache.list().unwrap().into_iter().map(|entry| entry.module).collect();
        names.sort();
        assert_eq!(names, ["a", "c", "d"]);
        assert!(total(&cache) <= 3500);
        assert_eq!(open.metadata().unwrap().len(), 1048, "a run that has it open goes on");
    }

    #[test]
    fn an_entry_is_touched_once_an_hour_at_most() {
        let (_dir, cache) = cache();
        store(&cache, "a-1", b"code").unwrap();
        let used = || fs::metadata(cache.entry_path("a-1")).unwrap();
        for (age, touched) in [(7200, true), (60, false)] {
            set_times(&cache, "a-1", age);
            let before = used();
            // Opened, not loaded: reading the file could itself set the time of access.
            eviction::touch(&File::open(cache.entry_path("a-1")).unwrap());
            assert_eq!(used().accessed().unwrap() > before.accessed().unwrap(), touched, "{age} seconds old");
            assert_eq!(used().modified().unwrap(), before.modified().unwrap());
        }
    }

    #[test]
    fn refuses_code_larger_than_the_cache() {
        let (_dir, cache) = cache();
        let cache = cache.max_size(1000);
        assert!(matches!(store(&cache, "a-1", &[0; 1001]), Err(CacheError::TooLarge { .. })));
        store(&cache, "a-1", &[0; 990]).unwrap();
        assert_eq!(total(&cache), 0, "the code would fit, but not with its hash");
    }

    #[test]
    fn concurrent_writes_and_evictions_leave_whole_entries_within_the_limit() {
        let (_dir, cache) = cache();
        let cache = cache.max_size(20_000);
        std::thread::scope(|scope| {
            for thread in 0..8_u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for round in 0..40_u8 {
                        let name = format!("{}-1", (thread % 3) * 40 + round);
                        store(cache, &name, &[round; 1000]).unwrap();
                        // Finds the whole entry, or none if another thread evicted it.
                        cache.load(&name, &Cleanup::default()).unwrap();
                    }
                });
            }
        });
        assert!(total(&cache) <= 20_000, "{}", total(&cache));
        for entry in cache.list().unwrap() {
            assert!(cache.load(&format!("{}-1", entry.module), &Cleanup::default()).unwrap().is_some());
        }
        let names: Vec<_> = cache.files().unwrap().into_iter().filter(|path| !is_entry(path)).collect();
        assert_eq!(names, [cache.dir.join("key")], "nothing unfinished is left");
    }

    #[test]
    fn removes_old_unfinished_files_of_killed_writers() {
        let (_dir, cache) = cache();
        store(&cache, "a-1", b"code").unwrap();
        let (old, new) = (cache.dir.join(".writing-old"), cache.dir.join(".writing-new"));
        fs::write(&old, "half").unwrap();
        fs::write(&new, "half").unwrap();
        let time = SystemTime::now() - std::time::Duration::from_hours(2);
        File::options().write(true).open(&old).unwrap().set_modified(time).unwrap();
        assert_eq!(cache.prune(u64::MAX).unwrap(), 1);
        assert!(!old.exists() && new.exists() && cache.load("a-1", &Cleanup::default()).unwrap().is_some());
        assert_eq!(cache.prune(0).unwrap(), 1);
        assert_eq!(total(&cache), 0);
    }
}
