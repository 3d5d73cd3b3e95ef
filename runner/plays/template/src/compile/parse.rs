//! From text to a program.

use std::borrow::Cow;

use super::header::options_of;
use super::parser::Parser;
use super::program::Program;
use super::scopes::mark_unset;
use super::syntax::{Form, Syntax, SyntaxFailure, check_delimiters};
use crate::limits::MAX_TEXT;
use crate::options::TemplateOptions;

/// Compiles a text, with the options that its header sets.
///
/// # Errors
///
/// The header or the text cannot be parsed.
pub(crate) fn compile(text: &str, form: Form, options: &TemplateOptions) -> Result<Program, SyntaxFailure> {
    if text.len() > MAX_TEXT {
        return Err(SyntaxFailure::new(format!("the text has more than {MAX_TEXT} bytes"), 1));
    }
    let (rest, options) = match form {
        Form::Template => options_of(text, options).map_err(|message| SyntaxFailure::new(message, 1))?,
        Form::Expression | Form::Condition => (text, options.clone()),
    };
    compile_rest(rest, text.len() - rest.len(), &Syntax { form, options })
}

/// Compiles a text that begins at a byte of a source.
fn compile_rest(text: &str, start: usize, syntax: &Syntax) -> Result<Program, SyntaxFailure> {
    check_delimiters(&syntax.options)?;
    let whole = with_plain_line_ends(text);
    // With other line ends, places are not those of the source.
    let start = matches!(whole, Cow::Borrowed(_)).then_some(start);
    let text = match whole.strip_suffix('\n') {
        Some(text) if !syntax.options.keep_trailing_newline => text,
        _ => &whole,
    };
    let mut parser = Parser::new(text, start, syntax)?;
    let mut body = if syntax.form == Form::Template { parser.template()? } else { parser.whole_expression()? };
    if parser.sets_names && !parser.program.shares_names {
        mark_unset(&mut body);
    }
    Ok(parser.finish(body))
}

fn with_plain_line_ends(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
