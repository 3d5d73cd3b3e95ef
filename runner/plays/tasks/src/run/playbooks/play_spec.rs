//! `validate_argspec`: the task that checks the variables of a play by a spec, before its other tasks.
//!
//! ansible-core 2.20 and newer, `Play._post_validate_validate_argspec` and `PlayIterator`.

use modbox_python_json::{Dict, Value};
use modbox_yaml::{Map, Source};

use crate::fields::Fields;
use crate::keywords::Keyword;
use crate::load::play_metadata::candidates;
use crate::load::task as load_task;
use crate::model::play::Play;
use crate::model::task::{Argument, ImplicitTask, Task};
use crate::report::message::Message;
use crate::run::errors;
use crate::run::session::Session;
use crate::scalars::truth;

/// Returns the task that checks the variables of the play; `None` if the play asks for none.
///
/// # Errors
///
/// The keyword cannot be evaluated, the playbook has no metadata, or that has no such spec.
pub fn task(session: &Session<'_>, play: &Play) -> Result<Option<Task>, Message> {
    let Some(source) = session.play.keyword(Keyword::ValidateArgspec) else { return Ok(None) };
    let scope = session.scope(None);
    let fields = Fields { engine: session.engine, scope: &scope };
    let value = fields.source(Keyword::ValidateArgspec, source).map_err(|error| errors::of_field(session, &error))?;
    let is_named = play.frame.keywords.get(Keyword::Name).is_some_and(|name| !name.is_null());
    let name = match value {
        // A text counts as one, also `yes` between quotes.
        Some(Value::Str(text)) if !text.is_empty() && source.as_text().is_some() => text,
        Some(value) if truth(&value) == Some(true) && is_named => session.play.name.clone(),
        Some(value) if truth(&value) == Some(true) => String::new(),
        _ => return Ok(None),
    };
    let wrong = |text: String| Err(Message::new(text).at(session.excerpt(&play.position)));
    let nameless = "A play name is required when validate_argspec is True. Alternatively, set validate_argspec to the name \
                    of an argument spec.";
    let Some(specs) = &play.specs else {
        let considered = candidates(&play.position.file).join("\n  - ");
        let missing = format!("A playbook meta file is required. Considered:\n  - {considered}");
        return wrong(if name.is_empty() { format!("{nameless} {missing}") } else { missing });
    };
    if name.is_empty() {
        return wrong(nameless.to_owned());
    }
    let spec = specs.specs.as_ref().and_then(Source::as_map).and_then(|specs: &Map| specs.get(&name));
    let options = spec.and_then(Source::as_map).and_then(|spec| spec.get("options"));
    let Some(options) = options.filter(|options| options.as_map().is_some()) else {
        return wrong(format!(
            "No argument spec named '{name}' in {}. Minimally expected:\nargument_specs:\n  {name}:\n    options: {{}}\n",
            specs.path
        ));
    };
    let mut task = load_task::implicit(ImplicitTask::ValidatePlay, &play.frame);
    let data = |value: Value| Source::data_of(value, &play.position);
    task.keywords.set(Keyword::Name, data(Value::from(format!("Validating arguments against arg spec {name}"))));
    let context = [("type", "play"), ("name", &*name), ("argument_spec_name", &*name), ("path", &*specs.path)];
    let context: Dict = context.into_iter().map(|(key, value)| (key.to_owned(), Value::from(value))).collect();
    for (key, value) in [("argument_spec", options.clone()), ("validate_args_context", data(Value::Dict(context)))] {
        task.args.named.insert(key.into(), Argument { key: Source::literal(key), value });
    }
    Ok(Some(task))
}
