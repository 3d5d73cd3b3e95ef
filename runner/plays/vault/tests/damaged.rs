//! Damaged texts, made from a seed: 1,000 of them, and 10,000 with `MODBOX_WHOLE=1`. None makes the crate panic, gives another plain
//! text than the right one, or shows a part of it.

use aes::Aes256;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit as _, StreamCipher as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use modbox_vault::{Secret, Vault, VaultError, Zeroizing};
use pbkdf2::pbkdf2_hmac;
use sha2::Sha256;

/// Returns the number of damaged texts. Most cost the 10,000 rounds that a password costs.
#[expect(clippy::disallowed_methods, reason = "the person who runs the tests says how many")]
fn count() -> usize {
    if std::env::var_os("MODBOX_WHOLE").is_some() { 10_000 } else { 1_000 }
}

/// What is encrypted.
const PLAIN: &str = "attack-at-dawn: {{ with }} three columns, and wait for the signal of the other side\n";

/// The password, which no message may have in it either.
const PASSWORD: &[u8] = b"correct horse battery staple";

/// Random numbers: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }

    fn pick<'a, T: ?Sized>(&mut self, items: &[&'a T]) -> &'a T {
        items[self.below(items.len())]
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Encrypts as `ansible-vault` does, with data that are padded already.
fn encrypted(header: &str, padded: &[u8]) -> String {
    let salt = [7_u8; 32];
    let mut derived = [0; 80];
    pbkdf2_hmac::<Sha256>(PASSWORD, &salt, 10_000, &mut derived);
    let mut data = padded.to_vec();
    Ctr128BE::<Aes256>::new_from_slices(&derived[..32], &derived[64..]).unwrap().apply_keystream(&mut data);
    let mut hmac = Hmac::<Sha256>::new_from_slice(&derived[32..64]).unwrap();
    hmac.update(&data);
    let inner = [hex(&salt), hex(&hmac.finalize().into_bytes()), hex(&data)].join("\n");
    let digits = hex(inner.as_bytes());
    let lines: Vec<&str> = digits.as_bytes().chunks(80).map(|line| str::from_utf8(line).unwrap()).collect();
    format!("{header}\n{}\n", lines.join("\n"))
}

/// Pads as PKCS#7 does.
fn padded(plain: &[u8]) -> Vec<u8> {
    let count = 16 - plain.len() % 16;
    [plain, &vec![u8::try_from(count).unwrap(); count]].concat()
}

fn vault() -> Vault {
    Vault::new(vec![Secret::new(None, Zeroizing::new(PASSWORD.to_vec()))], false)
}

/// Damages the header.
fn with_other_header(text: &str, random: &mut Random) -> Vec<u8> {
    let body = text.split_once('\n').unwrap().1;
    let long = format!(";{}", "i".repeat(100_000));
    let version =
        random.pick(&["1.0", "1.3", "2.0", "", "1.1.1", "-1", "99999999999999999999", "1,1", "１.１", " 1.1"]);
    let cipher = random.pick(&["AES256", "AES", "", "aes256", "AES256\0", "CHACHA20"]);
    let id = random.pick(&["", ";", ";dev", ";a;b;c", ";\u{1f600}", ";\0", ";default", &long]);
    let end = random.pick(&["\n", "\r\n", "\r", "\n\n", ""]);
    format!("$ANSIBLE_VAULT;{version};{cipher}{id}{end}{body}").into_bytes()
}

/// Damages a text in a few places.
fn damaged(text: &str, random: &mut Random) -> Vec<u8> {
    if random.below(4) == 0 {
        return with_other_header(text, random);
    }
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len());
        match random.below(9) {
            _ if bytes.is_empty() => bytes.push(b'$'),
            0 => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, b"0af\n;$ \xffgZ\0\r"[random.below(12)]),
            3 => bytes.truncate(at),
            4 => bytes[at] = b"0123456789abcdef\n"[random.below(17)],
            5 => {
                let other = random.below(bytes.len());
                bytes.swap(at, other);
            }
            6 => drop(bytes.drain(at..(at + 81).min(bytes.len()))),
            7 => bytes.extend_from_within(at..),
            _ => bytes.reverse(),
        }
    }
    bytes
}

#[track_caller]
fn check(vault: &Vault, text: &[u8]) -> bool {
    match vault.decrypt(text) {
        // What is not authenticated may change: the ID, the case of digits, ends of lines.
        Ok(plain) => {
            assert_eq!(&plain[..], PLAIN.as_bytes(), "another plain text of {:?}", String::from_utf8_lossy(text));
            true
        }
        Err(error) => {
            let shown = format!("{error} {error:?} {vault:?}");
            let is_shown = |secret: &str| shown.contains(secret) || shown.contains(&hex(secret.as_bytes()));
            assert!(
                !PLAIN.split(' ').chain(["correct", "horse"]).any(|word| word.len() > 4 && is_shown(word)),
                "{shown}"
            );
            false
        }
    }
}

#[test]
fn damaged_texts_are_errors_that_show_nothing() {
    let texts = [
        encrypted("$ANSIBLE_VAULT;1.1;AES256", &padded(PLAIN.as_bytes())),
        encrypted("$ANSIBLE_VAULT;1.2;AES256;dev", &padded(PLAIN.as_bytes())),
    ];
    let vault = vault();
    texts.iter().for_each(|text| assert!(check(&vault, text.as_bytes())));
    let mut random = Random(0x0da3_a6ed);
    let decrypted = (0..count()).filter(|at| check(&vault, &damaged(&texts[at % 2], &mut random))).count();
    assert!(decrypted * 10 < count(), "{decrypted} damaged texts were decrypted");
}

#[test]
fn data_with_a_right_hmac_and_wrong_padding_are_damaged() {
    for padded in [&[][..], &[1; 15], &[0; 16], &[17; 16], &[2; 1], b"fifteen bytes..\x02"] {
        let text = encrypted("$ANSIBLE_VAULT;1.1;AES256", padded);
        let found = vault().decrypt(text.as_bytes()).err();
        assert_eq!(found, Some(VaultError::Damaged("its padding is wrong")), "{padded:?}");
    }
}

#[test]
fn huge_texts_are_read_in_time_that_grows_with_them() {
    let plain = vec![b'x'; 4 << 20];
    let text = encrypted("$ANSIBLE_VAULT;1.1;AES256", &padded(&plain));
    assert!(vault().decrypt(text.as_bytes()).is_ok_and(|found| *found == plain));
    let digits = "30".repeat(4 << 20);
    for body in [digits.clone(), "0a".repeat(4 << 20), "\n".repeat(8 << 20), format!("{digits}x")] {
        assert!(vault().decrypt(format!("$ANSIBLE_VAULT;1.1;AES256\n{body}").as_bytes()).is_err());
    }
    let header = format!("$ANSIBLE_VAULT;{}", ";".repeat(8 << 20));
    assert_eq!(vault().decrypt(header.as_bytes()).err(), Some(VaultError::Version));
}
