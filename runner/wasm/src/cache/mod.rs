//! The cache of compiled code.
//!
//! Compiling takes tens of milliseconds for a small guest and seconds for a language runtime; loading
//! compiled code takes a fraction of one. But compiled code is machine code that the engine trusts, so an
//! entry is used only if a keyed hash over its name and bytes says that this user's modbox wrote it: a
//! damaged, truncated or planted entry is discarded and compiled again. While its file stays as it is, the hash is
//! taken once an hour; see `seal`. Entries are written without a name or beside their place, and renamed, so that a
//! reader never sees half of one. Beside them lie notes on the modules' files, by which a module that did not change
//! is known again without reading it; see `known`.
//!
//! It has a largest size; see `room`. A cache that cannot be used (a read-only or full disk, a folder of somebody
//! else's) costs time, never a run: it is reported as a note.

mod entry;
mod key;
mod known;
mod lock;
mod room;
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

/// How large the cache may become, if nobody says otherwise: some thousand small modules, or fifty language runtimes.
pub const DEFAULT_MAX_CACHE: u64 = 1 << 30;

const EXTENSION: &str = "cwasm";

/// Begins the names of files that nobody may read yet.
const UNFINISHED: &str = ".writing-";

/// A folder of compiled code that belongs to one user.
#[derive(Debug, Clone)]
pub struct CompileCache {
    dir: PathBuf,
    max_size: u64,
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
    /// The key file has the wrong length, and goes on having it.
    #[error("the key `{}` is damaged, and a new one did not last; remove it", .0.display())]
    DamagedKey(PathBuf),
    /// An entry that would not fit.
    #[error("the compiled code has {bytes} bytes, more than the whole cache may have ({max})")]
    TooLarge {
        /// How large it is.
        bytes: u64,
        /// How large the cache may be.
        max: u64,
    },
}

impl CacheError {
    /// The compiled code that is to be stored cannot be read.
    pub(super) fn unreadable_code(source: io::Error) -> Self {
        Self::Io { verb: "read", path: PathBuf::from("the compiled code"), source }
    }
}

