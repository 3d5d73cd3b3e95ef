//! The options that Ansible adds to modules that create files (`add_file_common_args`), and their effect.

use std::io;
use std::path::{Path, PathBuf};

use modbox_python_json::Value;
use modbox_sdk_derive::Args;

use crate::file_error::words;
use crate::files::diff::AttributesDiff;
use crate::files::mode::{CurrentMode, WrongMode, resolve, written};
use crate::fs::path_value;
use crate::module::Module;
use crate::path_argument;
use crate::platform::{self, Attributes};
use crate::result::Failure;

/// The set-user-id and set-group-id bits.
const SET_IDS: u32 = 0o6000;

/// Those of a user and of a group.
const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

/// Ansible's options for the attributes of files. `module! { …, file_args = true }` adds them to the module's own
/// options.
#[derive(Args, Debug, Clone, PartialEq, Default)]
pub struct FileArgs {
    /// The permissions: octal, as text with a leading zero, or symbolic, such as u=rw,go=r.
    #[arg(type = "raw")]
    pub mode: Option<Value>,
    /// The owner, by name or number.
    pub owner: Option<String>,
    /// The group, by name or number.
    pub group: Option<String>,
    /// The user part of its SELinux context; not supported.
    pub seuser: Option<String>,
    /// The role part of its SELinux context; not supported.
    pub serole: Option<String>,
    /// The level part of its SELinux context; not supported.
    pub selevel: Option<String>,
    /// The type part of its SELinux context; not supported.
    pub setype: Option<String>,
    /// The flags that chattr sets; not supported.
    #[arg(alias = "attr")]
    pub attributes: Option<String>,
    /// Overwrite a file that cannot be replaced.
    #[arg(default = false, env("ANSIBLE_UNSAFE_WRITES"))]
    pub unsafe_writes: bool,
}

/// The wanted attributes of a file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileAttributes {
    /// The path that gets the attributes, as the task names it.
    pub path: PathBuf,
    /// The permissions, as in the option.
    pub mode: Option<Value>,
    /// Its owner, by name or number.
    pub owner: Option<String>,
    /// Its group, by name or number.
    pub group: Option<String>,
    /// The name of a given option that no sandboxed module can satisfy.
    pub unsupported: Option<&'static str>,
}

/// What a module is about to make at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planned<'p> {
    /// A file with new contents.
    File,
    /// A directory.
    Directory,
    /// One more name of the file at this path.
    NameOf(&'p Path),
}

impl Module {
    /// Refuses attributes in the arguments that this module cannot set, before anything is made or written at a path.
    ///
    /// # Errors
    ///
    /// The mode has set-id bits that the grants do not allow for the owner of the file, or an option is not supported.
    pub fn refuse_attributes(&self, path: &Path, planned: Planned<'_>) -> Result<(), Failure> {
        // Links in a circle are found where they are used.
        let Ok(Some(wanted)) = self.load_file_common_arguments(Some(path)) else { return Ok(()) };
        refuse_unsupported(&wanted)?;
        let Some(option) = &wanted.mode else { return Ok(()) };
        let umask = platform::umask();
        let found = match planned {
            Planned::NameOf(other) => platform::stat(other, false).ok(),
            _ => platform::stat(&wanted.path, false).ok(),
        };
        let now = match (&found, planned) {
            // New contents have no set-id bits.
            (Some(found), Planned::File) => CurrentMode { mode: found.mode & !SET_IDS, directory: false, umask },
            (Some(found), _) => CurrentMode { mode: found.mode, directory: found.directory, umask },
            (None, Planned::Directory) => CurrentMode { mode: 0o777 & !umask, directory: true, umask },
            (None, _) => CurrentMode { mode: 0o666 & !umask, directory: false, umask },
        };
        let owner = || found.as_ref().map_or_else(|| owner_of_new(&wanted.path), |found| Some((found.uid, found.gid)));
        // Ansible's modules find other faults of a mode later.
        resolve(option, now).map_or(Ok(()), |mode| refuse_set_ids(&wanted, now, mode, owner))
    }

