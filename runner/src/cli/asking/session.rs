//! The questions and answers of one process, and what they are about.

use jiff::Timestamp;
use modbox_contract::Dict;
use modbox_policy::Rules;
use modbox_run::{Report, Status, mask_live_secrets};
use modbox_tasks::run::host::{Prompt, PromptError};
use modbox_vocabulary::{Capability, Denial};
use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::{QueueSelector, tcflush};

use crate::cli::args::AnsweredGrant;
use crate::cli::asking::answer_file::{self, Remarks};
use crate::cli::asking::facts::RunFacts;
use crate::cli::asking::limits::askable;
use crate::cli::asking::own_files::OwnFiles;
use crate::cli::asking::question::{self, Asker, wanted};
use crate::cli::asking::wish::Wish;
use crate::cli::context::Context;
use crate::cli::printing::clean::clean_line;
use crate::cli::printing::output;
use crate::cli::process::ignored_signals::IgnoredSignals;
use crate::cli::settings::Settings;
use crate::cli::terminal;

/// Maximum number of questions for one run. A person who answers more does not read them.
const MAX_QUESTIONS: usize = 48;

/// Maximum number of notes on what is not asked for.
const MAX_NOTES: usize = 8;

/// The keys, and what stands for them in a question.
const KEYS: (&[char], &str) = (&['o', 'a', 'n'], "  o once   a always   n no > ");

/// The same for a user without a folder of policy files.
const KEYS_WITHOUT_FOLDER: (&[char], &str) = (&['o', 'n'], "  o once   n no > ");

/// What follows from the answers.
pub(crate) enum Outcome {
    /// The module runs again, with all that was granted so far and with other arguments.
    Again { grants: Vec<AnsweredGrant>, arguments: Vec<(String, String)> },
    /// There is nothing to ask a person for.
    NothingToAsk,
    /// The person said no.
    Refused,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    Once,
    Always,
    No,
}

/// The questions and answers of one process.
pub(crate) struct Session<'a> {
    context: &'a Context,
    own: OwnFiles,
    /// The command, for files of answers.
    command: &'static str,
    /// The task that is run, if the command has tasks.
    task_name: Option<String>,
    answered: Vec<AnsweredGrant>,
    /// What was granted to the module of a digest, as policy files have it.
    given: Vec<(String, WrittenGrants)>,
    /// What a person has refused to the module of a digest. It is not asked for again.
    refused: Vec<(String, WrittenGrants)>,
    /// What a note was printed on.
    noted: Vec<WrittenGrants>,
    questions: usize,
}

/// Grants as policy files have them.
type WrittenGrants = Vec<(Capability, String)>;

impl<'a> Session<'a> {
    pub(crate) fn new(context: &'a Context, settings: &Settings, command: &'static str) -> Self {
        Self {
            context,
            own: OwnFiles::new(context, settings),
            command,
            task_name: None,
            answered: Vec::new(),
            given: Vec::new(),
            refused: Vec::new(),
            noted: Vec::new(),
            questions: 0,
        }
    }

    /// Begins the run of a task. What was answered for others holds.
    pub(crate) fn begin(&mut self, task_name: &str) {
        self.task_name = Some(task_name.to_owned());
        self.questions = 0;
    }

    /// Returns whether a person may be asked for what was refused.
    pub(crate) fn would_ask(&self, denial: &Denial, facts: &RunFacts, task: &Dict) -> bool {
        let wish = Wish::of_denial(denial, task, &self.context.environment);
        let is_known = facts.digest.is_some();
        is_known && wish.is_some_and(|wish| askable(&wish, facts, &self.context.environment, &self.own).is_ok())
    }

