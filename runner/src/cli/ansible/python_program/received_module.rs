//! Runs a module that ansible-core has packed.

use std::time::Duration;

use modbox_contract::Value;
use modbox_kinds::ansiballz::ReceivedPayload;
use modbox_run::Module;

use crate::cli::ansible::ansible_call::{self, AnsibleCall, AnsweredRun};
use crate::cli::context::Context;
use crate::cli::exit::Failure;

/// Runs the module. `limit` replaces the default time limit.
///
/// # Errors
///
/// As [`ansible_call::run`].
pub(super) fn run(
    context: &Context,
    received: ReceivedPayload,
    limit: Option<Duration>,
) -> Result<AnsweredRun, Failure> {
    let module = Module::received(&received);
    let own_name = received.payload.module.to_string();
    let ReceivedPayload { args, secrets, open_files, .. } = received;
    let name = args.get("_ansible_module_name").and_then(Value::as_str).map_or(own_name, str::to_owned);
    let path = module.path().to_owned();
    let (path, name) = (&*path, &*name);
    let call =
        AnsibleCall { path, name, args, secrets, open_files, limit, policy: None, signature: None, audit: false };
    ansible_call::run(context, call, || Ok(module))
}