    /// Returns the attributes that the arguments ask for, of `path` or, without it, of the argument `path` or `dest`.
    /// Returns `None` if there is no path. With the argument `follow`, a link stands for its target.
    ///
    /// # Errors
    ///
    /// Links form a circle.
    pub fn load_file_common_arguments(&self, path: Option<&Path>) -> Result<Option<FileAttributes>, Failure> {
        let text = |name: &str| self.parameters.get(name).and_then(Value::as_str).map(str::to_owned);
        let named = |name: &str| self.parameters.get(name).and_then(path_argument::path);
        let Some(mut path) = path.map(Path::to_owned).or_else(|| named("path").or_else(|| named("dest"))) else {
            return Ok(None);
        };
        if self.parameters.get("follow") == Some(&Value::Bool(true)) {
            path = crate::fs::follow_links(&path)?;
        }
        let unsupported = ["seuser", "serole", "selevel", "setype", "attributes"];
        Ok(Some(FileAttributes {
            path,
            mode: self.parameters.get("mode").filter(|mode| **mode != Value::Null).cloned(),
            owner: text("owner"),
            group: text("group"),
            unsupported: unsupported.into_iter().find(|name| text(name).is_some_and(|text| !text.is_empty())),
        }))
    }

    /// Sets the attributes of a file, and returns whether something changed: `changed`, or `true`. In check mode,
    /// nothing is changed, and a missing file counts as a change.
    ///
    /// # Errors
    ///
    /// An attribute does not exist or may not be set here. The message is Ansible's, if it has one.
    pub fn set_fs_attributes_if_different(
        &self,
        wanted: &FileAttributes,
        mut changed: bool,
        mut diff: Option<&mut AttributesDiff>,
    ) -> Result<bool, Failure> {
        refuse_unsupported(wanted)?;
        if wanted.owner.is_none() && wanted.group.is_none() && wanted.mode.is_none() {
            return Ok(changed);
        }
        let found = match platform::stat(&wanted.path, false) {
            // As for Python's `os.path.exists`, a path below a file is missing, too.
            Err(error)
                if self.check_mode()
                    && matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
            {
                return Ok(true);
            }
            found => found.map_err(|error| {
                failure(wanted, format!("failed to access `{}`: {}", wanted.path.display(), words(&error)))
            })?,
        };
        // So is a link to nothing.
        if self.check_mode() && found.target.is_some() && platform::stat(&wanted.path, true).is_err() {
            return Ok(true);
        }
        if let Some(mode) = wanted.mode.as_ref().filter(|_| found.target.is_none() && !self.check_mode()) {
            let now = CurrentMode { mode: found.mode, directory: found.directory, umask: platform::umask() };
            // Before the owner is changed.
            resolve(mode, now)
                .map_or(Ok(()), |mode| refuse_set_ids(wanted, now, mode, || Some((found.uid, found.gid))))?;
        }
        changed |= self.set_owner(wanted, &found, diff.as_deref_mut())?;
        changed |= self.set_group(wanted, &found, diff.as_deref_mut())?;
        changed |= self.set_mode(wanted, &found, diff)?;
        Ok(changed)
    }

    fn set_owner(
        &self,
        wanted: &FileAttributes,
        found: &Attributes,
        diff: Option<&mut AttributesDiff>,
    ) -> Result<bool, Failure> {
        let Some(owner) = &wanted.owner else { return Ok(false) };
        let uid = number(owner, platform::user_id);
        let uid = uid.ok_or_else(|| failure(wanted, format!("chown failed: failed to look up user {owner}")))?;
        if uid == found.uid {
            return Ok(false);
        }
        diff.into_iter().for_each(|diff| diff.note("owner", found.uid, uid));
        if !self.check_mode() {
            let set = platform::set_owner(&wanted.path, false, Some(uid), None);
            set.map_err(|error| failure(wanted, "chown failed").with("details", words(&error)))?;
        }
        Ok(true)
    }

