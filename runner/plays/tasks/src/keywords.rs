//! The table of keywords: where each one may be written, its type, how it is inherited, and what modbox does with it.
//!
//! No other file knows which words plays, blocks, tasks, roles, handlers and `loop_control` take. A word that the table
//! does not have is an error where it is written, and a word that means nothing for one local host says so. Reading the
//! values is the work of `load`, evaluating them that of `run`.

use std::str::FromStr as _;

use strsim::levenshtein;

/// Number of characters of a key that are compared with keywords. A key is text of a play, and may be long.
const MAX_COMPARED: usize = 64;

/// A word that Ansible's plays and tasks can have as a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs, reason = "each word is documented in its row, and by Ansible")]
pub enum Keyword {
    Action,
    Always,
    AnyErrorsFatal,
    Args,
    Async,
    Become,
    BecomeExe,
    BecomeFlags,
    BecomeMethod,
    BecomeUser,
    Block,
    BreakWhen,
    ChangedWhen,
    CheckMode,
    Collections,
    Connection,
    Debugger,
    Delay,
    DelegateFacts,
    DelegateTo,
    Diff,
    Environment,
    Extended,
    ExtendedAllitems,
    FactPath,
    FailedWhen,
    ForceHandlers,
    GatherFacts,
    GatherSubset,
    GatherTimeout,
    Handlers,
    Hosts,
    IgnoreErrors,
    IgnoreUnreachable,
    ImportPlaybook,
    IndexVar,
    Label,
    Listen,
    LocalAction,
    Loop,
    LoopControl,
    LoopVar,
    MaxFailPercentage,
    ModuleDefaults,
    Name,
    NoLog,
    Notify,
    Order,
    Pause,
    Poll,
    Port,
    PostTasks,
    PreTasks,
    Register,
    RemoteUser,
    Rescue,
    Retries,
    Role,
    Roles,
    RunOnce,
    Serial,
    Strategy,
    Tags,
    Tasks,
    Throttle,
    Timeout,
    Until,
    User,
    ValidateArgspec,
    Vars,
    VarsFiles,
    VarsPrompt,
    When,
}

/// An object of a play that has keywords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum Place {
    /// A play.
    Play,
    /// An `import_playbook` statement.
    #[strum(serialize = "import_playbook")]
    PlaybookImport,
    /// A block.
    Block,
    /// A task.
    Task,
    /// A dynamic include: `include_tasks` or `include_role`.
    Include,
    /// A handler.
    Handler,
    /// An entry of `roles` or of `dependencies`.
    Role,
    /// The mapping of `loop_control`.
    LoopControl,
}

/// The type of a keyword's value once it is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum Kind {
    /// Any text.
    Text,
    /// A boolean.
    Bool,
    /// An integer.
    Int,
    /// A number with a fraction.
    Float,
    /// A number with an optional percent sign.
    Percent,
    /// A list; a single value is a list of one.
    List,
    /// A mapping.
    Map,
    /// A list of tasks.
    Tasks,
    /// A list of roles.
    Roles,
    /// Conditions: expressions, all of which must hold.
    Conditions,
    /// Any value.
    Any,
}

/// When a keyword's value is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluation {
    /// Never: templates in it stay text.
    Static,
    /// With the variables of the object that it belongs to.
    Templated,
}

/// How tasks get the value of a keyword that blocks, roles and plays above them have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inheritance {
    /// Not at all.
    Own,
    /// The innermost value counts.
    Override,
    /// The values of all levels count together.
    Extend,
}

/// What modbox does with a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// What Ansible does.
    Does,
    /// Only these values, for the reason given; other values are refused.
    Only(&'static [&'static str], &'static str),
    /// Nothing, for the reason given: it makes no difference for one local host.
    Noted(&'static str),
    /// An error, with the reason given.
    Refuses(&'static str),
}

/// A line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The keyword.
    pub keyword: Keyword,
    /// The objects that take it.
    pub places: &'static [Place],
    /// The type of its value.
    pub kind: Kind,
    /// When its value is evaluated.
    pub evaluation: Evaluation,
    /// How it is inherited.
    pub inheritance: Inheritance,
    /// What modbox does with it.
    pub status: Status,
}

