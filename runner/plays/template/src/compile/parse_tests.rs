//! What the parser makes of texts: how operators bind, what is refused with which words and line, and bounds.

use crate::compile::{Expr, Form, Mention, Node, compile};
use crate::options::TemplateOptions;

/// Writes an expression with parentheses around each operation.
fn written(tree: &Expr) -> String {
    let all = |items: &[Expr]| items.iter().map(written).collect::<Vec<_>>().join(", ");
    match tree {
        Expr::Constant(value) => modbox_jinja::values::repr(value).unwrap(),
        Expr::Embedded(literal) => format!("{:?}{}", literal.value, if literal.is_rendered { "!" } else { "" }),
        Expr::Captured => "…".to_owned(),
        Expr::Name(name) => name.to_string(),
        Expr::Attribute(object, name) => format!("{}.{name}", written(object)),
        Expr::Item(object, key) => format!("{}[{}]", written(object), written(key)),
        Expr::Slice(parts) => {
            format!("{}[{}]", written(&parts[0]), parts[1..].iter().map(written).collect::<Vec<_>>().join(":"))
        }
        Expr::Not(operand) => format!("(not {})", written(operand)),
        Expr::Negative(operand) => format!("(-{})", written(operand)),
        Expr::Positive(operand) => format!("(+{})", written(operand)),
        Expr::And(left, right) => format!("({} and {})", written(left), written(right)),
        Expr::Or(left, right) => format!("({} or {})", written(left), written(right)),
        Expr::Binary(operator, left, right) => format!("({} {operator:?} {})", written(left), written(right)),
        Expr::Compare(first, rest) => {
            let rest: String = rest.iter().map(|(how, operand)| format!(" {how:?} {}", written(operand))).collect();
            format!("({}{rest})", written(first))
        }
        Expr::If(condition, then, otherwise) => {
            let otherwise = otherwise.as_ref().map(|tree| format!(" else {}", written(tree))).unwrap_or_default();
            format!("({} if {}{otherwise})", written(then), written(condition))
        }
        Expr::Filter(name, input, arguments) => format!("{}|{name}({})", written(input), all(&arguments.positional)),
        Expr::Test(name, input, arguments) => format!("{} is {name}({})", written(input), all(&arguments.positional)),
        Expr::Call(call) => format!("{}({})", written(&call.callee), all(&call.arguments.positional)),
        Expr::List(items) => format!("[{}]", all(items)),
        Expr::Tuple(items) => format!("({},)", all(items)),
        Expr::Dict(entries) => format!("{{{}}}", entries.len()),
    }
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let program = compile(text, Form::Expression, &TemplateOptions::default());
    let found = match &program.as_ref().map(|program| &program.body[..]) {
        Ok([Node::Emit(_, tree)]) => written(tree),
        other => format!("{other:?}"),
    };
    assert_eq!(found, expect, "{text}");
}

#[track_caller]
fn refuse(text: &str, message: &str, line: u32) {
    let failure = compile(text, Form::Template, &TemplateOptions::default()).map(|_| ()).unwrap_err();
    assert_eq!((&*failure.message, failure.line), (message, line), "{text}");
}

#[test]
fn operators_bind_as_in_jinja() {
    check("a or b and not c == 1", "(a or (b and (not (c Equal 1))))");
    check("not a in b", "(not (a In b))");
    check("a not in b < c", "(a NotIn b Less c)");
    check("1 + 2 ~ 3 * 4 ** 5", "(1 Add (2 Concatenate (3 Multiply (4 Power 5))))");
    check("2 ** 3 ** 2 - 1 - 1", "((((2 Power 3) Power 2) Subtract 1) Subtract 1)");
    check("-2 ** 2", "((-2) Power 2)");
    check("-a | abs + 1", "((-a)|abs() Add 1)");
    check("--a.b + +c[0]", "((-(-a.b)) Add (+c[0]))");
    check("a if b else c if d else e", "(a if b else (c if d else e))");
    check("a if b if c", "((a if b) if c)");
    check("a // b % c", "((a FloorDivide b) Remainder c)");
    check("a == not", "(a Equal not)");
}

#[test]
fn tests_take_an_operand_without_signs_and_filters() {
    check("x is eq -3", "(x is eq() Subtract 3)");
    check("x is eq 3 | abs", "x is eq(3)|abs()");
    check("x is eq y.z[0](1) + 1", "(x is eq(y.z[0](1)) Add 1)");
    check("x is not a.b [1]", "(not x is a.b([1]))");
    check("x is defined() is true", "x is defined() is true()");
    check("x is in [1] and y is odd or z", "((x is in([1]) and y is odd()) or z)");
    check("x is foo not in y", "(x is foo(not) In y)");
    check("-x is odd", "(-x) is odd()");
}