    fn set_group(
        &self,
        wanted: &FileAttributes,
        found: &Attributes,
        diff: Option<&mut AttributesDiff>,
    ) -> Result<bool, Failure> {
        let Some(group) = &wanted.group else { return Ok(false) };
        let gid = number(group, platform::group_id);
        let gid = gid.ok_or_else(|| failure(wanted, format!("chgrp failed: failed to look up group {group}")))?;
        if gid == found.gid {
            return Ok(false);
        }
        diff.into_iter().for_each(|diff| diff.note("group", found.gid, gid));
        if !self.check_mode() {
            let set = platform::set_owner(&wanted.path, false, None, Some(gid));
            set.map_err(|error| failure(wanted, "chgrp failed").with("details", words(&error)))?;
        }
        Ok(true)
    }

    fn set_mode(
        &self,
        wanted: &FileAttributes,
        found: &Attributes,
        diff: Option<&mut AttributesDiff>,
    ) -> Result<bool, Failure> {
        let Some(option) = &wanted.mode else { return Ok(false) };
        let now = CurrentMode { mode: found.mode, directory: found.directory, umask: platform::umask() };
        let mode = resolve(option, now).map_err(|wrong| match wrong {
            WrongMode::Form(details) => {
                failure(wanted, "mode must be in octal or symbolic form").with("details", details)
            }
            WrongMode::Bits(details) => {
                failure(wanted, "Invalid mode supplied, only permission info is allowed").with("details", details)
            }
        })?;
        if mode == found.mode {
            return Ok(false);
        }
        diff.into_iter().for_each(|diff| diff.note("mode", written(found.mode), written(mode)));
        // A link has no mode of its own.
        let link = found.target.is_some();
        if self.check_mode() || link {
            return Ok(self.check_mode());
        }
        refuse_set_ids(wanted, now, mode, || Some((found.uid, found.gid)))?;
        let set = platform::set_mode(&wanted.path, mode);
        set.map_err(|error| failure(wanted, "chmod failed").with("details", words(&error)))?;
        Ok(true)
    }
}

fn refuse_unsupported(wanted: &FileAttributes) -> Result<(), Failure> {
    let Some(name) = wanted.unsupported else { return Ok(()) };
    Err(failure(wanted, format!("the option `{name}` is not supported: a sandboxed module cannot set it")))
}

/// Returns the number of a user or a group that an option names.
fn number(option: &str, look_up: impl FnOnce(&str) -> Option<u32>) -> Option<u32> {
    option.trim().parse().ok().or_else(|| look_up(option))
}

/// Returns the user and the group that a new file gets.
fn owner_of_new(path: &Path) -> Option<(u32, u32)> {
    let folder = path.parent().and_then(|folder| platform::stat(folder, true).ok());
    let inherited = folder.filter(|folder| folder.mode & SET_GROUP_ID != 0).map(|folder| folder.gid);
    let (user, group) = platform::user_and_group()?;
    Some((user, inherited.unwrap_or(group)))
}

/// Refuses a mode with set-id bits that the grants do not allow, unless the file has it. `owner` returns the user and the group
/// that the file has without the options. Those of a directory are as any other bit.
fn refuse_set_ids(
    wanted: &FileAttributes,
    now: CurrentMode,
    mode: u32,
    owner: impl FnOnce() -> Option<(u32, u32)>,
) -> Result<(), Failure> {
    if mode & SET_IDS == 0 || mode == now.mode || now.directory {
        return Ok(());
    }
    let Some((uid, gid)) = owner() else { return Ok(()) };
    let uid = wanted.owner.as_deref().and_then(|owner| number(owner, platform::user_id)).unwrap_or(uid);
    let gid = wanted.group.as_deref().and_then(|group| number(group, platform::group_id)).unwrap_or(gid);
    let refused = mode & SET_IDS & !platform::set_id_bits(uid, gid);
    if refused == 0 {
        return Ok(());
    }
    let user = if refused & SET_USER_ID != 0 { uid.to_string() } else { String::new() };
    let group = if refused & SET_GROUP_ID != 0 { format!(":{gid}") } else { String::new() };
    let details = format!(
        "no grant allows set-user-id and set-group-id bits of this file; allow them with `--allow-own {user}{group}+setid`, \
         or leave them out of `mode`"
    );
    Err(failure(wanted, "chmod failed").with("details", details))
}

fn failure(wanted: &FileAttributes, message: impl Into<String>) -> Failure {
    Failure::new(message.into()).with("path", path_value(&wanted.path))
}