    /// Asks for what a run lacked. `task` has its arguments.
    pub(crate) fn ask(&mut self, report: &Report, facts: &RunFacts, task: &Dict) -> Outcome {
        let Some(digest) = &facts.digest else {
            output::print_note("not asked: an answer is for one digest, and the parts of this module cannot be found");
            return Outcome::NothingToAsk;
        };
        if self.was_refused(digest, report, task) {
            return Outcome::Refused;
        }
        let has_started = report.status != Status::Denied;
        let (wishes, left_out) = self.sorted(report, facts, digest, task);
        // A run that does not start lacks all of them.
        let is_enough = has_started || (left_out == 0 && Wish::cover(report, task, &self.context.environment));
        if wishes.is_empty() || !is_enough {
            return Outcome::NothingToAsk;
        }
        if self.questions + wishes.len() > MAX_QUESTIONS {
            output::print_note(&format!("not asked: the module asks for more than {MAX_QUESTIONS} grants"));
            return Outcome::NothingToAsk;
        }
        let asker = Asker {
            name: report.module.name.clone().unwrap_or_else(|| report.module.path.clone()),
            version: report.module.version.clone(),
            signature: facts.policy.trust().signature.clone(),
            requests: facts.requests.clone(),
            task: self.task_name.clone(),
        };
        let mut arguments = Vec::new();
        let count = wishes.len();
        for (index, (wish, rules)) in wishes.into_iter().enumerate() {
            self.questions += 1;
            let named_by = wish.named_by(task, &self.context.environment);
            let text = question::text(&asker, &wish, &rules, named_by, (index + 1, count));
            match self.answer(&text) {
                Answer::No => {
                    self.refused.push((digest.clone(), wish.grants));
                    return Outcome::Refused;
                }
                Answer::Once => output::print_note(&format!("once: {}", wanted(&wish, &rules))),
                Answer::Always => {
                    let (wanted, reason) = (wanted(&wish, &rules), question::cause(&wish.cause, named_by));
                    let time = Timestamp::now();
                    self.keep(digest, &wish, &Remarks { asker: &asker, wanted: &wanted, reason: &reason, time });
                }
            }
            self.given.push((digest.clone(), wish.grants));
            arguments.extend(wish.argument);
            self.answered.push(AnsweredGrant { digest: digest.clone(), rules });
        }
        Outcome::Again { grants: self.answered.clone(), arguments }
    }

    /// Returns what a person can be asked for, with what it grants now, and the number of other wishes.
    fn sorted(&mut self, report: &Report, facts: &RunFacts, digest: &str, task: &Dict) -> (Vec<(Wish, Rules)>, usize) {
        let environment = &self.context.environment;
        let (mut asked, mut left_out) = (Vec::new(), 0);
        for wish in Wish::all_of(report, task, environment) {
            let why = match askable(&wish, facts, environment, &self.own) {
                _ if has(&self.given, digest, &wish.grants) => "it was given, and did not help".to_owned(),
                Ok(rules) => {
                    asked.push((wish, rules));
                    continue;
                }
                Err(why) => why,
            };
            left_out += 1;
            if self.noted.len() < MAX_NOTES && !self.noted.contains(&wish.grants) {
                let grants = wish.grants.iter().map(|(capability, value)| {
                    let value: String = value.chars().take(100).collect();
                    format!("{capability} {}", clean_line(&value))
                });
                output::print_note(&format!("not asked: {}: {why}", grants.collect::<Vec<_>>().join(", ")));
                self.noted.push(wish.grants);
            }
        }
        (asked, left_out)
    }

    /// Returns whether a person has refused the module something that the run lacks.
    fn was_refused(&self, digest: &str, report: &Report, task: &Dict) -> bool {
        let wishes = Wish::all_of(report, task, &self.context.environment);
        wishes.iter().any(|wish| has(&self.refused, digest, &wish.grants))
    }

    /// Asks one question. A terminal that is gone says no.
    fn answer(&self, text: &str) -> Answer {
        let (keys, shown) = if self.context.environment.policy_folder.is_some() { KEYS } else { KEYS_WITHOUT_FOLDER };
        // What was typed before the question does not answer it.
        let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
        let text = format!("{}{shown}", mask_live_secrets(text));
        let prompt = Prompt { text, private: false, timeout: None, keys };
        match terminal::ask(&self.context.cleanup, &prompt).as_deref() {
            Ok("o") => Answer::Once,
            Ok("a") => Answer::Always,
            Err(PromptError::Interrupted) => {
                self.interrupt();
                Answer::No
            }
            Ok(_) | Err(PromptError::NotInteractive) => Answer::No,
        }
    }

    /// Ends the process as Ctrl+C does outside of a question, unless the process ignores that.
    fn interrupt(&self) {
        if IgnoredSignals::of_this_process().contains(Signal::INT.as_raw()) {
            return;
        }
        if kill_process(getpid(), Signal::INT).is_ok() {
            // The thread that waits for signals ends the process.
            loop {
                std::thread::park();
            }
        }
    }

    /// Writes an answer for good. If that fails, it holds for this process.
    fn keep(&self, digest: &str, wish: &Wish, remarks: &Remarks<'_>) {
        let Some(folder) = &self.context.environment.policy_folder else { return };
        let written = answer_file::text(self.command, digest, wish, remarks)
            .and_then(|text| answer_file::write(folder, &remarks.asker.name, &text));
        match written {
            Ok(path) => {
                output::print_note(&format!("always: written to `{}`; remove it to take it back", path.display()))
            }
            Err(error) => {
                output::print_error(&error);
                output::print_note("this answer holds for this command only");
            }
        }
    }
}

/// Returns whether a list has grants of the module of a digest.
fn has(list: &[(String, WrittenGrants)], digest: &str, grants: &WrittenGrants) -> bool {
    list.iter().any(|(of, one)| of == digest && one == grants)
}
