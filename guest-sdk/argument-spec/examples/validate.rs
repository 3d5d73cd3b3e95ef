//! Validates cases from standard input, one JSON object a line, one answer a line: how
//! `tests/argument_spec_oracle.py` compares this crate with ansible-core.
//!
//! A case is `{"spec": {}, "constraints": {}, "arguments": {}, "environment": {}}`.

use std::error::Error;
use std::io::{self, BufRead, Write};

use indexmap::IndexMap;
use modbox_argument_spec::{ArgumentSpec, Deprecation, Validated, ValidationError};
use modbox_python_json::{Dict, Value, decode, encode, str};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        writeln!(out, "{}", encode(&answer(&decode(&line?)?)))?;
    }
    Ok(())
}

fn answer(case: &Value) -> Value {
    let part = |name: &str| case.as_dict().and_then(|case| case.get(name)).cloned().unwrap_or(Value::Null);
    let constraints = part("constraints").as_dict().cloned().unwrap_or_default();
    let arguments = part("arguments").as_dict().cloned().unwrap_or_default();
    let environment: IndexMap<String, String> = part("environment")
        .as_dict()
        .map(|variables| variables.iter().map(|(name, value)| (name.clone(), str(value))).collect())
        .unwrap_or_default();
    match ArgumentSpec::parse_with_constraints(&part("spec"), &constraints) {
        Ok(spec) => shown(&spec.validate(&arguments, &environment)),
        Err(error) => Value::from([("spec_error", error.to_string())]),
    }
}

fn shown(validated: &Validated) -> Value {
    let error = |error: &ValidationError| Value::from(vec![format!("{:?}Error", error.kind), error.message.clone()]);
    let deprecation = |deprecation: &Deprecation| Value::from(deprecation.message.as_str());
    let mut secrets: Vec<String> = validated.no_log_values.iter().cloned().collect();
    secrets.sort_unstable();
    let mut entries = Dict::new();
    entries.insert("parameters".to_owned(), validated.parameters.clone().into());
    entries.insert("errors".to_owned(), validated.errors.iter().map(error).collect::<Vec<_>>().into());
    entries.insert("warnings".to_owned(), validated.warnings.clone().into());
    entries
        .insert("deprecations".to_owned(), validated.deprecations.iter().map(deprecation).collect::<Vec<_>>().into());
    entries.insert("no_log".to_owned(), secrets.into());
    entries.insert("unsupported".to_owned(), validated.unsupported.clone().into());
    entries.into()
}
