//! Python's operators.

use std::cmp::Ordering;

use minijinja::Value;
use minijinja::value::{Kwargs, Tuple};
use modbox_jinja::values::{self, Calendar, Duration, Moment, Number, Range, View, view};

use super::interpreter::Interpreter;
use crate::compile::{Comparison, Operator};
use crate::lazy::{Items, LazyList};
use crate::limits::MAX_OUTPUT;
use crate::marker::{Marker, Run, Stop};
use crate::types::type_name;

impl Interpreter<'_> {
    pub(super) fn binary(&mut self, operator: Operator, left: &Value, right: &Value) -> Run<Value> {
        let is_unused = || Marker::is(right) || right.downcast_object_ref::<Range>().is_some();
        if let (Operator::Remainder, Some(text), true) = (operator, literal_text(left), is_unused()) {
            return Ok(Value::from(text));
        }
        // `'%s' % x` prints the value, and every other operator needs it, too.
        Self::defined(left, right)?;
        if operator == Operator::Concatenate {
            return self.concatenated(left, right);
        }
        if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
            return arithmetic(operator, &left, &right).map_err(|message| self.raise(message));
        }
        match operator {
            Operator::Add => self.add(left, right),
            Operator::Multiply => self.repeat(left, right),
            Operator::Subtract => difference(left, right).ok_or_else(|| self.unsupported(operator, left, right)),
            Operator::Remainder if matches!(view(left), View::Str(_)) => self.printf(left, right),
            _ => Err(self.unsupported(operator, left, right)),
        }
    }

    fn concatenated(&self, left: &Value, right: &Value) -> Run<Value> {
        let mut text = self.checked(values::text(left))?;
        text.push_str(&self.checked(values::text(right))?);
        self.produce(text.len())?;
        Ok(Value::from(text))
    }

    fn add(&self, left: &Value, right: &Value) -> Run<Value> {
        let items = |value| self.iterate(value);
        match (view(left), view(right)) {
            (View::Str(first), View::Str(second)) => {
                self.produce(first.len() + second.len())?;
                Ok(Value::from([first, second].concat()))
            }
            (View::List, View::List) => {
                let (first, second) = (items(left)?, items(right)?);
                self.produce_items(first.len() + second.len())?;
                let all = [first, second].concat();
                Ok(LazyList::value(self.evaluation, Items::Made(all)))
            }
            (View::Tuple, View::Tuple) => {
                let (first, second) = (items(left)?, items(right)?);
                self.produce_items(first.len() + second.len())?;
                let all = [first, second].concat();
                Ok(Value::from(Tuple::from(all)))
            }
            (View::Str(_) | View::List | View::Tuple, _) => {
                let (own, other) = (type_name(left), type_name(right));
                Err(self.raise(format!("can only concatenate {own} (not \"{other}\") to {own}")))
            }
            _ => sum(left, right).ok_or_else(|| self.unsupported(Operator::Add, left, right)),
        }
    }

    fn repeat(&self, left: &Value, right: &Value) -> Run<Value> {
        let (sequence, count) = if Number::of(left).is_some() { (right, left) } else { (left, right) };
        let count = match Number::of(count) {
            Some(Number::Int(count)) => usize::try_from(count.max(0)).unwrap_or(usize::MAX),
            Some(Number::Long(_)) => usize::MAX,
            _ if matches!(view(sequence), View::Str(_) | View::List | View::Tuple) => {
                let name = type_name(count);
                return Err(self.raise(format!("can't multiply sequence by non-int of type '{name}'")));
            }
            _ => return Err(self.unsupported(Operator::Multiply, left, right)),
        };
        match view(sequence) {
            View::Str(text) => {
                self.produce(text.len().saturating_mul(count))?;
                Ok(Value::from(if text.is_empty() { String::new() } else { text.repeat(count) }))
            }
            View::List | View::Tuple => {
                let items = self.iterate(sequence)?;
                self.produce_items(items.len().saturating_mul(count))?;
                let all = if items.is_empty() {
                    Vec::new()
                } else {
                    items.iter().cycle().take(items.len() * count).cloned().collect()
                };
                Ok(match sequence.is_tuple() {
                    true => Value::from(Tuple::from(all)),
                    false => LazyList::value(self.evaluation, Items::Made(all)),
                })
            }
            _ => Err(self.unsupported(Operator::Multiply, left, right)),
        }
    }

    /// Formats a text as Python's `%` does, with the filter `format`.
    fn printf(&mut self, left: &Value, right: &Value) -> Run<Value> {
        let text = left.as_str().unwrap_or_default();
        let all: Vec<Value> = match view(right) {
            View::Tuple => std::iter::once(left.clone()).chain(self.iterate(right)?).collect(),
            // Python takes these for mappings, which need not be used up.
            View::List | View::Dict if !text.contains('%') => return Ok(left.clone()),
            View::Dict if text.contains("%(") => {
                let named = values::entries(right).unwrap_or_default();
                let named = named.iter().filter_map(|(name, value)| Some((name.as_str()?, value.clone())));
                vec![left.clone(), Value::from(named.collect::<Kwargs>())]
            }
            // Jinja's own undefined value is empty as text.
            View::Undefined => vec![left.clone(), Value::from("")],
            _ => vec![left.clone(), right.clone()],
        };
        let Some(format) = self.evaluation.machine.filters.get("format").map(|plugin| plugin.function.clone()) else {
            return Err(self.unsupported(Operator::Remainder, left, right));
        };
        let formatted = format.call(self.state(), &all);
        let formatted = formatted.map_err(|error| error.detail().map_or_else(|| error.to_string(), str::to_owned));
        self.checked(formatted)
    }

    fn unsupported(&self, operator: Operator, left: &Value, right: &Value) -> Stop {
        let (left, right) = (type_name(left), type_name(right));
        self.raise(format!("unsupported operand type(s) for {}: '{left}' and '{right}'", symbol(operator)))
    }

    pub(super) fn negative(&self, operand: &Value) -> Run<Value> {
        if let Some(marker) = Marker::of(operand) {
            return Err(Stop(marker));
        }
        match Number::of(operand) {
            Some(Number::Int(number)) => {
                number.checked_neg().map(integer).ok_or_else(|| self.raise("the integer is too large"))
            }
            Some(Number::Float(number)) => Ok(Value::from(-number)),
            Some(Number::Long(_)) => Err(self.raise("the integer is too large")),
            None => Err(self.raise(format!("bad operand type for unary -: '{}'", type_name(operand)))),
        }
    }

    pub(super) fn positive(&self, operand: &Value) -> Run<Value> {
        if let Some(marker) = Marker::of(operand) {
            return Err(Stop(marker));
        }
        match Number::of(operand) {
            Some(Number::Int(number)) => Ok(integer(number)),
            Some(Number::Float(_) | Number::Long(_)) => Ok(operand.clone()),
            None => Err(self.raise(format!("bad operand type for unary +: '{}'", type_name(operand)))),
        }
    }

    pub(super) fn holds(&self, comparison: Comparison, left: &Value, right: &Value) -> Run<bool> {
        if matches!(comparison, Comparison::In | Comparison::NotIn) {
            return Ok(self.contains(right, left)? == (comparison == Comparison::In));
        }
        Self::defined(left, right)?;
        let order = |operator| self.checked(values::compare(left, right, operator));
        Ok(match comparison {
            Comparison::Equal => self.equals(left, right)?,
            Comparison::NotEqual => !self.equals(left, right)?,
            Comparison::Less => order("<")? == Some(Ordering::Less),
            Comparison::LessOrEqual => order("<=")?.is_some_and(Ordering::is_le),
            Comparison::Greater => order(">")? == Some(Ordering::Greater),
            Comparison::GreaterOrEqual => order(">=")?.is_some_and(Ordering::is_ge),
            Comparison::In | Comparison::NotIn => false,
        })
    }
}

