//! The tools of a catalogue with more modules than clients list: one finds modules, and two call them by name. That one of them
//! only reads lets a client call it without a question.

use modbox_argument_spec::OptionType;
use modbox_python_json::{Dict, Value, to_value};
use serde_json::json;

use crate::answer::{Answer, MAX_ANSWER};
use crate::own::definition::{required, tool};
use crate::search::best;
use crate::text::in_one_line;
use crate::tool::{Reach, Tool};

/// Name of the tool that finds modules.
pub const FIND: &str = "modbox_find";

/// Name of the tool that calls a module that changes nothing.
pub const READ: &str = "modbox_read";

/// Name of the tool that calls any module.
pub const CHANGE: &str = "modbox_change";

/// Number of modules that are found.
const FOUND: usize = 5;

/// Maximum bytes of a name that is repeated to the client.
const MAX_NAME: usize = 128;

/// Returns the tool that finds modules.
#[must_use]
pub fn find_tool() -> Tool {
    let query = required(OptionType::Str, "What the module should do, in a few words, or its name.");
    Tool {
        title: "Find modules".to_owned(),
        description: format!(
            "Returns the definitions of the {FOUND} modules that fit best. `{READ}` and `{CHANGE}` call them."
        ),
        ..tool(FIND, [("query", query)])
    }
}

/// Returns the tool that calls a module that changes nothing.
#[must_use]
pub fn read_tool() -> Tool {
    Tool {
        title: "Call a module that only reads".to_owned(),
        description: format!("Calls a module that changes nothing. `{FIND}` has the modules and their arguments."),
        ..tool(READ, module_options())
    }
}

/// Returns the tool that calls any module, of which some have this reach.
#[must_use]
pub fn change_tool(reach: Reach) -> Tool {
    Tool {
        title: "Call a module".to_owned(),
        description: format!("Calls a module that may change something. `{FIND}` has the modules and their arguments."),
        reach,
        ..tool(CHANGE, module_options())
    }
}

