//! Reads attributes: checks that keys are known and not repeated.

use syn::meta::ParseNestedMeta;
use syn::parse::Parse;
use syn::{Attribute, Error, LitStr, Result, Token, parenthesized};

/// Calls `read` for every key in the attributes of a name, such as `#[arg(…)]`. Errors begin with `whose`, such as a
/// field.
pub(crate) fn each_key(
    attributes: &[Attribute],
    name: &str,
    whose: &str,
    mut read: impl FnMut(&str, &ParseNestedMeta<'_>) -> Result<bool>,
) -> Result<()> {
    let mut seen: Vec<String> = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        attribute.parse_nested_meta(|meta| {
            let key = meta.path.get_ident().map(ToString::to_string).unwrap_or_default();
            if seen.contains(&key) && !may_repeat(&key) {
                return Err(meta.error(format!("{whose}: `{key}` is given twice")));
            }
            seen.push(key.clone());
            match read(&key, &meta) {
                Ok(true) => Ok(()),
                Ok(false) => Err(meta.error(format!("{whose}: unknown key `{key}` in `#[{name}(…)]`"))),
                Err(error) => Err(Error::new(error.span(), said_of(whose, &error))),
            }
        })?;
    }
    Ok(())
}

/// Returns whether a key may be repeated: rules and deprecated aliases may.
fn may_repeat(key: &str) -> bool {
    key.starts_with("required_") || key == "mutually_exclusive" || key == "deprecated_alias"
}

fn said_of(whose: &str, error: &Error) -> String {
    let text = error.to_string();
    if text.starts_with(whose) { text } else { format!("{whose}: {text}") }
}

/// Reads `= VALUE`.
pub(crate) fn value<T: Parse>(meta: &ParseNestedMeta<'_>) -> Result<T> {
    meta.value()?.parse()
}

/// Reads `= "text"`.
pub(crate) fn text(meta: &ParseNestedMeta<'_>) -> Result<String> {
    Ok(value::<LitStr>(meta)?.value())
}

/// Reads `("a", "b")`.
pub(crate) fn texts(meta: &ParseNestedMeta<'_>) -> Result<Vec<LitStr>> {
    let inner;
    parenthesized!(inner in meta.input);
    let texts = inner.parse_terminated(<LitStr as Parse>::parse, Token![,])?;
    Ok(texts.into_iter().collect())
}