/// Returns what `%` makes of a text without conversions. Python takes ranges and undefined values for mappings, which need
/// not be used up.
fn literal_text(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    (!text.replace("%%", "").contains('%')).then(|| text.replace("%%", "%"))
}

fn symbol(operator: Operator) -> &'static str {
    match operator {
        Operator::Add => "+",
        Operator::Subtract => "-",
        Operator::Multiply => "*",
        Operator::Divide => "/",
        Operator::FloorDivide => "//",
        Operator::Remainder => "%",
        Operator::Power => "** or pow()",
        Operator::Concatenate => "~",
    }
}

/// Returns the smallest form of an integer.
pub(super) fn integer(number: i128) -> Value {
    i64::try_from(number).map_or_else(|_| Value::from(number), Value::from)
}

fn arithmetic(operator: Operator, left: &Number, right: &Number) -> Result<Value, String> {
    if let (Number::Int(left), Number::Int(right), true) = (left, right, operator != Operator::Divide) {
        return of_integers(operator, *left, *right);
    }
    if matches!(left, Number::Long(_)) || matches!(right, Number::Long(_)) {
        return Err("the integer is too large".to_owned());
    }
    of_floats(operator, left.to_f64(), right.to_f64())
}

fn of_integers(operator: Operator, left: i128, right: i128) -> Result<Value, String> {
    let made = match operator {
        Operator::Add => left.checked_add(right),
        Operator::Subtract => left.checked_sub(right),
        Operator::Multiply => left.checked_mul(right),
        Operator::FloorDivide | Operator::Remainder if right == 0 => {
            return Err("integer division or modulo by zero".to_owned());
        }
        Operator::FloorDivide => left.checked_div_euclid(right).map(|quotient| {
            // Euclid's quotient differs from the floor where the divisor is negative and something remains.
            let remains = left.checked_rem(right).unwrap_or(0) != 0;
            if right < 0 && remains { quotient - 1 } else { quotient }
        }),
        Operator::Remainder => {
            left.checked_rem(right).map(|rest| if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest })
        }
        Operator::Power if right < 0 => {
            let (left, right) = (Number::Int(left).to_f64(), Number::Int(right).to_f64());
            return of_floats(operator, left, right);
        }
        _ => u32::try_from(right).ok().and_then(|exponent| left.checked_pow(exponent)).or(match left {
            0 | 1 => Some(left),
            -1 => Some(if right % 2 == 0 { 1 } else { -1 }),
            _ => None,
        }),
    };
    made.map(integer).ok_or_else(|| "the integer is too large".to_owned())
}

