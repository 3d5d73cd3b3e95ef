//! `flattened`: the items of lists in lists.

use minijinja::Value;

use super::flatten::is_list;
use crate::limits::MAX_LEVELS;
use crate::marker::Run;
use crate::run::{Given, Interpreter};

pub(super) fn flattened(interpreter: &mut Interpreter<'_>, given: &Given) -> Run<Vec<Value>> {
    let mut flat = Vec::new();
    flatten(interpreter, &given.positional, 0, &mut flat)?;
    Ok(flat)
}

fn flatten(interpreter: &Interpreter<'_>, terms: &[Value], depth: u32, flat: &mut Vec<Value>) -> Run<()> {
    if depth > MAX_LEVELS {
        return Err(interpreter.raise("the lists are nested too deeply"));
    }
    for term in terms {
        // The end of a list, as Ansible has it.
        if matches!(term.as_str(), Some("None" | "null")) {
            break;
        }
        if is_list(term) {
            flatten(interpreter, &interpreter.read_items(term)?, depth + 1, flat)?;
        } else {
            interpreter.produce(1)?;
            flat.push(term.clone());
        }
    }
    Ok(())
}
