//! Filters for checksums, base64 and UUIDs.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use minijinja::Value;
use modbox_python_json::Value as Json;

use super::encoding::{bytes_of, decode_text, encode_text};
use crate::call::{Call, flag, str_argument};
use crate::failure::{Outcome, failure};
use crate::passwords::{self, Scheme, Settings};
use crate::values::{View, from_json, is_true, text, view};

pub(super) fn md5(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([data], []) = call.bind(["data"], [])?;
    Ok(Value::from(modbox_checksum::md5(&bytes_of(&data)?)))
}

/// Returns the SHA-1.
pub(super) fn sha1(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([data], [_function]) = call.bind(["data"], ["hash_func"])?;
    Ok(Value::from(modbox_checksum::sha1(&bytes_of(&data)?)))
}

/// Returns a checksum by the name of its algorithm.
pub(super) fn hash(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([data], [algorithm]) = call.bind(["data"], ["hashtype"])?;
    let algorithm = algorithm.unwrap_or_else(|| Value::from("sha1"));
    let algorithm = str_argument("hashtype", &algorithm)?;
    let digest = modbox_checksum::of_bytes(&bytes_of(&data)?, &algorithm.to_lowercase());
    digest.map(Value::from).ok_or_else(|| failure(format!("unsupported hash type {algorithm}")))
}

/// Writes base64.
pub(super) fn b64encode(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([data], [encoding, url_safe]) = call.bind(["string"], ["encoding", "urlsafe"])?;
    let bytes = match encoding {
        Some(encoding) => encode_text(&data, &str_argument("encoding", &encoding)?)?,
        None => bytes_of(&data)?,
    };
    Ok(Value::from(if flag(url_safe.as_ref()) { URL_SAFE.encode(bytes) } else { STANDARD.encode(bytes) }))
}

/// Reads base64. As in Python, characters that do not belong to it are skipped.
pub(super) fn b64decode(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([data], [encoding, url_safe]) = call.bind(["string"], ["encoding", "urlsafe"])?;
    let bytes = lenient(&bytes_of(&data)?, flag(url_safe.as_ref()))?;
    match encoding {
        Some(encoding) => decode_text(bytes, &str_argument("encoding", &encoding)?),
        None => Ok(from_json(&Json::from_os_bytes(&bytes))),
    }
}

fn lenient(text: &[u8], url_safe: bool) -> Outcome<Vec<u8>> {
    let mut kept = Vec::with_capacity(text.len());
    let mut pads = 0;
    for byte in text {
        match byte {
            b'-' if url_safe => kept.push(b'+'),
            b'_' if url_safe => kept.push(b'/'),
            b'=' => {
                pads += 1;
                if kept.len() % 4 >= 2 && kept.len() % 4 + pads >= 4 {
                    kept.extend(std::iter::repeat_n(b'=', 4 - kept.len() % 4));
                    break;
                }
                continue;
            }
            _ if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/') => kept.push(*byte),
            _ => continue,
        }
        pads = 0;
    }
    match kept.len() % 4 {
        0 => {}
        1 => {
            let count = kept.len();
            return Err(failure(format!(
                "Invalid base64-encoded string: number of data characters ({count}) cannot be 1 more than a multiple of 4"
            )));
        }
        _ => return Err(failure("Incorrect padding")),
    }
    let mut config = base64::engine::GeneralPurposeConfig::new();
    config = config.with_decode_allow_trailing_bits(true);
    let engine = base64::engine::GeneralPurpose::new(&base64::alphabet::STANDARD, config);
    engine.decode(kept).map_err(|error| failure(error.to_string()))
}

/// The namespace of Ansible's UUIDs.
const NAMESPACE: &str = "361E6D51-FAEC-444A-9079-341386DA8E2E";

