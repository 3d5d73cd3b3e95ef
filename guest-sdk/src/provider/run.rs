//! The program around a provider's functions: reads one action from the arguments and prints the answer.

use std::io::{self, Write};
use std::process::ExitCode;

use super::resource::{Change, Resource, Result, Update, UpdateAnswer};
use super::words;
use crate::result::Failure;

/// The functions of a provider.
#[derive(Debug, Clone, Copy)]
pub struct Functions<R> {
    /// Lists all resources.
    pub list: fn() -> Result<Vec<R>>,
    /// Finds a resource; `None` if it does not exist and cannot be created.
    pub find: fn(&str) -> Result<Option<R>>,
    /// Changes a resource.
    pub update: fn(Update<R>) -> Result<UpdateAnswer>,
}

/// Runs a provider: the body of `main` that [`provider!`](crate::provider!) writes.
///
/// An error of a function is printed as the convention wants it, and the exit status is 0. It is 1 if standard output
/// cannot be written.
#[must_use]
pub fn start<R: Resource>(metadata: &str, functions: Functions<R>) -> ExitCode {
    let words = std::env::args_os()
        .skip(1)
        .map(|word| word.into_string().map_err(|word| Failure::new(format!("the argument {word:?} is not UTF-8"))));
    let text = words.collect::<Result<Vec<_>>>().and_then(|words| answer(metadata, &words, functions));
    let text = text.unwrap_or_else(|failure| error(failure.message()));
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Returns the lines of an error. A line that would end it is kept apart from the end.
fn error(message: &str) -> String {
    let lines: Vec<String> = message
        .lines()
        .map(|line| if line.trim() == "ral_eom" { format!("{line} ") + "(text of the error)" } else { line.to_owned() })
        .collect();
    format!("# simple\nral_error: {}\nral_eom\n", lines.join("\n"))
}

/// Returns the answer to the action in the words.
fn answer<R: Resource>(metadata: &str, words: &[String], functions: Functions<R>) -> Result<String> {
    let mut request = Request::read(words)?;
    match request.action.as_str() {
        // JSON is YAML.
        "describe" => Ok(metadata.to_owned() + "\n"),
        "list" => lines((functions.list)()?.iter().map(lines_of)),
        "find" => {
            let name = request.take_name()?;
            match (functions.find)(&name)? {
                Some(found) => lines([lines_of(&found)]),
                None => lines([vec![("name", name), ("ral_unknown", "true".to_owned())]]),
            }
        }
        "update" => update(&mut request, functions),
        other => Err(Failure::new(format!("unknown action `{other}`; expected one of describe, list, find, update"))),
    }
}

fn update<R: Resource>(request: &mut Request, functions: Functions<R>) -> Result<String> {
    let name = request.take_name()?;
    let mut should = R::named(name.clone());
    for (attribute, text) in &request.attributes {
        should
            .set(attribute, text)
            .map_err(|problem| Failure::new(format!("failed to set `{attribute}`: {problem}")))?;
    }
    let is = (functions.find)(&name)?;
    let mut answer = vec![("name", name)];
    let update = Update { is, should, noop: request.noop };
    let changes = match (functions.update)(update)? {
        UpdateAnswer::Everything => {
            answer.push(("ral_derive", "true".to_owned()));
            Vec::new()
        }
        UpdateAnswer::Unknown => {
            answer.push(("ral_unknown", "true".to_owned()));
            Vec::new()
        }
        UpdateAnswer::Changes(changes) => changes,
    };
    let mut pairs: Vec<(&str, String)> = answer;
    for Change { attribute, was, is } in &changes {
        pairs.push((attribute, is.clone()));
        pairs.extend(was.clone().map(|was| ("ral_was", was)));
    }
    lines([pairs])
}

fn lines_of<R: Resource>(resource: &R) -> Vec<(&'static str, String)> {
    [("name", resource.name().to_owned())].into_iter().chain(resource.attributes()).collect()
}

/// Returns the lines of an output. A value of several lines cannot be printed.
fn lines<'a>(resources: impl IntoIterator<Item = Vec<(&'a str, String)>>) -> Result<String> {
    let mut text = "# simple\n".to_owned();
    for (key, value) in resources.into_iter().flatten() {
        if value.contains(['\n', '\r']) {
            return Err(Failure::new(format!(
                "the value of `{key}` has several lines, which the convention cannot hold"
            )));
        }
        text += &format!("{key}: {value}\n");
    }
    Ok(text)
}