#[test]
fn subscripts_literals_and_calls_are_read() {
    check("x[0, 1][:2][::-1][a:b:c][1:]", "x[(0, 1,)][None:2:None][None:None:(-1)][a:b:c][1:None:None]");
    check("x.0.1.y[]", "x[0][1].y[(,)]");
    check("(1,) + () + (1) + ((a, b),)", "((((1,) Add (,)) Add 1) Add ((a, b,),))");
    check(
        "'a' \"b\\n\" '\\'' ~ 1_000 ~ 0x_ff ~ 1e1",
        "(((\"ab\\n'\" Concatenate 1000) Concatenate 255) Concatenate 10.0)",
    );
    check("x | f | g.h(1)(2)", "x|f()|g.h(1)(2)");
    check("{'a': 1, **b}", "Err(SyntaxFailure { message: \"unexpected '**'\", line: 1 })");
    check("f(1, *a, b=2, **c)", "f(1)");
}

#[test]
fn literals_are_rendered_where_ansible_renders_them() {
    check(
        "lookup('{{ a }}', '{{ b }}', ['{{ c }}'], '{{ d }}' ~ x)",
        "lookup('{{ a }}', '{{ b }}'!, ['{{ c }}'!], ('{{ d }}' Concatenate x))",
    );
    check("f('{{ a }}')", "f('{{ a }}')");
    let program =
        compile("q('{{ a }}', '{{ b }}') == '{{ c }}'", Form::Condition, &TemplateOptions::default()).unwrap();
    let [Node::Emit(_, tree)] = &program.body[..] else { panic!("one expression") };
    assert_eq!(written(tree), "(q('{{ a }}', '{{ b }}'!) Equal '{{ c }}'!)");
    let unusual = compile("lookup('x', '{{ a' ' }}')", Form::Expression, &TemplateOptions::default()).unwrap_err();
    assert!(unusual.message.starts_with("a literal with a template in it"), "{unusual:?}");
}

#[test]
fn what_jinja_refuses_is_refused_in_its_words() {
    refuse("{{ 007 }}", "expected token 'end of print statement', got 'integer'", 1);
    refuse("a\n{{ 1. }}", "expected name or number", 2);
    refuse("{{ f(*b, 1) }}", "invalid syntax for function call expression", 1);
    refuse("{{ f(a=1, a=2) }}", "keyword argument repeated: a", 1);
    refuse("{{ x is a is b }}", "You cannot chain multiple tests with is", 1);
    refuse("{{ }}", "Expected an expression, got 'end of print statement'", 1);
    refuse("{{ a", "unexpected end of template, expected 'end of print statement'.", 1);
    refuse("{{ a[1:2, 3] }}", "a slice must be the only subscript", 1);
    refuse("{% for a, in b %}{% endfor %}", "expected token 'in', got 'b'", 1);
    refuse("{% set true = 1 %}", "can't assign to 'const'", 1);
    refuse("{% set a.b.c = 1 %}", "expected token 'end of statement block', got '.'", 1);
    refuse("{% for loop in a %}{% endfor %}", "Can't assign to special loop variable in for-loop target", 1);
    refuse("{% block a %}{% endblock %}\n{% block a %}{% endblock %}", "block 'a' defined twice", 2);
    refuse("{% for a in b %}{% extends c %}{% endfor %}", "cannot use extend from a non top-level scope", 1);
    refuse("{% macro m(a=1, b) %}{% endmacro %}", "non-default argument follows default argument", 1);
    refuse("{% call a %}{% endcall %}", "expected call", 1);
    refuse("{% from 'a' import _b %}", "names starting with an underline can not be imported", 1);
    refuse("{% do a %}", "Encountered unknown tag 'do'.", 1);
    refuse(
        "{% if a %}\n{% for b in c %}\n{% endif %}",
        "Encountered unknown tag 'endif'. You probably made a nesting mistake. Jinja is expecting this tag, but currently \
         looking for 'endfor' or 'else'. The innermost block that needs to be closed is 'for'.",
        3,
    );
    refuse(
        "{% if a %}\n\n\n",
        "Unexpected end of template. Jinja was looking for the following tags: 'elif' or 'else' or 'endif'. The innermost \
         block that needs to be closed is 'if'.",
        2,
    );
}

#[test]
fn filters_of_scopes_are_looked_for_at_once() {
    for (text, expect) in [
        ("{{ a | f }}", true),
        ("{{ a | f if b }}", false),
        ("{% if a %}{{ a | f }}{% endif %}", false),
        ("{% if a %}{% set b | f %}{% endset %}{% endif %}", true),
        ("{% if a %}{% filter f %}{% endfilter %}{% endif %}", true),
        ("{% if a %}{% for b in c | f %}{% endfor %}{% endif %}", false),
        ("{% if a %}{% for b in c if b | f %}{% endfor %}{% endif %}", true),
        ("{% if a %}{% macro m(b=c | f) %}{% endmacro %}{% endif %}", true),
    ] {
        let program = compile(text, Form::Template, &TemplateOptions::default()).unwrap();
        let [Mention::Filter { is_certain, .. }] = program.mentions[..] else { panic!("one filter: {text}") };
        assert_eq!(is_certain, expect, "{text}");
    }
}

