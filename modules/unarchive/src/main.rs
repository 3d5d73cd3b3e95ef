//! `unarchive`: unpacks an archive of the host into a folder.
//!
//! Parameters: `src`, `dest`, `creates`, `list_files`, `exclude`, `include`, `keep_newer`, `mode`, `owner`, `group`;
//! `remote_src`, `copy`, `decrypt`, `validate_certs` and `io_buffer_size` are accepted and ignored, `extra_opts` is
//! refused.
//! Returns: `src`, `dest`, `handler`, `files` when asked for, `diff` of zip archives; owner, group and mode of `dest`.
//! Capabilities: read access to `src`, write access to `dest`.
//!
//! An archive is untrusted. It is read to its end and checked as a whole before anything is written (`member.rs`,
//! `limits.rs`). Writing checks again, since other programs may change `dest` in the meantime (`extract.rs`).

#![forbid(unsafe_code)]

mod compare;
mod dest;
mod extract;
mod limits;
mod member;
mod plan;
mod select;
mod tar_file;
mod zip_file;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use modbox_compression::Codec;
use modbox_sdk::files::{FileAttributes, Planned};
use modbox_sdk::fs::{is_dir, path_value, real_path};
use modbox_sdk::{Args, Dict, Exit, Failure, Module, Value, fnmatch};

use crate::dest::Dest;
use crate::extract::Extraction;
use crate::member::{Kind, Member};
use crate::plan::Plan;
use crate::select::Selection;

modbox_sdk::module! {
    args = UnarchiveArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        dest: str = "The folder.",
        src: str = "The archive.",
        handler: str = "The kind of archive, by the name of Ansible's class.",
        files: list if "list_files" = "The members.",
        diff: dict if "a zip archive differs" = "The differences of members.",
    ],
    examples = [
        "modbox run unarchive src=/srv/app-1.2.tar.gz dest=/srv/app",
        "modbox run unarchive src=/srv/app.zip dest=/srv/app exclude='*.md' mode=u=rwX,go=rX",
    ],
}

/// Unpacks a tar archive (plain, gzip, bzip2 or xz) or a zip archive into a folder.
///
/// Nothing is written outside the folder: members and links that lead out of it, devices and named pipes are refused,
/// unless exclude removes them. Owners in the archive are ignored. Setting an owner needs `--allow-own`.
#[derive(Args)]
#[args(mutually_exclusive("include", "exclude"))]
struct UnarchiveArgs {
    /// The archive.
    #[arg(type = "path", access = "read")]
    src: String,
    /// The folder to unpack into.
    #[arg(type = "path", access = "write")]
    dest: String,
    /// Accepted and ignored: there is no controller, so the archive is on the host.
    #[arg(default = false)]
    remote_src: bool,
    /// Do nothing if this path exists.
    #[arg(type = "path", access = "read")]
    creates: Option<String>,
    /// Return the names of the members.
    #[arg(default = false)]
    list_files: bool,
    /// Keep files that are newer than in the archive.
    #[arg(default = false)]
    keep_newer: bool,
    /// Members to skip, as shell patterns.
    #[arg(default = [])]
    exclude: Vec<String>,
    /// The only members to unpack: names in tar archives, shell patterns in zip archives.
    #[arg(default = [])]
    include: Vec<String>,
    /// Options for a program that unpacks. Refused, since no program is used.
    #[arg(default = [])]
    extra_opts: Vec<String>,
    /// Accepted and ignored: nothing is downloaded.
    #[arg(name = "validate_certs", default = true)]
    _validate_certs: bool,
    /// Accepted and ignored.
    #[arg(name = "io_buffer_size", default = 65536)]
    _io_buffer_size: i64,
    /// Accepted and ignored, as remote_src.
    #[arg(name = "copy", default = true)]
    _copy: bool,
    /// Accepted and ignored: archives are not encrypted.
    #[arg(name = "decrypt", default = true)]
    _decrypt: bool,
}

/// The result of reading an archive.
struct Inspection {
    handler: &'static str,
    members: Vec<Member>,
    differs: bool,
    /// The differences, for kinds of archives that are itemized.
    diff: Option<String>,
    /// The names of members that are not listed, and whose attributes are not set: in zip archives, those that `keep_newer` keeps.
    kept: HashSet<String>,
    /// Why a member cannot be unpacked.
    refused: Option<Failure>,
}

impl Inspection {
    fn listed(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !self.kept.contains(&member.name))
    }
}

