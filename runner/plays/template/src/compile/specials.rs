//! Which of the names `varargs`, `kwargs` and `caller` the body of a macro reads.
//!
//! A macro takes more arguments than it names only if its body, or anything in it, reads these before it sets them:
//! Jinja 3.1, `find_undeclared`.

const NAMES: [&str; 3] = ["varargs", "kwargs", "caller"];

/// What the bodies of the open macros did first with each name.
#[derive(Debug, Default)]
pub(super) struct Specials(Vec<[Option<Use>; 3]>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Set,
}

/// What a macro reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reads {
    pub(super) varargs: bool,
    pub(super) kwargs: bool,
    pub(super) caller: bool,
}

impl Specials {
    /// Begins the body of a macro.
    pub(super) fn begin(&mut self) {
        self.0.push([None; 3]);
    }

    /// Ends the body of a macro, and returns what it reads.
    pub(super) fn end(&mut self) -> Reads {
        let [varargs, kwargs, caller] = self.0.pop().unwrap_or_default().map(|first| first == Some(Use::Read));
        Reads { varargs, kwargs, caller }
    }

    pub(super) fn read(&mut self, name: &str) {
        self.note(name, Use::Read);
    }

    pub(super) fn set(&mut self, name: &str) {
        self.note(name, Use::Set);
    }

    fn note(&mut self, name: &str, how: Use) {
        if let Some(place) = NAMES.iter().position(|special| *special == name) {
            self.0.iter_mut().for_each(|uses| _ = uses[place].get_or_insert(how));
        }
    }
}