impl CompileCache {
    /// Names the folder. It is made, with mode 0700, when the first entry is written. It holds at most
    /// [`DEFAULT_MAX_CACHE`] bytes.
    #[must_use]
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, max_size: DEFAULT_MAX_CACHE }
    }

    /// Sets how many bytes of compiled code it may hold.
    #[must_use]
    pub fn max_size(self, max_size: u64) -> Self {
        Self { max_size, ..self }
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
    pub(super) fn load(&self, name: &str, cleanup: &Cleanup) -> Result<Option<File>, CacheError> {
        let path = self.entry_path(name);
        // Without NONBLOCK, a named pipe in its place would be waited for.
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
        // This is another state of the file, once an hour, so that it is hashed then.
        room::touch(&file);
        Ok(Some(file))
    }

    /// Stores code under `name`, in one step, and makes room for it. Another writer of the same name may win; both
    /// wrote the same.
    ///
    /// # Errors
    ///
    /// A folder that is not private or cannot be written, or code that is larger than the cache.
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
        if bytes <= self.max_size { room::make(self, self.max_size).map(drop) } else { room::remove(&path).map(drop) }
    }

    /// Removes what was not used for the longest time until at most `max_size` bytes of compiled code are left, and
    /// what killed processes left behind. Returns how many files went.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read, or a file that cannot be removed.
    pub fn prune(&self, max_size: u64) -> Result<u64, CacheError> {
        room::make(self, max_size)
    }

    /// Waits until no other process compiles what belongs under `name`, for a while. The caller looks into the cache
    /// again once it holds the lock. Without one (the other process takes too long, the folder cannot be used) it
    /// compiles all the same.
    pub(super) fn lock(&self, name: &str) -> Option<CompileLock> {
        self.make_private_dir().ok()?;
        lock::wait(&self.dir, name)
    }

    /// Lists the entries, the newest first.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read; one that does not exist is an empty list.
    pub fn list(&self) -> Result<Vec<CacheEntry>, CacheError> {
        let entries = self.files()?.into_iter().filter(|path| is_entry(path));
        let mut entries: Vec<CacheEntry> = entries.filter_map(|path| describe(&path)).collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.written));
        Ok(entries)
    }

    /// Removes every entry and note, what an interrupted writer left, and the key. Returns how many files went.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read, or a file that cannot be removed.
    pub fn clear(&self) -> Result<u64, CacheError> {
        self.files()?.iter().map(|path| room::remove(path)).sum()
    }

    /// The files that are ours: entries, notes, unfinished ones, the key and the locks. Nothing else is ever touched.
    fn files(&self) -> Result<Vec<PathBuf>, CacheError> {
        let read = match fs::read_dir(&self.dir) {
            Ok(read) => read,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(CacheError::Io { verb: "read", path: self.dir.clone(), source }),
        };
        let ours = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name == key::NAME || name == lock::NAME || name.starts_with(UNFINISHED) || is_entry(path) || is_note(path)
        };
        Ok(read.flatten().map(|entry| entry.path()).filter(ours).collect())
    }

    fn entry_path(&self, name: &str) -> PathBuf {
        self.dir.join(name).with_extension(EXTENSION)
    }

    /// Reads the key that authenticates entries, and makes it, and the folder, when they are missing.
    fn key(&self) -> Result<Key, CacheError> {
        self.make_private_dir()?;
        key::read_or_make(&self.dir)
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

/// A file that is being written. Until it is published it has no name, where the filesystem can do that, so that even
/// a process that is killed leaves nothing.
struct Unfinished {
    file: File,
    /// Where it will be, or is, until it has its own name.
    beside: PathBuf,
    named: bool,
    undo: UndoGuard,
}

impl Unfinished {
    fn create(dir: &Path, cleanup: &Cleanup) -> Result<Self, CacheError> {
        let mut random = [0; 8];
        // Without random bytes the name is still that of one process, and an existing file is not opened.
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

    /// Gives it its name, in the place of whatever has it.
    fn publish(self, path: &Path) -> Result<(), CacheError> {
        let failed = |source| CacheError::Io { verb: "rename a file to", path: path.to_owned(), source };
        if !self.named {
            // A link cannot replace what is there; renaming can.
            let nameless = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            rustix::fs::linkat(CWD, nameless, CWD, &self.beside, AtFlags::SYMLINK_FOLLOW)
                .map_err(|errno| failed(errno.into()))?;
        }
        fs::rename(&self.beside, path).map_err(failed)?;
        self.undo.disarm();
        Ok(())
    }
}

/// Whether a file or folder is this user's and nobody else can write it.
fn is_private(metadata: &fs::Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

fn is_entry(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == EXTENSION)
}

fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == known::EXTENSION)
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
    fn an_entry_counts_only_under_its_own_name() {
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
    fn clearing_removes_what_is_ours_and_nothing_else() {
        let (_dir, cache) = cache();
        store(&cache, "a-1", b"code").unwrap();
        fs::write(cache.dir.join("notes.txt"), b"mine").unwrap();
        assert_eq!(cache.clear().unwrap(), 2);
        assert_eq!(fs::read_dir(&cache.dir).unwrap().count(), 1);
    }

    /// Sets when an entry was used, and how long ago it was written.
    fn set_times(cache: &CompileCache, name: &str, age: u64) {
        let file = File::options().write(true).open(cache.entry_path(name)).unwrap();
        let time = SystemTime::now() - std::time::Duration::from_secs(age);
        file.set_times(fs::FileTimes::new().set_accessed(time).set_modified(time)).unwrap();
    }

    fn total(cache: &CompileCache) -> u64 {
        cache.list().unwrap().iter().map(|entry| entry.bytes).sum()
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let (_dir, cache) = cache();
        let cache = cache.max_size(3500);
        for (name, age) in [("a-1", 300_000), ("b-1", 200_000), ("c-1", 100_000)] {
            store(&cache, name, &[7; 1000]).unwrap();
            set_times(&cache, name, age);
        }
        let open = cache.load("b-1", &Cleanup::default()).unwrap().unwrap();
        // The oldest is in use again.
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
            // Read without the file: reading itself may set the time.
            room::touch(&File::open(cache.entry_path("a-1")).unwrap());
            assert_eq!(used().accessed().unwrap() > before.accessed().unwrap(), touched, "{age} seconds old");
            assert_eq!(used().modified().unwrap(), before.modified().unwrap());
        }
    }

    #[test]
    fn what_is_larger_than_the_cache_is_not_stored() {
        let (_dir, cache) = cache();
        let cache = cache.max_size(1000);
        assert!(matches!(store(&cache, "a-1", &[0; 1001]), Err(CacheError::TooLarge { .. })));
        store(&cache, "a-1", &[0; 990]).unwrap();
        assert_eq!(total(&cache), 0, "the code would fit, but not with its hash");
    }

    #[test]
    fn writers_and_evictors_at_once_leave_whole_entries_within_the_limit() {
        let (_dir, cache) = cache();
        let cache = cache.max_size(20_000);
        std::thread::scope(|scope| {
            for thread in 0..8_u8 {
                let cache = &cache;
                scope.spawn(move || {
                    for round in 0..40_u8 {
                        let name = format!("{}-1", (thread % 3) * 40 + round);
                        store(cache, &name, &[round; 1000]).unwrap();
                        // Whole, or evicted by another.
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
    fn what_a_killed_writer_left_is_removed_once_it_is_old() {
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