fn run(args: UnarchiveArgs, module: &mut Module) -> Result<Exit, Failure> {
    if let Some(creates) = args.creates.as_deref().filter(|creates| modbox_sdk::fs::exists(creates)) {
        return Ok(Exit::skipped(format!("skipped, since {creates} exists")).with("changed", false));
    }
    if !args.extra_opts.is_empty() {
        let why = "no program is used; use `exclude`, `include` and `keep_newer`";
        return Err(Failure::new(format!("the option `extra_opts` is not supported: {why}")));
    }
    let mut file = open(&args)?;
    let wanted = module.load_file_common_arguments(Some(Path::new(&args.dest)))?.unwrap_or_default();
    let dest = Dest::new(&args.dest, wanted)?;
    let start = start(&mut file)?;
    let judged =
        if start.starts_with(b"PK") { judge_zip(&args, &file, &dest) } else { judge_tar(&args, &file, &dest, &start) };
    let mut judged = judged.map_err(|why| {
        let message = format!("Failed to find handler for \"{}\". {}", args.src, why.message());
        Failure::new(message)
    })?;
    let mut changed = judged.differs;
    if judged.differs && !module.check_mode() {
        module.refuse_attributes(Path::new(&args.dest), Planned::File)?;
        let unpacked = match judged.refused.take() {
            Some(why) => Err(why),
            None => unpack(&args, &file, &dest, &judged, Codec::detect(&start)),
        };
        unpacked.map_err(|why| {
            let message = format!("failed to unpack {} to {}: {}", args.src, args.dest, why.message());
            about(Failure::new(message), &args, judged.handler)
        })?;
    }
    // Zip archives were compared with the wanted attributes; `tar` archives were not.
    if !module.check_mode() && (judged.differs || judged.diff.is_none()) {
        changed |= dress(module, &dest, judged.listed())?;
    }
    let mut exit = Exit::new(changed)
        .with("handler", judged.handler)
        .with("dest", path_value(&args.dest))
        .with("src", path_value(&args.src));
    if let Some(diff) = judged.diff.clone().filter(|diff| !diff.is_empty()) {
        exit = exit.with("diff", Dict::from_iter([("prepared".to_owned(), Value::from(diff))]));
    }
    if args.list_files {
        let names = judged.listed().map(|member| Value::from(member.name.as_str()));
        exit = exit.with("files", Value::List(names.collect()));
    }
    Ok(exit)
}

fn about(failure: Failure, args: &UnarchiveArgs, handler: &str) -> Failure {
    failure.with("handler", handler).with("dest", path_value(&args.dest)).with("src", path_value(&args.src))
}

fn open(args: &UnarchiveArgs) -> Result<File, Failure> {
    let src = &args.src;
    if src.contains("://") && args.remote_src {
        return Err(Failure::new(format!(
            "Source '{src}' would have to be downloaded, which is not supported: give a file"
        )));
    }
    let file = File::open(src).map_err(|error| {
        Failure::new(match (error.kind(), args.remote_src) {
            (io::ErrorKind::NotFound, true) => format!("Source '{src}' does not exist"),
            (io::ErrorKind::NotFound, false) => format!("Source '{src}' failed to transfer"),
            _ => format!("Source '{src}' not readable"),
        })
    })?;
    if file.metadata()?.len() == 0 {
        return Err(Failure::new(format!("Invalid archive '{src}', the file is 0 bytes")));
    }
    Ok(file)
}

/// Returns the start of a file, which shows its format.
fn start(file: &mut File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take(16).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start)
}

fn judge_zip(args: &UnarchiveArgs, file: &File, dest: &Dest) -> Result<Inspection, Failure> {
    let selection = Selection::new(&args.include, &args.exclude, true)?;
    let mut archive = zip_file::open(file)?;
    let members = zip_file::members(&mut archive, &selection)?;
    let members: Vec<Member> = members.into_iter().map(|(_, member)| member).collect();
    if let (true, [first, ..]) = (members.is_empty(), &args.include[..]) {
        return Err(Failure::new(format!("filename not matched: {first}")));
    }
    member::check(&members, &dest.real)?;
    let (mut diff, mut kept, mut plan) = (String::new(), HashSet::new(), Plan::new(dest, true));
    let mut refused = None;
    for member in &members {
        let (line, stays) = compare::itemize(dest, member, args.keep_newer)?;
        diff.extend(line.into_iter().flat_map(|line| [line, "\n".to_owned()]));
        if stays {
            // As if it were excluded.
            kept.insert(member.name.clone());
        } else if refused.is_none() {
            refused = plan.add(member).err();
        }
    }
    Ok(Inspection { handler: "ZipArchive", members, differs: !diff.is_empty(), diff: Some(diff), kept, refused })
}