fn module_options() -> [(&'static str, modbox_argument_spec::OptionSpec); 2] {
    [
        ("module", required(OptionType::Str, "The name of the module.")),
        ("args", required(OptionType::Dict, "The arguments of the module, as its definition says.")),
    ]
}

/// Where a call goes.
#[derive(Debug, PartialEq)]
pub(crate) enum Route {
    /// To the tool at this place, with these arguments.
    Tool(usize, Dict),
    /// It is answered already.
    Answered(Box<Answer>),
}

/// Returns where the call of a tool goes. The first tools, as many as `hidden`, are not listed.
pub(crate) fn route(tools: &[Tool], hidden: usize, tool: usize, arguments: Dict) -> Route {
    let called = &tools[tool];
    if !matches!(called.name.as_str(), FIND | READ | CHANGE) {
        return Route::Tool(tool, arguments);
    }
    let invalid = |mistakes| Route::Answered(Box::new(Answer::refused("invalid", mistakes)));
    let mistakes = called.mistakes(&arguments);
    if !mistakes.is_empty() {
        return invalid(mistakes);
    }
    let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
    if called.name == FIND {
        return Route::Answered(Box::new(found(&tools[..hidden], text("query"))));
    }
    let module = text("module");
    let is_meant = |tool: &Tool| tool.title == module || tool.name == module;
    let Some(place) = tools[..hidden].iter().position(is_meant) else {
        return invalid(vec![format!("unknown module `{}`; `{FIND}` finds modules", in_one_line(module, MAX_NAME))]);
    };
    let Reach { changes, leaves } = tools[place].reach;
    if called.name == READ && (changes || leaves) {
        return invalid(vec![format!("`{}` may do more than read; call it with `{CHANGE}`", tools[place].title)]);
    }
    match arguments.get("args") {
        Some(Value::Dict(given)) => Route::Tool(place, given.clone()),
        _ => invalid(vec!["`args` must be an object".to_owned()]),
    }
}

/// Returns the answer with the modules that fit best, as many as an answer has room for.
fn found(tools: &[Tool], query: &str) -> Answer {
    let best = best(tools, query, FOUND);
    let answer = |count: usize| {
        let modules: Vec<serde_json::Value> = best.iter().take(count).map(|tool| definition(tool)).collect();
        let result = match to_value(&json!({"modules": modules})) {
            Ok(Value::Dict(result)) => result,
            // JSON objects have no other form.
            _ => Dict::new(),
        };
        Answer { is_success: true, result, ..Answer::refused("ok", Vec::new()) }
    };
    // One definition is longer than an answer at most: then its texts are cut.
    let fits = |count: &usize| answer(*count).result_length() <= MAX_ANSWER / 2;
    answer((2..=best.len()).rev().find(fits).unwrap_or_else(|| best.len().min(1)))
}

fn definition(tool: &Tool) -> serde_json::Value {
    json!({
        "module": tool.title,
        "description": tool.description,
        "call": if tool.reach == Reach::default() { READ } else { CHANGE },
        "args": tool.input_schema,
    })
}

#[cfg(test)]
mod tests {
    use modbox_argument_spec::Metadata;
    use modbox_python_json::decode;

    use super::*;
    use crate::tool::Permitted;

    fn module(name: &str, words: &str, changes: bool) -> Tool {
        let metadata =
            json!({"name": name, "description": words, "argument_spec": {"path": {"type": "path"}}}).to_string();
        let metadata = Metadata::from_json(&metadata).unwrap();
        let (spec, reach) = (metadata.argument_spec.clone(), Reach { changes, leaves: false });
        let permitted = Permitted { reach, ..Permitted::default() };
        Tool::new(name.replace('.', "-"), name, &metadata, (spec, true), permitted).unwrap()
    }

    fn catalogue() -> Vec<Tool> {
        let modules = (0..45).map(|n| module(&format!("acme.web.m{n}"), "Does something.", false));
        let named = [module("stat", "Retrieve file status.", false), module("copy", "Copy files.", true)];
        named.into_iter().chain(modules).chain([find_tool(), read_tool(), change_tool(Reach::default())]).collect()
    }

    fn routed(name: &str, arguments: &str) -> Route {
        let tools = catalogue();
        let Value::Dict(arguments) = decode(arguments).unwrap() else { panic!("an object") };
        let place = tools.iter().position(|tool| tool.name == name).unwrap();
        route(&tools, tools.len() - 3, place, arguments)
    }

    #[test]
    fn modules_are_called_by_their_names() {
        let Route::Tool(0, arguments) = routed(READ, r#"{"module": "stat", "args": {"path": "/x"}}"#) else { panic!() };
        assert_eq!(arguments.get("path"), Some(&"/x".into()));
        assert!(matches!(routed(CHANGE, r#"{"module": "copy", "args": {}}"#), Route::Tool(1, _)));
        assert!(matches!(routed(CHANGE, r#"{"module": "acme-web-m3", "args": {}}"#), Route::Tool(5, _)));
        for (name, arguments, why) in [
            (READ, r#"{"module": "copy", "args": {}}"#, "`copy` may do more than read; call it with `modbox_change`"),
            (READ, r#"{"module": "modbox_find", "args": {}}"#, "unknown module `modbox_find`"),
            (CHANGE, r#"{"module": "no\u202ene", "args": {}}"#, "unknown module `none`"),
            (CHANGE, r#"{"module": "copy"}"#, "args"),
            (CHANGE, r#"{"module": "copy", "args": "path=/x"}"#, "`args` must be an object"),
            (FIND, r#"{"query": "x", "more": 1}"#, "unknown options: more"),
        ] {
            let Route::Answered(answer) = routed(name, arguments) else { panic!("{name} {arguments}") };
            assert!(answer.status == "invalid" && answer.notes[0].contains(why), "{arguments}: {answer:?}");
        }
    }

    #[test]
    fn definitions_are_found_as_data() {
        let Route::Answered(answer) = routed(FIND, r#"{"query": "status of a file"}"#) else { panic!() };
        let json = answer.to_json();
        let modules = json["result"]["modules"].as_array().unwrap();
        assert_eq!((&modules[0]["module"], &modules[0]["call"]), (&json!("stat"), &json!(READ)));
        assert_eq!(modules[0]["args"]["properties"]["path"]["type"], "string");
        assert!(modules.len() <= FOUND);
        let Route::Answered(answer) = routed(FIND, r#"{"query": "zzz"}"#) else { panic!() };
        assert_eq!(answer.to_json()["result"]["modules"], json!([]));
    }
}
