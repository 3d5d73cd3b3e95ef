//! Where Python modules run: natively, or in an interpreter in the sandbox for WebAssembly.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where a Python module runs. The strictest value is the greatest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PythonPlace {
    /// Natively, with an interpreter of the machine.
    Native,
    /// In the sandbox if the user has installed an interpreter for it and it has what the module needs, else natively.
    #[default]
    Auto,
    /// In the sandbox. A module that needs more than the interpreter there has does not run.
    Wasm,
}

impl PythonPlace {
    /// Every value.
    pub const ALL: [Self; 3] = [Self::Native, Self::Auto, Self::Wasm];

    /// Returns the word that files and the command line use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Auto => "auto",
            Self::Wasm => "wasm",
        }
    }
}

impl fmt::Display for PythonPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for PythonPlace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|value| value.as_str() == text);
        found.ok_or_else(|| format!("unknown place `{text}`; expected one of `native`, `auto`, `wasm`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_written() {
        for place in PythonPlace::ALL {
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        assert!(PythonPlace::Native < PythonPlace::Auto && PythonPlace::Auto < PythonPlace::Wasm);
        assert!("python".parse::<PythonPlace>().unwrap_err().contains("`python`"));
    }
}
