//! Answers questions about specs and arguments, one JSON object a line, one answer a line: what `modbox validate
//! --jsonl` does,
//! with nothing around it.

use std::error::Error;
use std::io::{self, BufRead, Write};

use modbox_argument_spec::{NoEnvironment, Question};
use modbox_python_json::{Value, decode, encode};

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let answer = match Question::from_value(&decode(&line?)?) {
            Ok(question) => match &question.environment {
                Some(environment) => question.answer(environment),
                None => question.answer(&NoEnvironment),
            },
            Err(error) => Value::from([("error", error.to_string())]),
        };
        writeln!(out, "{}", encode(&answer))?;
    }
    Ok(())
}