/// Action with its arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    action: String,
    name: Option<String>,
    noop: bool,
    attributes: Vec<(String, String)>,
}

impl Request {
    fn read(words: &[String]) -> Result<Self> {
        let mut request = Self::default();
        for word in words {
            let (key, value) = words::read(word).map_err(Failure::new)?;
            match key {
                "ral_action" => request.action = value,
                "name" => request.name = Some(value),
                // Any value counts.
                "ral_noop" => request.noop = true,
                _ => request.attributes.push((key.to_owned(), value)),
            }
        }
        Ok(request)
    }

    fn take_name(&mut self) -> Result<String> {
        let name = self.name.take().filter(|name| !name.is_empty());
        name.ok_or_else(|| Failure::new(format!("the action `{}` needs a name", self.action)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone)]
    struct Thing {
        name: String,
        text: Option<String>,
    }

    impl Resource for Thing {
        fn named(name: String) -> Self {
            Self { name, text: None }
        }

        fn name(&self) -> &str {
            &self.name
        }

        fn set(&mut self, attribute: &str, text: &str) -> core::result::Result<(), String> {
            match attribute {
                "text" => self.text = Some(text.to_owned()),
                other => return Err(format!("unknown attribute `{other}`")),
            }
            Ok(())
        }

        fn attributes(&self) -> Vec<(&'static str, String)> {
            self.text.iter().map(|text| ("text", text.clone())).collect()
        }
    }

    const FUNCTIONS: Functions<Thing> = Functions {
        list: || Ok(["a", "b"].map(|name| Thing { name: name.to_owned(), text: Some(format!("of {name}")) }).into()),
        find: |name| match name {
            "none" => Ok(None),
            "bad" => Err(Failure::new("boom\nral_eom\nmore")),
            name => Ok(Some(Thing { name: name.to_owned(), text: Some("old".to_owned()) })),
        },
        update: |update| {
            let Some(is) = update.is else { return Ok(UpdateAnswer::Unknown) };
            let Some(text) = update.should.text else { return Ok(UpdateAnswer::Everything) };
            let is_noop = if update.noop { " (noop)" } else { "" };
            let change = Change { attribute: "text".to_owned(), was: is.text, is: text + is_noop };
            Ok(UpdateAnswer::Changes(vec![change]))
        },
    };

    #[track_caller]
    fn check(words: &[&str], expect: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let got = answer("{}", &words, FUNCTIONS).unwrap_or_else(|failure| error(failure.message()));
        assert_eq!(got, expect, "{words:?}");
    }

    #[test]
    fn actions_are_answered() {
        check(&["ral_action=describe"], "{}\n");
        check(&["ral_action=list"], "# simple\nname: a\ntext: of a\nname: b\ntext: of b\n");
        check(&["name='it'\\''s'", "ral_action=find"], "# simple\nname: it's\ntext: old\n");
        check(&["ral_action=find", "name=none"], "# simple\nname: none\nral_unknown: true\n");
        check(&["name=x", "text='n=w'", "ral_action=update"], "# simple\nname: x\ntext: n=w\nral_was: old\n");
        check(
            &["name=x", "text=n", "ral_noop=", "ral_action=update"],
            "# simple\nname: x\ntext: n (noop)\nral_was: old\n",
        );
        check(&["name=x", "ral_action=update"], "# simple\nname: x\nral_derive: true\n");
        check(&["name=none", "text=n", "ral_action=update"], "# simple\nname: none\nral_unknown: true\n");
    }

    #[test]
    fn failures_are_printed_as_errors() {
        let fails = |words: &[&str], message: &str| check(words, &format!("# simple\nral_error: {message}\nral_eom\n"));
        fails(&["ral_action=fly"], "unknown action `fly`; expected one of describe, list, find, update");
        fails(&[], "unknown action ``; expected one of describe, list, find, update");
        fails(&["ral_action=find"], "the action `find` needs a name");
        fails(&["find"], "the argument `find` has no `=`");
        fails(&["name=x", "z=1", "ral_action=update"], "failed to set `z`: unknown attribute `z`");
        fails(&["name=bad", "ral_action=find"], "boom\nral_eom (text of the error)\nmore");
        fails(
            &["name='a\nb'", "ral_action=find"],
            "the value of `name` has several lines, which the convention cannot hold",
        );
    }
}
