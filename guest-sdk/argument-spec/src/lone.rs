//! Passes lone surrogates through code that works on Rust text. A private character stands for each while a value is
//! converted, and is replaced by it afterwards.
//!
//! Python keeps lone surrogates when it splits, strips and expands text; Rust text cannot hold them. Keys of dicts are
//! Rust text as well, so in keys and messages a lone surrogate becomes U+FFFD.

use modbox_python_json::{Surrogates, Value};

/// The distance from a surrogate to its stand-in, which is in the last plane, for private use.
const OFFSET: u32 = 0x10_0000;

const STAND_INS: std::ops::RangeInclusive<char> = '\u{10d800}'..='\u{10dfff}';

/// Returns the text with a stand-in for each lone surrogate, or `None` if it already contains stand-ins.
pub(crate) fn stand_in(text: &Surrogates) -> Option<String> {
    let replaced = char::decode_utf16(text.units().iter().copied()).map(|unit| match unit {
        Ok(c) if STAND_INS.contains(&c) => None,
        Ok(c) => Some(c),
        Err(lone) => char::from_u32(u32::from(lone.unpaired_surrogate()) + OFFSET),
    });
    replaced.collect()
}

/// Restores the lone surrogates in every text of a value.
pub(crate) fn restore(value: Value) -> Value {
    match value {
        Value::Str(text) if text.contains(|c| STAND_INS.contains(&c)) => Value::from_utf16(units(&text)),
        Value::List(items) => Value::List(items.into_iter().map(restore).collect()),
        Value::Dict(entries) => {
            let entry = |(key, value): (String, Value)| (lossy(&key), restore(value));
            Value::Dict(entries.into_iter().map(entry).collect())
        }
        other => other,
    }
}

/// Returns the text with U+FFFD in place of each stand-in.
pub(crate) fn lossy(text: &str) -> String {
    text.replace(|c| STAND_INS.contains(&c), "\u{fffd}")
}

fn units(text: &str) -> Vec<u16> {
    let mut units = Vec::with_capacity(text.len());
    for c in text.chars() {
        if STAND_INS.contains(&c) {
            units.extend(u16::try_from(u32::from(c) - OFFSET));
        } else {
            units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use modbox_python_json::{decode, encode};

    use super::*;

    #[test]
    fn goes_there_and_back() {
        for json in [r#""a\udcff😀""#, r#""\ud800\ud800""#] {
            let Value::Surrogates(text) = decode(json).unwrap() else { panic!("{json}") };
            let text = stand_in(&text).unwrap();
            assert_eq!(restore(vec![text.as_str()].into()), Value::List(vec![decode(json).unwrap()]));
            assert!(encode(&lossy(&text).into()).contains("\\ufffd"));
        }
    }

    #[test]
    fn refuses_text_with_stand_ins() {
        let Value::Surrogates(text) = decode("\"\u{10d800}\\ud800\"").unwrap() else { panic!() };
        assert_eq!(stand_in(&text), None);
    }
}
