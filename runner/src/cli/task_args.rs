//! Reads the arguments of a module from words and `--args` switches.
//!
//! `KEY=VALUE`, JSON and YAML are modbox's forms. What people have learned from Ansible is taken where it can mean nothing
//! else: several `KEY=VALUE` in one text, `@FILE` and a JSON object as a word.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::Context as _;
use clap::ArgMatches;
use modbox_contract::args::ArgsError;
use modbox_contract::{Dict, Value, args};

/// Maximum bytes of arguments. No real task passes more; Ansible itself holds arguments in memory several times.
pub(crate) const MAX_ARGS: u64 = 64 << 20;

/// Maximum characters of `--args` quoted in an error.
const MAX_QUOTED: usize = 80;

/// A source of arguments on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgumentSource {
    /// The n-th `KEY=VALUE`.
    Pair(usize),
    /// The n-th `--args`.
    Args(usize),
}

/// Returns the sources of arguments in the order of the command line, so that later ones can win.
pub(crate) fn argument_order(matches: &ArgMatches) -> Vec<ArgumentSource> {
    let indices = |id| matches.indices_of(id).into_iter().flatten().enumerate();
    let pairs = indices("pairs").map(|(n, index)| (index, ArgumentSource::Pair(n)));
    let typed = indices("args").map(|(n, index)| (index, ArgumentSource::Args(n)));
    let mut order: Vec<_> = pairs.chain(typed).collect();
    order.sort_by_key(|(index, _)| *index);
    order.into_iter().map(|(_, source)| source).collect()
}

/// Reads and merges arguments in the order of the command line. `module` is the module that they are for, as typed: a
/// text for `command` has a command line in it.
///
/// # Errors
///
/// The arguments have no known form, cannot be read, or contain a reserved key.
pub(crate) fn task_args(
    module: Option<&Path>,
    pairs: &[OsString],
    typed: &[OsString],
    order: &[ArgumentSource],
) -> anyhow::Result<Dict> {
    let free_form = module.is_some_and(takes_free_form);
    let mut merged = Dict::new();
    for source in order {
        let given = match source {
            ArgumentSource::Pair(n) => word(&pairs[*n])?,
            ArgumentSource::Args(n) => typed_args(&typed[*n], free_form)
                .with_context(|| format!("invalid arguments `--args {}`", shortened(&typed[*n])))?,
        };
        args::merge(&mut merged, given);
    }
    args::check_not_reserved(&merged)?;
    Ok(merged)
}

/// Returns whether Ansible takes the text of a task as a command line for this module. Of its actions with free form
/// (ansible-core 2.19, `RAW_PARAM_MODULES`), only `command` is a module that runs.
fn takes_free_form(module: &Path) -> bool {
    let name = module.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".wasm").or_else(|| name.strip_suffix(".py")).unwrap_or(&name);
    ["command", "ansible.builtin.command", "ansible.legacy.command"].contains(&name)
}

/// Reads one word: `KEY=VALUE`, `@FILE`, or a JSON object. No option's name begins with `@` or `{`.
fn word(word: &OsStr) -> anyhow::Result<Dict> {
    if matches!(word.as_bytes(), [b'@' | b'{', _, ..]) {
        return typed_args(word, false).with_context(|| format!("invalid arguments `{}`", shortened(word)));
    }
    match args::parse_pair(word.as_bytes()) {
        Ok(pair) => Ok(Dict::from_iter([pair])),
        Err(ArgsError::NoEquals(shown)) if Path::new(word).is_file() => {
            anyhow::bail!("`{shown}` is not KEY=VALUE; to read arguments from the file, write `@{shown}`")
        }
        Err(error) => Err(error.into()),
    }
}

/// Shortens arguments for an error: a whole document would bury the message.
fn shortened(args: &OsStr) -> String {
    let text = args.to_string_lossy();
    match text.char_indices().nth(MAX_QUOTED) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.into_owned(),
    }
}

