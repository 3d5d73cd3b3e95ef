//! What is found: a name with a password, or a token. Secrets are kept out of messages and logs.
//!
//! Their memory is not overwritten afterwards.

use std::fmt;

/// A text that no message shows: its debug form is `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Credentials for a registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A user's name and password.
    Password {
        /// The name.
        user: String,
        /// The password, or an access token in its place.
        password: Secret,
    },
    /// A token that is exchanged for others (OAuth 2 calls it a refresh token).
    IdentityToken(Secret),
}

impl Secret {
    /// Returns the text, for the place that sends it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_printed() {
        let secret = Secret::from("hunter2".to_owned());
        assert_eq!((secret.reveal(), format!("{secret:?}")), ("hunter2", "***".to_owned()));
        let found = [
            Credentials::IdentityToken(secret.clone()),
            Credentials::Password { user: "u".to_owned(), password: secret },
        ];
        assert!(!format!("{found:#?}").contains("hunter2"));
    }
}