#[test]
fn what_a_template_that_extends_another_would_print_is_not_looked_at() {
    for (text, expect) in [
        ("{{ a | f }}{% extends 'x' %}", 1),
        ("{% extends 'x' %}{{ a | f }}", 0),
        ("{% extends 'x' %}{% if a %}{{ a | f }}{% endif %}", 0),
        ("{% extends 'x' %}{% for a in b %}{{ a | f }}{% print a | f %}{% endfor %}", 0),
        ("{% extends 'x' %}{% set a %}{{ a | f }}{% endset %}", 1),
        ("{% extends 'x' %}{% if a | f %}{% endif %}", 1),
        ("{% extends 'x' %}{% block b %}{{ a | f }}{% endblock %}", 1),
        ("{% if a %}{% extends 'x' %}{% endif %}{{ a | f }}", 1),
    ] {
        let program = compile(text, Form::Template, &TemplateOptions::default()).unwrap();
        assert_eq!(program.mentions.len(), expect, "{text}");
    }
}

#[test]
fn delimiters_must_be_different_and_not_empty() {
    let compile = |options| compile("a", Form::Template, &options).map(|_| ()).unwrap_err().message;
    let options = TemplateOptions { variable_start: "{%".to_owned(), ..TemplateOptions::default() };
    assert_eq!(compile(options), "Block, variable and comment start strings must be different.");
    let options = TemplateOptions { line_comment_prefix: Some(String::new()), ..TemplateOptions::default() };
    assert_eq!(compile(options), "`line_comment_prefix` must not be empty");
}

#[test]
fn deep_texts_are_refused_and_long_ones_are_read() {
    let times = 100_000;
    for (open, close) in
        [("(", ")"), ("[", "]"), ("-", ""), ("not ", ""), ("a[", "]"), ("a(", ")"), ("1 if a else ", ""), ("{1:", "}")]
    {
        let text = format!("{{{{ {}1{} }}}}", open.repeat(times), close.repeat(times));
        refuse(&text, "the template nests too deeply", 1);
    }
    refuse(&"{% if a %}".repeat(times), "the template nests too deeply", 1);
    refuse(&format!("{{% set {} = 1 %}}", "(".repeat(times)), "the template nests too deeply", 1);
    for part in [".a", "[0]", "()", " | f", " + 1", " ~ 1", " and a", " is a()", " if a"] {
        refuse(&format!("{{{{ a{} }}}}", part.repeat(times)), "the expression nests too deeply", 1);
    }
    let accept =
        |text: &str| assert!(compile(text, Form::Template, &TemplateOptions::default()).is_ok(), "{}", &text[..40]);
    accept(&format!("{{{{ {}1{} }}}}", "(".repeat(150), ")".repeat(150)));
    accept(&format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}c".repeat(times)));
    accept(&format!("{{{{ [{}] }}}}", "a < 1, ".repeat(times)));
    accept(&format!("{{{{ a{} }}}}", " < 1".repeat(times)));
    accept(&"{{ a }}{% set b = a %}{# c #}{% raw %}d{% endraw %}\n".repeat(50_000));
}

/// Pieces of templates, put together without sense, with characters of all kinds between them.
#[test]
fn no_text_makes_the_parser_panic() {
    const PIECES: [&str; 72] = [
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "{%-",
        "-%}",
        "{%+",
        "+%}",
        "{{-",
        "-}}",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        ":",
        "|",
        "~",
        "=",
        "==",
        "!=",
        "<",
        "**",
        "//",
        "-",
        "+",
        "'",
        "\"",
        "\\",
        "'a'",
        "'{{ a }}'",
        "\\x",
        "\\u00e9",
        "1",
        "1.5",
        "0x",
        "007",
        "1_",
        "é",
        "²",
        "\u{200d}",
        "\u{a0}",
        "\n",
        "\r\n",
        " ",
        "a",
        "not",
        "in",
        "is",
        "if",
        "else",
        "elif",
        "endif",
        "for",
        "endfor",
        "set",
        "endset",
        "macro",
        "endmacro",
        "call",
        "raw",
        "endraw",
        "lookup",
        "loop",
        "recursive",
        "block",
        "#jinja2: ",
    ];
    let options = [
        TemplateOptions::default(),
        TemplateOptions {
            lstrip_blocks: true,
            line_statement_prefix: Some("%".to_owned()),
            line_comment_prefix: Some("##".to_owned()),
            variable_start: "{{{".to_owned(),
            newline_sequence: "\r\n",
            ..TemplateOptions::default()
        },
    ];
    let mut state = 0x5eed_u64;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % bound as u64).unwrap()
    };
    let mut accepted = 0;
    for _ in 0..40_000 {
        let mut text = String::new();
        for _ in 0..below(14) {
            text.push_str(PIECES[below(PIECES.len())]);
            if below(3) == 0 {
                text.push(' ');
            }
            if below(8) == 0 {
                text.extend(char::from_u32(u32::try_from(below(0x3000)).unwrap()));
            }
        }
        for form in [Form::Template, Form::Expression, Form::Condition] {
            accepted += options.iter().filter(|options| compile(&text, form, options).is_ok()).count();
        }
    }
    assert!(accepted > 1000, "only {accepted} texts are templates");
}
