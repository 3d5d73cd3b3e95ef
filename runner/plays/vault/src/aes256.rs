//! The cipher `AES256` of vaults: PBKDF2, HMAC with SHA-256, AES-256 in counter mode, padding as in PKCS#7.

use aes::Aes256;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit as _, StreamCipher as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use pbkdf2::pbkdf2_hmac;
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::envelope::Envelope;

/// Rounds of PBKDF2.
const ROUNDS: u32 = 10_000;

/// Bytes of a key; there are two, that of the data and that of the HMAC.
const KEY: usize = 32;

/// Bytes of a block and of the counter.
const BLOCK: usize = 16;

/// Why a password does not decrypt a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CipherError {
    /// The HMAC is another one: the password is wrong, or the text was changed.
    Hmac,
    /// The data end with wrong padding, although their HMAC is right.
    Padding,
}

/// Decrypts a text. Nothing of it is returned unless its HMAC, which is compared in constant time, and its padding are right.
pub(crate) fn decrypt(envelope: &Envelope, password: &[u8]) -> Result<Zeroizing<Vec<u8>>, CipherError> {
    let mut derived = Zeroizing::new([0; 2 * KEY + BLOCK]);
    pbkdf2_hmac::<Sha256>(password, &envelope.salt, ROUNDS, &mut *derived);
    let (key, rest) = derived.split_at(KEY);
    let (hmac_key, counter) = rest.split_at(KEY);
    let mut hmac = Hmac::<Sha256>::new_from_slice(hmac_key).map_err(|_| CipherError::Hmac)?;
    hmac.update(&envelope.data);
    hmac.verify_slice(&envelope.hmac).map_err(|_| CipherError::Hmac)?;
    let mut data = Zeroizing::new(envelope.data.clone());
    let mut cipher = Ctr128BE::<Aes256>::new_from_slices(key, counter).map_err(|_| CipherError::Hmac)?;
    cipher.apply_keystream(&mut data);
    let padding = padding(&data).ok_or(CipherError::Padding)?;
    let length = data.len() - padding;
    data.truncate(length);
    Ok(data)
}

/// Returns the number of bytes of padding at the end of data.
fn padding(data: &[u8]) -> Option<usize> {
    let last = *data.last()?;
    let count = usize::from(last);
    let padding = data.len().checked_sub(count).and_then(|start| data.get(start..))?;
    let is_right =
        (1..=BLOCK).contains(&count) && data.len().is_multiple_of(BLOCK) && padding.iter().all(|byte| *byte == last);
    is_right.then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_that_of_pkcs7() {
        let check = |data: &[u8], expect| assert_eq!(padding(data), expect, "{data:?}");
        check(&[16; 16], Some(16));
        check(&[&[7; 15][..], &[1]].concat(), Some(1));
        check(&[&[0; 14][..], &[2, 2]].concat(), Some(2));
        check(&[&[0; 14][..], &[1, 2]].concat(), None);
        check(&[0; 16], None);
        check(&[17; 32], None);
        check(&[1], None);
        check(&[], None);
    }
}
