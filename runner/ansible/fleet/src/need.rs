//! The answer of a target that lacks something: the controller sends it and asks again.

use modbox_contract::{Value, encode};

/// Exit status that comes with the answer. No module's run ends with it.
pub const NEED_STATUS: u8 = 97;

/// What a target lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// The module.
    Module,
    /// A modbox that knows the task's contract.
    Runner,
}

impl Need {
    /// Returns the answer: one line of JSON. `machine` is the processor's architecture, as `uname -m` tells it.
    #[must_use]
    pub fn to_json(self, machine: &str) -> String {
        let need = match self {
            Self::Module => "module",
            Self::Runner => "runner",
        };
        encode(&Value::from([
            ("modbox_need", Value::from(need)),
            ("system", Value::from("Linux")),
            ("machine", Value::from(machine)),
        ]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_one_object() {
        let expect = r#"{"modbox_need": "module", "system": "Linux", "machine": "x86_64"}"#;
        assert_eq!(Need::Module.to_json("x86_64"), expect);
    }
}