fn of_floats(operator: Operator, left: f64, right: f64) -> Result<Value, String> {
    let zero = |message: &str| if right == 0.0 { Err(message.to_owned()) } else { Ok(()) };
    Ok(Value::from(match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => {
            zero("division by zero")?;
            left / right
        }
        Operator::FloorDivide => {
            zero("float floor division by zero")?;
            floor_division(left, right).0
        }
        Operator::Remainder => {
            zero("float modulo")?;
            floor_division(left, right).1
        }
        _ if left == 0.0 && right < 0.0 => {
            return Err("0.0 cannot be raised to a negative power".to_owned());
        }
        _ if left < 0.0 && right.is_finite() && right.fract() != 0.0 => {
            return Err("a negative number to a fractional power is complex".to_owned());
        }
        _ => {
            let power = left.powf(right);
            if power.is_infinite() && left.is_finite() && right.is_finite() {
                return Err("(34, 'Numerical result out of range')".to_owned());
            }
            power
        }
    }))
}

/// Returns the quotient and the remainder, with the sign of the divisor, as Python has them.
fn floor_division(left: f64, right: f64) -> (f64, f64) {
    let mut rest = left % right;
    let mut quotient = (left - rest) / right;
    if rest == 0.0 {
        rest = 0.0_f64.copysign(right);
    } else if (rest < 0.0) != (right < 0.0) {
        rest += right;
        quotient -= 1.0;
    }
    let floor = if quotient == 0.0 {
        0.0_f64.copysign(left / right)
    } else if quotient - quotient.floor() > 0.5 {
        quotient.floor() + 1.0
    } else {
        quotient.floor()
    };
    (floor, rest)
}