/// Returns a UUID of version 5.
pub(super) fn to_uuid(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([name], [namespace]) = call.bind(["string"], ["namespace"])?;
    let namespace = namespace.unwrap_or_else(|| Value::from(NAMESPACE));
    let invalid = || failure(format!("Invalid value '{}' for 'namespace'", text(&namespace).unwrap_or_default()));
    let View::Str(digits) = view(&namespace) else { return Err(invalid()) };
    let mut bytes = uuid_bytes(digits).ok_or_else(invalid)?.to_vec();
    bytes.extend(bytes_of(&name)?);
    let digest = modbox_checksum::sha1(&bytes);
    let byte = |at: usize| u8::from_str_radix(&digest[at..at + 2], 16).unwrap_or(0);
    let (version, variant) = (byte(12) & 0x0f | 0x50, byte(16) & 0x3f | 0x80);
    Ok(Value::from(format!(
        "{}-{}-{version:02x}{}-{variant:02x}{}-{}",
        &digest[..8],
        &digest[8..12],
        &digest[14..16],
        &digest[18..20],
        &digest[20..32]
    )))
}

fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let text = text.replace("urn:", "").replace("uuid:", "");
    let digits = text.trim_matches(['{', '}']).replace('-', "");
    if digits.len() != 32 || !digits.is_ascii() {
        return None;
    }
    Some(u128::from_str_radix(&digits, 16).ok()?.to_be_bytes())
}

/// Names of kinds of hashes, and those of passlib.
const SCHEMES: [(&str, &str); 4] =
    [("md5", "md5_crypt"), ("blowfish", "bcrypt"), ("sha256", "sha256_crypt"), ("sha512", "sha512_crypt")];

/// Hashes a password for `/etc/shadow`.
pub(super) fn password_hash(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([secret], [kind, salt, salt_size, rounds, ident]) =
        call.bind(["password"], ["hashtype", "salt", "salt_size", "rounds", "ident"])?;
    let kind = kind.map_or_else(|| Ok("sha512".to_owned()), |kind| text(&kind))?;
    let name = SCHEMES.iter().find(|(short, _)| *short == kind).map_or(kind.as_str(), |(_, name)| name);
    if !SCHEMES.iter().any(|(_, known)| *known == name) {
        let all = SCHEMES.map(|(short, _)| short).join(", ");
        return Err(failure(format!("{name} is not in the list of supported passlib algorithms: {all}")));
    }
    let Some(scheme) = Scheme::named(name) else {
        return Err(failure(format!("{name} is not supported, since its hashes are broken; use `sha512`")));
    };
    let given = |value: Option<Value>| value.filter(is_true);
    let whole = |name: &str, value: Option<Value>| match given(value) {
        None => Ok(None),
        Some(value) => match view(&value) {
            View::Int(number) => Ok(Some(u32::try_from(number).unwrap_or(u32::MAX))),
            View::Bool(_) => Ok(Some(1)),
            _ => Err(failure(format!("{name} must be an integer"))),
        },
    };
    let settings = Settings {
        salt: given(salt).map(|salt| text(&salt)).transpose()?,
        salt_size: whole("salt_size", salt_size)?.and_then(|size| usize::try_from(size).ok()),
        rounds: whole("rounds", rounds)?,
        ident: given(ident).map(|ident| text(&ident)).transpose()?,
    };
    let mut random = || call.host.random().map_err(|error| error.to_string());
    let hashed = passwords::hash(&text(&secret)?, scheme, &settings, &mut random);
    hashed.map(Value::from).map_err(|error| failure(format!("Could not hash the secret: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_lenient() {
        let cases: [(&str, Option<&[u8]>); 8] = [
            ("YWI=", Some(b"ab")),
            ("Y W\nI=", Some(b"ab")),
            ("YWI=YWI=", Some(b"ab")),
            ("YW", None),
            ("Y", None),
            ("YQ==", Some(b"a")),
            ("YR==", Some(b"a")),
            ("", Some(b"")),
        ];
        for (text, expect) in cases {
            assert_eq!(lenient(text.as_bytes(), false).ok().as_deref(), expect, "{text}");
        }
    }
}
