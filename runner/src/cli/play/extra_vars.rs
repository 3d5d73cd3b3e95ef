//! Variables on the command line: `-e`.
//!
//! The operator wrote them, so they may have templates in them, as in Ansible.

use std::path::Path;

use anyhow::{Context as _, bail};
use modbox_template::{Content, Layer, Origin, Slot};
use modbox_yaml::{Document, Key, Source, extra_vars_key_values, load_extra_vars};

use crate::cli::play::vault_store::VaultStore;

/// Maximum bytes of a file of variables.
const MAX_FILE: u64 = 64 << 20;

/// Reads all `-e` of a command line; a later one hides the variables of an earlier one. With `merges`, mappings of one name become
/// one.
///
/// # Errors
///
/// A file cannot be read, or a text does not define variables.
pub(crate) fn read(given: &[String], vault: &VaultStore, merges: bool) -> anyhow::Result<Layer> {
    let mut layer = Layer::default();
    for text in given {
        let root = parse(text, vault)?;
        let Some(map) = root.as_map() else { continue };
        for (key, entry) in map.iter() {
            let Key::Text(name) = key else {
                bail!("{}: the name of a variable must be text", entry.key.position());
            };
            let slot = Slot::source_from(entry.value.clone(), Origin::ExtraVars);
            let known = layer.get(name).filter(|_| merges);
            let slot = known.and_then(|known| slot.merged_onto(known)).unwrap_or(slot);
            layer.insert(name.clone(), slot);
        }
    }
    Ok(layer)
}

/// Returns the Python that extra variables name without a template.
pub(crate) fn named_python(variables: &Layer) -> Option<String> {
    let Content::Source(source) = variables.get("ansible_python_interpreter")?.content() else { return None };
    let text = source.as_text()?.trim();
    (!modbox_template::is_template(source) && !text.starts_with("auto") && !text.is_empty()).then(|| text.to_owned())
}

/// Reads one `-e`, in the form that its first character tells (ansible-core 2.19, `load_extra_vars`).
fn parse(text: &str, vault: &VaultStore) -> anyhow::Result<Source> {
    let document = if let Some(path) = text.strip_prefix('@') {
        let mut bytes =
            modbox_files::read_file(Path::new(path), MAX_FILE).with_context(|| format!("failed to read `{path}`"))?;
        let is_encrypted = modbox_vault::is_encrypted(&bytes);
        if is_encrypted {
            bytes = vault.file(&bytes).map_err(|reason| anyhow::anyhow!("failed to read `{path}`: {reason}"))?;
        }
        let content = String::from_utf8(bytes).ok().with_context(|| format!("`{path}` is not UTF-8"))?;
        let document = load_extra_vars(&content, path);
        if let (true, Err(error)) = (is_encrypted, &document) {
            bail!("{}: {}", error.position(), modbox_tasks::error::HIDDEN_MISTAKE);
        }
        document
    } else if text.starts_with(['{', '[']) {
        load_extra_vars(text, "<-e>")
    } else {
        if text.starts_with(['/', '.']) {
            bail!("`-e {text}` looks like the name of a file; write `@` in front of it");
        }
        extra_vars_key_values(text, "<-e>")
    };
    let Document { root, .. } = document.map_err(described)?;
    Ok(root)
}

/// Returns an error of YAML with the line that it is about.
pub(crate) fn described(error: modbox_yaml::YamlError) -> anyhow::Error {
    match error.snippet() {
        Some(snippet) => anyhow::anyhow!("{error}\n{snippet}"),
        None => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::exit::error_words;

    fn names(given: &[&str]) -> Result<Vec<String>, String> {
        let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
        let layer = read(&given, &VaultStore::default(), false).map_err(|error| error_words(&error))?;
        Ok(layer.iter().map(|(name, _)| name.to_string()).collect())
    }

    #[test]
    fn takes_words_mappings_and_files() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("vars.yml");
        std::fs::write(&file, "c: 3\n").unwrap();
        let file = format!("@{}", file.display());
        assert_eq!(names(&["a=1 b=2", r#"{"b": 3}"#, &file]).unwrap(), ["a", "b", "c"]);
        assert_eq!(names(&["{}"]).unwrap(), [""; 0]);
    }

    #[test]
    fn says_what_does_not_define_variables() {
        for (given, expect) in
            [("[1]", "a mapping of variables"), ("/etc/x", "write `@`"), ("@/none/x", "failed to read `/none/x`")]
        {
            let error = names(&[given]).unwrap_err();
            assert!(error.contains(expect), "{error}");
        }
    }
}
