//! The text of rules: accepted ones, errors with their positions, and rules that would take exponential time.

use proptest::prelude::*;

use super::support::{own, shipped_rules};
use crate::outside::{BoundNames, Kind, OutsideRule, check_settings};

const PROFILES: [&str; 8] = ["packages", "updates", "services", "users", "cron", "kernel", "host", "firewall"];

#[test]
fn a_printed_rule_is_the_same_rule() {
    let shipped = PROFILES.iter().flat_map(|profile| shipped_rules(profile).rules(false)).map(|shipped| shipped.rule);
    let written = [
        "nginx -t",
        "x '<n>' '|' \"it's\" '' '…' ... <n>'...' a\\ b",
        "x --a=<name>'{}' (a|b <n> c) {d|e}",
        "/opt/a\\ b <pkg>...",
        "/etc/init.d/<unit> start",
        "x {(a|b)}x",
    ];
    for rule in shipped.chain(written[..5].iter().map(|text| text.parse::<OutsideRule>().unwrap())) {
        assert_eq!(rule.to_string().parse(), Ok(rule.clone()), "{rule}");
        let json = serde_json::to_string(&rule).unwrap();
        assert_eq!(serde_json::from_str::<OutsideRule>(&json).unwrap(), rule);
    }
    assert!(written[5].parse::<OutsideRule>().is_err());
}

#[test]
fn mistakes_in_rules_have_positions() {
    for (text, expect) in [
        ("", "the rule is empty; expected a program and its arguments, such as `nginx -t`, at character 1"),
        ("  ", "the rule is empty; expected a program and its arguments, such as `nginx -t`, at character 3"),
        ("x 'a", "the quote is not closed, at character 3"),
        ("x \"a\\\"", "the quote is not closed, at character 3"),
        ("x a\\", "nothing follows the backslash, at character 4"),
        ("x 'a\nb'", "the rule contains the control character `\\n`, at character 5"),
        ("x a\u{0}", "the rule contains the control character `\\u{0}`, at character 4"),
        (
            "systemctl restart *",
            "rules for outside commands have no wildcards; spell the words, use a kind such as `<name>`, or quote `*`, at \
             character 19",
        ),
        ("x <nam>", &format!("unknown kind `<nam>`; expected one of {}, at character 3", Kind::list())),
        ("x <>", &format!("unknown kind `<>`; expected one of {}, at character 3", Kind::list())),
        ("x <name", "`<` is not closed; quote it if it is part of the argument, at character 3"),
        ("x <na me>", "`<` is not closed; quote it if it is part of the argument, at character 3"),
        ("x a>", "`>` closes no kind; quote it if it is part of the argument, at character 4"),
        ("é <n><n>", "a word holds one kind at most, at character 6"),
        ("x ((a)|b)", "groups cannot be nested; write the alternatives out, at character 4"),
        ("x {a|(b)}", "groups cannot be nested; write the alternatives out, at character 6"),
        ("x (a|b", "the group is not closed; expected `)`, at character 3"),
        ("x {a)", "`)` closes no group; quote it if it is part of the argument, at character 5"),
        ("x a)", "`)` closes no group; quote it if it is part of the argument, at character 4"),
        ("x )", "`)` closes no group; quote it if it is part of the argument, at character 3"),
        (
            "x a|b",
            "`|` is not in a group; write `(a|b)` for one of both, or quote it if it is part of the argument, at character 4",
        ),
        ("x (a|)", "the alternative is empty; `{a}` says that `a` may be left out, at character 6"),
        ("x ()", "the alternative is empty; `{a}` says that `a` may be left out, at character 4"),
        ("(a|b) c", "the program must be spelled; only `/etc/init.d/<unit>` has a kind in it, at character 1"),
        ("<name> c", "the program must be spelled; only `/etc/init.d/<unit>` has a kind in it, at character 1"),
        ("/usr/bin/<unit>", "the program must be spelled; only `/etc/init.d/<unit>` has a kind in it, at character 1"),
        (
            "/etc/init.d/<name>",
            "the program must be spelled; only `/etc/init.d/<unit>` has a kind in it, at character 1",
        ),
        (
            "/etc/init.d/<unit>x",
            "the program must be spelled; only `/etc/init.d/<unit>` has a kind in it, at character 1",
        ),
        (
            " a/b",
            "the program `a/b` must be a name, or an absolute path without `.`, `..` and empty parts, at character 2",
        ),
        (
            "/a/../b",
            "the program `/a/../b` must be a name, or an absolute path without `.`, `..` and empty parts, at character 1",
        ),
        (
            "-x",
            "the program `-x` must be a name, or an absolute path without `.`, `..` and empty parts, at character 1",
        ),
    ] {
        assert_eq!(text.parse::<OutsideRule>().unwrap_err().to_string(), expect, "{text}");
    }
    for text in ["x --a=(b|c)", "x (a)b", "x (a)(b)", "x (a(b))", "x{a}"] {
        let error = text.parse::<OutsideRule>().unwrap_err().to_string();
        assert!(error.contains("a group is a word of its own") || error.contains("nested"), "{text}: {error}");
    }
    for text in ["x <n>…y", "x a<n>…", "x (<n>…)", "x ''<n>…", "x <n>...y"] {
        let error = text.parse::<OutsideRule>().unwrap_err().to_string();
        assert!(error.starts_with("`…` follows a kind"), "{text}: {error}");
    }
    assert!("x ".repeat(200_000).parse::<OutsideRule>().unwrap_err().to_string().contains("longer than 262144 bytes"));
}

