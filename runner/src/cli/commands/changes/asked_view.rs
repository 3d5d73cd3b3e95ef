//! What a person who decides by hand sees of a call that asks for grants: what it asks for, and what its client gets besides the
//! changes.

use modbox_run::mask_live_secrets;

use crate::cli::mcp::plans::PlanRecord;
use crate::cli::printing::output;

/// Maximum characters of the answer that are shown.
const MAX_SHOWN: usize = 16 << 10;

/// Says what a call is given by a yes.
pub(super) fn note(record: &PlanRecord) {
    for line in record.ask.iter().flat_map(|ask| &ask.wanted) {
        output::print_note(&format!("given: {}", output::clean_line(line)));
    }
}

/// Shows what a call may reach and its arguments, of a call that runs after a yes.
pub(super) fn show_run(record: &PlanRecord) {
    record.changes.iter().for_each(|line| output::print_note(&output::clean_line(line)));
}

/// Shows what a call asks for, and the answer that its client gets by a yes.
pub(super) fn show(record: &PlanRecord) {
    let Some(ask) = &record.ask else { return };
    for line in &ask.wanted {
        output::print_note(&format!("asked for: {}", output::clean_line(line)));
    }
    let notes = serde_json::Value::from(ask.notes.clone());
    let answer = serde_json::json!({"status": record.status, "result": record.result, "notes": notes}).to_string();
    let answer = output::clean_line(&mask_live_secrets(&answer));
    let shown: String = answer.chars().take(MAX_SHOWN).collect();
    let more = if shown.len() < answer.len() { " … (cut)" } else { "" };
    output::print_note(&format!("the client gets: {shown}{more}"));
}
