//! The meaning of rules, and attempts to bypass them.

use modbox_vocabulary::GrantSource;
use proptest::prelude::*;

use super::*;

fn rule(text: &str) -> RunRule {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn grant(text: &str, program: &str) -> RunGrant {
    RunGrant { rule: rule(text), programs: vec![program.into()], source: GrantSource::named("test") }
}

#[track_caller]
fn check(text: &str, arguments: &[&str], expect: bool) {
    let arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
    assert_eq!(rule(text).covers(&arguments), expect, "{text} and {arguments:?}");
}

#[test]
fn each_word_is_about_one_argument() {
    check("systemctl restart nginx", &["restart", "nginx"], true);
    for other in [
        &[][..],
        &["restart"],
        &["restart", "nginx", "sshd"],
        &["restart", "nginx "],
        &["restart", "Nginx"],
        &["restart nginx"],
        &["", "restart", "nginx"],
        &["restart", "nginx", ""],
        &["restart", "--", "nginx"],
        &["nginx", "restart"],
    ] {
        check("systemctl restart nginx", other, false);
    }
    check("true", &[], true);
    check("true", &[""], false);
}

#[test]
fn a_bare_star_at_the_end_is_any_number_of_arguments() {
    for more in [&["restart"][..], &["restart", "a"], &["restart", "a", "b c", ""], &["restart", "--now", "*"]] {
        check("systemctl restart *", more, true);
    }
    for other in [&[][..], &["stop"], &["stop", "restart"], &["restart a"], &["--root=/x", "restart", "a"]] {
        check("systemctl restart *", other, false);
    }
    check("true *", &[], true);
    check("true *", &["a", "b"], true);
    // A quoted `*` is a character. A `*` that is not last or not bare is one argument.
    for quoted in ["true '*'", "true \"*\"", "true \\*"] {
        check(quoted, &["*"], true);
        check(quoted, &["a"], false);
        check(quoted, &[], false);
    }
    check("cp * /srv", &["a", "/srv"], true);
    check("cp * /srv", &["a", "b", "/srv"], false);
    check("cp * /srv", &["/srv"], false);
    check("true **", &["a"], true);
    check("true **", &[], false);
    check("true **", &["a", "b"], false);
    check("true -- *", &["--", "-x"], true);
    check("true -- *", &["-x"], false);
}

#[test]
fn a_wildcard_stays_within_its_argument() {
    for (text, argument, expect) in [
        ("ls /srv/*.txt", "/srv/a.txt", true),
        ("ls /srv/*.txt", "/srv/a.txt b", false),
        ("ls /srv/*.txt", "/srv/a b.txt", true),
        ("ls /srv/*.txt", "/srv/.txt", true),
        ("ls /srv/*.txt", "/srv/../etc/x.txt", true),
        ("ls /srv/?", "/srv/a", true),
        ("ls /srv/?", "/srv/", false),
        ("ls /srv/?", "/srv/ab", false),
        ("ls /srv/?", "/srv/ä", true),
        ("ls ?*", "", false),
        ("ls ?*", "x y", true),
        ("ls a*b*c", "a-b-b-c", true),
        ("ls a*b*c", "a-b-b", false),
        ("ls ''", "", true),
        ("ls ''", " ", false),
        ("ls 'a b'", "a b", true),
        ("ls a' 'b*", "a bc", true),
        ("ls [ab]", "a", false),
        ("ls [ab]", "[ab]", true),
        ("ls $HOME;x|y", "$HOME;x|y", true),
    ] {
        check(text, &[argument], expect);
        check(text, &[argument, "more"], false);
    }
}

#[test]
fn the_program_has_to_match_exactly() {
    let by_name = grant("tool a", "/usr/bin/tool");
    let yes = ["tool", "/usr/bin/tool"];
    let no = [
        "",
        ".",
        "..",
        "/",
        "tool ",
        " tool",
        "Tool",
        "./tool",
        "bin/tool",
        "/tool",
        "/bin/tool",
        "/usr/bin//tool",
        "/usr/bin/./tool",
        "/usr/bin/../bin/tool",
        "/usr/bin/tool/",
        "//usr/bin/tool",
        "/usr/local/bin/tool",
        "tool\0",
        "/usr/bin",
    ];
    let arguments = ["a".to_owned()];
    for program in yes {
        assert!(by_name.covers(program, &arguments), "{program}");
        assert!(!by_name.covers(program, &[]), "{program}");
    }
    for program in no {
        assert!(!by_name.covers(program, &arguments), "{program}");
    }
    // A program outside the standard directories has no name.
    let elsewhere = grant("/opt/bin/tool a", "/opt/bin/tool");
    assert!(elsewhere.covers("/opt/bin/tool", &arguments) && !elsewhere.covers("tool", &arguments));
}

#[test]
fn a_name_is_looked_up_in_the_standard_directories_in_their_order() {
    let is = |there: &'static [&'static str]| move |path: &Path| there.iter().any(|other| Path::new(other) == path);
    let itself = |path: &Path| Some(path.to_owned());
    let merged = |path: &Path| {
        Some(Path::new("/usr").join(path.strip_prefix("/usr").or_else(|_| path.strip_prefix("/")).unwrap()))
    };
    assert_eq!(look_up("x", is(&["/bin/x", "/usr/bin/x"]), itself), [Path::new("/usr/bin/x")]);
    assert_eq!(look_up("x", is(&["/bin/x"]), itself), [Path::new("/bin/x")]);
    assert_eq!(look_up("x", is(&["/usr/bin/x", "/bin/x"]), merged), ["/usr/bin/x", "/bin/x"].map(Path::new));
    assert!(look_up("x", is(&["/home/x", "/opt/bin/x"]), itself).is_empty());
    assert_eq!(known_as(Path::new("/bin/x"), merged), ["/bin/x", "/usr/bin/x"].map(Path::new));
    assert_eq!(known_as(Path::new("/opt/x"), itself), [Path::new("/opt/x")]);
}

