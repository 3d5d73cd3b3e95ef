//! One call of a module's function, from a dict of arguments to a dict of results. It uses no files and streams, so a
//! module's own tests can call it too.

use modbox_argument_spec::{Environment, ErrorKind, Metadata, Secrets, Validated};
use modbox_python_json::{ConvertError, Dict, Value, from_value};
use serde::de::DeserializeOwned;

use crate::completion::complete;
use crate::internal_args::InternalArgs;
use crate::module::{Deprecation, Module};
use crate::panic_secrets;
use crate::path_argument;
use crate::result::{Exit, Failure};
use crate::typed::Args;

/// What a called module answers, and whether that is a failure.
#[derive(Debug, Clone, PartialEq)]
pub struct Finished {
    /// The result, with secrets masked.
    pub result: Dict,
    /// Whether the result is a failure.
    pub failed: bool,
}

impl Finished {
    pub(crate) fn failure(message: &str) -> Self {
        let result = Dict::from_iter([("failed".to_owned(), true.into()), ("msg".to_owned(), message.into())]);
        Self { result, failed: true }
    }
}

/// The environment of this process, for `$VAR` and `~` in paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        // `std::env::var` panics on an impossible name.
        let possible = !name.is_empty() && !name.contains(['=', '\0']);
        possible.then(|| std::env::var(name).ok())?
    }
}

/// A module's function for arguments that were validated.
pub(crate) type Body<'a> = &'a mut dyn FnMut(Dict, &mut Module) -> Result<Exit, Failure>;

/// Validates all arguments, internal ones too, calls a module's function, and completes its result.
pub fn call<A: DeserializeOwned>(
    metadata: &Metadata,
    arguments: Dict,
    environment: &dyn Environment,
    run: impl FnOnce(A, &mut Module) -> Result<Exit, Failure>,
) -> Finished {
    with_body(read_by(|own| from_value(Value::Dict(own)), run), |body| perform(metadata, arguments, environment, body))
}

/// Works as [`call`] for a function whose arguments derive [`Args`].
pub fn call_typed<A: Args>(
    metadata: &Metadata,
    arguments: Dict,
    environment: &dyn Environment,
    run: impl FnOnce(A, &mut Module) -> Result<Exit, Failure>,
) -> Finished {
    with_body(read_by(|mut own| A::fill(&mut own), run), |body| perform(metadata, arguments, environment, body))
}

/// Returns a function that reads the arguments and then calls a module's function.
pub(crate) fn read_by<A>(
    read: impl FnOnce(Dict) -> Result<A, ConvertError>,
    run: impl FnOnce(A, &mut Module) -> Result<Exit, Failure>,
) -> impl FnOnce(Dict, &mut Module) -> Result<Exit, Failure> {
    |own, module| match read(own) {
        Ok(args) => run(args, module),
        Err(error) => Err(Failure::new(format!("failed to read the arguments: {error}"))),
    }
}

/// Passes a function by reference, so that the surrounding code is compiled once, not for every type of arguments.
pub(crate) fn with_body<T>(
    body: impl FnOnce(Dict, &mut Module) -> Result<Exit, Failure>,
    around: impl FnOnce(Body<'_>) -> T,
) -> T {
    let mut body = Some(body);
    around(&mut |own, module| match body.take() {
        Some(body) => body(own, module),
        None => Err(Failure::new("the module was called twice")),
    })
}

pub(crate) fn perform(
    metadata: &Metadata,
    mut arguments: Dict,
    environment: &dyn Environment,
    body: Body<'_>,
) -> Finished {
    let taken = InternalArgs::take(&mut arguments);
    let validated = metadata.argument_spec.validate(&arguments, environment);
    let mut module = module_for(metadata, taken.clone().unwrap_or_default(), &validated);
    panic_secrets::remember(&module.secrets);
    if let Err(message) = taken {
        return finish(&module, Err(Failure::new(message)));
    }
    if let Some(message) = first_error(&module, &validated) {
        return finish(&module, Err(Failure::new(message)));
    }
    if module.check_mode() && !metadata.supports_check_mode {
        let reason = format!("remote module ({}) does not support check mode", module.name);
        return finish(&module, Ok(Exit::skipped(reason)));
    }
    if let Some(name) = unloggable(metadata, &validated) {
        let why = "'utf-8' codec can't encode it: surrogates not allowed";
        return finish(&module, Err(Failure::new(format!("failed to log the option `{name}`: {why}"))));
    }
    let own = metadata.argument_spec.options.iter().filter_map(|(name, option)| {
        let value = validated.parameters.get(name)?.clone();
        Some((name.clone(), if option.is_path() { path_argument::in_guest(value) } else { value }))
    });
    let own = own.collect();
    let outcome = body(own, &mut module);
    finish(&module, outcome)
}

fn module_for(metadata: &Metadata, internal: InternalArgs, validated: &Validated) -> Module {
    let deprecation = |found: &modbox_argument_spec::Deprecation| Deprecation {
        message: found.message.clone(),
        version: found.removal.version.clone(),
        date: found.removal.date.clone(),
        collection_name: found.removal.collection_name.clone(),
    };
    Module {
        name: internal.module_name.clone().unwrap_or_else(|| metadata.name.clone()),
        internal,
        parameters: validated.parameters.clone(),
        secrets: Secrets::from(validated),
        warnings: validated.warnings.clone(),
        deprecations: validated.deprecations.iter().map(deprecation).collect(),
    }
}

/// Returns an option whose text has a lone surrogate, which ansible-core 2.19 fails to log (`_log_invocation`). In lists, it
/// takes paths that are not UTF-8.
fn unloggable<'m>(metadata: &'m Metadata, validated: &Validated) -> Option<&'m String> {
    let logged = metadata.argument_spec.options.iter().filter(|(_, option)| option.no_log != Some(true));
    let mut names = logged.map(|(name, _)| name);
    names.find(|name| matches!(validated.parameters.get(*name), Some(Value::Surrogates(_))))
}

