//! Calls of filters, tests and methods: Python's rules for arguments.
//!
//! minijinja binds arguments by position. Ansible's templates name them as well: `default(value='x', boolean=true)`.

use std::borrow::Cow;

use minijinja::value::Kwargs;
use minijinja::{State, Value};

use crate::failure::{Outcome, failure, wrong_type};
use crate::host::Host;
use crate::values::{View, is_true, type_name, view};

/// A call: the engine's state, the host, and the arguments. The first positional argument is the value that is filtered
/// or tested.
#[derive(Debug)]
pub struct Call<'a, 't, 'e> {
    pub(crate) state: &'a mut State<'t, 'e>,
    pub(crate) host: &'a dyn Host,
    pub(crate) name: &'a str,
    pub(crate) positional: Vec<Value>,
    pub(crate) named: Vec<(String, Value)>,
}

impl<'a, 't, 'e> Call<'a, 't, 'e> {
    /// Returns a call with arguments as the engine passes them: named ones are in the last value.
    ///
    /// # Errors
    ///
    /// A name is not text.
    pub fn new(state: &'a mut State<'t, 'e>, host: &'a dyn Host, name: &'a str, args: &[Value]) -> Outcome<Self> {
        let (positional, named) = split_named(args)?;
        Ok(Self { state, host, name, positional, named })
    }

    /// Returns the arguments for required and optional parameters, as Python binds them.
    ///
    /// # Errors
    ///
    /// An argument is missing, unknown, or given twice.
    pub(crate) fn bind<const R: usize, const O: usize>(
        &self,
        required: [&str; R],
        optional: [&str; O],
    ) -> Outcome<([Value; R], [Option<Value>; O])> {
        bind(self.name, &self.positional, &self.named, required, optional)
    }

    /// Returns the named arguments for optional parameters, for a filter with any number of positional ones.
    ///
    /// # Errors
    ///
    /// A name is unknown.
    pub(crate) fn options<const O: usize>(&self, optional: [&str; O]) -> Outcome<[Option<Value>; O]> {
        bind(self.name, &[], &self.named, [], optional).map(|([], options)| options)
    }

    /// Returns the value that is filtered or tested.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn input(&self) -> Outcome<Value> {
        let missing = || failure(format!("{}() missing 1 required positional argument", self.name));
        self.positional.first().cloned().ok_or_else(missing)
    }
}

/// Positional and named arguments.
type SplitArguments = (Vec<Value>, Vec<(String, Value)>);

/// Splits the engine's arguments into positional and named ones.
///
/// # Errors
///
/// A name is not text.
pub(crate) fn split_named(args: &[Value]) -> Outcome<SplitArguments> {
    let Some((last, rest)) = args.split_last().filter(|(last, _)| last.is_kwargs()) else {
        return Ok((args.to_vec(), Vec::new()));
    };
    let kwargs = Kwargs::try_from(last.clone())?;
    let named = kwargs.args().map(|name| kwargs.peek::<Value>(name).map(|value| (name.to_owned(), value)));
    Ok((rest.to_vec(), named.collect::<Result<_, _>>()?))
}

/// Binds arguments to parameters.
///
/// # Errors
///
/// An argument is missing, unknown, or given twice.
pub(crate) fn bind<const R: usize, const O: usize>(
    function: &str,
    positional: &[Value],
    named: &[(String, Value)],
    required: [&str; R],
    optional: [&str; O],
) -> Outcome<([Value; R], [Option<Value>; O])> {
    if positional.len() > R + O {
        let most = R + O;
        return Err(failure(format!(
            "{function}() takes {most} positional arguments but {} were given",
            positional.len()
        )));
    }
    let mut bound: Vec<Option<Value>> = positional.iter().cloned().map(Some).collect();
    bound.resize(R + O, None);
    for (name, value) in named {
        let mut names = required.iter().chain(&optional);
        let Some(index) = names.position(|known| known == name) else {
            return Err(failure(format!("{function}() got an unexpected keyword argument '{name}'")));
        };
        if bound[index].replace(value.clone()).is_some() {
            return Err(failure(format!("{function}() got multiple values for argument '{name}'")));
        }
    }
    if let Some(missing) = required.iter().zip(&bound).find(|(_, value)| value.is_none()) {
        return Err(failure(format!("{function}() missing 1 required positional argument: '{}'", missing.0)));
    }
    let mut bound = bound.into_iter();
    let required = std::array::from_fn(|_| bound.next().flatten().unwrap_or_default());
    Ok((required, std::array::from_fn(|_| bound.next().flatten())))
}

/// Returns the text of an argument that must be a `str`.
///
/// # Errors
///
/// It is not text that Rust can hold.
pub(crate) fn str_argument<'v>(what: &str, value: &'v Value) -> Outcome<Cow<'v, str>> {
    match view(value) {
        View::Str(text) => Ok(Cow::Borrowed(text)),
        View::Surrogates(_) => Err(failure(format!("{what} has a lone surrogate"))),
        _ => Err(wrong_type(what, "str", value)),
    }
}

/// Returns the number of an argument that must be an `int`. Numbers out of range stop at the largest one.
///
/// # Errors
///
/// It is not an `int` or `bool`.
pub(crate) fn int_argument(value: &Value) -> Outcome<i64> {
    match view(value) {
        View::Bool(truth) => Ok(truth.into()),
        View::Int(number) => Ok(i64::try_from(number).unwrap_or(if number < 0 { i64::MIN } else { i64::MAX })),
        View::Long(text) => Ok(if text.starts_with('-') { i64::MIN } else { i64::MAX }),
        _ => Err(failure(format!("'{}' object cannot be interpreted as an integer", type_name(value)))),
    }
}

/// Returns the truth of an optional argument.
pub(crate) fn flag(value: Option<&Value>) -> bool {
    value.is_some_and(is_true)
}

/// Returns an argument that counts as absent when it is `None`.
pub(crate) fn given(value: Option<Value>) -> Option<Value> {
    value.filter(|value| !value.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(positional: &[i32], named: &[(&str, i32)], expect: Result<(i32, Option<i32>), &str>) {
        let positional: Vec<Value> = positional.iter().map(|number| Value::from(*number)).collect();
        let named: Vec<_> = named.iter().map(|(name, number)| ((*name).to_owned(), Value::from(*number))).collect();
        let bound = bind("f", &positional, &named, ["a"], ["b"]);
        let number = |value: Value| i32::try_from(value).unwrap();
        let bound = bound.map(|([a], [b])| (number(a), b.map(number)));
        let bound = bound.map_err(|error| error.detail().unwrap().to_owned());
        assert_eq!(bound, expect.map_err(str::to_owned));
    }

    #[test]
    fn binds_as_python_does() {
        check(&[1], &[], Ok((1, None)));
        check(&[1, 2], &[], Ok((1, Some(2))));
        check(&[], &[("b", 2), ("a", 1)], Ok((1, Some(2))));
        check(&[], &[("b", 2)], Err("f() missing 1 required positional argument: 'a'"));
        check(&[1], &[("a", 1)], Err("f() got multiple values for argument 'a'"));
        check(&[1], &[("c", 1)], Err("f() got an unexpected keyword argument 'c'"));
        check(&[1, 2, 3], &[], Err("f() takes 2 positional arguments but 3 were given"));
    }
}
