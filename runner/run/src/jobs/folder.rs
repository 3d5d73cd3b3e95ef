//! The folder of jobs, with one file for each job.
//!
//! Every file is opened by its bare name, relative to the opened folder, so that no id leads out of the folder. A file
//! is replaced atomically: a reader sees either the old content or the new one.

use std::fs::DirBuilder;
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use modbox_python_json::{Dict, Value, decode, encode};

use crate::jobs::file::{JobFile, State};
use crate::jobs::order::JOB_WORD;

/// Maximum length of a job's file. No result of a run with default limits is longer: it keeps at most 4 MiB of each of
/// two streams.
const MAX_FILE: u64 = 64 << 20;

/// Maximum number of jobs in a listing.
const MAX_LISTED: usize = 10_000;

/// Maximum number of files in the folder that are looked at.
const MAX_EXAMINED: usize = 1_000_000;

/// The extended attribute with the name of a job's module.
const MODULE_ATTRIBUTE: &str = "user.modbox.module";

/// Maximum length of the name of a job's module: that of a path.
const MAX_NAME: usize = 4096;

/// Suffix of a file that is being written, as in ansible-core's `async_wrapper`.
const UNFINISHED: &str = ".tmp";

/// The folder of jobs.
#[derive(Debug)]
pub struct JobFolder {
    path: PathBuf,
    dir: Dir,
}

/// Error with the folder of jobs or a file in it.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The id is not a bare file name.
    #[error("`{0}` is not a job id; expected a name without a slash, such as `j012345678901.4711`")]
    Id(String),
    /// There is no job with this id.
    #[error("unknown job `{id}` in `{}`; `modbox jobs` lists the jobs", folder.display())]
    Unknown {
        /// The id.
        id: String,
        /// The folder of jobs.
        folder: PathBuf,
    },
    /// The folder cannot be opened or created.
    #[error("failed to open the folder of jobs `{}`; set it with `--async-dir` or `ANSIBLE_ASYNC_DIR`", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// A job's file cannot be opened, read, written or removed.
    #[error("failed to {verb} the job's file `{}`", path.display())]
    File {
        /// The operation, for the message.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
}

