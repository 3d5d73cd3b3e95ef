//! Passwords with their IDs, and which of them decrypts a text.

use std::fmt;

use zeroize::Zeroizing;

use crate::aes256;
use crate::envelope::Envelope;
use crate::error::VaultError;

/// The ID of secrets and texts that name none.
const DEFAULT_ID: &str = "default";

/// A password with an ID. It is overwritten when it is dropped, and never shown.
#[derive(Clone)]
pub struct Secret {
    id: String,
    password: Zeroizing<Vec<u8>>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Secret {
    /// Returns a password with an ID; without one, the ID is `default`.
    #[must_use]
    pub fn new(id: Option<&str>, password: Zeroizing<Vec<u8>>) -> Self {
        Self { id: id.unwrap_or(DEFAULT_ID).to_owned(), password }
    }
}

/// The passwords of a run.
#[derive(Debug, Clone, Default)]
pub struct Vault {
    secrets: Vec<Secret>,
    /// Whether only the secrets with the ID of a text are tried (`vault_id_match`).
    matches_ids: bool,
}

impl Vault {
    /// Returns a vault with passwords, in the order in which they are tried.
    #[must_use]
    pub fn new(secrets: Vec<Secret>, matches_ids: bool) -> Self {
        Self { secrets, matches_ids }
    }

    /// Returns whether the vault has no password.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Decrypts a text: with the passwords of the ID that it names first, then with the others.
    ///
    /// # Errors
    ///
    /// The text is not one of a vault, or no password decrypts it.
    pub fn decrypt(&self, text: &[u8]) -> Result<Zeroizing<Vec<u8>>, VaultError> {
        let envelope = Envelope::read(text)?;
        if self.secrets.is_empty() {
            return Err(VaultError::NoSecrets);
        }
        let id = envelope.id.as_deref().unwrap_or(DEFAULT_ID);
        let (named, others): (Vec<&Secret>, Vec<&Secret>) = self.secrets.iter().partition(|secret| secret.id == id);
        let others = others.into_iter().filter(|_| !self.matches_ids);
        for secret in named.into_iter().chain(others) {
            match aes256::decrypt(&envelope, &secret.password) {
                Ok(data) => return Ok(data),
                Err(aes256::CipherError::Hmac) => {}
                Err(aes256::CipherError::Padding) => return Err(VaultError::Damaged("its padding is wrong")),
            }
        }
        Err(VaultError::NoMatch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(id: Option<&str>, password: &str) -> Secret {
        Secret::new(id, Zeroizing::new(password.as_bytes().to_vec()))
    }

    /// Encrypted by `ansible-vault` of ansible-core 2.21.
    const PLAIN: &str = "\
$ANSIBLE_VAULT;1.1;AES256\n\
33356534623336303735636438363332386461656130363030333832646162343363373062343537\n\
3932313339333036626131383236383462376633376361360a626661343063336135363561616237\n\
32333930313563653536326662323639666566313931616433326562363834326133636330353764\n\
6233613137376332380a323834313536373638663534333163336365663737626665366238656630\n\
3834\n\
";
    /// Encrypted by `ansible-vault` of ansible-core 2.21.
    const NAMED: &str = "\
$ANSIBLE_VAULT;1.2;AES256;dev\n\
35643533333535333065666131336536326234646238623362346233353134613731396162383031\n\
6631643937366536316662303637386436363432633231340a336664326630333735623331656366\n\
39653532373066376534636231366438333539356231346565313662666139646134306561613737\n\
3335326535343762360a383866636236343939343837356130316230306165383565643661373236\n\
3537\n\
";

    #[test]
    fn texts_of_ansible_vault_are_decrypted() {
        let vault = Vault::new(vec![secret(Some("other"), "wrong"), secret(Some("dev"), "pw")], false);
        for text in [PLAIN, NAMED] {
            assert_eq!(vault.decrypt(text.as_bytes()).map(|data| data.to_vec()), Ok(b"attack at dawn\n".to_vec()));
        }
        let with_cr = PLAIN.replace('\n', "\r\n");
        assert!(vault.decrypt(with_cr.as_bytes()).is_ok());
    }

    #[test]
    fn only_the_secret_of_the_id_is_tried_where_ids_must_match() {
        let decrypts = |id: &str, matches_ids| {
            Vault::new(vec![secret(Some(id), "pw")], matches_ids).decrypt(NAMED.as_bytes()).err()
        };
        assert_eq!(decrypts("dev", true), None);
        assert_eq!(decrypts("prod", true), Some(VaultError::NoMatch));
        assert_eq!(decrypts("prod", false), None);
    }

    #[test]
    fn what_cannot_be_decrypted_is_an_error() {
        let check = |text: &str, expect: VaultError| {
            let vault = Vault::new(vec![secret(None, "pw")], false);
            assert_eq!(vault.decrypt(text.as_bytes()).err(), Some(expect), "{text}");
        };
        check("x", VaultError::NotEncrypted);
        check("$ANSIBLE_VAULT", VaultError::Header);
        check("$ANSIBLE_VAULT;1.0;AES256\n", VaultError::Version);
        check("$ANSIBLE_VAULT;1.1;AES\n", VaultError::Cipher);
        check("$ANSIBLE_VAULT;1.1;AES256\n", VaultError::Damaged("it lacks the salt, the HMAC or the data"));
        check("$ANSIBLE_VAULT;1.1;AES256\n123\n", VaultError::Damaged("its lines are not hexadecimal digits"));
        check("$ANSIBLE_VAULT;1.1;AES256\n0a0a\n", VaultError::NoMatch);
        check("$ANSIBLE_VAULT;1.1;AES256\n7a\n", VaultError::Damaged("a part of it is not hexadecimal digits"));
        check(
            &PLAIN.replace("1.1;AES256\n3", "1.1;AES256\n"),
            VaultError::Damaged("its lines are not hexadecimal digits"),
        );
        assert_eq!(Vault::default().decrypt(PLAIN.as_bytes()).err(), Some(VaultError::NoSecrets));
        let wrong = Vault::new(vec![secret(None, "Pw")], false);
        assert_eq!(wrong.decrypt(PLAIN.as_bytes()).err(), Some(VaultError::NoMatch));
        let shown = format!("{:?}", secret(Some("dev"), "p4ssw0rd"));
        assert!(shown.contains("dev") && !shown.contains("p4ss"), "{shown}");
    }
}
