//! Tests of the results of tasks.

use minijinja::Value;

use crate::call::Call;
use crate::failure::{Outcome, failure};
use crate::values::{View, get_item, is_true, items, type_name, view};

/// Returns the result that is tested.
fn result(call: &Call<'_, '_, '_>) -> Outcome {
    let ([result], []) = call.bind(["result"], [])?;
    match view(&result) {
        View::Dict => Ok(result),
        _ => Err(failure(format!("The '{}' test expects a dictionary", call.name))),
    }
}

fn entry(result: &Value, key: &str) -> Value {
    get_item(result, &Value::from(key))
}

fn is_set(call: &Call<'_, '_, '_>, key: &str) -> Outcome<bool> {
    let value = entry(&result(call)?, key);
    Ok(!value.is_undefined() && is_true(&value))
}

/// Did the task fail?
pub(super) fn failed(call: &mut Call<'_, '_, '_>) -> Outcome {
    is_set(call, "failed").map(Value::from)
}

/// Did the task not fail?
pub(super) fn succeeded(call: &mut Call<'_, '_, '_>) -> Outcome {
    is_set(call, "failed").map(|failed| Value::from(!failed))
}

/// Was the host unreachable?
pub(super) fn unreachable(call: &mut Call<'_, '_, '_>) -> Outcome {
    is_set(call, "unreachable").map(Value::from)
}

/// Was the host reachable?
pub(super) fn reachable(call: &mut Call<'_, '_, '_>) -> Outcome {
    is_set(call, "unreachable").map(|unreachable| Value::from(!unreachable))
}

/// Was the task skipped?
pub(super) fn skipped(call: &mut Call<'_, '_, '_>) -> Outcome {
    is_set(call, "skipped").map(Value::from)
}

/// Did the task exceed its time?
pub(super) fn timed_out(call: &mut Call<'_, '_, '_>) -> Outcome {
    let timed_out = entry(&result(call)?, "timedout");
    if timed_out.is_undefined() || !is_true(&timed_out) {
        return Ok(Value::from(false));
    }
    let View::Dict = view(&timed_out) else {
        return Err(failure(format!("'{}' object has no attribute 'get'", type_name(&timed_out))));
    };
    let period = entry(&timed_out, "period");
    Ok(Value::from(!period.is_undefined() && is_true(&period)))
}

/// Did the task change something? Of a loop, any item counts.
pub(super) fn changed(call: &mut Call<'_, '_, '_>) -> Outcome {
    let result = result(call)?;
    let changed = entry(&result, "changed");
    if !changed.is_undefined() {
        return Ok(Value::from(is_true(&changed)));
    }
    let results = entry(&result, "results");
    let View::List = view(&results) else { return Ok(Value::from(false)) };
    let all = items(&results)?;
    let first = all.first().ok_or_else(|| failure("list index out of range"))?;
    if !matches!(view(first), View::Dict) {
        return Ok(Value::from(false));
    }
    for item in &all {
        let View::Dict = view(item) else {
            return Err(failure(format!("'{}' object has no attribute 'get'", type_name(item))));
        };
        let changed = entry(item, "changed");
        if !changed.is_undefined() && is_true(&changed) {
            return Ok(Value::from(true));
        }
    }
    Ok(Value::from(false))
}

/// Returns the state of an asynchronous task. Of other tasks, it counts as reached.
fn reached(call: &Call<'_, '_, '_>, key: &str) -> Outcome {
    let state = entry(&result(call)?, key);
    Ok(Value::from(state.is_undefined() || is_true(&state)))
}

/// Has the asynchronous task finished?
pub(super) fn finished(call: &mut Call<'_, '_, '_>) -> Outcome {
    reached(call, "finished")
}

/// Has the asynchronous task started?
pub(super) fn started(call: &mut Call<'_, '_, '_>) -> Outcome {
    reached(call, "started")
}
