//! `url`: refused, since a template would use the network at a time that no task says.

use modbox_template::{LookupError, Value};

use super::call::Call;
use super::options::failed;

pub(super) fn run(_call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    Err(failed(
        "the lookup `url` is not supported; use the module `uri` with `return_content`, and register its result",
    ))
}
