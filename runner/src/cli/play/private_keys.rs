//! Tells files with private keys from others, by what is in them: a name says nothing, and no program needs one.
//!
//! Text formats are known by a line, also after certificates in one file, and binary ones by their first bytes. It does not look
//! for passwords and tokens, which have no form of their own.

/// How much of a file is looked at: more than all authorities of a system, which can come before a key in one file.
pub(super) const HEAD: u64 = 1 << 20;

/// Stores of keys: those of Java (JKS and JCEKS) and of KeePass.
const STORES: [&[u8]; 3] = [b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce", b"\x03\xd9\xa2\x9a"];

/// The first bytes of identifiers of encryption by a password: those of PKCS#5 (1.2.840.113549.1.5) and PKCS#12 (1.2.840.113549.1.12.1).
const BY_PASSWORD: [&[u8]; 2] = [b"\x2a\x86\x48\x86\xf7\x0d\x01\x05", b"\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01"];

/// Returns whether a file that begins with `head` is, or has in it, a private key or a store of them.
pub(super) fn has_private_key(head: &[u8]) -> bool {
    STORES.iter().any(|store| head.starts_with(store)) || is_der(head) || is_openpgp(head) || has_line(head)
}

/// Returns whether a line begins a key of OpenSSH, OpenSSL, OpenPGP, PuTTY or age.
fn has_line(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).peekable();
    while let Some(line) = lines.next() {
        let is_pem = line.starts_with("-----BEGIN ") && line.contains("PRIVATE KEY");
        // A template for a key has none.
        let is_template = lines.peek().is_some_and(|next| next.starts_with("{{") || next.starts_with("{%"));
        if is_pem && !is_template || line.starts_with("PuTTY-User-Key-File-") || line.starts_with("AGE-SECRET-KEY-1") {
            return true;
        }
    }
    false
}

/// Returns whether this is a key in DER: PKCS#1, PKCS#8 and SEC 1 begin with a version of 0 or 1, PKCS#12 with 3, an encrypted PKCS#8
/// with how a password encrypts it. Certificates and public keys begin with another algorithm or a long number.
fn is_der(head: &[u8]) -> bool {
    let Some(content) = in_sequence(head) else { return false };
    let is_by_password = |inner: &[u8]| {
        inner.first() == Some(&0x06)
            && BY_PASSWORD.iter().any(|oid| inner.get(2..).is_some_and(|at| at.starts_with(oid)))
    };
    matches!(content, [0x02, 0x01, 0 | 1 | 3, ..]) || in_sequence(content).is_some_and(is_by_password)
}

/// Returns the content of a sequence of DER.
fn in_sequence(der: &[u8]) -> Option<&[u8]> {
    let (0x30, rest) = der.split_first().map(|(tag, rest)| (*tag, rest))? else { return None };
    // A short length is one byte; a long one says how many follow. 0x80 is a length that is not told.
    let length = match *rest.first()? {
        0..=0x80 => 1,
        long => 1 + usize::from(long & 0x7f),
    };
    rest.get(length..)
}

/// Returns whether this begins with a packet of OpenPGP that holds a secret key (RFC 9580, tag 5) of version 3 to 6.
fn is_openpgp(head: &[u8]) -> bool {
    let version = match head {
        [0x94, _, version, ..] | [0x95, _, _, version, ..] | [0x96, _, _, _, _, version, ..] => version,
        [0xc5, 0..=191, version, ..] | [0xc5, 192..=223, _, version, ..] | [0xc5, 255, _, _, _, _, version, ..] => {
            version
        }
        _ => return false,
    };
    (3..=6).contains(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_a_line() {
        for (head, expect) in [
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl", true),
            ("\n-----BEGIN RSA PRIVATE KEY-----\r\nMIIE", true),
            ("-----BEGIN ENCRYPTED PRIVATE KEY-----", true),
            ("-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQVY", true),
            ("\u{feff}-----BEGIN PRIVATE KEY-----\nMIIE", true),
            ("-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nMIIE", true),
            ("Bag Attributes\n    friendlyName: a\n-----BEGIN PRIVATE KEY-----\nMIIE", true),
            ("PuTTY-User-Key-File-3: ssh-ed25519\n", true),
            ("# created: 2026\n# public key: age1\nAGE-SECRET-KEY-1QQ\n", true),
            ("-----BEGIN CERTIFICATE-----\nMIID\n", false),
            ("-----BEGIN PUBLIC KEY-----\n", false),
            ("key: |\n  -----BEGIN PRIVATE KEY-----\n", false),
            ("-----BEGIN PRIVATE KEY-----\n{{ key }}\n", false),
            ("grep '-----BEGIN PRIVATE KEY-----' file\n", false),
            ("0", false),
            ("", false),
        ] {
            assert_eq!(has_private_key(head.as_bytes()), expect, "{head}");
        }
    }

    #[test]
    fn binary_stores_are_known_by_their_first_bytes() {
        for store in [&b"\xfe\xed\xfe\xed\0\0\0\x02"[..], b"\x95\x01\x0b\x04ab", b"\xc5\x58\x04ab", b"\x94\x58\x04ab"] {
            assert!(has_private_key(store), "{store:02x?}");
        }
        for other in [
            &b"\x30"[..],
            b"\x30\x82",
            b"\x30\x82\x01\x02\x30",
            b"\x95\x01\x0b\x20",
            b"\x7fELF",
            b"PK\x03\x04",
            b"\x1f\x8b\x08",
        ] {
            assert!(!has_private_key(other), "{other:02x?}");
        }
    }
}
