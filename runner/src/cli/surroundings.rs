//! What the validation of arguments asks of this machine: variables and home directories.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::rc::Rc;

use crate::cli::context::Context;

/// Maximum bytes of `/etc/passwd`. No real file is longer; users of a directory service are not in it.
const MAX_PASSWD: u64 = 16 << 20;

/// Environment for validation: variables for options' fallbacks, and home directories for paths.
pub(crate) struct Surroundings {
    variables: Vec<(OsString, OsString)>,
    /// The content of `/etc/passwd`; read when first needed, once for all questions.
    passwd: Rc<OnceCell<String>>,
}

impl Surroundings {
    /// Returns the environment of this process.
    pub(crate) fn of_process(context: &Context) -> Self {
        Self { variables: context.environment.variables.clone(), passwd: Rc::default() }
    }

    /// Returns the same with other variables.
    pub(crate) fn with_variables(&self, variables: Vec<(OsString, OsString)>) -> Self {
        Self { variables, passwd: Rc::clone(&self.passwd) }
    }
}

impl modbox_argument_spec::Environment for Surroundings {
    fn variable(&self, name: &str) -> Option<String> {
        let (_, value) = self.variables.iter().find(|(other, _)| *other == OsStr::new(name))?;
        value.to_str().map(str::to_owned)
    }

    /// Returns a home directory as Python's `expanduser` does: from `HOME`, or, without `HOME` or for another user,
    /// from the password file.
    fn home(&self, user: Option<&str>) -> Option<String> {
        if user.is_none()
            && let Some(home) = self.variable("HOME")
        {
            return Some(home);
        }
        let uid = rustix::process::getuid().as_raw().to_string();
        home_in(self.passwd.get_or_init(passwd), |name, id| user.map_or(id == uid, |user| name == user))
    }
}

/// Returns the home directory of a user by name.
pub(crate) fn home_of(user: &str) -> Option<String> {
    home_in(&passwd(), |name, _| name == user)
}

/// Returns the content of the password file.
fn passwd() -> String {
    let bytes = modbox_files::read_file(Path::new("/etc/passwd"), MAX_PASSWD).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the home directory of the first user whose name and number are wanted.
fn home_in(passwd: &str, wanted: impl Fn(&str, &str) -> bool) -> Option<String> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, id, _, _, home, ..] = fields[..] else { return None };
        wanted(name, id).then(|| home.to_owned())
    })
}
