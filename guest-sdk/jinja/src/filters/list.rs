//! Filters on lists: parts, order, groups of items.

use minijinja::Value;

use super::attribute::{Attribute, folded};
use super::limits::{MAX_ITEMS, list_of};
use crate::call::{Call, flag, given, int_argument};
use crate::failure::{Outcome, failure};
use crate::values::{Number, ValueError, View, Walk, compare, equal, items, sort as sort_by, text, type_name, view};

/// Returns the first item.
pub(super) fn first(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["seq"], [])?;
    // Other items may fail when they are read.
    let found = match view(&value) {
        View::List | View::Tuple => value.try_iter().ok().and_then(|mut all| all.next()),
        _ => items(&value)?.into_iter().next(),
    };
    Ok(found.unwrap_or_default())
}

/// Returns the last item.
pub(super) fn last(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["seq"], [])?;
    // Other items may fail when they are read.
    let last = match view(&value) {
        View::List | View::Tuple => value.len().and_then(|length| value.get_item_by_index(length.checked_sub(1)?).ok()),
        _ => items(&value)?.pop(),
    };
    Ok(last.unwrap_or_default())
}

/// Counts the items, or the characters.
pub(super) fn length(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["obj"], [])?;
    match view(&value) {
        View::Str(text) => Ok(Value::from(text.chars().count())),
        View::Surrogates(_) | View::Bytes(_) | View::List | View::Tuple | View::Dict => {
            Ok(Value::from(value.len().map_or_else(|| items(&value).map(|items| items.len()), Ok)?))
        }
        _ => Err(failure(format!("object of type '{}' has no len()", type_name(&value)))),
    }
}

/// Returns a list of the items.
pub(super) fn list(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    Ok(Value::from(items(&value)?))
}

/// Returns the items, or the characters, in the opposite order.
pub(super) fn reverse(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    if let View::Str(text) = view(&value) {
        return Ok(Value::from(text.chars().rev().collect::<String>()));
    }
    let mut all = items(&value)?;
    all.reverse();
    Ok(Value::from(all))
}

/// Joins the texts of the items.
pub(super) fn join(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [between, attribute]) = call.bind(["value"], ["d", "attribute"])?;
    let between = between.as_ref().map_or(Ok(String::new()), text)?;
    let attribute = given(attribute).map(|attribute| Attribute::new(Some(&attribute)));
    let mut out = String::new();
    for (index, item) in items(&value)?.iter().enumerate() {
        let item = match &attribute {
            Some(attribute) => attribute.existing(item)?,
            None if item.is_undefined() => return Err(ValueError::Undefined.into()),
            None => item.clone(),
        };
        if index > 0 {
            out.push_str(&between);
        }
        out.push_str(&text(&item)?);
        Walk::fits(&out)?;
    }
    Ok(Value::from(out))
}

/// Sorts the items.
pub(super) fn sort(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [reverse, case_sensitive, attribute]) =
        call.bind(["value"], ["reverse", "case_sensitive", "attribute"])?;
    let attributes = Attribute::several(given(attribute).as_ref());
    let case_sensitive = flag(case_sensitive.as_ref());
    let key = |item: Value| -> Outcome<(Value, Value)> {
        let parts = attributes.iter().map(|attribute| folded(attribute.existing(&item)?, case_sensitive));
        let parts = parts.collect::<Outcome<Vec<_>>>()?;
        Ok((Value::from(parts), item))
    };
    let keyed = items(&value)?.into_iter().map(key).collect::<Outcome<Vec<_>>>()?;
    Ok(Value::from(sort_by(keyed, flag(reverse.as_ref()))?))
}

/// Returns the smallest item.
pub(super) fn min(call: &mut Call<'_, '_, '_>) -> Outcome {
    extreme(call, "<", std::cmp::Ordering::Less)
}

/// Returns the largest item.
pub(super) fn max(call: &mut Call<'_, '_, '_>) -> Outcome {
    extreme(call, ">", std::cmp::Ordering::Greater)
}

fn extreme(call: &Call<'_, '_, '_>, operator: &'static str, wanted: std::cmp::Ordering) -> Outcome {
    let ([value], [case_sensitive, attribute]) = call.bind(["value"], ["case_sensitive", "attribute"])?;
    let attribute = Attribute::new(given(attribute).as_ref());
    let case_sensitive = flag(case_sensitive.as_ref());
    let mut best: Option<(Value, Value)> = None;
    for item in items(&value)? {
        let key = folded(attribute.existing(&item)?, case_sensitive)?;
        let better = match &best {
            Some((known, _)) => compare(&key, known, operator)? == Some(wanted),
            None => true,
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map(|(_, item)| item).unwrap_or_default())
}

/// Adds the items.
pub(super) fn sum(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [attribute, start]) = call.bind(["iterable"], ["attribute", "start"])?;
    let attribute = given(attribute).map(|attribute| Attribute::new(Some(&attribute)));
    let mut total = start.unwrap_or_else(|| Value::from(0));
    if let View::Str(_) = view(&total) {
        return Err(failure("sum() can't sum strings [use ''.join(seq) instead]"));
    }
    for item in items(&value)? {
        let item = attribute.as_ref().map_or_else(|| Ok(item.clone()), |attribute| attribute.existing(&item))?;
        total = add(&total, &item)?;
    }
    Ok(total)
}

