//! modbox's own modules by name, wherever modbox runs. If no folder of the library has a component, one is built from
//! the sources in the program.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{Failure, OrExit};

/// Modules whose namesakes are in the collection `community.general`, and not in ansible-core.
const OF_GENERAL: [&str; 2] = ["archive", "ini_file"];

/// Returns the name of one of modbox's own modules, if the MODULE argument is one.
pub(crate) fn name(module: &Path) -> Option<&str> {
    let name = module.to_str()?;
    let name = name.strip_suffix(".wasm").unwrap_or(name);
    modbox_authoring::is_standard(name).then_some(name)
}

/// Returns the name of modbox's own module that has the name of one of ansible-core, if the MODULE argument is the full
/// name of that one.
pub(crate) fn namesake(module: &Path) -> Option<&str> {
    let asked = module.to_str()?;
    let plain = asked.strip_prefix("ansible.builtin.").or_else(|| asked.strip_prefix("ansible.legacy."))?;
    name(Path::new(plain)).filter(|name| !OF_GENERAL.contains(name))
}

/// Returns the names of all of modbox's own modules that have a namesake in ansible-core.
pub(crate) fn namesakes() -> Vec<&'static str> {
    modbox_authoring::standard_names().into_iter().filter(|name| !OF_GENERAL.contains(name)).collect()
}

/// Returns the component of an earlier build. Starts no program.
pub(crate) fn find(context: &Context, name: &str) -> Option<PathBuf> {
    with_context(context, |cx| modbox_authoring::find_standard(cx, name)).map(|built| built.component)
}

/// Builds the module unless its component is up to date. Returns the component's path.
pub(crate) fn build_if_stale(context: &Context, name: &str) -> Result<PathBuf, Failure> {
    if let Some(component) = find(context, name) {
        return Ok(component);
    }
    let built = with_context(context, |cx| modbox_authoring::build_standard(cx, name));
    let failed = || format!("failed to build the module `{name}` of modbox; {}", other_ways(name));
    Ok(built.with_context(failed).or_unavailable()?.component)
}

/// Says that a module is not built, and what helps.
pub(crate) fn not_built(name: &str) -> String {
    format!(
        "the module `{name}` of modbox is not built yet; run `modbox build {name}` first, which needs Rust; {}",
        other_ways(name)
    )
}

fn other_ways(name: &str) -> String {
    let collection = if OF_GENERAL.contains(&name) { "community.general" } else { "ansible.builtin" };
    format!("a package of modbox has it built, and Ansible's module of that name is `{collection}.{name}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_modules_are_names() {
        for (module, expect) in
            [("ping", Some("ping")), ("ping.wasm", Some("ping")), ("./ping", None), ("", None), ("..", None)]
        {
            assert_eq!(name(Path::new(module)), expect, "{module}");
        }
    }

    #[test]
    fn own_modules_have_namesakes_in_ansible_core() {
        for (module, expect) in [
            ("ansible.builtin.ping", Some("ping")),
            ("ansible.legacy.copy", Some("copy")),
            ("ansible.builtin.apt", None),
            ("ansible.builtin.archive", None),
            ("community.general.archive", None),
            ("ping", None),
        ] {
            assert_eq!(namesake(Path::new(module)), expect, "{module}");
        }
    }

    #[test]
    fn ansibles_modules_are_named_in_full() {
        assert!(not_built("copy").ends_with("`ansible.builtin.copy`"));
        for name in OF_GENERAL {
            assert!(
                modbox_authoring::is_standard(name)
                    && not_built(name).ends_with(&format!("`community.general.{name}`"))
            );
        }
    }
}