/// Reads `KEY=VALUE` words, JSON, or YAML if that fails, from the switch itself, a file or standard input.
fn typed_args(source: &OsStr, free_form: bool) -> anyhow::Result<Dict> {
    let bytes = match source.as_bytes() {
        b"-" => modbox_files::read_stream(io::stdin().lock(), MAX_ARGS).context("failed to read standard input")?,
        [b'@', path @ ..] => {
            let path = Path::new(OsStr::from_bytes(path));
            modbox_files::read_file(path, MAX_ARGS).with_context(|| format!("failed to read `{}`", path.display()))?
        }
        text => text.to_vec(),
    };
    let text = String::from_utf8(bytes).ok().context("the arguments are not UTF-8")?;
    if begins_with_key(&text) {
        return words_of(&text, free_form);
    }
    let value = match modbox_contract::decode(&text) {
        Ok(value) => value,
        Err(json_error) => serde_saphyr::from_str::<Value>(&text).map_err(|yaml_error| {
            anyhow::anyhow!("neither JSON ({json_error}) nor YAML ({})", yaml_error.without_snippet())
        })?,
    };
    match value {
        Value::Dict(dict) => Ok(dict),
        Value::Null => anyhow::bail!("the arguments are empty; write `{{}}` for an empty dict"),
        Value::Str(_) if free_form => words_of(&text, free_form),
        Value::Str(_) if Path::new(source).is_file() => {
            anyhow::bail!("this is text; to read arguments from the file, write `--args @{}`", shortened(source))
        }
        other => anyhow::bail!("the arguments must be a dict or KEY=VALUE words, not `{}`", other.type_name()),
    }
}

/// Returns whether a text begins with the name of an option and `=`. In YAML, that would be text, or a key that no option
/// has.
fn begins_with_key(text: &str) -> bool {
    let text = text.trim_start();
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(text.len());
    end > 0 && text[end..].starts_with('=')
}

/// Takes a text apart as Ansible does with that of `ansible -a` and of a task.
fn words_of(text: &str, free_form: bool) -> anyhow::Result<Dict> {
    let words = modbox_yaml::key_values(text.trim(), free_form).map_err(|problem| anyhow::anyhow!("{problem}"))?;
    let free = words.iter().find(|(key, _)| key == "_raw_params").filter(|_| !free_form);
    if let Some((_, free)) = free {
        anyhow::bail!("`{free}` is not KEY=VALUE; quote a value that has spaces: `line='one two'`");
    }
    Ok(words.into_iter().map(|(key, value)| (key, Value::from(value))).collect())
}

#[cfg(test)]
mod tests {
    use modbox_contract::encode;

    use super::*;

    fn typed(text: &str, free_form: bool) -> Result<String, String> {
        let read = typed_args(OsStr::new(text), free_form);
        read.map(|dict| encode(&Value::Dict(dict))).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn words_are_split_as_ansible_does() {
        for (text, expect) in [
            ("path=motd line=x", r#"{"path": "motd", "line": "x"}"#),
            ("path=motd line='a b'", r#"{"path": "motd", "line": "a b"}"#),
            ("line=\"a: b\"", r#"{"line": "a: b"}"#),
            ("line=a: path=b", r#"{"line": "a:", "path": "b"}"#),
            (" n=3 n=4 ", r#"{"n": "4"}"#),
            ("n={{ a b }}", r#"{"n": "{{ a b }}"}"#),
            ("line: a=b", r#"{"line": "a=b"}"#),
        ] {
            assert_eq!(typed(text, false).unwrap(), expect, "{text}");
        }
    }

    #[test]
    fn only_commands_have_free_form() {
        let line = "echo a=b chdir=/srv";
        assert_eq!(typed(line, true).unwrap(), r#"{"chdir": "/srv", "_raw_params": "echo a=b"}"#);
        assert!(typed("path=a b", false).unwrap_err().contains("`b` is not KEY=VALUE"));
        for (module, expect) in
            [("command", true), ("ansible.builtin.command", true), ("./command.wasm", true), ("my_command", false)]
        {
            assert_eq!(takes_free_form(Path::new(module)), expect, "{module}");
        }
    }

    #[test]
    fn damaged_words_are_errors() {
        for text in ["a='b", "a={{ b", "a"] {
            assert!(typed(text, false).is_err(), "{text}");
        }
    }
}