/// Returns the result of Python's `left + right`.
fn add(left: &Value, right: &Value) -> Outcome {
    let wrong = || {
        let (left, right) = (type_name(left), type_name(right));
        failure(format!("unsupported operand type(s) for +: '{left}' and '{right}'"))
    };
    match (view(left), view(right)) {
        (View::Str(left), View::Str(right)) => Ok(Value::from(format!("{left}{right}"))),
        (View::List, View::List) => {
            let mut all = items(left)?;
            all.extend(items(right)?);
            list_of(all)
        }
        (View::Undefined, _) | (_, View::Undefined) => Err(ValueError::Undefined.into()),
        _ => match (Number::of(left).ok_or_else(wrong)?, Number::of(right).ok_or_else(wrong)?) {
            (Number::Int(left), Number::Int(right)) => {
                left.checked_add(right).map(Value::from).ok_or_else(|| failure("the sum is too large"))
            }
            (Number::Float(_), _) | (_, Number::Float(_)) => {
                Ok(Value::from(super::number::number(left)? + super::number::number(right)?))
            }
            _ => Err(failure("the sum is too large")),
        },
    }
}

/// Splits a list into lists of a length.
pub(super) fn batch(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, count], [fill]) = call.bind(["value", "linecount"], ["fill_with"])?;
    let (mut out, mut row) = (Vec::new(), Vec::new());
    let count_of = |row: &Vec<Value>| equal(&Value::from(row.len()), &count);
    for item in items(&value)? {
        if count_of(&row)? {
            out.push(Value::from(std::mem::take(&mut row)));
        }
        row.push(item);
    }
    if !row.is_empty() {
        if let Some(fill) = given(fill) {
            let missing = int_argument(&count)?.saturating_sub(i64::try_from(row.len()).unwrap_or(i64::MAX));
            let missing = usize::try_from(missing).unwrap_or(0);
            if missing > MAX_ITEMS {
                return Err(ValueError::TooLarge.into());
            }
            row.extend(std::iter::repeat_n(fill, missing));
        }
        out.push(Value::from(row));
    }
    Ok(Value::from(out))
}

/// Splits a list into a number of lists.
pub(super) fn slice(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, slices], [fill]) = call.bind(["value", "slices"], ["fill_with"])?;
    let all = items(&value)?;
    let slices = int_argument(&slices)?;
    if slices == 0 {
        return Err(failure("integer division or modulo by zero"));
    }
    let slices = usize::try_from(slices).unwrap_or(0);
    if slices > MAX_ITEMS {
        return Err(ValueError::TooLarge.into());
    }
    let fill = given(fill);
    let mut out = Vec::with_capacity(slices.min(all.len()));
    let mut rest = all.as_slice();
    for number in 0..slices {
        let longer = number < all.len() % slices;
        let (row, behind) = rest.split_at(all.len() / slices + usize::from(longer));
        let mut row = row.to_vec();
        if !longer {
            row.extend(fill.clone());
        }
        out.push(Value::from(row));
        rest = behind;
    }
    Ok(Value::from(out))
}

/// Puts the items of lists in a list into one list.
pub(super) fn flatten(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [levels, skip_nulls]) = call.bind(["mylist"], ["levels", "skip_nulls"])?;
    let levels = given(levels);
    let skip = skip_nulls.as_ref().is_none_or(|skip| flag(Some(skip)));
    let mut out = Vec::new();
    flatten_into(&mut out, &value, levels.as_ref(), skip, &mut Walk::default())?;
    Ok(Value::from(out))
}

/// Adds the items of a value to a list, and those of lists in it as far as the levels reach.
pub(super) fn flatten_into(
    out: &mut Vec<Value>,
    value: &Value,
    levels: Option<&Value>,
    skip_nulls: bool,
    walk: &mut Walk,
) -> Outcome<()> {
    for item in items(value)? {
        walk.step()?;
        if out.len() > MAX_ITEMS {
            return Err(ValueError::TooLarge.into());
        }
        let is_null = item.is_none() || matches!(item.as_str(), Some("None" | "null"));
        if skip_nulls && is_null {
            continue;
        }
        let is_list = matches!(view(&item), View::List | View::Tuple);
        let Some(levels) = levels.filter(|_| is_list) else {
            if is_list {
                walk.deeper(|walk| flatten_into(out, &item, None, skip_nulls, walk))?;
            } else {
                out.push(item);
            }
            continue;
        };
        let left = super::number::number(levels)?;
        if left >= 1.0 {
            let left = Value::from(left.trunc() - 1.0);
            walk.deeper(|walk| flatten_into(out, &item, Some(&left), skip_nulls, walk))?;
        } else {
            out.push(item);
        }
    }
    Ok(())
}
