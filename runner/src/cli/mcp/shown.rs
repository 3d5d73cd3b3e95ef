//! `modbox mcp --show`: the tools as clients get them, what each may do, and which modules are left out.

use modbox_agents::tool::{Reach, Tool};
use modbox_agents::wire;
use modbox_vocabulary::Grant;

use crate::cli::mcp::candidates::LeftOut;
use crate::cli::mcp::catalogue::{Catalogue, ServedModule};
use crate::cli::printing::output;

/// Returns the list of tools as clients get it.
pub(crate) fn json(catalogue: &Catalogue) -> String {
    wire::list_as_json(&catalogue.tools[catalogue.hidden..])
}

/// Returns the tools for people.
pub(crate) fn text(catalogue: &Catalogue) -> String {
    let tools = catalogue.tools.iter().zip(&catalogue.modules).map(|(tool, module)| of_tool(tool, module));
    let left_out =
        catalogue.left_out.iter().map(|LeftOut { module, reason }| format!("  {}: {}\n", line(module), line(reason)));
    let left_out: String = left_out.collect();
    let own = catalogue.tools.iter().skip(catalogue.modules.len());
    let own = own.map(|tool| format!("{} (modbox's own)\n  description: {}\n", tool.name, line(&tool.description)));
    let mut text = tools.chain(own).collect::<Vec<_>>().join("\n");
    if !left_out.is_empty() {
        text += &format!("\nleft out:\n{left_out}");
    }
    text.trim().to_owned()
}

fn of_tool(tool: &Tool, module: &ServedModule) -> String {
    let Tool { name, title, description, reach, .. } = tool;
    let mut lines = vec![format!("{name} ({})", hints(*reach))];
    lines.push(format!("  module: {} (sha256:{}…)", line(title), &module.digest[..12.min(module.digest.len())]));
    lines.push(format!("  file: {}", line(&module.found.path.display().to_string())));
    lines.push(format!("  description: {}", line(description)));
    lines.push(format!("  arguments: {}", arguments(tool)));
    lines.push(format!("  may: {}", grants(&module.policy.grants())));
    if !module.asks.is_empty() {
        lines.push(format!("  may ask a person for: {}", grants(&module.asks)));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn hints(reach: Reach) -> &'static str {
    match reach {
        Reach { changes: false, leaves: false } => "only reads",
        Reach { changes: true, leaves: false } => "changes this machine",
        Reach { changes: false, leaves: true } => "reaches other machines",
        Reach { changes: true, leaves: true } => "changes this machine, reaches other machines",
    }
}

/// Returns the options that are listed, with `*` after those that are required.
fn arguments(tool: &Tool) -> String {
    let schema = &tool.input_schema;
    let required = schema.get("required").and_then(|required| required.as_array()).cloned().unwrap_or_default();
    let names = schema.get("properties").and_then(|properties| properties.as_object());
    let shown = |name: &String| match required.iter().any(|one| one == name) {
        true => format!("{}*", line(name)),
        false => line(name),
    };
    let names: Vec<String> = names.into_iter().flat_map(|names| names.keys()).map(shown).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn grants(grants: &[Grant]) -> String {
    let all: Vec<String> =
        grants.iter().map(|grant| format!("{} {}", grant.capability, line(&grant.subject))).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

fn line(text: &str) -> String {
    output::clean_line(text)
}
