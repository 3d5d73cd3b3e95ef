//! `template`: renders a Jinja template to a file.
//!
//! Parameters: `src` or `content`, `dest`, `variables`, `force`, `backup`, `newline_sequence`, `trim_blocks`,
//! `lstrip_blocks`, and the delimiters `block_start_string` and so on; `mode`, `owner`, `group`.
//! Returns: `dest`, `checksum`, `size`, `md5sum`, `src` and `backup_file` when there are any.
//! Capabilities: read access to `src`, write access to `dest`; `backup` needs the folder of `dest`. Templates that
//! include others need the folder of `src`.
//!
//! Ansible's `template` runs on the controller, which has variables; here, they are an option. The engine is minijinja,
//! with Ansible's rules for newlines; `modbox-jinja` has Python's text of values, and Ansible's filters and tests. Filters
//! that ask for the machine, such as `realpath`, are refused.

#![forbid(unsafe_code)]

mod header;
mod render;

use std::path::{Path, PathBuf};

use modbox_sdk::files::Planned;
use modbox_sdk::fs::path_value;
use modbox_sdk::text_file::{contents, text};
use modbox_sdk::{Args, Dict, Diff, Exit, Failure, Module, Value};

use crate::header::Syntax;
use crate::render::MAX_TEMPLATE_BYTES;

modbox_sdk::module! {
    args = TemplateArgs,
    run = run,
    check_mode = true,
    file_args = true,
    returns = [
        dest: str = "The file that was written.",
        checksum: str = "The SHA-1 of the contents.",
        md5sum: str if "changed" = "The MD5 of the contents.",
        size: int = "The length of the contents.",
        src: str if "src is given" = "The template.",
        backup_file: str if "changed and backup" = "The backup of the old contents.",
    ],
    examples = ["modbox run template src=motd.j2 dest=/etc/motd -a '{\"variables\": {\"host\": \"web1\"}}'"],
}

/// Renders a Jinja template to a file.
///
/// A replaced file keeps its mode and owner unless options set others. Setting an owner needs `--allow-own`.
#[derive(Args)]
#[args(mutually_exclusive("src", "content"), required_one_of("src", "content"))]
struct TemplateArgs {
    /// The template's file.
    #[arg(type = "path", access = "read")]
    src: Option<String>,
    /// The template itself.
    content: Option<String>,
    /// The file to write. With src, it may be a folder, and the file gets the name of src.
    #[arg(type = "path", access = "write")]
    dest: String,
    /// The variables of the template.
    variables: Option<Dict>,
    /// Replace a file that has other contents.
    #[arg(default = true)]
    force: bool,
    /// Copy the old file to a backup next to it. This needs write access to its folder.
    #[arg(default = false)]
    backup: bool,
    /// Write to the target of a link at dest. Otherwise a file replaces the link, which needs write access to its folder.
    #[arg(default = false)]
    follow: bool,
    /// The line end in the file.
    #[arg(default = "\n")]
    newline_sequence: String,
    /// The start of a block.
    #[arg(default = "{%")]
    block_start_string: String,
    /// The end of a block.
    #[arg(default = "%}")]
    block_end_string: String,
    /// The start of a value.
    #[arg(default = "{{")]
    variable_start_string: String,
    /// The end of a value.
    #[arg(default = "}}")]
    variable_end_string: String,
    /// The start of a comment.
    #[arg(default = "{#")]
    comment_start_string: String,
    /// The end of a comment.
    #[arg(default = "#}")]
    comment_end_string: String,
    /// Remove the newline after a block.
    #[arg(default = true)]
    trim_blocks: bool,
    /// Remove the blanks before a block that starts a line.
    #[arg(default = false)]
    lstrip_blocks: bool,
}

