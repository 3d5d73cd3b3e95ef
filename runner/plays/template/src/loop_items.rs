//! The items of loops that lookups give: `with_items`, `with_dict` and the like.

use std::sync::Arc;

use minijinja::Value;
use modbox_yaml::Source;

use crate::error::{Kind, TemplateError};
use crate::evaluation::Evaluation;
use crate::lazy::LazyList;
use crate::marker::Run;
use crate::result::finalized;
use crate::run::lookup_items;

/// Returns the items that a lookup gives for terms. Terms that are not a list are the only term.
///
/// # Errors
///
/// A term cannot be rendered, the lookup is unknown, or it fails.
pub(crate) fn of(evaluation: &Arc<Evaluation>, lookup: &str, terms: &Source) -> Result<Vec<Value>, TemplateError> {
    let found = items(evaluation, lookup, terms);
    let found = finalized(evaluation, terms, found, Kind::Template)?;
    Ok(modbox_jinja::values::items(&found).unwrap_or_default())
}

fn items(evaluation: &Arc<Evaluation>, lookup: &str, terms: &Source) -> Run<Value> {
    let value = evaluation.source_value(terms);
    let terms_of = match value.downcast_object_ref::<LazyList>() {
        Some(list) => list.all(),
        None => vec![value],
    };
    lookup_items(evaluation, terms, lookup, terms_of)
}
