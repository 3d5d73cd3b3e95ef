//! Commands that Ansible's modules start, and that profiles and rules cover. Those that only ask begin with `?`.

use super::support::{covered, own, profile, sections, words};
use crate::outside::Kind;

#[test]
fn commands_of_modules_pass() {
    let (mut count, mut failed) = (0, Vec::new());
    for section in sections(include_str!("passing.txt")) {
        for line in section.commands {
            let command = line.strip_prefix('?').unwrap_or(line);
            let found = covered(&section.grants, &words(command), section.user);
            if found.is_none_or(|found| found.grant.is_query != line.starts_with('?')) {
                failed.push(format!("{}: {line}", section.title));
            }
            count += 1;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(count >= 150, "{count}");
}

#[test]
fn a_covered_command_names_its_program_and_operands() {
    let grants = profile("cron", &["deploy"]);
    let found = covered(&grants, &words("/usr/bin/crontab -u deploy /tmp/x"), "root").unwrap();
    assert_eq!(found.program.to_str(), Some("/usr/local/sbin/crontab"));
    let operands: Vec<_> = found.operands.iter().map(|it| (it.argument, it.kind, it.value.as_str())).collect();
    assert_eq!(operands, [(1, Kind::User, "deploy"), (2, Kind::Input, "/tmp/x")]);
    assert_eq!(found.files().map(|it| it.argument).collect::<Vec<_>>(), [2]);
    let grants = profile("host", &[]);
    let found = covered(&grants, &words("update-alternatives --set editor /usr/bin/vim"), "root").unwrap();
    assert_eq!(found.paths().map(|it| it.value.as_str()).collect::<Vec<_>>(), ["/usr/bin/vim"]);
    let grants = [own("x {-o <name>|<path>} --file=<input> <n>…")];
    let found = covered(&grants, &words("x /a -o b /c --file=/d 1 2"), "root").unwrap();
    let operands: Vec<_> = found.operands.iter().map(|it| (it.argument, it.value.as_str())).collect();
    assert_eq!(operands, [(0, "/a"), (2, "b"), (3, "/c"), (4, "/d"), (5, "1"), (6, "2")]);
    // The script of a service is started by its own path.
    let grants = profile("services", &["nginx"]);
    let found = covered(&grants, &words("/etc/init.d/nginx start"), "root").unwrap();
    assert_eq!(found.program.to_str(), Some("/etc/init.d/nginx"));
}
