//! `zip`, `zip_longest`, `product`, `permutations` and `combinations`.

use minijinja::Value;
use minijinja::value::Tuple;

use super::limits::MAX_ITEMS;
use crate::call::{Call, flag, given, int_argument};
use crate::failure::{Outcome, failure};
use crate::made::Made;
use crate::values::{ValueError, items};

fn columns(call: &Call<'_, '_, '_>) -> Outcome<Vec<Vec<Value>>> {
    Ok(call.positional.iter().map(items).collect::<Result<Vec<_>, _>>()?)
}

fn tuples(call: &mut Call<'_, '_, '_>, rows: Vec<Vec<Value>>) -> Outcome {
    Made::add_items(call.state, rows.iter().map(Vec::len).sum())?;
    Ok(Value::from(rows.into_iter().map(|row| Value::from(Tuple::from(row))).collect::<Vec<_>>()))
}

/// Joins lists item by item, as long as the shortest one.
pub(super) fn zip(call: &mut Call<'_, '_, '_>) -> Outcome {
    let [strict] = call.options(["strict"])?;
    let columns = columns(call)?;
    let length = columns.iter().map(Vec::len).min().unwrap_or(0);
    if flag(strict.as_ref()) && columns.iter().any(|column| column.len() != length) {
        return Err(failure("zip() arguments have different lengths"));
    }
    check(length, columns.len())?;
    let row = |at: usize| columns.iter().map(|column| column[at].clone()).collect();
    tuples(call, (0..length).map(row).collect())
}

/// Joins lists item by item, as long as the longest one.
pub(super) fn zip_longest(call: &mut Call<'_, '_, '_>) -> Outcome {
    let [fill] = call.options(["fillvalue"])?;
    let fill = fill.unwrap_or_else(|| Value::from(()));
    let columns = columns(call)?;
    let length = columns.iter().map(Vec::len).max().unwrap_or(0);
    check(length, columns.len())?;
    let row = |at: usize| columns.iter().map(|column| column.get(at).unwrap_or(&fill).clone()).collect();
    tuples(call, (0..length).map(row).collect())
}

/// Returns all rows with one item of each list.
pub(super) fn product(call: &mut Call<'_, '_, '_>) -> Outcome {
    let [repeat] = call.options(["repeat"])?;
    let repeat = repeat.as_ref().map_or(Ok(1), int_argument)?;
    let repeat = usize::try_from(repeat).map_err(|_| failure("repeat argument cannot be negative"))?;
    let columns = if repeat == 0 { Vec::new() } else { columns(call)? };
    let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
    if repeat.saturating_mul(columns.len()) > MAX_ITEMS {
        return Err(ValueError::TooLarge.into());
    }
    for column in std::iter::repeat_n(&columns, repeat).flatten() {
        check(rows.len().saturating_mul(column.len()), rows.first().map_or(0, Vec::len) + 1)?;
        let with = |row: &Vec<Value>| -> Vec<Vec<Value>> {
            column.iter().map(|item| row.iter().chain([item]).cloned().collect()).collect()
        };
        rows = rows.iter().flat_map(with).collect();
    }
    tuples(call, rows)
}

fn check(rows: usize, length: usize) -> Outcome<()> {
    if rows.saturating_mul(length) > MAX_ITEMS { Err(ValueError::TooLarge.into()) } else { Ok(()) }
}

/// Returns all arrangements of items.
pub(super) fn permutations(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [length]) = call.bind(["iterable"], ["r"])?;
    let pool = items(&value)?;
    let length = given(length).as_ref().map(int_argument).transpose()?;
    let length = length.map_or(Ok(pool.len()), usize::try_from).map_err(|_| failure("r must be non-negative"))?;
    if length > pool.len() {
        return tuples(call, Vec::new());
    }
    let count = (0..length).fold(1usize, |count, taken| count.saturating_mul(pool.len() - taken));
    check(count, length)?;
    let (mut rows, mut picked) = (Vec::new(), Vec::new());
    arrange(&pool, length, &mut picked, &mut rows);
    tuples(call, rows)
}

/// Returns all selections of items.
pub(super) fn combinations(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value, length], []) = call.bind(["iterable", "r"], [])?;
    let pool = items(&value)?;
    let length = usize::try_from(int_argument(&length)?).map_err(|_| failure("r must be non-negative"))?;
    if length > pool.len() {
        return tuples(call, Vec::new());
    }
    let shorter = length.min(pool.len() - length);
    let count = (0..shorter).fold(1u128, |count, taken| {
        let (more, divisor) = (pool.len() - taken, taken + 1);
        count.saturating_mul(u128::try_from(more).unwrap_or(u128::MAX)) / u128::try_from(divisor).unwrap_or(1)
    });
    check(usize::try_from(count).unwrap_or(usize::MAX), length)?;
    tuples(call, selections(&pool, length))
}

/// Adds the arrangements that begin with picked items.
fn arrange(pool: &[Value], length: usize, picked: &mut Vec<usize>, rows: &mut Vec<Vec<Value>>) {
    if picked.len() == length {
        rows.push(picked.iter().map(|at| pool[*at].clone()).collect());
        return;
    }
    for at in 0..pool.len() {
        if !picked.contains(&at) {
            picked.push(at);
            arrange(pool, length, picked, rows);
            picked.pop();
        }
    }
}

/// Returns the selections of some length, which is at most that of the pool.
fn selections(pool: &[Value], length: usize) -> Vec<Vec<Value>> {
    let spare = pool.len() - length;
    let mut picked: Vec<usize> = (0..length).collect();
    let mut rows = Vec::new();
    loop {
        rows.push(picked.iter().map(|at| pool[*at].clone()).collect());
        // The last place that can move on, and all after it follow.
        let Some(place) = (0..length).rev().find(|place| picked[*place] < place + spare) else { return rows };
        let first = picked[place] + 1;
        picked.splice(place.., first..first + length - place);
    }
}
