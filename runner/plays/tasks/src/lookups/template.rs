//! `template`: template files, rendered with the variables of the call.

use std::sync::Arc;

use modbox_jinja::values;
use modbox_template::{Layer, LookupCall, LookupError, Origin, Slot, TemplateOptions, Value};
use modbox_yaml::template_file;

use super::call::{Call, of_file};
use super::options::{Options, failed};
use crate::paths;
use crate::template_file::search::{TemplateSearch, with_templates};
use crate::template_file::variables::{RenderedFile, of_template};

pub(super) fn run(call: &Call<'_>, original: &LookupCall<'_>) -> Result<Vec<Value>, LookupError> {
    let options = syntax(&call.options)?;
    let extra = extra(&call.options)?;
    call.texts()?.into_iter().map(|term| render(call, original, term, &options, &extra)).collect()
}

fn render(
    call: &Call<'_>,
    original: &LookupCall<'_>,
    term: &str,
    options: &TemplateOptions,
    extra: &Arc<Layer>,
) -> Result<Value, LookupError> {
    let path = call.find("templates", term)?;
    let path = path.ok_or_else(|| failed(format!("the template file {term} could not be found for the lookup")))?;
    let text = call.files.source_text(&path).map_err(of_file)?;
    let details = call.files.details(&path).map_err(of_file)?;
    let file = RenderedFile {
        name: term,
        path: &path,
        destination: None,
        details: &details,
        host_name: &call.host.host_name(),
        now: call.host.now(),
    };
    let local = |time| call.host.local_time(time);
    let own = of_template(&file, call.scope, &local);
    let scope = call.scope.with(Arc::new(own)).with(Arc::clone(extra));
    let mut folders = vec![paths::parent(&path).to_owned()];
    folders.extend(with_templates(&call.search_path()));
    let search = Arc::new(TemplateSearch::new(Arc::clone(&call.files), folders));
    original.renderer.render_file(&template_file(&text, &path), &scope, options, search)
}

fn syntax(options: &Options) -> Result<TemplateOptions, LookupError> {
    let mut syntax = TemplateOptions { process_escapes: true, ..TemplateOptions::default() };
    let delimiters = [
        ("variable_start_string", &mut syntax.variable_start),
        ("variable_end_string", &mut syntax.variable_end),
        ("comment_start_string", &mut syntax.comment_start),
        ("comment_end_string", &mut syntax.comment_end),
    ];
    for (name, delimiter) in delimiters {
        if let Some(text) = options.text(name)? {
            *delimiter = text;
        }
    }
    syntax.trim_blocks = options.flag("trim_blocks", true)?;
    Ok(syntax)
}

/// Returns the variables that the call adds.
fn extra(options: &Options) -> Result<Arc<Layer>, LookupError> {
    let Some(given) = options.value("template_vars").filter(|value| !value.is_none()) else {
        return Ok(Arc::default());
    };
    let Some(entries) = values::entries(given) else {
        let found = values::type_name(given);
        return Err(failed(format!(
            "Config 'template_vars' from 'Direct' has an invalid value: Invalid value provided for 'dict': {found}"
        )));
    };
    let mut layer = Layer::default();
    for (name, value) in entries {
        if let Some(name) = name.as_str() {
            layer.insert(name, Slot::value(value, Origin::Lookup("template".into())));
        }
    }
    Ok(Arc::new(layer))
}
