//! Python's `<` and `sorted()`.

use std::cmp::Ordering;

use minijinja::Value;

use super::equality::equal_within;
use super::number::Number;
use super::view::{View, items, type_name, view};
use super::walk::{ValueError, Walk};

/// Returns the order of two values, and `None` for a `NaN`.
///
/// # Errors
///
/// Python does not order values of these types: `'a' < 1` fails.
pub fn compare(left: &Value, right: &Value, operator: &'static str) -> Result<Option<Ordering>, ValueError> {
    compare_within(left, right, operator, &mut Walk::default())
}

/// Returns the result of Python's `left < right`.
///
/// # Errors
///
/// Python does not order values of these types.
pub fn less(left: &Value, right: &Value) -> Result<bool, ValueError> {
    Ok(compare(left, right, "<")? == Some(Ordering::Less))
}

fn compare_within(
    left: &Value,
    right: &Value,
    operator: &'static str,
    walk: &mut Walk,
) -> Result<Option<Ordering>, ValueError> {
    walk.step()?;
    if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
        return Ok(left.compare(&right));
    }
    let unordered = || ValueError::Unordered { operator, left: type_name(left), right: type_name(right) };
    match (view(left), view(right)) {
        (View::Str(left), View::Str(right)) => Ok(Some(left.cmp(right))),
        (View::Surrogates(_) | View::Str(_), View::Surrogates(_) | View::Str(_)) => {
            Ok(Some(code_points(left).cmp(&code_points(right))))
        }
        (View::Bytes(left), View::Bytes(right)) => Ok(Some(left.cmp(right))),
        (View::Date(left), View::Date(right)) => Ok(Some(left.cmp(right))),
        (View::DateTime(left), View::DateTime(right)) => left.compare(right).map(Some).ok_or_else(unordered),
        (View::Time(left), View::Time(right)) => Ok(Some(left.cmp(right))),
        (View::TimeDelta(left), View::TimeDelta(right)) => Ok(Some(left.cmp(right))),
        (View::List, View::List) | (View::Tuple, View::Tuple) => {
            walk.deeper(|walk| compare_items(&items(left)?, &items(right)?, operator, walk))
        }
        (View::Undefined, _) | (_, View::Undefined) => Err(ValueError::Undefined),
        _ => Err(unordered()),
    }
}

fn code_points(value: &Value) -> Vec<u32> {
    match view(value) {
        View::Str(text) => text.chars().map(u32::from).collect(),
        View::Surrogates(text) => char::decode_utf16(text.units().iter().copied())
            .map(|unit| unit.map_or_else(|lone| lone.unpaired_surrogate().into(), u32::from))
            .collect(),
        _ => Vec::new(),
    }
}

fn compare_items(
    left: &[Value],
    right: &[Value],
    operator: &'static str,
    walk: &mut Walk,
) -> Result<Option<Ordering>, ValueError> {
    for (left, right) in left.iter().zip(right) {
        if !equal_within(left, right, walk)? {
            return compare_within(left, right, operator, walk);
        }
    }
    Ok(Some(left.len().cmp(&right.len())))
}

/// Sorts items by their keys, as Python's `sorted` does: stable, and with `reverse` still stable.
///
/// # Errors
///
/// Two keys have no order.
pub fn sort<T>(items: Vec<(Value, T)>, reverse: bool) -> Result<Vec<T>, ValueError> {
    let mut items = items;
    if reverse {
        items.reverse();
    }
    let mut failure = None;
    let mut sorted = merge_sort(items, &mut failure);
    if let Some(error) = failure {
        return Err(error);
    }
    if reverse {
        sorted.reverse();
    }
    Ok(sorted.into_iter().map(|(_, item)| item).collect())
}

/// Sorts by merging, which only asks whether the right item is less than the left one, as Python does. So `NaN`, whose
/// order is not total, neither fails nor panics.
fn merge_sort<T>(mut items: Vec<(Value, T)>, failure: &mut Option<ValueError>) -> Vec<(Value, T)> {
    if items.len() < 2 || failure.is_some() {
        return items;
    }
    let right = items.split_off(items.len() / 2);
    let left = merge_sort(items, failure);
    let right = merge_sort(right, failure);
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some((first, _)), Some((second, _))) = (left.peek(), right.peek()) {
        let take_right = less(second, first).unwrap_or_else(|error| {
            failure.get_or_insert(error);
            false
        });
        out.extend(if take_right { right.next() } else { left.next() });
    }
    out.extend(left);
    out.extend(right);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_as_python_does() {
        let pairs = |items: Vec<Value>| items.into_iter().map(|item| (item.clone(), item)).collect::<Vec<_>>();
        let sorted = sort(pairs(vec![Value::from(3), Value::from(1.5), Value::from(true)]), false).unwrap();
        assert_eq!(Value::from(sorted).to_string(), "[True, 1.5, 3]");
        let mixed = sort(pairs(vec![Value::from("a"), Value::from(1)]), false).unwrap_err();
        assert_eq!(mixed.to_string(), "'<' not supported between instances of 'int' and 'str'");
        assert!(sort(pairs(vec![Value::from(()), Value::from(())]), false).is_err());
    }

    #[test]
    fn reversed_order_is_stable() {
        let items = vec![(Value::from(1), "a"), (Value::from(2), "b"), (Value::from(1), "c")];
        assert_eq!(sort(items, true).unwrap(), ["b", "a", "c"]);
    }

    #[test]
    fn lists_compare_by_their_first_difference() {
        let less = |left: Vec<Value>, right: Vec<Value>| less(&Value::from(left), &Value::from(right));
        assert_eq!(less(vec![Value::from(1)], vec![Value::from(1), Value::from("a")]), Ok(true));
        assert_eq!(less(vec![Value::from(()), Value::from(1)], vec![Value::from(()), Value::from(2)]), Ok(true));
        assert!(less(vec![Value::from(())], vec![Value::from(1)]).is_err());
    }
}
