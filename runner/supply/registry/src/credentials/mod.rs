//! Credentials for registries, as the tools of docker and podman keep them: in files, or in a store behind a helper.
//!
//! So that a login for `docker` or `podman` is one for modbox, too. This reads only: logging in is for those tools. It
//! does not read the environment: the caller passes the paths of the files and the folders of the helpers.
//!
//! | module | content |
//! |---|---|
//! | `credential` | what is found |
//! | `error` | what can fail |
//! | `registry_key` | the forms in which a file names registries |
//! | `config_file` | one file |
//! | `helper` | the question to a helper, and its answer |
//! | `helper_process` | the helper's process, bounded in time and output |
//!
//! Sources: the documentation of `docker login`, containers-auth.json(5), and the protocol of
//! docker-credential-helpers.

use std::path::PathBuf;
use std::time::Duration;

mod config_file;
mod credential;
mod error;
mod helper;
mod helper_process;
mod registry_key;

#[cfg(test)]
mod tests;

use config_file::ConfigFile;
use helper::HelperFolders;

pub use credential::{Credentials, Secret};
pub use error::{CredentialsError, HelperError};

/// Time that a helper has. The user may have to unlock the store meanwhile.
const PATIENCE: Duration = Duration::from_secs(30);

/// The files with credentials, and the folders of their helpers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialFiles {
    /// The files in their order. The first one with an entry counts; a missing file is passed over.
    pub files: Vec<PathBuf>,
    /// The folders with helpers, as in `PATH`. Only absolute ones count.
    pub helper_path: Vec<PathBuf>,
}

impl CredentialFiles {
    /// Returns the credentials for a repository of a host, such as `ghcr.io` and `acme/lineinfile`, or `None` if no
    /// file has any.
    ///
    /// In each file, a helper in `credHelpers` decides alone about its host. For other hosts, the helper in
    /// `credsStore` is asked first; what it does not have is searched for in `auths`.
    ///
    /// # Errors
    ///
    /// A file cannot be read, an entry is not in its form, or a helper is missing, fails or does not answer.
    pub fn find(&self, host: &str, repository_name: &str) -> Result<Option<Credentials>, CredentialsError> {
        self.find_within(PATIENCE, host, repository_name)
    }

    fn find_within(
        &self,
        patience: Duration,
        host: &str,
        repository_name: &str,
    ) -> Result<Option<Credentials>, CredentialsError> {
        let folders = HelperFolders { folders: &self.helper_path, patience };
        for path in &self.files {
            let Some(file) = ConfigFile::read(path)? else { continue };
            if let Some(chosen) = file.helper(host) {
                let failed =
                    |source| CredentialsError::Helper { path: path.clone(), program: chosen.program(), source };
                let answer = folders.ask(&chosen.program(), chosen.server).map_err(failed)?;
                if answer.is_some() {
                    return Ok(answer);
                }
                if chosen.decides {
                    continue;
                }
            }
            if let Some(entry) = file.entry(host, repository_name) {
                return entry.credentials(path, host).map(Some);
            }
        }
        Ok(None)
    }
}
