//! Arguments against a spec: Ansible's steps, in Ansible's order, with all errors collected.
//!
//! A module shows only the first error; the order is therefore part of the contract. What comes back is in `validated.rs`;
//! the steps are in `steps.rs`.

use modbox_python_json::Dict;

use crate::environment::Environment;
use crate::spec::ArgumentSpec;
use crate::steps::finish;
use crate::validated::Validated;

impl ArgumentSpec {
    /// Converts, completes and checks arguments. Environment variables are asked of `environment`.
    #[must_use]
    pub fn validate(&self, arguments: &Dict, environment: &dyn Environment) -> Validated {
        finish(self, arguments.clone(), environment)
    }
}
