//! Tests of URLs.

use minijinja::Value;

use crate::call::{Call, given};
use crate::failure::Outcome;
use crate::filters::url::Parts;
use crate::values::{View, contains, is_true, view};

/// Returns the parts of a URL with one of some schemes.
fn parts(value: &Value, schemes: Option<&Value>) -> Option<Parts> {
    let parts = match view(value) {
        View::Str(url) => Parts::new(url).ok()?,
        // Python splits anything that is false into empty parts, of which no scheme is text.
        _ if !is_true(value) && !schemes.is_some_and(is_true) => Parts::new("").ok()?,
        _ => return None,
    };
    let scheme = Value::from(parts.scheme.as_str());
    let fits = schemes.filter(|schemes| is_true(schemes)).map(|schemes| contains(schemes, &scheme).unwrap_or(false));
    fits.unwrap_or(true).then_some(parts)
}

/// Is the text a URI?
pub(super) fn uri(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [schemes]) = call.bind(["value"], ["schemes"])?;
    Ok(Value::from(parts(&value, given(schemes).as_ref()).is_some()))
}

/// Is the text a URL with a host, or of a file?
pub(super) fn url(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], [schemes]) = call.bind(["value"], ["schemes"])?;
    let parts = parts(&value, given(schemes).as_ref());
    Ok(Value::from(parts.is_some_and(|parts| !parts.netloc.is_empty() || parts.scheme == "file")))
}

/// Is the text a URN?
pub(super) fn urn(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([value], []) = call.bind(["value"], [])?;
    Ok(Value::from(parts(&value, Some(&Value::from(vec!["urn"]))).is_some()))
}
