//! Rendering template files for a lookup, within the evaluation that calls it.
//!
//! The limits of the outer evaluation hold for both, so that templates that look each other up end as others do.

use std::sync::Arc;

use minijinja::Value;
use modbox_yaml::Source;

use crate::compile::Form;
use crate::error::Kind;
use crate::evaluation::Evaluation;
use crate::files::{Files, TemplateFiles};
use crate::lookup::{FileRenderer, LookupError};
use crate::options::TemplateOptions;
use crate::result::finalized;
use crate::run::Rendering;
use crate::scope::Scope;

/// The renderer of the lookups of an evaluation.
#[derive(Debug)]
pub(crate) struct NestedRenderer<'a>(pub(crate) &'a Arc<Evaluation>);

impl FileRenderer for NestedRenderer<'_> {
    fn render_file(
        &self,
        template: &Source,
        scope: &Scope,
        options: &TemplateOptions,
        files: Arc<dyn TemplateFiles>,
    ) -> Result<Value, LookupError> {
        let at = template.position();
        if self.0.begin_template(at).is_err() {
            return Err(LookupError::Failed("Recursive loop detected in template".to_owned()));
        }
        let files = Files { files, options: TemplateOptions { process_escapes: true, ..options.clone() } };
        let inner = self.0.nested(scope.clone(), files);
        let rendering = Rendering { form: Form::Template, options, keeps_line_ends: true };
        let result = finalized(&inner, template, inner.run(template, &rendering), Kind::Template);
        self.0.absorb(&inner);
        self.0.end_template();
        result.map_err(|error| match error.is_undefined() {
            true => LookupError::Undefined(error.message()),
            false => LookupError::Failed(error.message()),
        })
    }
}
