//! `random` and `shuffle`, with a seed or with the host's chance.

use minijinja::Value;

use super::mersenne::Twister;
use crate::call::{Call, given};
use crate::failure::{Outcome, failure};
use crate::values::{View, is_true, items, type_name, view};

/// Returns the generator of a seed, or one that nothing determines.
fn generator(call: &Call<'_, '_, '_>, seed: Option<&Value>) -> Outcome<Twister> {
    let Some(seed) = seed else {
        let high = u128::from(call.host.random()?);
        return Ok(Twister::from_number(high << 64 | u128::from(call.host.random()?)));
    };
    match view(seed) {
        View::Str(text) => Ok(Twister::from_text(text)),
        View::Bool(truth) => Ok(Twister::from_number(truth.into())),
        View::Int(number) => Ok(Twister::from_number(number.unsigned_abs())),
        View::Float(number) => Ok(Twister::from_number(float_hash(number))),
        _ => {
            let wrong = type_name(seed);
            Err(failure(format!(
                "The only supported seed types are: None, int, float, str, bytes, and bytearray, not {wrong}"
            )))
        }
    }
}

/// Returns Python's hash of a float as a number without sign, as the generator takes it.
fn float_hash(number: f64) -> u128 {
    const PRIME: u64 = (1 << 61) - 1;
    if number.is_infinite() {
        return if number > 0.0 { 314_159 } else { u128::from(314_159u64.wrapping_neg()) };
    }
    if number.is_nan() || number == 0.0 {
        return 0;
    }
    let bits = number.abs().to_bits();
    let exponent = i64::try_from(bits >> 52).unwrap_or(0);
    let fraction = bits & ((1 << 52) - 1);
    let mantissa = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    let power = exponent.max(1) - 1075;
    let shift = u32::try_from(power.rem_euclid(61)).unwrap_or(0);
    let hash = u128::from(mantissa % PRIME) << shift;
    let hash = u64::try_from(hash % u128::from(PRIME)).unwrap_or(0);
    u128::from(if number < 0.0 { hash.wrapping_neg() } else { hash })
}

/// Returns a random number below a limit, or a random item.
pub(super) fn random(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([end], [start, step, seed]) = call.bind(["end"], ["start", "step", "seed"])?;
    let mut generator = generator(call, given(seed).as_ref())?;
    let (start, step) = (start.filter(is_true), step.filter(is_true));
    match view(&end) {
        View::Int(_) | View::Bool(_) => {
            let whole = |value: Option<Value>, default: i128| match value.as_ref().map(view) {
                None => Ok(default),
                Some(View::Int(number)) => Ok(number),
                Some(View::Bool(truth)) => Ok(truth.into()),
                Some(_) => Err(failure("non-integer argument for randrange()")),
            };
            range(&mut generator, whole(start, 0)?, whole(Some(end.clone()), 0)?, whole(step, 1)?)
        }
        View::Str(_) | View::List | View::Tuple | View::Dict => {
            if start.is_some() || step.is_some() {
                return Err(failure("start and step can only be used with integer values"));
            }
            choice(&mut generator, &end)
        }
        _ => Err(failure("random can only be used on sequences and integers")),
    }
}

fn range(generator: &mut Twister, start: i128, stop: i128, step: i128) -> Outcome {
    let empty = || failure(format!("empty range for randrange() ({start}, {stop}, {step})"));
    let width = stop.checked_sub(start).ok_or_else(empty)?;
    let count = if step > 0 { width.checked_add(step - 1) } else { width.checked_add(step + 1) };
    let count = count.ok_or_else(empty)? / step;
    let count = u128::try_from(count).ok().filter(|count| *count > 0).ok_or_else(empty)?;
    let picked = i128::try_from(generator.below(count)).unwrap_or(0);
    picked.checked_mul(step).and_then(|offset| start.checked_add(offset)).map(Value::from).ok_or_else(empty)
}

fn choice(generator: &mut Twister, value: &Value) -> Outcome {
    let all = items(value)?;
    let count = u128::try_from(all.len()).unwrap_or(0);
    if count == 0 {
        return Err(failure("Cannot choose from an empty sequence"));
    }
    let picked = usize::try_from(generator.below(count)).unwrap_or(0);
    if let View::Dict = view(value) {
        let found = crate::values::get_item(value, &Value::from(picked));
        return if found.is_undefined() { Err(failure(picked.to_string())) } else { Ok(found) };
    }
    all.get(picked).cloned().ok_or_else(|| failure("list index out of range"))
}

/// Returns the items in random order. What has no items stays as it is.
pub(super) fn shuffle(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [seed]) = call.bind(["mylist"], ["seed"])?;
    let Ok(mut all) = items(&value) else { return Ok(value) };
    let seed = seed.filter(is_true);
    let mut generator = match generator(call, seed.as_ref()) {
        Ok(generator) => generator,
        Err(_) if seed.is_some() => return Ok(Value::from(all)),
        Err(error) => return Err(error),
    };
    for at in (1..all.len()).rev() {
        let other = generator.below(u128::try_from(at + 1).unwrap_or(1));
        all.swap(at, usize::try_from(other).unwrap_or(0));
    }
    Ok(Value::from(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_hash_as_in_python() {
        // hash(1.5), hash(0.1), hash(-2.0)
        assert_eq!(float_hash(1.5), 1_152_921_504_606_846_977);
        assert_eq!(float_hash(0.1), 230_584_300_921_369_408);
        assert_eq!(float_hash(-2.0), u128::from(2u64.wrapping_neg()));
    }
}
