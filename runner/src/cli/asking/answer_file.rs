//! Writes one answer for good as one new file of the folder `policy.d`. Nothing that a person wrote is edited, and removing
//! the file takes the answer back.
//!
//! The folder is opened once, without following a link, and has to be the user's own. The file is written under a hidden
//! name, which nothing reads, and gets its name when it is complete. The name has 128 random bits, so it cannot be
//! made beforehand and is not met twice; a file of that name would not be replaced.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use jiff::Timestamp;
use modbox_policy::{ModuleKey, PolicyFile};
use modbox_run::suggestion::{comment, quoted};
use modbox_vocabulary::Capability;
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::cli::asking::question::Asker;
use crate::cli::asking::wish::Wish;
use crate::cli::settings::exposure;
use crate::cli::settings::policy_folder::{ENDING, MAX_FILES, files};

/// Number of files that are left for the user's own, and for answers of other processes at the same time.
const RESERVE: usize = 64;

/// Maximum characters of the module's name in the name of the file.
const MAX_NAME: usize = 40;

/// What is said of an answer in its file.
pub(crate) struct Remarks<'a> {
    /// The module that asked.
    pub(crate) asker: &'a Asker,
    /// What it asked for, in words.
    pub(crate) wanted: &'a str,
    /// Why, in words.
    pub(crate) reason: &'a str,
    /// When the answer was given.
    pub(crate) time: Timestamp,
}

/// Returns the text of the file.
///
/// # Errors
///
/// The rules cannot be written as a policy file.
pub(crate) fn text(command: &str, digest: &str, wish: &Wish, remarks: &Remarks<'_>) -> anyhow::Result<String> {
    let Remarks { asker, wanted, reason, time } = remarks;
    let [module, wanted, reason] = [&asker.in_words(), *wanted, *reason].map(comment);
    let mut text = format!(
        "# An answer to `{command} --ask`, given on {time:.0}. Remove this file to take it back.\n# Module: {module}\n\
         # It asked to {wanted}\n# Reason: {reason}\n"
    );
    text += &format!("modules:\n  \"{}\":\n    allow:\n", ModuleKey::Digest(digest.to_owned()));
    let mut section: Option<Capability> = None;
    let mut grants = wish.grants.clone();
    grants.sort();
    for (capability, value) in &grants {
        if section.replace(*capability) != Some(*capability) {
            text += &format!("      {capability}:\n");
        }
        text += &format!("        - \"{}\"\n", quoted(value));
    }
    let read = PolicyFile::parse(&text)?;
    let values = |file: &PolicyFile| -> Option<Vec<String>> {
        let [(_, rules)] = &file.modules[..] else { return None };
        let allow = &rules.allow;
        let lists = [&allow.read, &allow.write, &allow.own, &allow.env, &allow.net, &allow.listen, &allow.run];
        let mut values: Vec<String> =
            lists.into_iter().chain([&allow.outside]).flatten().map(|it| it.value.clone()).collect();
        values.sort();
        Some(values)
    };
    let mut expect: Vec<String> = grants.into_iter().map(|(_, value)| value).collect();
    expect.sort();
    ensure!(values(&read) == Some(expect), "the grant cannot be written in a policy file");
    Ok(text)
}

/// Writes the file, and returns its path.
///
/// # Errors
///
/// The folder is a link, can be changed by another user, is full, or cannot be written. Then nothing is left.
pub(crate) fn write(folder: &Path, module: &str, text: &str) -> anyhow::Result<PathBuf> {
    let failed = || format!("failed to write the answer into `{}`", folder.display());
    let opened = open(folder).with_context(failed)?;
    let count = files(folder)?.len();
    ensure!(count + RESERVE < MAX_FILES, "`{}` has {count} files; remove some", folder.display());
    let random = random().with_context(failed)?;
    let name = format!("{}-{random}{ENDING}", plain(module));
    create(&opened, &format!(".{random}"), &name, text).with_context(failed)?;
    Ok(folder.join(name))
}

fn create(folder: &OwnedFd, hidden: &str, name: &str, text: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let mut file = File::from(rustix::fs::openat(folder, hidden, flags, mode)?);
    // The umask may have taken bits away.
    let written = rustix::fs::fchmod(&file, mode)
        .map_err(io::Error::from)
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.sync_all())
        // Unlike a rename, a link replaces nothing, also on file systems of other machines.
        .and_then(|()| Ok(rustix::fs::linkat(folder, hidden, folder, name, AtFlags::empty())?));
    // The first error is the one to tell.
    let removed = rustix::fs::unlinkat(folder, hidden, AtFlags::empty());
    written?;
    removed?;
    Ok(rustix::fs::fsync(folder)?)
}