fn judge_tar(args: &UnarchiveArgs, file: &File, dest: &Dest, start: &[u8]) -> Result<Inspection, Failure> {
    let codec = Codec::detect(start);
    let handler = match codec {
        Codec::Gzip => "TgzArchive",
        // In ansible-core, the next class passes them to `tar`, which detects the compression.
        Codec::None | Codec::Bzip2 | Codec::Xz => "TarArchive",
    };
    if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Err(Failure::new("it is compressed by zstd, which is not supported: use gzip, bzip2 or xz"));
    }
    // `tar`, which compares first, opens the folder.
    std::fs::read_dir(&dest.real).map_err(|error| {
        Failure::new(format!("{} cannot be read: {}", dest.named.display(), modbox_sdk::fs::words(&error)))
    })?;
    let selection = Selection::new(&args.include, &args.exclude, false)?;
    let (mut members, mut different) = (Vec::new(), HashMap::new());
    tar_file::visit(file, codec, &selection, &mut |member, contents| {
        // Of several members with one name, the last one counts.
        different.insert(member.path.clone(), compare::differs(dest, &member, contents)?);
        members.push(member);
        // The list in memory must have a limit.
        member::check_count(members.len())
    })?;
    if members.is_empty() {
        return Err(Failure::new("It holds no files. Empty archive files are not supported."));
    }
    let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    if let Some(missing) = selection.missing(&names) {
        return Err(Failure::new(format!("{missing}: Not found in archive")));
    }
    member::check(&members, &dest.real)?;
    let mut plan = Plan::new(dest, false);
    let keeps = |member: &&Member| args.keep_newer && extract::is_newer(member, &dest.path.join(&member.path));
    let refused = members.iter().filter(|member| !keeps(member)).find_map(|member| plan.add(member).err());
    let differs = different.values().any(|differs| *differs);
    // `tar` leaves out less than the original, which compares whole names again for its list.
    let globs: Vec<&str> = args.exclude.iter().map(|glob| glob.trim_end_matches('/')).collect();
    let is_excluded = |name: &&String| globs.iter().any(|glob| fnmatch(glob, name));
    let kept = names.iter().filter(is_excluded).cloned().collect();
    Ok(Inspection { handler, members, differs, diff: None, kept, refused })
}

fn unpack(args: &UnarchiveArgs, file: &File, dest: &Dest, judged: &Inspection, codec: Codec) -> Result<(), Failure> {
    let is_zip = judged.diff.is_some();
    let mut extraction = Extraction::new(dest, args.keep_newer && !is_zip, is_zip);
    let mut file = file;
    file.rewind()?;
    if judged.diff.is_none() {
        let selection = Selection::new(&args.include, &args.exclude, false)?;
        let mut expected = judged.members.iter();
        tar_file::visit(file, codec, &selection, &mut |member, contents| {
            same(expected.next(), &member)?;
            extraction.extract(&member, contents)
        })?;
        return extraction.finish();
    }
    let selection = Selection::new(&args.include, &args.exclude, true)?;
    let mut archive = zip_file::open(file)?;
    let mut expected = judged.members.iter();
    for (index, member) in zip_file::members(&mut archive, &selection)? {
        same(expected.next(), &member)?;
        let (_, stays) = compare::itemize(dest, &member, args.keep_newer)?;
        if !stays {
            extraction.extract(&member, &mut zip_file::contents(&mut archive, index)?)?;
        }
    }
    extraction.finish()
}

/// Refuses a member that was not checked.
fn same(judged: Option<&Member>, member: &Member) -> Result<(), Failure> {
    if judged == Some(member) { Ok(()) } else { Err(Failure::new("the archive was changed while it was read")) }
}

/// Sets the wanted attributes of all members and of their folders.
fn dress<'m>(module: &Module, dest: &Dest, members: impl Iterator<Item = &'m Member>) -> Result<bool, Failure> {
    let wanted = &dest.wanted;
    if wanted.mode.is_none() && wanted.owner.is_none() && wanted.group.is_none() && wanted.unsupported.is_none() {
        return Ok(false);
    }
    let (mut paths, mut tops) = (Vec::new(), BTreeSet::new());
    for member in members {
        let path = dest.path.join(&member.path);
        // The slash at the end of a folder's name leads through a link.
        paths.push(match member.kind {
            Kind::Directory if is_dir(&path) => real_path(&path)?,
            Kind::Directory => path.join("."),
            _ => path,
        });
        if member.name.contains('/') {
            tops.insert(dest.named.join(member.path.components().take(1).collect::<PathBuf>()));
        }
    }
    let mut changed = false;
    for path in paths.into_iter().chain(tops) {
        let wanted = FileAttributes { path, ..wanted.clone() };
        let set = module.set_fs_attributes_if_different(&wanted, false, None);
        changed |= set
            .map_err(|why| Failure::new(format!("Unexpected error when accessing exploded file: {}", why.message())))?;
    }
    Ok(changed)
}