fn run(args: TemplateArgs, module: &mut Module) -> Result<Exit, Failure> {
    let template = template(&args)?;
    let named = destination(&args)?;
    let exists = modbox_sdk::fs::exists(&named);
    // As with Ansible's, the file behind a link is then the one that is written; a link to nothing is never followed.
    let follows = args.follow && exists && named.is_symlink();
    let dest = if follows { modbox_sdk::fs::real_path(&named).map_err(cannot_write(&named))? } else { named };
    let replaces_link = dest.is_symlink();
    let (syntax, template) = syntax(&args)?.with_header(&template)?;
    let folder = args.src.as_deref().and_then(|src| Path::new(src).parent()).map(Path::to_owned);
    let after = render::render(template, &variables(&args), &syntax, folder)?.into_bytes();
    let before = if exists { Some(contents(&dest)?) } else { None };
    let sum = modbox_checksum::sha1(&after);
    let exit = |changed| {
        let size = i64::try_from(after.len()).unwrap_or(i64::MAX);
        let exit = Exit::new(changed).with("dest", path_value(&dest)).with("checksum", sum.as_str()).with("size", size);
        args.src.iter().fold(exit, |exit, src| exit.with("src", path_value(src)))
    };
    let wanted = module.load_file_common_arguments(Some(&dest))?.unwrap_or_default();
    if before.is_some() && !args.force {
        return Ok(exit(false));
    }
    if before.as_ref() == Some(&after) && !replaces_link {
        return Ok(exit(module.set_fs_attributes_if_different(&wanted, false, None)?));
    }
    let folder = modbox_sdk::fs::folder_of(&dest);
    // As Ansible's `copy`, check mode takes a file there for a folder.
    if !exists && !(if module.check_mode() { folder.exists() } else { folder.is_dir() }) {
        let folder = folder.display();
        return Err(Failure::new(format!("Destination directory {folder} does not exist")).with("checksum", sum));
    }
    let kept = store(&args, module, &dest, &after)?;
    module.set_fs_attributes_if_different(&wanted, true, None)?;
    let diff = Diff {
        before: text(before.as_deref().unwrap_or_default()),
        after: text(&after),
        before_header: before.map(|_| dest.display().to_string()),
        after_header: Some(args.src.clone().unwrap_or_else(|| dest.display().to_string())),
    };
    let exit = exit(true).with("md5sum", modbox_checksum::md5(&after)).diff(diff);
    Ok(kept.into_iter().fold(exit, |exit, kept| exit.with("backup_file", path_value(&kept))))
}

/// Writes the file, which takes the place of a link there. Returns the backup. Changes nothing in check mode.
fn store(args: &TemplateArgs, module: &Module, dest: &Path, contents: &[u8]) -> Result<Option<PathBuf>, Failure> {
    let keeps = args.backup && modbox_sdk::fs::exists(dest);
    if keeps {
        module.check_backup(dest)?; // in check mode, too
    }
    if module.check_mode() {
        return Ok(None);
    }
    module.refuse_attributes(dest, Planned::File)?;
    let kept = if keeps { module.backup_local(dest)? } else { None };
    if dest.is_symlink() {
        std::fs::remove_file(dest).map_err(cannot_write(dest))?;
    }
    modbox_sdk::fs::write_atomic(dest, contents).map_err(cannot_write(dest))?;
    Ok(kept)
}

fn cannot_write(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let shown = path.display().to_string();
    move |error| Failure::new(format!("failed to write `{shown}`: {}", modbox_sdk::fs::words(&error)))
}

fn template(args: &TemplateArgs) -> Result<String, Failure> {
    let Some(src) = &args.src else { return Ok(args.content.clone().unwrap_or_default()) };
    let bytes = modbox_sdk::fs::read(src, MAX_TEMPLATE_BYTES)?;
    String::from_utf8(bytes).map_err(|_| Failure::new(format!("Template source files must be utf-8 encoded: {src}")))
}

/// Returns the file to write: `dest`, or if that is a folder, the file of the same name in it.
fn destination(args: &TemplateArgs) -> Result<PathBuf, Failure> {
    if args.dest.is_empty() {
        return Err(Failure::new("dest is empty, which names no file"));
    }
    let dest = Path::new(&args.dest);
    if !dest.is_dir() && !args.dest.ends_with('/') {
        return Ok(dest.to_owned());
    }
    match args.src.as_deref().map(Path::new).and_then(Path::file_name) {
        Some(name) => Ok(dest.join(name)),
        None => Err(Failure::new("can not use content with a dir as dest")),
    }
}

fn syntax(args: &TemplateArgs) -> Result<Syntax, Failure> {
    let newline = match args.newline_sequence.as_str() {
        "\n" | "\\n" => "\n",
        "\r" | "\\r" => "\r",
        "\r\n" | "\\r\\n" => "\r\n",
        _ => return Err(Failure::new("newline_sequence needs to be one of: \n, \r or")),
    };
    Ok(Syntax {
        block: (args.block_start_string.clone(), args.block_end_string.clone()),
        variable: (args.variable_start_string.clone(), args.variable_end_string.clone()),
        comment: (args.comment_start_string.clone(), args.comment_end_string.clone()),
        trim_blocks: args.trim_blocks,
        lstrip_blocks: args.lstrip_blocks,
        newline: newline.to_owned(),
    })
}

/// Returns the caller's variables, and those that Ansible adds for the template itself.
fn variables(args: &TemplateArgs) -> Value {
    let mut variables = Dict::new();
    if let Some(src) = &args.src {
        let added = [("template_path", src.as_str()), ("template_fullpath", src.as_str())];
        variables.extend(added.map(|(key, path)| (key.to_owned(), Value::from(path))));
    }
    variables.insert("template_destpath".to_owned(), Value::from(args.dest.as_str()));
    variables.insert("ansible_managed".to_owned(), Value::from("Ansible managed"));
    variables.extend(args.variables.clone().unwrap_or_default());
    Value::Dict(variables)
}
