//! `ansible.posix.patch`: applies a patch of the play, or one of the machine.

use std::sync::Arc;

use modbox_python_json::Dict;

use crate::actions::context::ActionContext;
use crate::actions::copies::copying::private;
use crate::actions::error::ActionError;
use crate::paths;

/// Applies a patch.
///
/// # Errors
///
/// The patch cannot be found or read, or the module cannot be run.
pub fn run(context: &mut ActionContext<'_>) -> Result<Dict, ActionError> {
    let (name, mut args) = (context.action.clone(), context.args.clone());
    let source = context.text("src").ok_or_else(|| ActionError::failed("src is required"))?;
    if context.flag_of(&args, "remote_src", false) {
        return context.run_module(&name, args);
    }
    let path = context.find_file("files", &source)?;
    let content: Arc<[u8]> = context.host.files().bytes(&path)?.into();
    args.shift_remove("src");
    let file = private("src", paths::name(&path).to_owned(), &content);
    context.run_module_with(&name, args, vec![file])
}
