//! Templates, expressions and conditions of plays.

use std::sync::OnceLock;

use modbox_template::{Engine, Kind, Scope, TemplateError, is_template};
use modbox_yaml::template_file;

/// Longest text that is evaluated, in bytes.
const MAX_EVALUATED: usize = 200;

/// To make one takes longer than most texts.
static ENGINE: OnceLock<Engine> = OnceLock::new();

/// A text without template syntax is itself. What the check before a play accepts has no syntax error when it is
/// evaluated.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(data) else { return false };
    let (scope, source) = (Scope::new(), template_file(text, "fuzz.yml"));
    let engine = ENGINE.get_or_init(Engine::default);
    let problems = [Kind::Template, Kind::Expression, Kind::Condition].map(|kind| engine.check_syntax(&source, kind));
    let is_valid = problems.iter().any(Vec::is_empty);
    // Numbers are how a short text takes long.
    if text.len() > MAX_EVALUATED || text.contains(|letter: char| letter.is_ascii_digit()) {
        return is_valid;
    }
    let evaluated = engine.evaluate(&source, &scope).map(|evaluated| evaluated.value);
    if !is_template(&source) {
        assert_eq!(evaluated.as_ref().ok().and_then(|value| value.as_str()), Some(text));
    }
    // Texts that a lookup is given are templates themselves, and the check does not know them.
    if ["lookup", "query", "q("].iter().any(|name| text.contains(name)) {
        return is_valid;
    }
    if problems[0].is_empty() {
        assert!(!matches!(evaluated, Err(TemplateError::Syntax { .. })), "{evaluated:?}");
    }
    if problems[1].is_empty() {
        let evaluated = engine.expression(&source, &scope);
        assert!(!matches!(evaluated, Err(TemplateError::Syntax { .. })), "{evaluated:?}");
    }
    is_valid
}
