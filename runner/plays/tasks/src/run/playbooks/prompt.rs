//! `vars_prompt`: variables that a person types before a play starts.

use std::sync::Arc;

use modbox_jinja::values as convert;
use modbox_python_json::{Dict, Value};
use modbox_template::{Layer, Origin, Scope, Slot, Value as TemplateValue};
use modbox_yaml::Source;

use crate::action_host::{Prompt, PromptError};
use crate::fields::Fields;
use crate::keywords::Keyword;
use crate::load::values;
use crate::report::message::Message;
use crate::run::errors;
use crate::run::session::Session;
use crate::scalars::truth;

const KEYS: [&str; 9] = ["name", "prompt", "default", "private", "confirm", "encrypt", "salt_size", "salt", "unsafe"];

/// Asks for the variables of the play that the operator has not given. Answers are data, never templates.
///
/// # Errors
///
/// A prompt has no name or an unknown key, its answer cannot be hashed, or the person interrupts.
pub fn ask(session: &mut Session<'_>) -> Result<(), Message> {
    let Some(source) = session.play.keyword(Keyword::VarsPrompt).cloned() else { return Ok(()) };
    let mut layer = Layer::default();
    for entry in values::items(&source) {
        let scope = session.scope(None);
        let fields = Fields { engine: session.engine, scope: &scope };
        let place = |session: &Session<'_>| session.excerpt(entry.position());
        let value = fields.source(Keyword::VarsPrompt, &entry).map_err(|error| errors::of_field(session, &error))?;
        let Some(Value::Dict(prompt)) = value else {
            return Err(Message::new("Invalid vars_prompt data structure, missing 'name' key").at(place(session)));
        };
        let Some(name) = prompt.get("name").map(modbox_python_json::str) else {
            return Err(Message::new("Invalid vars_prompt data structure, missing 'name' key").at(place(session)));
        };
        if let Some(key) = prompt.keys().find(|key| !KEYS.contains(&key.as_str())) {
            let text = format!("Invalid vars_prompt data structure, found unsupported key '{key}'");
            return Err(Message::new(text).at(place(session)));
        }
        if session.options.extra_vars.get(&name).is_some() {
            continue;
        }
        let answer = one(session, &name, &prompt)?;
        if is_private(&prompt) {
            session.host.register_secret(&answer);
        }
        let answer = hashed(session, answer, &prompt).map_err(|message| message.at(place(session)))?;
        layer.insert(name, Slot::value(TemplateValue::from(answer), Origin::Prompt));
    }
    session.play.vars.push(Arc::new(layer));
    Ok(())
}

/// Returns the hash of an answer, if the prompt asks for one.
fn hashed(session: &Session<'_>, answer: String, prompt: &Dict) -> Result<String, Message> {
    let given = |key: &str| prompt.get(key).filter(|value| value.is_truthy());
    let Some(scheme) = given("encrypt") else { return Ok(answer) };
    let mut layer = Layer::default();
    let mut set = |name: &str, value: TemplateValue| layer.insert(name, Slot::value(value, Origin::Prompt));
    set("answer", TemplateValue::from(answer));
    set("scheme", convert::from_json(scheme));
    set("salt", convert::from_json(given("salt").unwrap_or(&Value::Null)));
    set("size", convert::from_json(given("salt_size").unwrap_or(&Value::Null)));
    let scope: Scope = std::iter::once(Arc::new(layer)).collect();
    let expression = Source::literal("answer | password_hash(scheme, salt=salt, salt_size=size)");
    match session.engine.expression(&expression, &scope) {
        Ok(hash) => Ok(hash.value.to_string()),
        Err(error) => Err(Message::new(error.message())),
    }
}

/// Says whether the answer to a prompt is not shown.
fn is_private(prompt: &Dict) -> bool {
    prompt.get("private").and_then(truth).unwrap_or(true)
}

/// Asks for one variable.
fn one(session: &mut Session<'_>, name: &str, prompt: &Dict) -> Result<String, Message> {
    let flag = |key: &str, default| prompt.get(key).and_then(truth).unwrap_or(default);
    let text = |key: &str| prompt.get(key).filter(|value| **value != Value::Null).map(modbox_python_json::str);
    let (private, confirm, default) = (is_private(prompt), flag("confirm", false), text("default"));
    let question = match (text("prompt").filter(|text| !text.is_empty()), &default) {
        (Some(prompt), Some(default)) => format!("{prompt} [{default}]: "),
        (Some(prompt), None) => format!("{prompt}: "),
        (None, _) => format!("input for {name}: "),
    };
    let mut ask = |text: &str| session.host.prompt(&Prompt { text: text.to_owned(), private, ..Prompt::default() });
    // A person who cannot type the same twice in a few attempts gives up.
    for _ in 0..10 {
        let answer = match ask(&question) {
            Ok(answer) => answer,
            Err(PromptError::NotInteractive) => {
                session.warn("Not prompting as we are not in interactive mode");
                return Ok(default.unwrap_or_default());
            }
            Err(PromptError::Interrupted) => return Err(Message::new("the prompt was interrupted")),
        };
        if !confirm || ask(&format!("confirm {question}")).as_ref() == Ok(&answer) {
            return Ok(if answer.is_empty() { default.unwrap_or_default() } else { answer });
        }
    }
    Err(Message::new(format!("the answers for `{name}` differ")))
}
