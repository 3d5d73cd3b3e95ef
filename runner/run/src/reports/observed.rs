//! Tells in a report what is known of an observed run beside its denials: the commands, and of each denial who made the use and
//! what the path was before.

use modbox_python_json::{Value, to_value};
use modbox_vocabulary::{Denial, MODULE, Observation};

/// Adds what is known to the JSON form of a report, whose `denials` are these, in this order.
pub(crate) fn tell(report: &mut Value, denials: &[Denial], observation: &Observation) {
    let Value::Dict(report) = report else { return };
    if observation.is_empty() {
        return;
    }
    if let Some(Value::List(listed)) = report.get_mut("denials") {
        for (entry, denial) in listed.iter_mut().zip(denials) {
            let (Value::Dict(entry), Some(used)) = (entry, observation.use_of(denial)) else { continue };
            if used.by.iter().any(|by| *by != MODULE) {
                let by = used.by.iter().map(|by| Value::from(u64::from(*by))).collect::<Vec<_>>();
                entry.insert("by".to_owned(), by.into());
            }
            if let Some(was) = used.was.and_then(|was| to_value(&was).ok()) {
                entry.insert("was".to_owned(), was);
            }
        }
    }
    if !observation.commands.is_empty() {
        report.insert("commands".to_owned(), to_value(&observation.commands).unwrap_or_default());
    }
    if observation.commands_omitted > 0 {
        report.insert("commands_omitted".to_owned(), observation.commands_omitted.into());
    }
    if !observation.renamed.is_empty() {
        report.insert("renamed".to_owned(), to_value(&observation.renamed).unwrap_or_default());
    }
}
