//! One file with credentials: docker's `config.json`, or podman's `auth.json`, which has the same format.
//!
//! Of the settings of docker that the file also has, nothing is read.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use modbox_files::LastLink;
use serde::Deserialize;

use super::credential::{Credentials, Secret};
use super::error::{CredentialsError, MAX_FILE};
use super::registry_key::{RegistryKey, is_hub, server_of};
use crate::regular_file::{self, NotRead};

/// What the name of a helper's program begins with.
const PROGRAM: &str = "docker-credential-";

/// A file with credentials.
#[derive(Default, Deserialize)]
pub(super) struct ConfigFile {
    auths: Option<BTreeMap<String, Option<AuthEntry>>>,
    #[serde(rename = "credHelpers")]
    helpers: Option<BTreeMap<String, String>>,
    #[serde(rename = "credsStore")]
    store: Option<String>,
}

/// An entry of `auths`. Tools write an empty one for what a store keeps.
#[derive(Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct AuthEntry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    #[serde(rename = "identitytoken")]
    identity_token: Option<String>,
    #[serde(rename = "registrytoken")]
    registry_token: Option<String>,
}

/// A helper that a file names for a host.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct HelperChoice<'f> {
    name: &'f str,
    /// The name by which it knows the host.
    pub(super) server: &'f str,
    /// Whether nothing else of the file counts for the host.
    pub(super) decides: bool,
}

impl HelperChoice<'_> {
    /// Returns the name of the program.
    pub(super) fn program(&self) -> String {
        format!("{PROGRAM}{}", self.name)
    }
}

impl ConfigFile {
    /// Reads a file. Returns `None` if it is missing. An empty one has no entries, as for docker.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, CredentialsError> {
        let Some(bytes) = read_bounded(path)? else { return Ok(None) };
        if bytes.trim_ascii().is_empty() {
            return Ok(Some(Self::default()));
        }
        // The error of the parser quotes the file, so only the place is kept.
        let misplaced = |error: serde_json::Error| CredentialsError::Json {
            path: path.to_owned(),
            line: error.line(),
            column: error.column(),
        };
        serde_json::from_slice(&bytes).map(Some).map_err(misplaced)
    }

    /// Returns the helper to ask about a host. An empty name in `credHelpers` means none, in spite of the store.
    pub(super) fn helper<'f>(&'f self, host: &'f str) -> Option<HelperChoice<'f>> {
        let helpers = self.helpers.iter().flatten();
        let own = helpers.filter(|(key, _)| RegistryKey::new(key).is_host(host));
        let chosen = match own.max_by_key(|(key, _)| RegistryKey::new(key).rank()) {
            Some((key, name)) => {
                // Each tool has its own name for Docker Hub, and uses it in the file and towards the helper.
                let server = if is_hub(host) { key } else { host };
                HelperChoice { name, server, decides: true }
            }
            None => HelperChoice { name: self.store.as_deref()?, server: server_of(host), decides: false },
        };
        Some(chosen).filter(|chosen| !chosen.name.is_empty())
    }

    /// Returns the entry for a repository, unless it is empty.
    pub(super) fn entry(&self, host: &str, repository: &str) -> Option<&AuthEntry> {
        let entries = self.auths.iter().flatten().filter_map(|(key, entry)| {
            let entry = entry.as_ref().filter(|entry| !entry.is_empty())?;
            Some((RegistryKey::new(key), entry))
        });
        let covering = entries.filter(|(key, _)| key.covers(host, repository));
        covering.max_by_key(|(key, _)| key.rank()).map(|(_, entry)| entry)
    }
}

impl AuthEntry {
    fn is_empty(&self) -> bool {
        let fields = [&self.auth, &self.username, &self.password, &self.identity_token, &self.registry_token];
        fields.into_iter().all(|field| filled(field).is_none())
    }

    /// Returns the credentials of the entry. The path and the host are for the message.
    pub(super) fn credentials(&self, path: &Path, host: &str) -> Result<Credentials, CredentialsError> {
        if let Some(token) = filled(&self.identity_token) {
            return Ok(Credentials::IdentityToken(token.to_owned().into()));
        }
        let (path, host) = (path.to_owned(), host.to_owned());
        let login = match (filled(&self.auth), filled(&self.username), filled(&self.password)) {
            (None, None, None) => return Err(CredentialsError::RegistryToken { path, host }),
            (Some(auth), ..) => decode(auth),
            (None, Some(user), Some(password)) => Some((user.to_owned(), password.to_owned().into())),
            _ => None,
        };
        let (user, password) = login.ok_or(CredentialsError::Auth { path, host })?;
        Ok(Credentials::Password { user, password })
    }
}

fn filled(field: &Option<String>) -> Option<&str> {
    field.as_deref().filter(|text| !text.is_empty())
}

/// Decodes the base64 of `USER:PASSWORD`. As docker does, it passes over zero bytes around the password.
fn decode(auth: &str) -> Option<(String, Secret)> {
    let text = String::from_utf8(STANDARD.decode(auth.trim()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    (!user.is_empty()).then(|| (user.to_owned(), password.trim_matches('\0').to_owned().into()))
}

/// Reads a file up to its bound. Returns `None` if it is missing.
fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>, CredentialsError> {
    match regular_file::read(path, MAX_FILE, LastLink::Followed) {
        Ok(found) => Ok(found.map(|(bytes, _)| bytes)),
        Err(NotRead::Io(source)) => Err(CredentialsError::Read { path: path.to_owned(), source }),
        Err(NotRead::NotRegular) => Err(CredentialsError::NotRegular(path.to_owned())),
        Err(NotRead::TooLarge) => Err(CredentialsError::TooLarge(path.to_owned())),
    }
}
