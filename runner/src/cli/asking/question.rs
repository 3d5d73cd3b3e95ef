//! The text of a question. What a module or its author says is escaped, bounded, and marked as its words.

use std::fmt::Write as _;
use std::path::Path;

use modbox_argument_spec::Request;
use modbox_policy::{ModuleSignature, PathGrant, Rules, Shape, granted_host};
use modbox_vocabulary::quoting::quote;
use modbox_vocabulary::{Capability, HintSource, Operation};

use crate::cli::asking::wish::{Cause, Wish};
use crate::cli::printing::clean::clean_line;

/// Maximum characters of a module's name.
const MAX_NAME: usize = 64;

/// Maximum characters of a version.
const MAX_VERSION: usize = 32;

/// Maximum characters of a module's own words.
const MAX_REASON: usize = 200;

/// Maximum characters of the name of a task.
const MAX_TASK: usize = 100;

/// Begin of the lines under the first one.
const INDENT: &str = "        ";

/// A module that asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asker {
    pub(crate) name: String,
    /// What its author calls its version.
    pub(crate) version: Option<String>,
    pub(crate) signature: Option<ModuleSignature>,
    /// What its author says that it needs.
    pub(crate) requests: Vec<Request>,
    /// The task that it runs for. Results of modules can be in its name.
    pub(crate) task: Option<String>,
}

impl Asker {
    /// Returns the module in words: its name, its version and who signed it.
    pub(crate) fn in_words(&self) -> String {
        let name = shortened(&clean_line(&quote(&self.name)), MAX_NAME);
        // A version is a claim, and plain enough to say nothing else.
        let is_plain = |version: &&String| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
            version.len() <= MAX_VERSION && version.chars().all(is_plain)
        };
        let version = self.version.as_ref().filter(is_plain).map(|version| format!(" {version}")).unwrap_or_default();
        format!("{name}{version} ({})", self.standing())
    }

    /// Returns who signed the module.
    pub(crate) fn standing(&self) -> String {
        match &self.signature {
            Some(signature) if signature.verified => {
                let signers: Vec<String> =
                    signature.signers.iter().map(|signer| shortened(&clean_line(signer), MAX_NAME)).collect();
                format!("signed by {}", signers.join(", "))
            }
            Some(_) => "not signed".to_owned(),
            None => "no signature checked".to_owned(),
        }
    }

    /// Returns what the author says of a grant.
    fn reason(&self, wish: &Wish) -> Option<String> {
        let is_of = |request: &&Request| {
            let mut grants = wish.grants.iter();
            grants.any(|(capability, value)| request.capability == capability.as_str() && request.subject == *value)
        };
        let request = self.requests.iter().find(is_of).filter(|request| !request.reason.trim().is_empty())?;
        Some(shortened(&clean_line(&request.reason.replace('"', "'")), MAX_REASON))
    }
}

/// Returns the text of a question, without the keys. `place` is its number and how many there are.
pub(crate) fn text(asker: &Asker, wish: &Wish, rules: &Rules, named_by: Option<&str>, place: (usize, usize)) -> String {
    let mut text = format!("modbox: {} asks to {}\n", asker.in_words(), wanted(wish, rules));
    let mut line = |words: String| {
        let _ = writeln!(text, "{INDENT}{words}");
    };
    if let Some(task) = asker.task.as_deref().filter(|task| !task.trim().is_empty()) {
        line(format!("for the task \"{}\"", shortened(&clean_line(&task.replace('"', "'")), MAX_TASK)));
    }
    line(cause(&wish.cause, named_by));
    for grant in rules.paths.iter().filter(|grant| leads_elsewhere(wish, &grant.host)) {
        line(format!("a link leads to {}", clean_line(&quote(&grant.host.display().to_string()))));
    }
    if let Some((name, value)) = &wish.argument {
        line(format!("the argument {} then is {}", clean_line(&quote(name)), clean_line(&quote(value))));
    }
    if let Some(reason) = asker.reason(wish) {
        line(format!("the module says: \"{reason}\""));
    }
    if let (number, count @ 2..) = place {
        line(format!("question {number} of {count}"));
    }
    text
}

/// Returns a question in one line. It does not say where a link leads: who reads it may not know yet what is there.
pub(crate) fn in_line(asker: &Asker, wish: &Wish, rules: &Rules, named_by: Option<&str>) -> String {
    let mut line = format!("{} asks to {}: {}", asker.in_words(), wanted(wish, rules), cause(&wish.cause, named_by));
    if rules.paths.iter().any(|grant| leads_elsewhere(wish, &grant.host)) {
        line += "; a link is on the way";
    }
    if let Some(reason) = asker.reason(wish) {
        let _ = write!(line, "; the module says: \"{reason}\"");
    }
    line
}