use Evaluation::{Static, Templated};
use Inheritance::{Extend, Override, Own};
use Keyword as K;
use Kind::{Any, Bool, Conditions, Float, Int, List, Map, Percent, Roles, Tasks, Text};
use Status::{Does, Noted, Only, Refuses};

const PLAY: &[Place] = &[Place::Play];
const TASK: &[Place] = &[Place::Task, Place::Handler];
const TASK_INCLUDE: &[Place] = &[Place::Task, Place::Handler, Place::Include];
const HANDLER: &[Place] = &[Place::Handler];
const CONTROL: &[Place] = &[Place::LoopControl];
const BLOCK: &[Place] = &[Place::Block];
const IMPORT: &[Place] = &[Place::PlaybookImport];
const BELOW: &[Place] = &[Place::Block, Place::Task, Place::Handler, Place::Role];
const NOTIFIABLE: &[Place] = &[Place::Block, Place::Task, Place::Handler];
/// What Ansible calls the base of all objects.
const BASE: &[Place] = &[Place::Play, Place::PlaybookImport, Place::Block, Place::Task, Place::Handler, Place::Role];
/// The base, and dynamic includes.
const BASE_INCLUDE: &[Place] =
    &[Place::Play, Place::PlaybookImport, Place::Block, Place::Task, Place::Handler, Place::Role, Place::Include];
const CONDITIONAL: &[Place] =
    &[Place::PlaybookImport, Place::Block, Place::Task, Place::Handler, Place::Role, Place::Include];

const LOCAL: &[&str] = &["local", "ansible.builtin.local", "ansible.legacy.local"];
/// Strategies that are the same for hosts that run one after the other.
const STRATEGIES: &[&str] = &[
    "linear",
    "free",
    "host_pinned",
    "ansible.builtin.linear",
    "ansible.builtin.free",
    "ansible.builtin.host_pinned",
    "ansible.legacy.linear",
    "ansible.legacy.free",
    "ansible.legacy.host_pinned",
];
const METHODS: &[&str] = &["sudo", "su", "ansible.builtin.sudo", "ansible.builtin.su", "runas"];

const fn row(
    keyword: Keyword,
    places: &'static [Place],
    kind: Kind,
    evaluation: Evaluation,
    inheritance: Inheritance,
    status: Status,
) -> Row {
    Row { keyword, places, kind, evaluation, inheritance, status }
}

