//! `uri`: sends a request, with files of the play in its body.

use std::sync::Arc;

use modbox_python_json::{Dict, Value};

use crate::action_host::PrivateFile;
use crate::actions::context::ActionContext;
use crate::actions::copies::copying::private;
use crate::actions::error::ActionError;
use crate::paths;

/// Sends a request.
///
/// # Errors
///
/// A file cannot be found or read, or the module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let mut args = context.args.clone();
    if context.flag_of(&args, "remote_src", false) {
        return context.run_module("ansible.legacy.uri", args);
    }
    let source = args.get("src").filter(|source| source.is_truthy()).map(modbox_python_json::str);
    let format = args.get("body_format").map(modbox_python_json::str);
    let mut files = Vec::new();
    if let Some(source) = source {
        let (name, content) = read(context, &source)?;
        args.shift_remove("src");
        files.push(private("src", name, &content));
    } else if format.as_deref() == Some("form-multipart") {
        files = body_files(context, args.get("body"))?;
    }
    context.run_module_with("ansible.legacy.uri", args, files)
}

/// Returns the files that the fields of a body name.
fn body_files(context: &ActionContext<'_>, body: Option<&Value>) -> Result<Vec<PrivateFile>, ActionError> {
    let Some(Value::Dict(fields)) = body else {
        let found = body.map_or("NoneType", Value::type_name);
        return Err(ActionError::failed(format!("body must be mapping, cannot be type {found}")));
    };
    let mut files = Vec::new();
    for (field, value) in fields {
        let Value::Dict(value) = value else { continue };
        let given = |key: &str| value.get(key).filter(|value| value.is_truthy());
        let (None, Some(path)) = (given("content"), given("filename")) else { continue };
        let (name, content) = read(context, &modbox_python_json::str(path))?;
        let argument = ["body", field.as_str(), "filename"].map(str::to_owned).to_vec();
        files.push(PrivateFile { argument, ..private("body", name, &content) });
    }
    Ok(files)
}

/// Returns the name and the content of a file of the play.
fn read(context: &ActionContext<'_>, name: &str) -> Result<(String, Arc<[u8]>), ActionError> {
    let path = context.find_file("files", name)?;
    let content = context.host.files().bytes(&path)?;
    Ok((paths::name(&path).to_owned(), content.into()))
}
