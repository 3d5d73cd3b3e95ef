//! Filters and tests as entries of tables.

use minijinja::{State, Value};

use crate::call::Call;
use crate::failure::Outcome;
use crate::host::Host;
use crate::made::Made;
use crate::values::ValueError;

/// A function that filters or tests a value.
pub type Function = for<'a, 't, 'e> fn(&mut Call<'a, 't, 'e>) -> Outcome;

/// A filter or a test.
#[derive(Debug, Clone, Copy)]
pub struct Plugin {
    /// The name that templates call it by, without a collection.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What it does.
    pub doc: &'static str,
    /// Whether it accepts undefined values. Others return an undefined argument unseen.
    pub accepts_undefined: bool,
    pub(crate) function: Function,
}

/// Prefixes with which templates may name filters and tests.
pub const PREFIXES: [&str; 3] = ["", "ansible.builtin.", "ansible.legacy."];

/// Filters that return an item of a value.
const PICKING: [&str; 7] = ["attr", "extract", "first", "last", "max", "min", "random"];

impl Plugin {
    /// Calls it with arguments as the engine passes them.
    ///
    /// # Errors
    ///
    /// The arguments do not fit, or the value cannot be filtered or tested.
    pub fn call(&self, state: &mut State<'_, '_>, host: &dyn Host, args: &[Value]) -> Outcome {
        if !self.accepts_undefined
            && let Some(undefined) = args.iter().find(|arg| arg.is_undefined())
        {
            return Ok(undefined.clone());
        }
        let mut call = Call::new(state, host, self.name, args)?;
        if !self.accepts_undefined
            && let Some((_, undefined)) = call.named.iter().find(|(_, arg)| arg.is_undefined())
        {
            return Ok(undefined.clone());
        }
        let result = (self.function)(&mut call)?;
        if !PICKING.contains(&self.name) {
            Made::add(call.state, Made::bytes(&result, args))?;
        }
        Ok(result)
    }

    /// Calls it as a test, which fails if an argument is undefined.
    ///
    /// # Errors
    ///
    /// The arguments do not fit, are undefined, or the value cannot be tested.
    pub fn check(&self, state: &mut State<'_, '_>, host: &dyn Host, args: &[Value]) -> Outcome {
        let result = self.call(state, host, args)?;
        if result.is_undefined() { Err(ValueError::Undefined.into()) } else { Ok(result) }
    }

    /// Returns whether it has a name.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        let plain = PREFIXES.iter().filter_map(|prefix| name.strip_prefix(prefix));
        plain.into_iter().any(|plain| plain == self.name || self.aliases.contains(&plain))
    }

    /// Returns every name of it.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let plain = std::iter::once(self.name).chain(self.aliases.iter().copied());
        // A name of another collection has its own prefix.
        let prefixes = |name: &str| if name.contains('.') { &PREFIXES[..1] } else { &PREFIXES[..] };
        plain.flat_map(move |name| prefixes(name).iter().map(move |prefix| format!("{prefix}{name}")))
    }
}

/// Returns an entry that returns an undefined argument unseen.
pub(crate) const fn strict(
    name: &'static str,
    aliases: &'static [&'static str],
    function: Function,
    doc: &'static str,
) -> Plugin {
    Plugin { name, aliases, doc, accepts_undefined: false, function }
}

/// Returns an entry that accepts undefined values.
pub(crate) const fn lenient(
    name: &'static str,
    aliases: &'static [&'static str],
    function: Function,
    doc: &'static str,
) -> Plugin {
    Plugin { name, aliases, doc, accepts_undefined: true, function }
}