impl JobFolder {
    /// Opens the folder. Creates it with mode 0700 if it does not exist.
    ///
    /// # Errors
    ///
    /// The folder can be neither opened nor created.
    pub fn open_or_make(path: &Path) -> Result<Self, JobError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(|source| JobError::Folder { path: path.to_owned(), source })?;
        Self::open(path)
    }

    /// Opens the folder.
    ///
    /// # Errors
    ///
    /// The folder cannot be opened.
    pub fn open(path: &Path) -> Result<Self, JobError> {
        let dir = Dir::open_ambient_dir(path, cap_std::ambient_authority());
        let dir = dir.map_err(|source| JobError::Folder { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), dir })
    }

    /// Returns the path of a job's file.
    #[must_use]
    pub fn path_of(&self, id: &str) -> PathBuf {
        self.path.join(id)
    }

    /// Reads a job's file.
    ///
    /// # Errors
    ///
    /// There is no such job, or its file is not regular, too long or cannot be read.
    pub fn read(&self, id: &str) -> Result<JobFile, JobError> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(modbox_files::AT_ONCE);
        let file = self.dir.open_with(check_id(id)?, &options).map_err(self.failed("open", id))?;
        let failed = || self.failed("read", id);
        if !file.metadata().map_err(failed())?.is_file() {
            return Err(failed()(io::Error::other("it is not a regular file")));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(failed())?;
        if bytes.len() as u64 > MAX_FILE {
            return Err(failed()(io::Error::new(io::ErrorKind::FileTooLarge, "it is too long for a job file")));
        }
        let content = match decode(&String::from_utf8_lossy(&bytes)) {
            Ok(Value::Dict(content)) => Some(content),
            _ => None,
        };
        Ok(JobFile { id: id.to_owned(), content })
    }

    /// Reads a job's file, and returns the job's state with it. `is_alive` is as for [`JobFile::state`].
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn look(&self, id: &str, is_alive: impl FnOnce(u32, &str) -> bool) -> Result<(JobFile, State), JobError> {
        let job = self.read(id)?;
        match job.state(is_alive) {
            State::Lost => {
                // The monitor may have written the result and ended since the file was read.
                let job = self.read(id)?;
                let state = job.state(|_, _| false);
                Ok((job, state))
            }
            state => Ok((job, state)),
        }
    }

    /// Writes a job's file; replaces an existing one. The name of the module is an extended attribute of the file: the
    /// content is the result, which Ansible reads. A file system without them keeps no name.
    ///
    /// # Errors
    ///
    /// The file cannot be written, for example because the disk is full or the folder is gone.
    pub fn write(&self, id: &str, module: &str, content: Dict) -> Result<(), JobError> {
        let failed = || self.failed("write", id);
        let unfinished = format!("{}{UNFINISHED}", check_id(id)?);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let mut file = self.dir.open_with(&unfinished, &options).map_err(failed())?;
        // A listing is less useful without the name, and complete.
        let _ = rustix::fs::fsetxattr(&file, MODULE_ATTRIBUTE, module.as_bytes(), rustix::fs::XattrFlags::empty());
        let written = file.write_all(encode(&Value::Dict(content)).as_bytes());
        let placed = written.and_then(|()| self.dir.rename(&unfinished, &self.dir, id));
        placed.map_err(|error| {
            // Remove the partial file. The error to report is that of writing, not one of removing.
            let _ = self.dir.remove_file(&unfinished);
            failed()(error)
        })
    }

    /// Returns the name of a job's module, if its file has it.
    #[must_use]
    pub fn module_of(&self, id: &str) -> Option<String> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(modbox_files::AT_ONCE);
        let file = self.dir.open_with(check_id(id).ok()?, &options).ok()?;
        let mut name = vec![0; MAX_NAME];
        let length = rustix::fs::fgetxattr(&file, MODULE_ATTRIBUTE, name.as_mut_slice()).ok()?;
        name.truncate(length);
        String::from_utf8(name).ok().filter(|name| !name.is_empty())
    }

    /// Returns whether a job has a file.
    #[must_use]
    pub fn has(&self, id: &str) -> bool {
        check_id(id).is_ok_and(|id| self.dir.symlink_metadata(id).is_ok())
    }

    /// Removes a job's file.
    ///
    /// # Errors
    ///
    /// There is no such job, or its file cannot be removed.
    pub fn remove(&self, id: &str) -> Result<(), JobError> {
        self.dir.remove_file(check_id(id)?).map_err(self.failed("remove", id))
    }

    /// Returns the ids of all jobs and the modification times of their files, newest first.
    ///
    /// # Errors
    ///
    /// The folder cannot be listed.
    pub fn list(&self) -> Result<Vec<(String, SystemTime)>, JobError> {
        let failed = |source| JobError::Folder { path: self.path.clone(), source };
        let mut jobs = Vec::new();
        for entry in self.dir.entries().map_err(failed)?.take(MAX_EXAMINED) {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().into_string().unwrap_or_default();
            // Files of others do not take the places of jobs.
            if !is_id(&name) {
                continue;
            }
            if jobs.len() >= MAX_LISTED {
                break;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() {
                let written = metadata.modified().map_or(SystemTime::UNIX_EPOCH, cap_std::time::SystemTime::into_std);
                jobs.push((name, written));
            }
        }
        jobs.sort_by(|(one, written), (other, later)| later.cmp(written).then_with(|| one.cmp(other)));
        Ok(jobs)
    }

    fn failed(&self, verb: &'static str, id: &str) -> impl FnOnce(io::Error) -> JobError {
        let (path, id, folder) = (self.path_of(id), id.to_owned(), self.path.clone());
        move |source| match source.kind() {
            io::ErrorKind::NotFound if verb != "write" => JobError::Unknown { id, folder },
            _ => JobError::File { verb, path, source },
        }
    }
}

/// Returns whether a name has the form of ids made by Ansible and modbox: an optional `j`, a number, a dot and a
/// process id.
fn is_id(name: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = name.strip_prefix('j').unwrap_or(name).split_once('.');
    parts.is_some_and(|(number, process)| digits(number) && digits(process))
}

/// Checks that an id is a bare file name. Any bare name is accepted, as by `async_status`.
fn check_id(id: &str) -> Result<&str, JobError> {
    let is_bare = !id.is_empty() && !id.contains(['/', '\0']) && id != "." && id != "..";
    if is_bare { Ok(id) } else { Err(JobError::Id(id.to_owned())) }
}