#[test]
fn names_have_the_form_of_what_they_bind() {
    let units = &[Kind::Unit];
    assert_eq!(BoundNames::new(&["nginx", "php*-fpm", "a?.timer"], units).unwrap().names().len(), 3);
    for (name, kinds) in [("/tmp/x.service", units), ("", units), ("-x", units), ("a b", units), ("*/x", units)] {
        let (index, reason) = BoundNames::new(&["nginx", name], kinds).unwrap_err();
        assert_eq!((index, reason.contains(&format!("`{name}`"))), (1, true), "{reason}");
    }
    let wide = BoundNames::default();
    let some = BoundNames::new(&["a", "b"], units).unwrap();
    let one = BoundNames::new(&["a"], units).unwrap();
    let reserved = BoundNames::new(&["reboot"], units).unwrap();
    let within = |inner: &BoundNames, outer: &BoundNames| inner.are_within(outer);
    assert!(within(&one, &some) && within(&one, &wide) && within(&wide, &wide) && within(&reserved, &reserved));
    assert!(!within(&some, &one) && !within(&wide, &some) && !within(&reserved, &wide));
}

#[test]
fn each_line_of_a_settings_file_is_judged() {
    let names = BoundNames::new(&["net.ipv4.*"], &[Kind::Key]).unwrap();
    let machine = b"kernel.core_pattern = |/usr/share/apport\nvm.x=1\n";
    let check = |text: &str| check_settings(text.as_bytes(), machine, &names).map_err(|refused| refused.line);
    let fine = "# comment\n; other\n\nnet.ipv4.ip_forward = 1\n-net.ipv4.x=1\nnet.ipv4.tcp_rmem = 1\t2 3\nvm.x=1\n kernel.core_pattern = |/usr/share/apport\n";
    assert_eq!(check(fine), Ok(()));
    for (text, line) in [
        ("net.ipv6.x=1", 1),
        ("net.ipv4.x=1\nkernel.core_pattern=|/tmp/x", 2),
        ("net.ipv4.x=1\\\n", 1),
        ("net.ipv4.x", 1),
        ("net/ipv4/x=1", 1),
        ("net.ipv4.x=|y", 1),
        ("net.ipv4.x=1\rkernel.modprobe=/x", 1),
        ("# a\rkernel.modprobe=/x", 1),
        ("--net.ipv4.x=1", 1),
        ("kernel.core_pattern = |/usr/share/apport2", 1),
    ] {
        assert_eq!(check(text), Err(line), "{text:?}");
    }
    assert!(check_settings(b"net.ipv4.x=\xff", machine, &names).is_err());
    let error = check_settings("x".repeat(500).as_bytes(), b"", &names).unwrap_err();
    assert!(error.to_string().len() < 250, "{error}");
}

