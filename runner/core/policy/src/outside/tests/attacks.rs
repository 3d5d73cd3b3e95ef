//! Commands that look like permitted ones, and that no rule covers.

use super::support::{covered, own, profile, sections, words};

#[test]
fn commands_beyond_the_rules_do_not_pass() {
    let (mut count, mut passed) = (0, Vec::new());
    for section in sections(include_str!("attacks.txt")) {
        for command in section.commands {
            if let Some(found) = covered(&section.grants, &words(command), section.user) {
                passed.push(format!("{}: {command}: {}", section.title, found.grant.rule));
            }
            count += 1;
        }
    }
    assert!(passed.is_empty(), "{}", passed.join("\n"));
    assert!(count >= 250, "{count}");
}

/// One character more, one less or another one anywhere: a list of words that a rule spells is not its neighbours.
#[test]
fn neighbours_of_a_spelled_command_do_not_pass() {
    let grants = [own("nginx -t -q")];
    let command = ["-t", "-q"];
    let mut others: Vec<Vec<Vec<u8>>> = Vec::new();
    for (index, word) in command.iter().enumerate() {
        for at in 0..=word.len() {
            for byte in 0..=255 {
                let with = |changed: Vec<u8>| {
                    let mut words: Vec<Vec<u8>> = command.iter().map(|word| word.as_bytes().to_vec()).collect();
                    words[index] = changed;
                    words
                };
                let (before, after) = word.as_bytes().split_at(at);
                others.push(with([before, &[byte], after].concat()));
                if let Some((_, rest)) = after.split_first() {
                    others.push(with([before, rest].concat()));
                    others.push(with([before, &[byte], rest].concat()));
                }
            }
        }
    }
    let own: Vec<Vec<u8>> = command.iter().map(|word| word.as_bytes().to_vec()).collect();
    assert!(grants[0].covers("nginx", &own, "root").is_some());
    for words in others.iter().filter(|words| **words != own) {
        assert!(grants[0].covers("nginx", words, "root").is_none(), "{words:?}");
    }
}

#[test]
fn long_commands_do_not_pass() {
    let grants = profile("packages", &[]);
    let command = |count: usize| {
        let mut words = words("apt-get -y install");
        words.extend(std::iter::repeat_n(b"nginx".to_vec(), count));
        words
    };
    // Six bytes each, and fifteen for the first words without the program.
    assert!(covered(&grants, &command(21_000), "root").is_some());
    assert!(covered(&grants, &command(22_000), "root").is_none());
    for length in [256, 4097, 128 << 10, 1 << 20] {
        let long = "a".repeat(length);
        for (profile_of, before) in
            [("packages", "apt-get install"), ("services", "systemctl start"), ("users", "userdel")]
        {
            let mut words = words(before);
            words.push(long.clone().into_bytes());
            assert!(covered(&profile(profile_of, &[]), &words, "root").is_none(), "{before} {length}");
        }
    }
    assert!(covered(&[own("x <text>")], &[b"x".to_vec(), "a".repeat(4097).into_bytes()], "root").is_none());
}
