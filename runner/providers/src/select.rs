//! The choice of a provider by its qualified name or by the type of its resources.

use thiserror::Error;

/// Reason why a name does not choose one provider.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SelectError {
    /// No provider has the name.
    #[error("failed to find the provider `{wanted}`: there is none; {}", listed(known))]
    Unknown {
        /// The name.
        wanted: String,
        /// The qualified names of all providers.
        known: Vec<String>,
    },
    /// Several providers have the type.
    #[error("failed to find the provider `{wanted}`: several have this type; choose one of {}", names.join(", "))]
    Ambiguous {
        /// The type.
        wanted: String,
        /// Their qualified names.
        names: Vec<String>,
    },
}

fn listed(known: &[String]) -> String {
    match known {
        [] => "no provider was found; name its folder with --include".to_owned(),
        known => format!("expected one of {}", known.join(", ")),
    }
}

/// Returns the index of the provider that a name chooses: the first one with that qualified name, else the only one of
/// that type. `names` has types and qualified names.
///
/// # Errors
///
/// There is no such provider, or there are several of the type.
pub fn select(names: &[(&str, &str)], wanted: &str) -> Result<usize, SelectError> {
    if let Some(exact) = names.iter().position(|(_, qualified)| *qualified == wanted) {
        return Ok(exact);
    }
    let of_type = |(index, (kind, _)): (usize, &(&str, &str))| (*kind == wanted).then_some(index);
    let fitting: Vec<usize> = names.iter().enumerate().filter_map(of_type).collect();
    let qualified = |index: &usize| names[*index].1.to_owned();
    let wanted = wanted.to_owned();
    match fitting.as_slice() {
        [one] => Ok(*one),
        [] => {
            let mut known: Vec<String> = (0..names.len()).map(|index| qualified(&index)).collect();
            known.dedup();
            Err(SelectError::Unknown { wanted, known })
        }
        several => Err(SelectError::Ambiguous { wanted, names: several.iter().map(qualified).collect() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_chosen_by_name_or_type() {
        let names = [("a", "a::x"), ("a", "a::y"), ("b", "b::x"), ("c", "c::z"), ("c", "c::z")];
        for (wanted, expect) in [("a::y", Ok(1)), ("b", Ok(2)), ("b::x", Ok(2)), ("c::z", Ok(3))] {
            assert_eq!(select(&names, wanted), expect, "{wanted}");
        }
        for (wanted, expect) in [
            ("a", "several have this type; choose one of a::x, a::y"),
            ("c", "choose one of c::z, c::z"),
            ("x", "failed to find the provider `x`: there is none; expected one of a::x, a::y, b::x, c::z"),
            ("", "there is none"),
        ] {
            let error = select(&names, wanted).unwrap_err().to_string();
            assert!(error.contains(expect), "{wanted}: {error}");
        }
        assert!(select(&[], "a").unwrap_err().to_string().contains("--include"));
    }
}