/// Returns the message of the first error, as Ansible does.
fn first_error(module: &Module, validated: &Validated) -> Option<String> {
    let error = validated.errors.first()?;
    if error.kind != ErrorKind::Unsupported {
        return Some(error.message.clone());
    }
    let shown = || format!("Unsupported parameters for ({}) module: {}", module.name, error.message);
    (!module.internal.ignore_unknown_opts).then(shown)
}

fn finish(module: &Module, outcome: Result<Exit, Failure>) -> Finished {
    match outcome {
        Ok(Exit { mut entries, mut diffs }) => {
            if module.diff_wanted() && !diffs.is_empty() {
                let diff = if diffs.len() == 1 { diffs.remove(0) } else { Value::List(diffs) };
                entries.insert("diff".to_owned(), diff);
            }
            Finished { result: complete(module, entries), failed: false }
        }
        Err(Failure { message, mut entries }) => {
            entries.insert("failed".to_owned(), true.into());
            entries.insert("msg".to_owned(), message.into());
            Finished { result: complete(module, entries), failed: true }
        }
    }
}

#[cfg(test)]
mod tests {
    use modbox_argument_spec::NoEnvironment;
    use modbox_python_json::{decode, encode};
    use serde::Deserialize;

    use super::*;
    use crate::Diff;

    #[derive(Deserialize)]
    struct Args {
        a: Option<u8>,
        p: Option<String>,
    }

    fn run(args: Args, module: &mut Module) -> Result<Exit, Failure> {
        module.warn("w1");
        module.warn("w1");
        if args.a == Some(1) {
            return Err(Failure::new(format!("bad {}", args.p.unwrap_or_default())).with("rc", 3));
        }
        let diff = Diff::new("a", "b").headers("x", "y");
        Ok(Exit::changed().with("k", args.p).diff(diff))
    }

    #[track_caller]
    fn check(check_mode: bool, json: &str, expect: &str) {
        let spec = r#"{"a": {"type": "int", "aliases": ["aa"]}, "p": {"no_log": true}}"#;
        let metadata = format!(r#"{{"name": "m", "supports_check_mode": {check_mode}, "argument_spec": {spec}}}"#);
        let metadata = Metadata::from_json(&metadata).unwrap();
        let arguments = decode(json).unwrap().as_dict().unwrap().clone();
        let mut finished = call(&metadata, arguments, &NoEnvironment, run);
        finished.result.shift_remove("invocation");
        assert_eq!(encode(&finished.result.into()), expect, "for {json}");
    }

    #[test]
    fn completes_results() {
        check(true, "{}", r#"{"changed": true, "k": null, "warnings": ["w1"]}"#);
        check(
            true,
            r#"{"_ansible_diff": true, "aa": "2"}"#,
            concat!(
                r#"{"changed": true, "k": null, "diff": {"before": "a", "after": "b", "before_header": "x", "#,
                r#""after_header": "y"}, "warnings": ["w1"]}"#
            ),
        );
    }

    #[test]
    fn masks_failures() {
        check(
            true,
            r#"{"a": 1, "p": "sec"}"#,
            r#"{"rc": 3, "failed": true, "msg": "bad ********", "warnings": ["w1"]}"#,
        );
    }

    #[test]
    fn reports_only_the_first_error() {
        check(
            true,
            r#"{"z": 1}"#,
            concat!(
                r#"{"failed": true, "msg": "Unsupported parameters for (m) module: z. "#,
                r#"Supported parameters include: a, p (aa)."}"#
            ),
        );
        check(
            true,
            r#"{"z": 1, "_ansible_module_name": "x.y.m", "a": "q"}"#,
            concat!(
                r#"{"failed": true, "msg": "argument 'a' is of type str and we were unable to convert to int: "#,
                r#"\"'q'\" cannot be converted to an int"}"#
            ),
        );
        check(
            true,
            r#"{"z": 1, "_ansible_ignore_unknown_opts": true}"#,
            r#"{"changed": true, "k": null, "warnings": ["w1"]}"#,
        );
        check(
            true,
            r#"{"a": 300}"#,
            concat!(
                r#"{"failed": true, "msg": "failed to read the arguments: at `a`: invalid value: integer `300`, "#,
                r#"expected u8"}"#
            ),
        );
    }

    #[test]
    fn repeats_the_arguments_unless_the_caller_says_no() {
        let metadata = Metadata::from_json(r#"{"name": "m", "argument_spec": {"p": {"no_log": true}}}"#).unwrap();
        for (asked, repeats) in [
            ("", true),
            (r#""_ansible_inject_invocation": true"#, true),
            (r#""_ansible_inject_invocation": false"#, false),
        ] {
            let arguments = decode(&format!("{{{asked}}}")).unwrap().as_dict().unwrap().clone();
            let finished = call(&metadata, arguments, &NoEnvironment, run);
            assert_eq!(finished.result.contains_key("invocation"), repeats, "{asked}");
        }
    }

    #[test]
    fn skips_what_cannot_be_checked() {
        let expect = r#"{"skipped": true, "msg": "remote module (m) does not support check mode"}"#;
        check(false, r#"{"_ansible_check_mode": true}"#, expect);
        check(true, r#"{"_ansible_check_mode": true}"#, r#"{"changed": true, "k": null, "warnings": ["w1"]}"#);
    }
}
