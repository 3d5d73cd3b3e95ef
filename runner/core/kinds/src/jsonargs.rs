//! Scripts with the token `<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>`, which the arguments replace.
//!
//! The tokens, their replacements and the order are those of ansible-core 2.19. Each token is replaced in turn as plain
//! bytes. A later token inside an argument is therefore replaced as well, and the JSON is not escaped for the script's
//! language. The module needs nothing but its file, so it can be sent to its interpreter on standard input.

use std::sync::Arc;

use modbox_contract::args::encode_file;
use modbox_contract::internal_args::{SELINUX_SPECIAL_FS, SYSLOG_FACILITY};
use modbox_contract::{Dict, Release, Value};

use crate::kind::Kind;
use crate::request::{ModuleKind, PrepareError, PreparedInvocation, Request};
use crate::{native, shebang};

/// The token that marks a module of this kind.
pub(super) const TOKEN: &str = "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>";

#[derive(Debug)]
pub(super) struct Jsonargs;

impl ModuleKind for Jsonargs {
    fn kind(&self) -> Kind {
        Kind::Jsonargs
    }

    fn prepare(&self, request: &Request<'_>) -> Result<PreparedInvocation, PrepareError> {
        let bytes: Arc<[u8]> = fill_in(request.bytes, &request.args.to_dict(), request.release).into();
        let line = shebang::read(&bytes, request)?;
        let module = shebang::rewrite(&bytes, &line);
        Ok(match request.pipelining {
            true => native::pipe(module.to_vec(), &line),
            false => native::prepare(request, module, None, Some(&line)),
        })
    }
}

fn fill_in(bytes: &[u8], args: &Dict, release: Release) -> Vec<u8> {
    let json = encode_file(args);
    let version = format!("'{}'", text(args, "_ansible_version", release.version()));
    let facility = format!("syslog.{}", text(args, "_ansible_syslog_facility", SYSLOG_FACILITY));
    let filesystems = special_filesystems(args);
    let replacements: [(&[u8], &[u8]); 5] = [
        (b"\"<<ANSIBLE_VERSION>>\"", version.as_bytes()),
        (b"\"<<INCLUDE_ANSIBLE_MODULE_COMPLEX_ARGS>>\"", &bytes_repr(&json)),
        (b"<<SELINUX_SPECIAL_FILESYSTEMS>>", filesystems.as_bytes()),
        (TOKEN.as_bytes(), &json),
        (b"syslog.LOG_USER", facility.as_bytes()),
    ];
    replacements.iter().fold(bytes.to_vec(), |bytes, (token, text)| replace(&bytes, token, text))
}

/// Returns an internal argument, or Ansible's default.
fn text<'a>(args: &'a Dict, key: &str, default: &'a str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or(default)
}

fn special_filesystems(args: &Dict) -> String {
    match args.get("_ansible_selinux_special_fs").and_then(Value::as_list) {
        Some(names) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        None => SELINUX_SPECIAL_FS.join(","),
    }
}

/// Returns Python's `repr()` of the bytes of a JSON dict. They are printable ASCII, so only backslashes and quotes are
/// escaped. A single quote can only be inside double quotes, and then `repr` escapes the single one.
fn bytes_repr(json: &[u8]) -> Vec<u8> {
    let mut repr = b"b'".to_vec();
    for byte in json {
        if matches!(byte, b'\\' | b'\'') {
            repr.push(b'\\');
        }
        repr.push(*byte);
    }
    repr.push(b'\'');
    repr
}

/// Replaces every occurrence from the left, like Python's `bytes.replace`. Replacements are not searched again.
fn replace(bytes: &[u8], token: &[u8], text: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(token.len()).position(|window| window == token) {
        replaced.extend_from_slice(&rest[..at]);
        replaced.extend_from_slice(text);
        rest = &rest[at + token.len()..];
    }
    replaced.extend_from_slice(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use modbox_contract::args::decode_file;

    use super::*;

    #[track_caller]
    fn check(script: &str, args: &str, expect: &str) {
        let args = decode_file(args.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(fill_in(script.as_bytes(), &args, Release::default())).unwrap(), expect);
    }

    #[test]
    fn replaces_every_token() {
        check(
            "v=\"<<ANSIBLE_VERSION>>\" <<ANSIBLE_VERSION>>\nfs=<<SELINUX_SPECIAL_FILESYSTEMS>>\n\
             a=<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>> <<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>\nsyslog.LOG_USER",
            "{}",
            "v='2.21.5' <<ANSIBLE_VERSION>>\nfs=fuse,nfs,vboxsf,ramfs,9p,vfat\na={} {}\nsyslog.LOG_USER",
        );
        check(
            "\"<<ANSIBLE_VERSION>>\" <<SELINUX_SPECIAL_FILESYSTEMS>> syslog.LOG_USER",
            r#"{"_ansible_version": "9", "_ansible_selinux_special_fs": ["a", "b"], "_ansible_syslog_facility": "LOG_X"}"#,
            "'9' a,b syslog.LOG_X",
        );
    }

    #[test]
    fn writes_the_arguments_as_python_bytes() {
        check(
            "\"<<INCLUDE_ANSIBLE_MODULE_COMPLEX_ARGS>>\"",
            r#"{"a": "it's \"\\\u00e9"}"#,
            r#"b'{"a": "it\'s \\"\\\\\\u00e9"}'"#,
        );
    }

    #[test]
    fn replaces_tokens_inside_of_arguments_too() {
        check(
            "<<INCLUDE_ANSIBLE_MODULE_JSON_ARGS>>",
            r#"{"a": "syslog.LOG_USER <<SELINUX_SPECIAL_FILESYSTEMS>>", "_ansible_syslog_facility": "LOG_X"}"#,
            r#"{"a": "syslog.LOG_X <<SELINUX_SPECIAL_FILESYSTEMS>>", "_ansible_syslog_facility": "LOG_X"}"#,
        );
    }
}
