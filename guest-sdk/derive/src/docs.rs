//! Reads doc comments, which become a module's manual.

use syn::{Attribute, Expr, Lit, Meta};

/// Returns the paragraphs of an item's doc comment, each on one line.
pub(crate) fn paragraphs(attributes: &[Attribute]) -> Vec<String> {
    let mut paragraphs = vec![String::new()];
    for line in attributes.iter().filter_map(line) {
        let line = line.trim();
        let last = paragraphs.last_mut().expect("there is always one");
        if line.is_empty() && !last.is_empty() {
            paragraphs.push(String::new());
        } else if !line.is_empty() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(line);
        }
    }
    paragraphs.retain(|paragraph| !paragraph.is_empty());
    paragraphs
}

fn line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    let Expr::Lit(literal) = &meta.value else { return None };
    match &literal.lit {
        Lit::Str(text) if attribute.path().is_ident("doc") => Some(text.value()),
        _ => None,
    }
}