/// Returns whether the process with this id is the monitor of the job of this name.
#[must_use]
pub fn is_alive(process: u32, name: &str) -> bool {
    let Ok(proc) = Dir::open_ambient_dir("/proc", cap_std::ambient_authority()) else { return true };
    let mut line = Vec::new();
    let read = proc.open(format!("{process}/cmdline")).and_then(|file| file.take(4096).read_to_end(&mut line));
    let mut words = line.split(|byte| *byte == 0).skip(1);
    read.is_ok() && words.next() == Some(JOB_WORD.as_bytes()) && words.next() == Some(name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_ends_while_it_is_looked_at_is_not_lost() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = JobFolder::open_or_make(tmp.path()).unwrap();
        let release = modbox_contract::Release::V2_19;
        let id = format!("{}.7", crate::jobs::file::new_name(release));
        folder.write(&id, "ping", crate::jobs::file::started(&id, release)).unwrap();
        assert_eq!(folder.look(&id, |_, _| false).unwrap().1, State::Lost);
        let ends = |_: u32, _: &str| {
            folder.write(&id, "ping", Dict::from_iter([("changed".to_owned(), true.into())])).unwrap();
            false
        };
        let (job, state) = folder.look(&id, ends).unwrap();
        assert_eq!((state, &job.content.unwrap()["changed"]), (State::Succeeded, &true.into()));
    }

    #[test]
    fn files_of_others_do_not_hide_a_job() {
        let tmp = tempfile::tempdir().unwrap();
        let folder = JobFolder::open_or_make(tmp.path()).unwrap();
        for number in 0..=MAX_LISTED {
            std::fs::write(tmp.path().join(format!("other{number}")), "").unwrap();
        }
        folder.write("j1.2", "ping", Dict::new()).unwrap();
        assert_eq!(folder.list().unwrap().into_iter().map(|(id, _)| id).collect::<Vec<_>>(), ["j1.2"]);
    }

    #[test]
    fn files_are_private_replaced_and_removed() {
        use std::os::unix::fs::PermissionsExt;
        let tmp = tempfile::tempdir().unwrap();
        let path = tmp.path().join("a/jobs");
        let folder = JobFolder::open_or_make(&path).unwrap();
        for number in [1, 2] {
            folder.write("j1.2", "ping", Dict::from_iter([("n".to_owned(), number.into())])).unwrap();
            assert_eq!(folder.read("j1.2").unwrap().content.unwrap()["n"], number.into());
        }
        // Some file systems have no extended attributes.
        assert!(folder.module_of("j1.2").is_none_or(|name| name == "ping"));
        assert_eq!(folder.module_of("j5.6"), None);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("j1.2"))), (0o700, 0o600));
        std::fs::write(path.join("notes.txt"), "").unwrap();
        std::fs::write(path.join("j3.4.tmp"), "").unwrap();
        assert_eq!(folder.list().unwrap().into_iter().map(|(id, _)| id).collect::<Vec<_>>(), ["j1.2"]);
        folder.remove("j1.2").unwrap();
        assert!(!folder.has("j1.2"));
        assert!(matches!(folder.remove("j1.2"), Err(JobError::Unknown { .. })));
    }

    #[test]
    fn no_id_leads_out_of_the_folder() {
        let tmp = tempfile::tempdir().unwrap();
        std::fs::create_dir(tmp.path().join("jobs")).unwrap();
        std::fs::write(tmp.path().join("secret"), "{}").unwrap();
        std::os::unix::fs::symlink("../secret", tmp.path().join("jobs/link")).unwrap();
        let folder = JobFolder::open(&tmp.path().join("jobs")).unwrap();
        for id in ["../secret", "/etc/passwd", "", ".", "..", "a/b"] {
            assert!(matches!(folder.read(id), Err(JobError::Id(_))), "{id}");
            assert!(matches!(folder.remove(id), Err(JobError::Id(_))), "{id}");
        }
        assert!(folder.read("link").is_err());
        let fifo = tmp.path().join("jobs/fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        assert!(matches!(folder.read("fifo"), Err(JobError::File { .. })));
    }
}