/// Returns the sum of a date and a duration, or of durations.
fn sum(left: &Value, right: &Value) -> Option<Value> {
    match (view(left), view(right)) {
        (View::DateTime(moment), View::TimeDelta(duration)) | (View::TimeDelta(duration), View::DateTime(moment)) => {
            moment.plus(Duration::from_micros(duration.micros())).map(Value::from_object)
        }
        (View::TimeDelta(left), View::TimeDelta(right)) => {
            Some(Value::from_object(Duration::from_micros(left.micros().checked_add(right.micros())?)))
        }
        (View::Date(date), View::TimeDelta(duration)) | (View::TimeDelta(duration), View::Date(date)) => {
            shift(date, duration.micros())
        }
        _ => None,
    }
}

fn difference(left: &Value, right: &Value) -> Option<Value> {
    match (view(left), view(right)) {
        (View::DateTime(left), View::DateTime(right)) => left.since(right).map(Value::from_object),
        (View::DateTime(moment), View::TimeDelta(duration)) => {
            moment.plus(Duration::from_micros(duration.micros().checked_neg()?)).map(Value::from_object)
        }
        (View::TimeDelta(left), View::TimeDelta(right)) => {
            Some(Value::from_object(Duration::from_micros(left.micros().checked_sub(right.micros())?)))
        }
        (View::Date(left), View::Date(right)) => {
            let days = left.date().to_julian_day() - right.date().to_julian_day();
            Some(Value::from_object(Duration::from_micros(i128::from(days) * DAY)))
        }
        (View::Date(date), View::TimeDelta(duration)) => shift(date, duration.micros().checked_neg()?),
        _ => None,
    }
}

const DAY: i128 = 86_400_000_000;

fn shift(date: &Calendar, micros: i128) -> Option<Value> {
    let days = i32::try_from(micros.div_euclid(DAY)).ok()?;
    let day = date.date().to_julian_day().checked_add(days)?;
    let moved = Moment::from_micros((i128::from(day) - i128::from(EPOCH)) * DAY, None)?;
    Some(Value::from_object(moved.date()))
}

/// The Julian day of 1970-01-01.
const EPOCH: i32 = 2_440_588;

/// What an evaluation may produce fits in memory several times.
const _: () = assert!(MAX_OUTPUT < 1 << 30);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(operator: Operator, left: f64, right: f64, expect: &str) {
        let made = of_floats(operator, left, right).map(|value| values::repr(&value).unwrap_or_default());
        assert_eq!(made.unwrap_or_else(|error| error), expect, "{left} {operator:?} {right}");
    }

    #[test]
    fn divides_floats_as_python_does() {
        check(Operator::FloorDivide, -7.5, 2.0, "-4.0");
        check(Operator::Remainder, -7.5, 2.0, "0.5");
        check(Operator::Remainder, 7.5, -2.0, "-0.5");
        check(Operator::FloorDivide, 0.0, -2.0, "-0.0");
        check(Operator::Divide, 1.0, 0.0, "division by zero");
        check(Operator::Power, 10.0, 400.0, "(34, 'Numerical result out of range')");
    }

    #[test]
    fn divides_integers_as_python_does() {
        for (left, right, quotient, rest) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1)] {
            let made = of_integers(Operator::FloorDivide, left, right).unwrap();
            assert_eq!(made, Value::from(quotient), "{left} // {right}");
            assert_eq!(of_integers(Operator::Remainder, left, right).unwrap(), Value::from(rest), "{left} % {right}");
        }
        assert!(of_integers(Operator::Power, 2, 1000).is_err());
        assert!(of_integers(Operator::FloorDivide, i128::MIN, -1).is_err());
    }
}
