//! From text to a program.

use std::borrow::Cow;

use minijinja::machinery::{parse, parse_expr};
use minijinja::syntax::SyntaxConfig;

use super::bare_tests;
use super::header::options_of;
use super::mask::mask;
use super::program::{Expr, Node, Program};
use super::statements::Translation;
use super::syntax::{Form, Syntax, SyntaxFailure};
use crate::limits::MAX_TEXT;
use crate::options::TemplateOptions;

/// Compiles a text, with the options that its header sets.
///
/// # Errors
///
/// The header or the text cannot be parsed.
pub(crate) fn compile(text: &str, form: Form, options: &TemplateOptions) -> Result<Program, SyntaxFailure> {
    if text.len() > MAX_TEXT {
        return Err(SyntaxFailure { message: format!("the text has more than {MAX_TEXT} bytes"), line: 1 });
    }
    let (rest, options) = match form {
        Form::Template => options_of(text, options).map_err(|message| SyntaxFailure { message, line: 1 })?,
        Form::Expression | Form::Condition => (text, options.clone()),
    };
    compile_rest(rest, text.len() - rest.len(), &Syntax { form, options })
}

/// Compiles a text that begins at a byte of a source.
fn compile_rest(text: &str, start: usize, syntax: &Syntax) -> Result<Program, SyntaxFailure> {
    let text = with_plain_line_ends(text);
    let masked = bare_tests::close(mask(&text));
    // With other line ends, offsets are not those of the source.
    let start = matches!(text, Cow::Borrowed(_)).then_some(start);
    let mut translation = Translation::new(&text, start, &masked, syntax);
    let body = if syntax.form == Form::Template {
        let tree = parse(&masked, "", config(&syntax.options)?).map_err(|error| SyntaxFailure::of(&error))?;
        translation.template(&tree)?
    } else {
        let tree = parse_expr(&masked).map_err(|error| SyntaxFailure::of(&error))?;
        let expression: Expr = translation.whole_expression(&tree)?;
        vec![Node::Emit(1, expression)]
    };
    Ok(translation.finish(body))
}

fn with_plain_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")) } else { Cow::Borrowed(text) }
}

fn config(options: &TemplateOptions) -> Result<SyntaxConfig, SyntaxFailure> {
    let mut builder = SyntaxConfig::builder();
    builder
        .block_delimiters(options.block_start.clone(), options.block_end.clone())
        .variable_delimiters(options.variable_start.clone(), options.variable_end.clone())
        .comment_delimiters(options.comment_start.clone(), options.comment_end.clone())
        .trim_blocks(options.trim_blocks)
        .lstrip_blocks(options.lstrip_blocks)
        .keep_trailing_newline(options.keep_trailing_newline);
    if let Some(prefix) = &options.line_statement_prefix {
        builder.line_statement_prefix(prefix.clone());
    }
    if let Some(prefix) = &options.line_comment_prefix {
        builder.line_comment_prefix(prefix.clone());
    }
    builder.build().map_err(|error| SyntaxFailure::of(&error))
}
