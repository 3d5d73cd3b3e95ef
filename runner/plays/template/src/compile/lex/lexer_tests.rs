//! What the lexer makes of white space, comments, raw blocks and damaged texts.

use super::*;

fn read(text: &str, options: TemplateOptions, form: Form) -> Result<String, SyntaxFailure> {
    let syntax = Syntax { form, options };
    let mut lexer = Lexer::new(text, &syntax);
    let mut out = String::new();
    loop {
        let token = lexer.token()?;
        match token.kind {
            TokenKind::End => return Ok(out),
            TokenKind::Text(text) => out += &format!("<{text}>"),
            TokenKind::VariableBegin => out += "{{",
            TokenKind::VariableEnd => out += "}}",
            TokenKind::BlockBegin => out += "{%",
            TokenKind::BlockEnd => out += "%}",
            TokenKind::Name(word) | TokenKind::Integer(word) | TokenKind::Float(word) => out += &format!("{word} "),
            TokenKind::Literal(raw) => out += &format!("'{raw}' "),
            TokenKind::Symbol(symbol) => out += &format!("{symbol} "),
        }
    }
}

#[track_caller]
fn check(text: &str, expect: &str) {
    assert_eq!(read(text, TemplateOptions::default(), Form::Template).as_deref(), Ok(expect), "{text:?}");
}

#[track_caller]
fn refuse(text: &str, message: &str, line: u32) {
    let failure = read(text, TemplateOptions::default(), Form::Template).unwrap_err();
    assert_eq!((&*failure.message, failure.line), (message, line), "{text:?}");
}

#[test]
fn white_space_is_controlled_as_in_jinja() {
    check("a {{- b -}} \n c", "<a>{{b }}<c>");
    check("a\n {%- if x -%}\n b", "<a>{%if x %}<b>");
    check("a {%+ if x +%}\nb", "<a >{%if x %}<\nb>");
    check("{% if x %}\n\n", "{%if x %}<\n>");
    check("{{ a }}\n", "{{a }}<\n>");
    check("a {#- c -#} \n b", "<a><b>");
    check("{# c #}\nb{# d +#}\n", "<b><\n>");
    check("{{ a + }}", "{{a + }}");
    check("{{ a +-}} b", "{{a + }}<b>");
    check("a\u{1f}{{- a -}}\u{a0}b", "<a>{{a }}<b>");
    check("{#-#}", "");
}

#[test]
fn lines_lose_their_indentation_if_that_is_wanted() {
    let check = |text: &str, expect: &str| {
        let options = TemplateOptions { lstrip_blocks: true, ..TemplateOptions::default() };
        assert_eq!(read(text, options, Form::Template).as_deref(), Ok(expect), "{text:?}");
    };
    check("  {% if a %}\n  {{ b }}\n  {# c #}\n", "{%if a %}<  >{{b }}<\n>");
    check("x  {% if a %}", "<x  >{%if a %}");
    check("  {%+ if a %}", "<  >{%if a %}");
    check("{% if a %}\n  {% if b %}", "{%if a %}{%if b %}");
    check("{% if a +%}  {% if b %}", "{%if a %}<  >{%if b %}");
    check("  {% raw %}a\n  {% endraw %}", "<a\n>");
}

#[test]
fn raw_blocks_are_text() {
    check("{% raw %}{{ a }}{% endraw %}\nb", "<{{ a }}><b>");
    check("{%- raw -%} {% x %} {%- endraw -%} b", "<{% x %}><b>");
    check("{% raw %}\na{%+endraw+%}\n", "<\na><\n>");
    check("a{% raw %}", "<a>");
    check("{% raw +%}a{% endraw %}", "{%raw %}<a>{%endraw %}");
    check("{% rawa %}", "{%rawa %}");
    refuse("a\n{% raw %}b", "Missing end of raw directive", 2);
}

#[test]
fn tags_do_not_end_within_brackets() {
    check("{{ {'a': {}} }}", "{{{ 'a' : { } } }}");
    check("{{ {'a': 1}}}", "{{{ 'a' : 1 } }}");
    check("{{ '}}' }}", "{{'}}' }}");
    refuse("{{ (a }}", "unexpected '}', expected ')'", 1);
    refuse("{{ a }", "unexpected '}'", 1);
    refuse("\n{{ a ] }}", "unexpected ']'", 2);
}

#[test]
fn damaged_texts_are_refused_with_their_line() {
    refuse("é\n{{ a ! b }}", "unexpected char '!' at 7", 2);
    refuse("{{ 'a }}", "unexpected char \"'\" at 3", 1);
    refuse("{{ a\\ }}", "unexpected char '\\\\' at 4", 1);
    refuse("{{ a² }}", "Invalid character in identifier", 1);
    refuse("{{ a\u{200d} }}", "unexpected char '\\u200d' at 4", 1);
    refuse("{# a\n", "Missing end of comment tag", 1);
    check("a{#", "<a>");
    check("a{{", "<a>{{");
    refuse(&format!("{}{{{{ ? }}}}", "\n".repeat(70_000)), "unexpected char '?' at 70003", 70_001);
}

#[test]
fn names_may_be_of_any_script() {
    check("{{ größe | größer_als(数) }}", "{{größe | größer_als ( 数 ) }}");
    check("{{ a.0.1 + 1.5.x }}", "{{a . 0 . 1 + 1.5 . x }}");
}

#[test]
fn lines_may_be_statements_or_comments() {
    let check = |text: &str, expect: &str| {
        let options = TemplateOptions {
            line_statement_prefix: Some("%".to_owned()),
            line_comment_prefix: Some("##".to_owned()),
            ..TemplateOptions::default()
        };
        assert_eq!(read(text, options, Form::Template).as_deref(), Ok(expect), "{text:?}");
    };
    check("a\n  % for x in [1,\n 2]  \n\nb", "<a\n>{%for x in [ 1 , 2 ] %}<b>");
    check("% if a", "{%if a %}");
    check("% if (a", "{%if ( a ");
    check("a  ## c\nb", "<a><\nb>");
    check("a % b", "<a % b>");
}

#[test]
fn expressions_begin_within_a_tag() {
    let read = |text| read(text, TemplateOptions::default(), Form::Expression);
    assert_eq!(read("a ~ 'b'").as_deref(), Ok("a ~ 'b' "));
    assert_eq!(read("a }} b").as_deref(), Ok("a }}< b>"));
    assert!(read("{{ a }}").is_ok_and(|read| read == "{ { a } } "));
}
