//! What is refused before a play starts, so that nothing of it runs: tasks that need another user or another host.

use modbox_template::Scope;

use crate::fields::Fields;
use crate::keywords::Keyword;
use crate::load::values;
use crate::model::block::Item;
use crate::model::task::Task;
use crate::report::message::Message;
use crate::run::session::Session;
use crate::run::steps::become_user;

/// How many tasks a message names.
const NAMED: usize = 10;

/// Checks the tasks of a play that are known before it starts.
///
/// # Errors
///
/// A task without templates in its keywords needs a user that modbox cannot become, or another host.
pub fn check(session: &Session<'_>, items: &[Item]) -> Result<(), Message> {
    let scope = Scope::new();
    let fields = Fields { engine: session.engine, scope: &scope };
    let mut becoming: Vec<String> = Vec::new();
    let mut users: Vec<String> = Vec::new();
    let mut elsewhere: Vec<String> = Vec::new();
    visit(items, &mut |task| {
        if task.meta().is_some() || task.is_include() {
            return;
        }
        if let Some(user) = become_user::refused(&fields, session.options, task) {
            becoming.push(describe(task));
            if !users.contains(&user) {
                users.push(user);
            }
        }
        let host = task.keyword(Keyword::DelegateTo).filter(|source| !modbox_template::is_template(source));
        if let Some(host) = host.and_then(values::scalar_text).filter(|host| !session.is_here(host)) {
            elsewhere.push(format!("{} to `{host}`", describe(task)));
        }
    });
    if !becoming.is_empty() {
        return Err(Message::new(format!(
            "failed to start the play: {} become {}, and modbox runs as `{}`; start it with `sudo`: {}",
            count(becoming.len()),
            users.join(", "),
            session.options.user.name,
            list(&becoming)
        )));
    }
    if !elsewhere.is_empty() {
        return Err(Message::new(format!(
            "failed to start the play: {} delegated to other hosts, and modbox runs on this host only; run Ansible itself \
             for them: {}",
            if elsewhere.len() == 1 { "1 task is".to_owned() } else { format!("{} tasks are", elsewhere.len()) },
            list(&elsewhere)
        )));
    }
    Ok(())
}

fn count(number: usize) -> String {
    if number == 1 { "1 task would".to_owned() } else { format!("{number} tasks would") }
}

fn visit(items: &[Item], check: &mut dyn FnMut(&Task)) {
    for item in items {
        match item {
            Item::Task(task) => check(task),
            Item::Block(block) => {
                [&block.tasks, &block.rescue, &block.always].into_iter().for_each(|part| visit(part, check));
            }
        }
    }
}

fn describe(task: &Task) -> String {
    let name = task.keywords.get(Keyword::Name).and_then(values::scalar_text);
    format!("`{}` ({})", name.unwrap_or_else(|| task.action_text().to_owned()), task.position)
}

fn list(tasks: &[String]) -> String {
    let mut text = tasks.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if tasks.len() > NAMED {
        text.push_str(&format!(" and {} more", tasks.len() - NAMED));
    }
    text
}
