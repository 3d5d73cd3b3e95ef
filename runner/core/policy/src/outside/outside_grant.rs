//! A grant to run commands outside, and a command that it covers.

use std::path::{Path, PathBuf};

use modbox_vocabulary::{GrantSource, quoting};
use serde::{Deserialize, Serialize};

use crate::outside::kinds::Kind;
use crate::outside::matcher::Operand;
use crate::outside::names::BoundNames;
use crate::outside::rule::{OutsideRule, RuleProgram, SCRIPTS};
use crate::run::STANDARD_DIRECTORIES;

/// A grant to run commands outside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideGrant {
    /// The commands that are granted.
    pub rule: OutsideRule,
    /// The absolute paths of the program. Empty if the machine does not have it, and for scripts of services.
    pub programs: Vec<PathBuf>,
    /// The names that the profile of the rule binds.
    pub names: BoundNames,
    /// Whether the commands only ask, so that previews run them, too.
    pub is_query: bool,
    /// Whether it is a rule of a profile, and not one that an operator wrote.
    pub is_shipped: bool,
    /// The place of the rule, for reports.
    pub source: GrantSource,
}

/// A command that a grant covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsideCommand<'g> {
    /// What permits the command.
    pub grant: &'g OutsideGrant,
    /// The program to start.
    pub program: PathBuf,
    /// The arguments that kinds have matched, in order.
    pub operands: Vec<Operand>,
}

impl OutsideCommand<'_> {
    /// Returns the arguments that are files of the module's room. The program has to get private copies of them, and those of
    /// [`Kind::Settings`] have to pass [`check_settings`](crate::outside::check_settings).
    pub fn files(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().filter(|operand| operand.kind.is_file())
    }

    /// Returns the arguments that are paths of the machine. The command must not run if the module can change a part of one.
    pub fn paths(&self) -> impl Iterator<Item = &Operand> {
        self.operands.iter().filter(|operand| matches!(operand.kind, Kind::Path | Kind::Home))
    }
}

impl OutsideGrant {
    /// Returns the command if the grant covers it. `program` is the absolute path or the name by which it is called, without its
    /// first word, which a caller chooses. `user` is the name of the user as which it would run.
    ///
    /// A word that is not UTF-8 is never covered.
    #[must_use]
    pub fn covers(&self, program: &str, arguments: &[impl AsRef<[u8]>], user: &str) -> Option<OutsideCommand<'_>> {
        let (program, script) = self.program(program)?;
        let read = |argument| std::str::from_utf8(AsRef::<[u8]>::as_ref(argument)).ok();
        let arguments: Vec<&str> = arguments.iter().map(read).collect::<Option<_>>()?;
        // No argument of a process holds one, and the rest of the text would not be judged.
        if arguments.iter().any(|argument| argument.contains('\0')) {
            return None;
        }
        let operands = self.rule.matches(&arguments, &self.names)?;
        let is_permitted = script.is_none_or(|unit| self.names.permit(Kind::Unit, &unit));
        (is_permitted && self.permits_user(&operands, user)).then_some(OutsideCommand {
            grant: self,
            program,
            operands,
        })
    }

    /// Returns the path of the program if the rule is for the one that is called so, whatever its arguments are.
    #[must_use]
    pub fn is_for(&self, called: &str) -> Option<PathBuf> {
        let (program, script) = self.program(called)?;
        script.is_none_or(|unit| self.names.permit(Kind::Unit, &unit)).then_some(program)
    }

    /// Returns the program to start if the rule is for this one, and the unit whose script it is.
    fn program(&self, called: &str) -> Option<(PathBuf, Option<String>)> {
        if *self.rule.program() == RuleProgram::Script {
            let unit = called.strip_prefix(SCRIPTS)?.strip_prefix('/')?;
            return Some((PathBuf::from(called), Some(unit.to_owned())));
        }
        let is = |path: &PathBuf| match called.contains('/') {
            true => path.as_os_str() == called,
            false => STANDARD_DIRECTORIES.iter().any(|directory| *path == Path::new(directory).join(called)),
        };
        let is_one = !matches!(called, "" | "." | "..") && self.programs.iter().any(is);
        is_one.then(|| self.programs.first().cloned().map(|program| (program, None)))?
    }

    /// Returns whether the table of cron that `crontab` works on is one of a permitted user: without `-u USER` it is the caller's.
    fn permits_user(&self, operands: &[Operand], user: &str) -> bool {
        let is_crontab = |path: &PathBuf| path.file_name().is_some_and(|name| name == "crontab");
        let names_users = self.rule.kinds().any(|kind| kind == Kind::User);
        let is_named = operands.iter().any(|operand| operand.kind == Kind::User);
        !names_users || is_named || !self.programs.iter().any(is_crontab) || self.names.permit(Kind::User, user)
    }

    /// Returns whether an operator wrote the rule.
    #[must_use]
    pub fn is_own_rule(&self) -> bool {
        !self.is_shipped
    }

    /// Returns whether the grant permits all commands that another one does, as far as that can be told: the rule must be the same.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        self.rule == other.rule && self.programs == other.programs && other.names.are_within(&self.names)
    }

    /// Formats the grant for people: the rule, with the names that it is bound to.
    #[must_use]
    pub fn shown(&self) -> String {
        let is_bound = self.rule.kinds().any(Kind::is_bound);
        match self.names.is_empty() || !is_bound {
            true => self.rule.to_string(),
            false => format!("{} for {}", self.rule, quoting::join(self.names.names().iter().map(String::as_str))),
        }
    }
}
