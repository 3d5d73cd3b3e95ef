//! Explains playbooks for `modbox play --explain`: prints each task, and then the policy that they need.

use modbox_contract::{Value, encode};
use modbox_run::suggestion::{PlaySuggestion, render_play};
use modbox_tasks::explain::{TaskExplanation, playbook as explain_playbook};
use modbox_tasks::load::context::LoadSettings;
use modbox_tasks::model::play::Playbook;
use modbox_tasks::report::message::Message;
use modbox_tasks::run::options::RunOptions;
use modbox_template::Engine;

use crate::cli::play::files::tree::PlayTree;
use crate::cli::play::host::PlayHost;
use crate::cli::play::python_plugins::PluginListing;
use crate::cli::play::shown::explanation::{ExplainedTask, policy_line};
use crate::cli::play::shown::lacking::LackingRules;

/// What the policy says where the paths of a play need nothing.
const NOTHING: &str = "# As far as it is known before the run, a policy file has to grant nothing.";

/// Prints explanations of playbooks, and collects what they need.
#[derive(Default)]
pub(crate) struct Explainer {
    is_jsonl: bool,
    suggestion: PlaySuggestion,
    lacking: LackingRules,
    is_refused: bool,
}

impl Explainer {
    /// Creates an explainer that prints JSON lines or text.
    pub(crate) fn new(is_jsonl: bool) -> Self {
        Self { is_jsonl, ..Self::default() }
    }

    /// Explains a playbook. `print` gets each line or text.
    ///
    /// # Errors
    ///
    /// Something in a play is wrong, so that it could not start.
    pub(crate) fn playbook(
        &mut self,
        playbook: &Playbook,
        (engine, tree, host): (&Engine, &PlayTree, &mut PlayHost<'_>),
        (options, settings): (&RunOptions, &LoadSettings),
        print: &mut dyn FnMut(&str),
    ) -> Result<(), Message> {
        let calls = host.explain();
        let mut explained = |task: TaskExplanation| {
            if task.is_hidden {
                tree.needs().hide_after(0);
            }
            let task =
                ExplainedTask { task, calls: std::mem::take(&mut *calls.borrow_mut()), needs: tree.needs().take() };
            task.suggest(&mut self.suggestion);
            task.add_lacking(&mut self.lacking);
            self.is_refused |= task.is_refused();
            match self.is_jsonl {
                true => print(&(encode(&task.to_value()) + "\n")),
                false => print(&task.to_text()),
            }
        };
        explain_playbook(playbook, engine, host, options, settings, &mut explained)
    }

    /// Prints the Python plugins of the play, if there are any.
    pub(crate) fn plugins(&self, plugins: &[PluginListing], print: &mut dyn FnMut(&str)) {
        match self.is_jsonl {
            true if plugins.is_empty() => {}
            true => {
                let all = Value::List(plugins.iter().map(PluginListing::json).collect());
                print(&(encode(&[("event", Value::from("plugins")), ("plugins", all)].into()) + "\n"));
            }
            false => plugins.iter().for_each(|plugin| print(&plugin.comment())),
        }
    }

    /// Prints the policy that the explained tasks need, after `usable` has made it one that this machine takes. Returns
    /// whether a task would be refused in any case.
    ///
    /// # Errors
    ///
    /// An error of `usable`.
    pub(crate) fn finish(
        self,
        usable: impl FnOnce(&str) -> anyhow::Result<String>,
        print: &mut dyn FnMut(&str),
    ) -> anyhow::Result<bool> {
        let mut policy = render_play(self.suggestion, "modbox play --explain");
        if !self.lacking.is_empty() {
            policy = policy.lines().filter(|line| *line != NOTHING).map(|line| format!("{line}\n")).collect();
        }
        policy.push_str(&self.lacking.text());
        let policy = usable(&policy)?;
        match self.is_jsonl {
            true => print(&(policy_line(&policy) + "\n")),
            false => print(&policy),
        }
        Ok(self.is_refused)
    }
}
