//! `template`: renders a template file of the play, and copies the result to the machine.

use std::sync::Arc;
use std::time::Duration;

use modbox_jinja::values;
use modbox_python_json::{Dict, Value};
use modbox_template::TemplateOptions;
use modbox_yaml::template_file;

use crate::actions::context::ActionContext;
use crate::actions::copies::copying::{CopiedFile, add_invocation, copy_file};
use crate::actions::error::ActionError;
use crate::lookups::encoding::Encoding;
use crate::paths;
use crate::template_file::search::{TemplateSearch, with_templates};
use crate::template_file::variables::{RenderedFile, of_template, of_text};
use crate::vars::magic;

/// Arguments that the module `copy` does not take.
const OWN_ARGS: [&str; 10] = [
    "newline_sequence",
    "block_start_string",
    "block_end_string",
    "variable_start_string",
    "variable_end_string",
    "comment_start_string",
    "comment_end_string",
    "trim_blocks",
    "lstrip_blocks",
    "output_encoding",
];

/// Renders and copies.
///
/// # Errors
///
/// An argument is wrong, the template cannot be found or fails, or a module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let options = options(context)?;
    if context.text("state").is_some() {
        return Err(ActionError::failed("'state' cannot be specified on a template"));
    }
    let (Some(name), Some(dest)) = (context.text("src"), context.text("dest")) else {
        return Err(ActionError::failed("src and dest are required"));
    };
    let source = context.find_file("templates", &name)?;
    let text = render(context, &source, &name, &dest, &options)?;
    let content = encode(context, &text)?;
    let mut args = context.args.clone();
    for name in OWN_ARGS {
        args.shift_remove(name);
    }
    if context.text("mode").as_deref() == Some("preserve") {
        let mode = context.host.files().details(&source)?.mode;
        args.insert("mode".to_owned(), Value::from(format!("0{:03o}", mode & 0o7777)));
    }
    let follow = context.flag_of(&context.args, "follow", false);
    args.insert("follow".to_owned(), Value::Bool(follow));
    let file = CopiedFile { header: &source, name: paths::name(&source), content, mode: None, is_text: false };
    let mut result = match copy_file(context, &args, &file, &dest, follow)? {
        Some(mut result) => {
            if let Some(path) = result.get("path").cloned() {
                result.entry("dest".to_owned()).or_insert(path);
            }
            result
        }
        None => [("dest", Value::from(dest)), ("src", Value::from(source.as_str())), ("changed", Value::Bool(false))]
            .map(|(key, value)| (key.to_owned(), value))
            .into_iter()
            .collect(),
    };
    add_invocation(context, &args, &mut result);
    Ok(result)
}

/// Returns the options of the syntax.
fn options(context: &ActionContext<'_>) -> Result<TemplateOptions, ActionError> {
    let mut options = TemplateOptions { process_escapes: true, ..TemplateOptions::default() };
    for name in OWN_ARGS.into_iter().chain(["src", "dest", "state"]) {
        if let Some(value @ (Value::List(_) | Value::Dict(_))) = context.args.get(name) {
            let found = value.type_name();
            return Err(ActionError::failed(format!(
                "{name} is expected to be a string, but got <class '{found}'> instead"
            )));
        }
    }
    let delimiters = [
        ("block_start_string", &mut options.block_start),
        ("block_end_string", &mut options.block_end),
        ("variable_start_string", &mut options.variable_start),
        ("variable_end_string", &mut options.variable_end),
        ("comment_start_string", &mut options.comment_start),
        ("comment_end_string", &mut options.comment_end),
    ];
    for (name, delimiter) in delimiters {
        if let Some(text) = context.text(name) {
            *delimiter = text;
        }
    }
    options.trim_blocks = context.flag_of(&context.args, "trim_blocks", true);
    options.lstrip_blocks = context.flag_of(&context.args, "lstrip_blocks", false);
    options.newline_sequence = match context.text("newline_sequence").as_deref() {
        None | Some("\n" | "\\n") => "\n",
        Some("\r" | "\\r") => "\r",
        Some("\r\n" | "\\r\\n") => "\r\n",
        Some(_) => return Err(ActionError::failed("newline_sequence needs to be one of: \n, \r or \r\n")),
    };
    Ok(options)
}

fn render(
    context: &ActionContext<'_>,
    source: &str,
    name: &str,
    dest: &str,
    options: &TemplateOptions,
) -> Result<String, ActionError> {
    let files = context.host.files();
    let text = files.source_text(source)?;
    let file = RenderedFile {
        name,
        path: source,
        destination: Some(dest),
        details: &files.details(source)?,
        host_name: &context.host.host_name(),
        now: context.host.now(),
    };
    let local = |time: Duration| of_text(&context.host.local_time(time));
    let scope = context.scope.with(Arc::new(of_template(&file, context.scope, &local)));
    let mut folders = magic::search_path(context.task);
    folders.extend([context.options.play_folder.clone(), paths::parent(source).to_owned()]);
    let search = Arc::new(TemplateSearch::new(context.host.shared_files(), with_templates(&folders)));
    let made = context.engine.render_file(&template_file(&text, source), &scope, options, search)?;
    if made.value.is_none() {
        return Ok(String::new());
    }
    values::text(&made.value).map_err(|error| ActionError::failed(error.to_string()))
}

fn encode(context: &ActionContext<'_>, text: &str) -> Result<Arc<[u8]>, ActionError> {
    let name = context.text("output_encoding").filter(|name| !name.is_empty()).unwrap_or_else(|| "utf-8".to_owned());
    let encoding = Encoding::of_name(&name).ok_or_else(|| ActionError::failed(format!("unknown encoding: {name}")))?;
    let bytes = encoding.encode(text).map_err(|character| {
        ActionError::failed(format!("'{name}' codec can't encode character '{}'", character.escape_unicode()))
    })?;
    Ok(bytes.into())
}