/// All keywords, in alphabetical order.
pub static TABLE: &[Row] = &[
    row(K::Action, TASK_INCLUDE, Any, Templated, Own, Does),
    row(K::Always, BLOCK, Tasks, Static, Own, Does),
    row(K::AnyErrorsFatal, BASE, Bool, Templated, Override, Does),
    row(K::Args, TASK_INCLUDE, Map, Templated, Own, Does),
    row(K::Async, TASK, Int, Templated, Own, Does),
    row(K::Become, BASE, Bool, Templated, Override, Does),
    row(K::BecomeExe, BASE, Text, Templated, Override, Noted("modbox starts no program to change the user")),
    row(K::BecomeFlags, BASE, Text, Templated, Override, Noted("modbox starts no program to change the user")),
    row(K::BecomeMethod, BASE, Text, Templated, Override, Only(METHODS, "modbox changes the user by itself")),
    row(K::BecomeUser, BASE, Text, Templated, Override, Does),
    row(K::Block, BLOCK, Tasks, Static, Own, Does),
    row(K::BreakWhen, CONTROL, Conditions, Templated, Own, Does),
    row(K::ChangedWhen, TASK, Conditions, Templated, Own, Does),
    row(K::CheckMode, BASE, Bool, Templated, Override, Does),
    row(K::Collections, BASE_INCLUDE, List, Static, Override, Does),
    row(K::Connection, BASE, Text, Templated, Override, Only(LOCAL, "modbox runs on this host only")),
    row(
        K::Debugger,
        BASE_INCLUDE,
        Text,
        Static,
        Override,
        Only(&["never"], "modbox has no task debugger; remove the keyword"),
    ),
    row(K::Delay, TASK, Float, Templated, Own, Does),
    row(K::DelegateFacts, BELOW, Bool, Templated, Override, Noted("the only host has the facts already")),
    row(K::DelegateTo, BELOW, Text, Templated, Override, Does),
    row(K::Diff, BASE, Bool, Templated, Override, Does),
    row(K::Environment, BASE, List, Templated, Extend, Does),
    row(K::Extended, CONTROL, Bool, Templated, Own, Does),
    row(K::ExtendedAllitems, CONTROL, Bool, Templated, Own, Does),
    row(K::FactPath, PLAY, Text, Templated, Own, Refuses("facts of programs are not gathered; run `setup` as a task")),
    row(K::FailedWhen, TASK, Conditions, Templated, Own, Does),
    row(K::ForceHandlers, PLAY, Bool, Templated, Own, Does),
    row(K::GatherFacts, PLAY, Bool, Templated, Own, Does),
    row(K::GatherSubset, PLAY, List, Templated, Own, Does),
    row(K::GatherTimeout, PLAY, Int, Templated, Own, Does),
    row(K::Handlers, PLAY, Tasks, Static, Own, Does),
    row(K::Hosts, PLAY, List, Templated, Own, Does),
    row(K::IgnoreErrors, BASE_INCLUDE, Bool, Templated, Override, Does),
    row(K::IgnoreUnreachable, BASE, Bool, Templated, Override, Noted("this host cannot be unreachable")),
    row(K::ImportPlaybook, IMPORT, Text, Templated, Own, Does),
    row(K::IndexVar, CONTROL, Text, Templated, Own, Does),
    row(K::Label, CONTROL, Any, Templated, Own, Does),
    row(K::Listen, HANDLER, List, Static, Own, Does),
    row(K::LocalAction, TASK_INCLUDE, Any, Templated, Own, Does),
    row(K::Loop, TASK_INCLUDE, List, Templated, Own, Does),
    row(K::LoopControl, TASK_INCLUDE, Map, Static, Own, Does),
    row(K::LoopVar, CONTROL, Text, Templated, Own, Does),
    row(K::MaxFailPercentage, PLAY, Percent, Templated, Own, Does),
    row(K::ModuleDefaults, BASE, List, Templated, Extend, Does),
    row(K::Name, BASE_INCLUDE, Text, Templated, Own, Does),
    row(K::NoLog, BASE_INCLUDE, Bool, Templated, Override, Does),
    row(K::Notify, NOTIFIABLE, List, Templated, Extend, Does),
    row(K::Order, PLAY, Text, Templated, Own, Does),
    row(K::Pause, CONTROL, Float, Templated, Own, Does),
    row(K::Poll, TASK, Int, Templated, Own, Does),
    row(K::Port, BASE, Int, Templated, Override, Noted("a local connection has no port")),
    row(K::PostTasks, PLAY, Tasks, Static, Own, Does),
    row(K::PreTasks, PLAY, Tasks, Static, Own, Does),
    row(K::Register, TASK_INCLUDE, Text, Static, Own, Does),
    row(K::RemoteUser, BASE, Text, Templated, Override, Noted("a local connection has no remote user")),
    row(K::Rescue, BLOCK, Tasks, Static, Own, Does),
    row(K::Retries, TASK, Int, Templated, Own, Does),
    row(K::Role, &[Place::Role], Text, Templated, Own, Does),
    row(K::Roles, PLAY, Roles, Static, Own, Does),
    row(K::RunOnce, BASE_INCLUDE, Bool, Templated, Override, Does),
    row(K::Serial, PLAY, List, Templated, Own, Does),
    row(
        K::Strategy,
        PLAY,
        Text,
        Templated,
        Own,
        Only(
            STRATEGIES,
            "each host runs its tasks in order, so that only `linear`, `free` and `host_pinned` are known",
        ),
    ),
    row(K::Tags, BASE_INCLUDE, List, Templated, Extend, Does),
    row(K::Tasks, PLAY, Tasks, Static, Own, Does),
    row(K::Throttle, BASE, Int, Templated, Override, Noted("one host runs one task at a time")),
    row(K::Timeout, BASE_INCLUDE, Int, Templated, Override, Does),
    row(K::Until, TASK, Conditions, Templated, Own, Does),
    row(K::User, PLAY, Text, Templated, Own, Noted("a local connection has no remote user")),
    row(K::ValidateArgspec, PLAY, Any, Templated, Own, Does),
    row(K::Vars, BASE_INCLUDE, Map, Static, Own, Does),
    row(K::VarsFiles, PLAY, List, Templated, Own, Does),
    row(K::VarsPrompt, PLAY, List, Templated, Own, Does),
    row(K::When, CONDITIONAL, Conditions, Templated, Extend, Does),
];

