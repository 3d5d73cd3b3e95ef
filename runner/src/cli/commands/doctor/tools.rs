//! The programs that some modules and builds need: Python, also the one in the sandbox, ansible-core, compilers. Runs of other
//! modules need none.

use modbox_authoring::{LanguageTools, inspect_tools};
use modbox_run::{Interpreters, PythonSurvey};
use modbox_vocabulary::error_chain;

use super::check::Check;
use crate::cli::args::{AnsiballzForm, LookupArgs};
use crate::cli::authoring::with_context;
use crate::cli::context::Context;
use crate::cli::exit::error_words;
use crate::cli::settings;

/// Interpreters that a line lists.
const MAX_LISTED: usize = 8;

/// Returns the checks of programs.
pub(super) fn checks(context: &Context) -> Vec<Check> {
    let mut checks = python(context);
    let tools = with_context(context, |cx| inspect_tools(cx));
    checks.extend(tools.into_iter().map(|LanguageTools { language, found }| {
        let name = format!("tools for modules in {language}");
        match found {
            Ok(found) => Check::ok(&name, found),
            Err(missing) => Check::note(&name, missing.problem, &missing.remedy),
        }
    }));
    checks
}

fn python(context: &Context) -> Vec<Check> {
    let environment = &context.environment;
    let config = settings::python(environment, &LookupArgs::default(), &[], AnsiballzForm::Cached);
    let chosen = settings::interpreters(environment, &[]);
    let (config, chosen) = match (config, chosen) {
        (Ok(config), Ok(chosen)) => (config, chosen),
        (Err(error), _) | (_, Err(error)) => {
            return vec![Check::missing("Python", error_words(&error), "change or unset the variable")];
        }
    };
    let chosen = chosen.get("python").map(String::as_str);
    let survey = PythonSurvey::of(&config, chosen, &environment.cwd);
    let listed: Vec<String> =
        survey.interpreters.iter().take(MAX_LISTED).map(|path| format!("`{}`", path.display())).collect();
    let python = match (listed.is_empty(), chosen) {
        (false, _) => Check::ok("Python", listed.join(", ")),
        (true, Some(chosen)) => Check::note(
            "Python",
            format!("`{chosen}` of MODBOX_INTERPRETER was not found"),
            "name a program that exists",
        ),
        (true, None) => Check::note("Python", "not found", "Python modules need it: install `python3`"),
    };
    let core = match survey.core {
        Some((root, version)) => Check::ok("ansible-core", format!("{version} in `{}`", root.display())),
        None => Check::note(
            "ansible-core",
            "not found",
            "Ansible's Python modules need it: install it with `pip install ansible-core`, or name its Python in \
             MODBOX_INTERPRETER",
        ),
    };
    let sandbox = config.interpreters.map(|folder| sandbox_python(&Interpreters::new(folder, context.cleanup.clone())));
    [python, core].into_iter().chain(sandbox).collect()
}

/// Checks the interpreter of the sandbox that runs use: the one that was installed last.
fn sandbox_python(interpreters: &Interpreters) -> Check {
    const NAME: &str = "Python in the sandbox";
    let last = match interpreters.list() {
        Ok(listed) => listed.into_iter().next(),
        Err(error) => {
            return Check::note(NAME, error_chain(&error), "until that is mended, Python modules run natively");
        }
    };
    let Some(interpreter) = last else {
        let remedy = "Python modules run natively: `modbox python install` builds an interpreter, and they run there";
        return Check::note(NAME, "not installed", remedy);
    };
    let found = format!("CPython {} with ansible-core {}", interpreter.facts.python, interpreter.facts.release);
    match interpreter.is_stale() {
        false => Check::ok(NAME, found),
        true => {
            let found = format!("{found}, whose files have changed in `{}`", interpreter.facts.ansible.display());
            Check::note(NAME, found, "`modbox python install` builds one of the present files")
        }
    }
}
