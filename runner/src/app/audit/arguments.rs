//! Prepares a run's arguments for the audit log: masks secrets, leaves out internal arguments, and bounds the size.

use modbox_argument_spec::{ArgumentSpec, Secrets};
use modbox_contract::args::RESERVED_PREFIX;
use modbox_python_json::{Dict, Value, encode};

use crate::app::metadata::WasmInfo;
use crate::app::module::Module;
use crate::app::module_digest::digest;

/// Text in place of arguments that must not be shown.
pub(super) const MASKED: &str = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER";

/// Bytes of one text that are logged.
pub(super) const MAX_TEXT: usize = 4 << 10;

/// Bytes of JSON for all arguments together.
const MAX_ARGUMENTS: usize = 64 << 10;

/// Masks and bounds the arguments that a caller gave to a module. Also returns the secrets among them, to be masked
/// elsewhere in the record.
pub(super) fn masked(module: &Module, arguments: &Dict, no_log: bool) -> (Value, Secrets) {
    let given = arguments.iter().filter(|(key, _)| !key.starts_with(RESERVED_PREFIX));
    let given: Dict = given.map(|(key, value)| (key.clone(), value.clone())).collect();
    let undeclared = ArgumentSpec::default();
    let declared = match module.metadata() {
        Some(metadata) => Some(&metadata.argument_spec),
        None => declares_nothing(module).then_some(&undeclared),
    };
    let logged = declared.unwrap_or(&undeclared).logged(&given);
    if no_log || declared.is_none() {
        let hidden = given.into_keys().map(|key| (key, MASKED.into())).collect();
        return (bounded(hidden), logged.secrets);
    }
    (bounded(logged.arguments), logged.secrets)
}

/// Returns whether a module declares no options. If the metadata cannot be read, it may declare secrets, so the answer
/// is no.
fn declares_nothing(module: &Module) -> bool {
    match module.detection() {
        Ok(found) if found.kind.is_wasm() => {
            module.bytes().is_ok_and(|bytes| WasmInfo::parse(bytes).is_ok_and(|info| info.metadata.is_none()))
        }
        Ok(_) => true,
        Err(_) => false,
    }
}

fn bounded(arguments: Dict) -> Value {
    let shown = cut(Value::Dict(arguments));
    let text = encode(&shown);
    if text.len() <= MAX_ARGUMENTS { shown } else { omitted(&text) }
}

/// Shortens every long text in a value.
fn cut(value: Value) -> Value {
    match value {
        Value::Str(text) if text.len() > MAX_TEXT => cut_text(&text),
        Value::Surrogates(text) if text.units().len() > MAX_TEXT => cut_text(&text.to_string_lossy()),
        Value::List(items) => Value::List(items.into_iter().map(cut).collect()),
        Value::Dict(entries) => Value::Dict(entries.into_iter().map(|(key, value)| (key, cut(value))).collect()),
        other => other,
    }
}

fn cut_text(text: &str) -> Value {
    let head = &text[..text.floor_char_boundary(MAX_TEXT)];
    [("cut", Value::from(head)), ("bytes", (text.len() as u64).into()), ("sha256", digest(text.as_bytes()).into())]
        .into()
}

fn omitted(text: &str) -> Value {
    [("omitted_bytes", Value::from(text.len() as u64)), ("sha256", digest(text.as_bytes()).into())].into()
}

/// Shortens a text of one line, and appends its length.
pub(super) fn shortened(text: &str) -> String {
    match text.len() > MAX_TEXT {
        true => format!("{}… ({} bytes)", &text[..text.floor_char_boundary(MAX_TEXT)], text.len()),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use modbox_python_json::decode;

    use super::*;
    use crate::app::ModuleFile;

    fn module(bytes: &[u8]) -> Module {
        Module::new(ModuleFile { path: "module".into(), bytes: bytes.into() }, None)
    }

    fn args(json: &str) -> Dict {
        decode(json).unwrap().as_dict().unwrap().clone()
    }

    #[test]
    fn internal_arguments_are_left_out_and_no_log_hides_all_values() {
        let given = args(r#"{"name": "x", "password": "p", "_ansible_no_log": true}"#);
        let (value, _) = masked(&module(b"#!/bin/sh\n# WANT_JSON\n"), &given, false);
        assert_eq!(encode(&value), format!(r#"{{"name": "x", "password": "{MASKED}"}}"#));
        let (value, _) = masked(&module(b"#!/bin/sh\n# WANT_JSON\n"), &given, true);
        assert_eq!(encode(&value), format!(r#"{{"name": "{MASKED}", "password": "{MASKED}"}}"#));
    }

    #[test]
    fn a_module_whose_declaration_cannot_be_read_has_everything_hidden() {
        let wasm = wat::parse_str(r#"(module (@custom "modbox:module" "{"))"#).unwrap();
        let (value, _) = masked(&module(&wasm), &args(r#"{"token": "x"}"#), false);
        assert_eq!(encode(&value), format!(r#"{{"token": "{MASKED}"}}"#));
    }

    #[test]
    fn long_texts_and_long_arguments_are_cut() {
        let text = "é".repeat(5000);
        let given = Dict::from_iter([("content".to_owned(), Value::from(text.as_str()))]);
        let (value, _) = masked(&module(b"#!/bin/sh\n"), &given, false);
        let content = value.as_dict().unwrap()["content"].as_dict().unwrap();
        assert_eq!(content["bytes"], Value::from(10_000_u64));
        assert_eq!(content["cut"].as_str().unwrap().len(), MAX_TEXT);
        assert_eq!(content["sha256"], Value::from(digest(text.as_bytes())));
        let many: Dict = (0..10_000).map(|n| (format!("key{n}"), Value::from(1_u64))).collect();
        let (value, _) = masked(&module(b"#!/bin/sh\n"), &many, false);
        assert!(encode(&value).len() < 200 && value.as_dict().unwrap().contains_key("omitted_bytes"));
    }
}
