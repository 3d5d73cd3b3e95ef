//! What a module's function can ask about its run, and tell its caller besides the result.

use std::path::PathBuf;

use modbox_python_json::{Dict, Value};

use crate::Secrets;
use crate::internal_args::InternalArgs;

/// The run that a module's function is in.
#[derive(Debug, Clone)]
pub struct Module {
    pub(crate) name: String,
    pub(crate) internal: InternalArgs,
    pub(crate) parameters: Dict,
    pub(crate) secrets: Secrets,
    pub(crate) warnings: Vec<String>,
    pub(crate) deprecations: Vec<Deprecation>,
}

/// Something the caller uses that will go away.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Deprecation {
    /// What goes away, and what to use instead.
    pub message: String,
    /// The version that no longer has it.
    pub version: Option<String>,
    /// The day of the release that no longer has it.
    pub date: Option<String>,
    /// The collection whose version or date that is.
    pub collection_name: Option<String>,
}

impl Module {
    /// Returns the name under which the module was called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether the module may change nothing, and reports what it would change.
    #[must_use]
    pub fn check_mode(&self) -> bool {
        self.internal.check_mode
    }

    /// Returns whether the caller asks for differences: those given to
    /// [`Exit::diff`](crate::Exit::diff) are left out otherwise, so costly ones can be spared.
    #[must_use]
    pub fn diff_wanted(&self) -> bool {
        self.internal.diff
    }

    /// Returns how much the caller wants to know: the number of `-v`.
    #[must_use]
    pub fn verbosity(&self) -> i64 {
        self.internal.verbosity
    }

    /// Returns all that the caller says about the run.
    #[must_use]
    pub fn internal_args(&self) -> &InternalArgs {
        &self.internal
    }

    /// Returns the validated arguments, as a dict.
    #[must_use]
    pub fn parameters(&self) -> &Dict {
        &self.parameters
    }

    /// Returns a folder for temporary files that the caller removes.
    #[must_use]
    pub fn tmpdir(&self) -> PathBuf {
        self.internal.tmpdir.as_deref().unwrap_or("/tmp").into()
    }

    /// Tells the caller something, though nothing is wrong. Repetitions are dropped.
    pub fn warn(&mut self, message: impl Into<String>) {
        let message = message.into();
        if !self.warnings.contains(&message) {
            self.warnings.push(message);
        }
    }

    /// Tells the caller that something will go away. Repetitions are dropped.
    pub fn deprecate(&mut self, deprecation: Deprecation) {
        if !self.deprecations.contains(&deprecation) {
            self.deprecations.push(deprecation);
        }
    }

    /// Keeps a text out of everything that this module prints from now on.
    pub fn add_secret(&mut self, secret: impl Into<String>) {
        self.secrets.add(secret);
        crate::entry::remember_secrets(&self.secrets);
    }

    /// Completes a result with what was collected here, and takes the secrets out.
    pub(crate) fn complete(&self, mut entries: Dict) -> Dict {
        crate::files::add_file_facts(&mut entries);
        let invocation = Value::from([("module_args", self.parameters.clone())]);
        entries.entry("invocation".to_owned()).or_insert(invocation);
        merge(&mut entries, "warnings", self.warnings.iter().map(|warning| warning.as_str().into()).collect());
        merge(&mut entries, "deprecations", self.deprecations.iter().map(Deprecation::to_value).collect());
        self.secrets.mask_dict(entries)
    }
}

/// Puts what was collected before what a result has under the same key, each once, as ansible-core does with the warnings of
/// `exit_json`.
fn merge(entries: &mut Dict, key: &str, mut all: Vec<Value>) {
    let more = match entries.shift_remove(key) {
        Some(Value::List(more)) => more,
        Some(Value::Null) | None => Vec::new(),
        Some(one) => vec![one],
    };
    for one in more {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    if !all.is_empty() {
        entries.insert(key.to_owned(), Value::List(all));
    }
}

impl Deprecation {
    fn to_value(&self) -> Value {
        let mut entries = Dict::from_iter([("msg".to_owned(), Value::from(self.message.as_str()))]);
        let others = [("version", &self.version), ("date", &self.date), ("collection_name", &self.collection_name)];
        for (key, text) in others {
            entries.extend(text.as_deref().map(|text| (key.to_owned(), Value::from(text))));
        }
        Value::Dict(entries)
    }
}