#[test]
fn invalid_rules_are_reported() {
    for (text, expect) in [
        ("", RunRuleError::Empty),
        ("  \n", RunRuleError::Empty),
        ("ls 'a", RunRuleError::Quote),
        ("ls \"a", RunRuleError::Quote),
        ("ls a\\", RunRuleError::Backslash),
        ("ls \0", RunRuleError::Nul),
        ("*", RunRuleError::WildProgram),
        ("/usr/bin/* a", RunRuleError::WildProgram),
        ("l?", RunRuleError::WildProgram),
        ("''", RunRuleError::Program(String::new())),
        ("./ls", RunRuleError::Program("./ls".to_owned())),
        ("bin/ls", RunRuleError::Program("bin/ls".to_owned())),
        ("..", RunRuleError::Program("..".to_owned())),
        ("/", RunRuleError::Program("/".to_owned())),
        ("/usr/../bin/ls", RunRuleError::Program("/usr/../bin/ls".to_owned())),
        ("/usr//bin/ls", RunRuleError::Program("/usr//bin/ls".to_owned())),
        ("/usr/bin/ls/", RunRuleError::Program("/usr/bin/ls/".to_owned())),
    ] {
        assert_eq!(text.parse::<RunRule>().unwrap_err(), expect, "{text:?}");
    }
}

#[test]
fn a_switch_can_be_pasted_into_a_shell() {
    let exact = exactly("echo", &["a b".to_owned(), String::new(), "*".to_owned(), "it's".to_owned()]);
    assert_eq!(exact, r#"echo 'a b' '' '*' 'it'"'"'s'"#);
    assert_eq!(switch("uptime"), "--allow-run uptime");
    assert_eq!(switch("echo 'a b'"), r#"--allow-run 'echo '"'"'a b'"'"''"#);
}

/// Generates texts with many of the characters that have a meaning in rules.
fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec!['a', 'b', ' ', '*', '?', '\'', '"', '\\', '-', '/', '\n', '\t', 'ä']),
        0..6,
    )
    .prop_map(|chars| chars.into_iter().collect())
}

fn words() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(text(), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_exact_rule_covers_its_command_and_no_other(command in words(), other in words()) {
        let exact = rule(&exactly("echo", &command));
        prop_assert!(exact.covers(&command));
        prop_assert_eq!(exact.covers(&other), command == other);
        // Joining or splitting arguments makes a different command.
        if command.len() > 1 {
            prop_assert!(!exact.covers(&[command.join(" ")]));
        }
    }

    #[test]
    fn what_is_written_is_read_as_the_same(source in text(), more in text(), command in words()) {
        if let Ok(first) = format!("x {source} {more}").parse::<RunRule>() {
            let again = rule(&first.to_string());
            prop_assert_eq!(&again, &first);
            prop_assert_eq!(again.covers(&command), first.covers(&command));
        }
    }

    #[test]
    fn the_number_of_arguments_is_that_of_the_words(source in words(), command in words()) {
        // Words without quotes and blanks, so that their number is known.
        let source: Vec<String> = source.iter().map(|word| word.replace([' ', '\n', '\t', '\'', '"', '\\'], "w")).filter(|word| !word.is_empty()).collect();
        let rest = source.last().is_some_and(|word| word == "*");
        let fixed = source.len() - usize::from(rest);
        if rule(&format!("x {}", source.join(" "))).covers(&command) {
            let fits = if rest { command.len() >= fixed } else { command.len() == fixed };
            prop_assert!(fits);
        }
    }

    #[test]
    fn a_word_is_matched_as_the_plain_definition_says(pattern in "[ab*?]{0,6}", argument in "[ab]{0,6}") {
        fn plain(pattern: &[u8], text: &[u8]) -> bool {
            match (pattern, text) {
                ([], []) => true,
                ([b'*', rest @ ..], _) => plain(rest, text) || (!text.is_empty() && plain(pattern, &text[1..])),
                ([b'?', rest @ ..], [_, more @ ..]) => plain(rest, more),
                ([c, rest @ ..], [d, more @ ..]) if c == d => plain(rest, more),
                _ => false,
            }
        }
        // A word that is not the last, so that a bare `*` is one argument.
        let written = if pattern.is_empty() { "''" } else { &pattern };
        let command = [argument.clone(), "end".to_owned()];
        prop_assert_eq!(rule(&format!("x {written} end")).covers(&command), plain(pattern.as_bytes(), argument.as_bytes()));
    }
}
