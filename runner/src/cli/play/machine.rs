//! What filters and tests of templates see of this machine: the clock, chance, home directories, and files that the play
//! may read.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use modbox_jinja::values::{self, Offset};
use modbox_jinja::{FileQuestion, Host, HostError, SecretKeeper};
use modbox_policy::normalize;
use modbox_template::Value;
use modbox_yaml::load_data;

use crate::cli::play::files::glob;
use crate::cli::play::files::tree::PlayTree;
use crate::cli::play::play_secrets::PlaySecrets;
use crate::cli::process::environment::Environment;

/// The machine, as far as a play may see it.
#[derive(Debug)]
pub(crate) struct Machine {
    environment: Environment,
    tree: Arc<PlayTree>,
    secrets: Option<PlaySecrets>,
}

impl Machine {
    /// Creates a machine whose files are those of a tree. With `secrets`, templates make secrets.
    pub(crate) fn new(environment: Environment, tree: Arc<PlayTree>, secrets: Option<PlaySecrets>) -> Self {
        Self { environment, tree, secrets }
    }

    fn absolute(&self, path: &str) -> String {
        self.environment.absolute(Path::new(path)).display().to_string()
    }
}

impl Host for Machine {
    fn now(&self) -> Result<i128, HostError> {
        Ok(i128::from(Timestamp::now().as_microsecond()))
    }

    fn offset(&self, seconds: i64) -> Result<Offset, HostError> {
        let stamp = Timestamp::from_second(seconds).map_err(|error| HostError::Failed(error.to_string()))?;
        Ok(Offset { seconds: TimeZone::system().to_offset(stamp).seconds(), name: None })
    }

    fn random(&self) -> Result<u64, HostError> {
        let mut bytes = [0; 8];
        let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
        filled.map_err(|error| HostError::Failed(error.to_string()))?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn home(&self, user: Option<&str>) -> Result<Option<String>, HostError> {
        match user {
            None => Ok(self.environment.variable("HOME").and_then(|home| home.to_str()).map(str::to_owned)),
            // A home directory of another user says that the user exists, and nothing more.
            Some(user) => Ok(crate::cli::surroundings::home_of(user)),
        }
    }

    fn current_directory(&self) -> Result<String, HostError> {
        Ok(self.environment.cwd.display().to_string())
    }

    fn real_path(&self, path: &str) -> Result<String, HostError> {
        let path = self.absolute(path);
        let real = self.tree.real_path(&path);
        Ok(real.unwrap_or_else(|| normalize(Path::new(&path))).display().to_string())
    }

    fn file(&self, path: &str, question: FileQuestion) -> Result<bool, HostError> {
        let path = self.absolute(path);
        self.tree.answer(&path, question).map_err(|error| HostError::Failed(error.to_string()))
    }

    fn same_file(&self, first: &str, second: &str) -> Result<bool, HostError> {
        let real = |path: &str| {
            let path = self.absolute(path);
            let missing = || HostError::Failed(format!("failed to find the file `{path}`"));
            self.tree.real_path(&path).ok_or_else(missing)
        };
        Ok(real(first)? == real(second)?)
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>, HostError> {
        let found = glob::files(&*self.tree, &self.absolute(pattern));
        let found = found.map_err(|error| HostError::Failed(error.to_string()))?;
        Ok(found.into_iter().map(|path| glob::as_written(path, pattern, &self.environment.cwd)).collect())
    }

    fn yaml(&self, text: &str) -> Result<Vec<Value>, HostError> {
        let documents = load_data(text, "<text>").map_err(|error| HostError::Failed(error.to_string()))?;
        Ok(documents.iter().map(values::from_json).collect())
    }

    fn secrets(&self) -> Option<&dyn SecretKeeper> {
        self.secrets.as_ref().map(|secrets| secrets as &dyn SecretKeeper)
    }
}