impl Keyword {
    /// Returns the keyword as plays write it.
    #[must_use]
    pub fn text(self) -> &'static str {
        self.into()
    }

    /// Returns the keyword's line in the table.
    #[must_use]
    pub fn row(self) -> &'static Row {
        // The table has one row for each keyword, in the order of the enum; a test holds that.
        &TABLE[self as usize]
    }
}

/// Finds the keyword that a key of an object is. Returns `None` if objects of that place do not take the key.
#[must_use]
pub fn find(place: Place, key: &str) -> Option<&'static Row> {
    let row = Keyword::from_str(key).ok()?.row();
    row.places.contains(&place).then_some(row)
}

/// Returns the keyword of a place that looks most like a key, for messages.
#[must_use]
pub fn nearest(place: Place, key: &str) -> Option<&'static str> {
    let here = TABLE.iter().filter(|row| row.places.contains(&place)).map(|row| row.keyword.text());
    let compared: String = key.chars().take(MAX_COMPARED).collect();
    let (distance, word) = here.map(|word| (levenshtein(word, &compared), word)).min()?;
    (distance <= 1 + key.chars().count() / 4).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_one_row_for_each_keyword_in_order() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.keyword as usize, index, "{:?}", row.keyword);
            assert_eq!(Keyword::from_str(row.keyword.text()).ok(), Some(row.keyword));
            assert!(!row.places.is_empty(), "{:?}", row.keyword);
        }
        assert_eq!(TABLE.len(), Keyword::When as usize + 1);
        let words: Vec<&str> = TABLE.iter().map(|row| row.keyword.text()).collect();
        let mut sorted = words.clone();
        sorted.sort_unstable();
        assert_eq!(words, sorted);
    }

    #[test]
    fn each_status_has_a_reason() {
        for row in TABLE {
            match row.status {
                Status::Does => {}
                Status::Only(values, reason) => assert!(!values.is_empty() && !reason.is_empty()),
                Status::Noted(reason) | Status::Refuses(reason) => assert!(!reason.is_empty()),
            }
        }
    }

    #[test]
    fn a_key_is_a_keyword_only_in_its_places() {
        let check = |place, key: &str, expect: Option<Keyword>| {
            assert_eq!(find(place, key).map(|row| row.keyword), expect, "{key} of {place}");
        };
        check(Place::Task, "when", Some(Keyword::When));
        check(Place::Play, "when", None);
        check(Place::Task, "hosts", None);
        check(Place::Task, "listen", None);
        check(Place::Handler, "listen", Some(Keyword::Listen));
        check(Place::Include, "become", None);
        check(Place::Include, "loop_control", Some(Keyword::LoopControl));
        check(Place::LoopControl, "label", Some(Keyword::Label));
        check(Place::LoopControl, "when", None);
        check(Place::Block, "notify", Some(Keyword::Notify));
        check(Place::Task, "When", None);
    }

    #[test]
    fn a_wrong_key_has_the_nearest_keyword() {
        let check = |key: &str, expect| assert_eq!(nearest(Place::Task, key), expect, "{key}");
        check("whn", Some("when"));
        check("regsiter", Some("register"));
        check("loop_controls", Some("loop_control"));
        check("quite_another_thing", None);
    }
}
