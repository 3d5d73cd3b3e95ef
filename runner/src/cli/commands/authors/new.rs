//! `modbox new`: creates a module project that builds, runs and has a test.

use modbox_authoring::{NewOptions, ProjectLanguage};

use crate::cli::args::{self, NewArgs};
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::output;

/// Writes the project, and prints the next step.
pub(crate) fn run(context: &Context, args: &NewArgs) -> Result<ExitStatus, Failure> {
    let language = match args.language {
        args::ProjectLanguage::Rust => ProjectLanguage::Rust,
        args::ProjectLanguage::C => ProjectLanguage::C,
        args::ProjectLanguage::Go => ProjectLanguage::Go,
        args::ProjectLanguage::Python => ProjectLanguage::Python,
        args::ProjectLanguage::JavaScript => ProjectLanguage::JavaScript,
    };
    let options = NewOptions { language, sdk: args.sdk.clone() };
    let parent = &context.environment.cwd;
    let made = |cx: &mut modbox_authoring::AuthoringContext<'_>| {
        modbox_authoring::new_project(cx, parent, &args.name, &options)
    };
    with_context(context, made).or_usage()?;
    let name = &args.name;
    let next = format!("made `{name}`; next: cd {name} && {}", language.first_steps());
    output::print_line(&next).or_internal()?;
    Ok(ExitStatus::Success)
}