/// Exponential time would never end.
#[test]
fn matching_takes_bounded_time() {
    let repeat = |word: &str, count: usize| vec![word.to_owned(); count];
    let with = |mut words: Vec<String>, last: &str| {
        words.push(last.to_owned());
        words
    };
    let list: Vec<String> = (0..10_000).map(|number| format!("w{number}")).collect();
    let alternatives = format!("x {{{}}}", list.join("|"));
    let kinds = format!("x {{{}}}", (0..10_000).map(|number| format!("w{number}<n>")).collect::<Vec<_>>().join("|"));
    let many_groups = format!("x {}", "{a|b} ".repeat(20_000));
    let repeats = format!("x {}", "<name>… ".repeat(20_000));
    let cases = [
        ("x {-w|-w <n>}", with(repeat("-w", 20_000), "y"), false),
        ("x {-w|-w -w|-w -w -w}", repeat("-w", 20_000), true),
        ("x {<n>|<n> <n>} {<n>|<n> <n>}", with(repeat("1", 20_000), "y"), false),
        ("x <n>… <n>… <n>… <n>…", with(repeat("1", 20_000), "y"), false),
        (alternatives.as_str(), list.clone(), true),
        (alternatives.as_str(), with(list.clone(), "y"), false),
        (kinds.as_str(), with(repeat("w9999", 10_000), "y"), false),
        (many_groups.as_str(), with(repeat("a", 20_000), "y"), false),
        (repeats.as_str(), with(repeat("a", 20_000), "-y"), false),
    ];
    for (rule, arguments, expect) in cases {
        let program = rule.split(' ').next().unwrap();
        let is_covered = own(rule).covers(program, &arguments, "root").is_some();
        assert_eq!(is_covered, expect, "{}", rule.chars().take(40).collect::<String>());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-c/ <>(){}|*'\"\\\\.…-]{0,60}|\\PC{0,60}|(x )?(<(n|name|pkg|foo)>(…|\\.\\.\\.)?|[(){}| a'-]){0,30}") {
        if let Ok(rule) = text.parse::<OutsideRule>() {
            prop_assert_eq!(rule.to_string().parse(), Ok(rule));
        }
    }

    #[test]
    fn no_command_makes_the_matcher_panic(
        items in prop::collection::vec(prop::sample::select(vec!["a", "<n>", "<n>…", "<name>…", "(a|b a)", "{a|<n> b}", "{<name>|a a}", "--x=<n>"]), 0..6),
        words in prop::collection::vec(prop::sample::select(vec!["a", "b", "1", "--x=1", "-", ""]), 0..8),
    ) {
        let rule = format!("x {}", items.join(" "));
        let covered = own(&rule).covers("x", &words, "root").is_some();
        prop_assert_eq!(covered, slow(&items, &words), "{} {:?}", rule, words);
    }
}

/// Whether the items of a rule cover words, by trying everything.
fn slow(items: &[&str], words: &[&str]) -> bool {
    let is = |word: &str, item: &str| match item {
        "<n>" => !word.is_empty() && word.chars().all(|digit| digit.is_ascii_digit()),
        "<name>" => matches!(word, "a" | "b" | "1"),
        "--x=<n>" => word == "--x=1",
        plain => word == plain,
    };
    let Some((item, rest)) = items.split_first() else { return words.is_empty() };
    if let Some(kind) = item.strip_suffix('…') {
        return (1..=words.len())
            .any(|count| words[..count].iter().all(|word| is(word, kind)) && slow(rest, &words[count..]));
    }
    let inner = item.trim_matches(['(', ')', '{', '}']);
    let ways = inner.split('|').map(|way| way.split(' ').collect::<Vec<_>>());
    let fits: Vec<usize> = ways
        .filter(|way| words.len() >= way.len() && way.iter().zip(words).all(|(item, word)| is(word, item)))
        .map(|way| way.len())
        .collect();
    match item.starts_with('{') {
        true => slow(rest, words) || fits.iter().any(|count| slow(items, &words[*count..])),
        false => fits.iter().any(|count| slow(rest, &words[*count..])),
    }
}
