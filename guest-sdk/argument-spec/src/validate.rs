//! Validates arguments against a spec, in the order of Ansible's steps, and collects all errors.
//!
//! A module shows only the first error, so the order is part of the contract. The result is in `validated.rs`; the
//! steps are in `steps.rs`.

use modbox_python_json::Dict;

use crate::environment::Environment;
use crate::spec::ArgumentSpec;
use crate::steps::finish;
use crate::validated::Validated;

impl ArgumentSpec {
    /// Converts, completes and checks arguments. Variables come from `environment`.
    #[must_use]
    pub fn validate(&self, arguments: &Dict, environment: &dyn Environment) -> Validated {
        finish(self, arguments.clone(), environment)
    }
}
