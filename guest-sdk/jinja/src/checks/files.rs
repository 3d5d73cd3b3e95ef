//! Tests of files. The host answers.

use minijinja::Value;

use crate::call::{Call, str_argument};
use crate::failure::Outcome;
use crate::host::FileQuestion;

fn path(call: &Call<'_, '_, '_>) -> Outcome<String> {
    let ([path], []) = call.bind(["path"], [])?;
    str_argument("a path", &path).map(std::borrow::Cow::into_owned)
}

fn ask(call: &Call<'_, '_, '_>, question: FileQuestion) -> Outcome {
    Ok(Value::from(call.host.file(&path(call)?, question)?))
}

/// Is the path absolute?
pub(super) fn abs(call: &mut Call<'_, '_, '_>) -> Outcome {
    path(call).map(|path| Value::from(path.starts_with('/')))
}

/// Is there a directory?
pub(super) fn directory(call: &mut Call<'_, '_, '_>) -> Outcome {
    ask(call, FileQuestion::Directory)
}

/// Is there a regular file?
pub(super) fn file(call: &mut Call<'_, '_, '_>) -> Outcome {
    ask(call, FileQuestion::File)
}

/// Is there a symbolic link?
pub(super) fn link(call: &mut Call<'_, '_, '_>) -> Outcome {
    ask(call, FileQuestion::Link)
}

/// Is there a file of any kind?
pub(super) fn exists(call: &mut Call<'_, '_, '_>) -> Outcome {
    ask(call, FileQuestion::Exists)
}

/// Is there a file of any kind, or a link that leads nowhere?
pub(super) fn link_exists(call: &mut Call<'_, '_, '_>) -> Outcome {
    ask(call, FileQuestion::LinkExists)
}

/// Is there the root of a file system?
pub(super) fn mount(call: &mut Call<'_, '_, '_>) -> Outcome {
    ask(call, FileQuestion::Mount)
}

/// Do two paths lead to the same file?
pub(super) fn same_file(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([first, second], []) = call.bind(["f1", "f2"], [])?;
    let (first, second) = (str_argument("a path", &first)?, str_argument("a path", &second)?);
    Ok(Value::from(call.host.same_file(&first, &second)?))
}
