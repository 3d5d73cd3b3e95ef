//! Results of evaluations: plain data, or errors.

use std::sync::Arc;

use minijinja::Value;
use modbox_yaml::Source;

use crate::compile::Form;
use crate::error::{Kind, TemplateError};
use crate::evaluation::Evaluation;
use crate::marker::Run;
use crate::options::TemplateOptions;
use crate::run::{Mode, Rendering};

/// Runs a text of a form with the usual options.
pub(crate) fn run(evaluation: &Arc<Evaluation>, source: &Source, form: Form) -> Run<Value> {
    let options = TemplateOptions::default();
    evaluation.run(source, &Rendering { form, options: &options, keeps_line_ends: false })
}

/// Returns the plain data of a result, or the error that it is.
pub(crate) fn finalized(
    evaluation: &Arc<Evaluation>,
    source: &Source,
    result: Run<Value>,
    kind: Kind,
) -> Result<Value, TemplateError> {
    let at = source.position();
    let result = result.and_then(|value| evaluation.finalize(&value, Mode::Result, at, 1));
    let result = evaluation.exceeded().map_or(result, Err);
    result.map_err(|stop| TemplateError::of_marker(&stop.0, kind, at))
}