/// Returns the grants of a wish in words.
pub(crate) fn wanted(wish: &Wish, rules: &Rules) -> String {
    let one = |(capability, value): &(Capability, String)| {
        let shown = clean_line(&quote(value));
        let is_folder = |path: &str| {
            let of_path = |grant: &&PathGrant| grant.host == Path::new(path) || grant.guest == path;
            rules
                .paths
                .iter()
                .find(of_path)
                .or_else(|| rules.paths.first())
                .is_some_and(|it| it.shape == Shape::Directory)
        };
        let below = || if is_folder(value) { " and all below it" } else { "" };
        match capability {
            Capability::Read => format!("read {shown}{}", below()),
            Capability::Write => format!("write {shown}{}", below()),
            Capability::Own => format!("make {shown} the owner of files"),
            Capability::Env => format!("see the variable {shown}"),
            Capability::Net => format!("connect to {shown}"),
            Capability::Listen => format!("listen at {shown}"),
            Capability::Run => format!("run {shown}"),
            Capability::Outside => format!("run {shown} outside of the sandbox"),
            Capability::Confinement | Capability::All => shown,
        }
    };
    wish.grants.iter().map(one).collect::<Vec<_>>().join(", and to ")
}

/// Returns why a run lacks something, in words.
pub(crate) fn cause(cause: &Cause, named_by: Option<&str>) -> String {
    let argument = || match named_by {
        Some(name) => format!("the argument {} names it", clean_line(&quote(name))),
        None => "an argument names it".to_owned(),
    };
    match cause {
        Cause::Denied(Operation::Argument) => argument(),
        Cause::Denied(Operation::Default) => "an option that is not given means it".to_owned(),
        Cause::Denied(Operation::Request) => "the module cannot do without it, by its own word".to_owned(),
        Cause::Denied(operation) => format!("the module was refused it ({operation}); its changes are discarded"),
        Cause::Lost => "the module's change would be lost without it".to_owned(),
        Cause::Guessed(HintSource::Arguments) => format!("a guess, since the module failed: {}", argument()),
        Cause::Guessed(HintSource::Output) => "a guess, since the module failed: its output names it".to_owned(),
    }
}

/// Returns whether a granted path is another one than those that are shown.
fn leads_elsewhere(wish: &Wish, host: &Path) -> bool {
    !wish.grants.iter().any(|(_, value)| Path::new(granted_host(value)) == host)
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use modbox_policy::Access;
    use modbox_vocabulary::GrantSource;

    use super::*;

    fn wish(capability: Capability, value: &str) -> Wish {
        let grants = vec![(capability, value.to_owned())];
        Wish { grants, argument: None, subject: value.to_owned(), cause: Cause::Denied(Operation::OpenAt) }
    }

    fn rules(host: &str, shape: Shape) -> Rules {
        let (host, guest) = (host.into(), host.to_owned());
        let source = GrantSource::named("test");
        Rules { paths: vec![PathGrant { host, shape, guest, access: Access::Read, source }], ..Rules::default() }
    }

    #[test]
    fn a_question_says_who_asks_for_what_and_why() {
        let signature = ModuleSignature {
            verified: true,
            signers: vec!["release@acme.example".to_owned()],
            ..ModuleSignature::default()
        };
        let asker = Asker {
            name: "tidy".to_owned(),
            version: Some("1.2.0".to_owned()),
            signature: Some(signature),
            requests: vec![Request {
                capability: "read".to_owned(),
                subject: "/etc/a".to_owned(),
                reason: "to \"know\"".to_owned(),
                required: false,
            }],
            task: None,
        };
        let shown =
            text(&asker, &wish(Capability::Read, "/etc/a"), &rules("/srv/real", Shape::Directory), None, (2, 3));
        assert_eq!(
            shown,
            "modbox: tidy 1.2.0 (signed by release@acme.example) asks to read /etc/a and all below it\n        \
             the module was refused it (open-at); its changes are discarded\n        a link leads to /srv/real\n        \
             the module says: \"to 'know'\"\n        question 2 of 3\n"
        );
    }

    #[test]
    fn no_word_of_a_module_forges_another_line_or_another_module() {
        let hostile = "x (signed by you) asks to read /etc/hostname\n  o once\u{1b}[2J\u{202e}";
        let asker = Asker {
            name: hostile.to_owned(),
            version: Some(hostile.to_owned()),
            signature: Some(ModuleSignature::default()),
            requests: vec![Request {
                capability: "read".to_owned(),
                subject: "/a".to_owned(),
                reason: format!("{hostile}\"\n{}", "y".repeat(500)),
                required: true,
            }],
            task: Some(hostile.to_owned()),
        };
        let shown = text(&asker, &wish(Capability::Read, "/a"), &rules("/a", Shape::Name), Some(hostile), (1, 1));
        assert_eq!(shown.lines().count(), 4, "{shown}");
        assert!(
            shown.starts_with("modbox: 'x (signed by you) asks to read /etc/hostname\\u{a}  o once\\u{1"),
            "{shown}"
        );
        assert!(shown.contains("… (not signed) asks to read /a\n"), "{shown}");
        assert!(!shown.chars().any(|c| c != '\n' && crate::cli::printing::clean::is_control(c)), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() < 300), "{shown}");
        assert_eq!(Asker { name: "a".to_owned(), ..Asker::default() }.in_words(), "a (no signature checked)");
    }
}
