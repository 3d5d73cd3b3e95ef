//! `file` and `unvault`: contents of files.

use modbox_jinja::values;
use modbox_python_json::Value as Json;
use modbox_template::{LookupError, Value};

use super::call::Call;
use super::options::failed;
use crate::text::{strip_end, strip_start};

/// How an encrypted file begins.
const VAULT: &[u8] = b"$ANSIBLE_VAULT;";

/// Returns the contents of files, without white space at their ends.
pub(super) fn run(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let (lstrip, rstrip) = (call.options.flag("lstrip", false)?, call.options.flag("rstrip", true)?);
    let mut found = Vec::new();
    for term in call.texts()? {
        let path = call.find("files", term)?;
        let path = path.ok_or_else(|| failed(format!("Unable to access the file {}.", quoted(term))))?;
        let mut content = content(call, &path)?;
        if let Json::Str(text) = &mut content {
            let start = if lstrip { strip_start(text) } else { text.as_str() };
            let stripped = if rstrip { strip_end(start) } else { start };
            *text = stripped.to_owned();
        }
        found.push(values::from_json(&content));
    }
    Ok(found)
}

/// Returns the contents of files as they are.
pub(super) fn unvault(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let mut found = Vec::new();
    for term in call.texts()? {
        let path = call.find("files", term)?;
        let path = path.ok_or_else(|| failed(format!("Unable to find file matching \"{term}\" ")))?;
        let content = content(call, &path)?;
        content.as_str().into_iter().for_each(|text| call.host.register_secret(text));
        found.push(values::from_json(&content));
    }
    Ok(found)
}

/// Returns the content of a file as text. Bytes that are not UTF-8 become lone surrogates, as in Python.
fn content(call: &Call<'_>, path: &str) -> Result<Json, LookupError> {
    let bytes = call.content(path)?;
    if bytes.starts_with(VAULT) {
        return Err(failed(format!(
            "failed to read `{path}`: the file is encrypted with Ansible Vault; give its password by \
             `--vault-password-file`"
        )));
    }
    Ok(Json::from_os_bytes(&bytes))
}

fn quoted(text: &str) -> String {
    modbox_python_json::str_repr(text)
}