/// Opens the folder, and makes it first if it is missing.
fn open(folder: &Path) -> anyhow::Result<OwnedFd> {
    let parent = folder.parent().context("it has no parent")?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = || rustix::fs::open(folder, flags | OFlags::RDONLY, Mode::empty());
    let opened = match opened() {
        Err(rustix::io::Errno::NOENT) => {
            match fs::DirBuilder::new().mode(0o700).create(folder) {
                // Another process has answered at the same time.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => made?,
            }
            opened()
        }
        other => other,
    };
    let opened = match opened {
        Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => bail!("it is a link or a file, not a folder"),
        other => other?,
    };
    if let Some(exposure) = exposure::find(folder, &File::from(opened.try_clone()?).metadata()?) {
        bail!("another user can change it: {exposure}");
    }
    Ok(opened)
}

fn random() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(format!("{:032x}", u128::from_le_bytes(bytes)))
}

/// Returns a module's name without characters that mean something in names of files.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(|c| c.is_ascii_alphanumeric() || "._".contains(*c)).take(MAX_NAME);
    let name: String = kept.collect();
    let name = name.trim_start_matches('.');
    if name.is_empty() { "module".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

    use modbox_vocabulary::Operation;

    use super::*;
    use crate::cli::asking::wish::Cause;

    fn wish(value: &str) -> Wish {
        let grants = vec![(Capability::Write, value.to_owned()), (Capability::Env, "LANG".to_owned())];
        Wish { grants, argument: None, subject: value.to_owned(), cause: Cause::Denied(Operation::OpenAt) }
    }

    fn error(folder: &Path) -> String {
        format!("{:#}", write(folder, "x", "").unwrap_err())
    }

    #[test]
    fn the_text_is_a_policy_file_of_this_module_alone() {
        let digest = "0a".repeat(32);
        for value in ["/etc/motd", "/a b\"c\\d", "/é #: {x}\u{202e}"] {
            let asker = Asker { name: "x\n y".to_owned(), version: Some("\n1".to_owned()), ..Asker::default() };
            let time = Timestamp::UNIX_EPOCH;
            let remarks = Remarks { asker: &asker, wanted: "write\n /x", reason: "a\nmodules: {}", time };
            let text = text("modbox run", &digest, &wish(value), &remarks).unwrap();
            assert!(text.starts_with("# An answer to `modbox run --ask`, given on 1970-01-01T00:00:00Z."), "{text}");
            let file = PolicyFile::parse(&text).unwrap();
            assert_eq!(file.modules[0].0.value, ModuleKey::Digest(digest.clone()), "{text}");
            assert_eq!(file.modules[0].1.allow.write[0].value, value, "{text}");
            assert_eq!(file.modules[0].1.allow.env[0].value, "LANG", "{text}");
        }
    }

    #[test]
    fn each_answer_is_a_private_file_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("config/modbox/policy.d");
        let paths: Vec<PathBuf> = (0..3).map(|_| write(&folder, "../a.b c", "text").unwrap()).collect();
        assert_eq!(files(&folder).unwrap().len(), 3);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 3, "nothing else is left");
        for path in &paths {
            let metadata = path.metadata().unwrap();
            assert_eq!((metadata.mode() & 0o7777, metadata.len()), (0o600, 4));
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(name.starts_with("a.bc-") && name.len() == 5 + 32 + 5, "{name}");
        }
        assert_eq!(folder.metadata().unwrap().mode() & 0o7777, 0o700);
    }

    #[test]
    fn a_planted_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (config, other) = (dir.path().join("modbox"), dir.path().join("other"));
        fs::create_dir(&config).unwrap();
        fs::create_dir(&other).unwrap();
        let folder = config.join("policy.d");
        symlink(&other, &folder).unwrap();
        assert!(error(&folder).contains("a link or a file"), "{}", error(&folder));
        assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
        fs::remove_file(&folder).unwrap();
        fs::write(&folder, "").unwrap();
        assert!(error(&folder).contains("a link or a file"), "{}", error(&folder));
        fs::remove_file(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        for exposed in [&folder, &config] {
            fs::set_permissions(exposed, fs::Permissions::from_mode(0o777)).unwrap();
            assert!(error(&folder).contains("another user can change"), "{}", error(&folder));
            fs::set_permissions(exposed, fs::Permissions::from_mode(0o700)).unwrap();
        }
        write(&folder, "x", "").unwrap();
    }

    #[test]
    fn a_full_folder_takes_no_more() {
        let dir = tempfile::tempdir().unwrap();
        for index in 0..MAX_FILES - RESERVE {
            fs::write(dir.path().join(format!("{index}.yaml")), "").unwrap();
        }
        assert!(error(dir.path()).contains("has 448 files; remove some"), "{}", error(dir.path()));
        assert_eq!(files(dir.path()).unwrap().len(), MAX_FILES - RESERVE);
    }

    #[test]
    fn a_name_that_is_there_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let folder = open(&dir.path().join("policy.d")).unwrap();
        create(&folder, ".a", "a.yaml", "one").unwrap();
        assert!(create(&folder, ".a", "a.yaml", "two").is_err());
        let found = modbox_files::read_file(&dir.path().join("policy.d/a.yaml"), 16).unwrap();
        assert_eq!(found, b"one");
        assert_eq!(fs::read_dir(dir.path().join("policy.d")).unwrap().count(), 1);
    }
}
