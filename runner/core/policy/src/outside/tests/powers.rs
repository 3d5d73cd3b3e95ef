//! Grants that are as powerful as root, and grants in restricted policies.

use modbox_vocabulary::GrantSource;

use super::support::{own, profile};
use crate::access::Access;
use crate::grant_set::Policy;
use crate::grants::{PathGrant, Shape};
use crate::outside::OutsideGrant;
use crate::rules::source_rules::Rules;
use crate::trust::Ceiling;
use crate::users::own::OwnerGrant;
use crate::written::merge::merge;

fn policy(outside: Vec<OutsideGrant>) -> Policy {
    merge(&[Rules { outside, ..Rules::default() }]).unwrap().policy
}

fn shown(policy: &Policy) -> Vec<String> {
    policy.root_powers().into_iter().map(|power| format!("{}: {} ({})", power.what, power.why, power.source)).collect()
}

fn whats(policy: &Policy) -> Vec<String> {
    policy.root_powers().into_iter().map(|power| power.what).collect()
}

#[test]
fn plain_profiles_are_not_as_powerful_as_root() {
    for name in ["packages", "services", "kernel", "host", "firewall"] {
        assert_eq!(shown(&policy(profile(name, &[]))), [""; 0], "{name}");
    }
    for (name, names) in
        [("services", ["nginx", "php*-fpm"]), ("users", ["deploy", "web*"]), ("cron", ["deploy", "web*"])]
    {
        assert_eq!(shown(&policy(profile(name, &names))), [""; 0], "{name}");
    }
    for rule in ["nginx -t", "sh /opt/x.sh", "systemctl restart nginx", "usermod -aG web deploy"] {
        assert_eq!(shown(&policy(vec![own(rule)])), [""; 0], "{rule}");
    }
}

#[test]
fn all_users_at_once_are_as_powerful_as_root() {
    for name in ["users", "cron"] {
        let expect = format!("all users: one of them may have the right to become root; name the users ({name})");
        assert_eq!(shown(&policy(profile(name, &[]))), [expect]);
    }
}

#[test]
fn set_id_bits_of_roots_files_are_as_powerful_as_root() {
    let known =
        |name: &str| ["root", "shadow", "web"].iter().position(|it| *it == name).and_then(|id| u32::try_from(id).ok());
    for (written, expect) in [
        ("root+setid", true),
        (":root+setid", true),
        ("web:0+setid", true),
        ("web:shadow+setid", true),
        ("web:web+setid", false),
        ("7:8+setid", false),
        ("root:root", false),
    ] {
        let grant = OwnerGrant::parse(written, &GrantSource::named("test"), known, known).unwrap();
        let rules = Rules { own: vec![grant], ..Rules::default() };
        let expect = Vec::from_iter(expect.then(|| format!("own {written}")));
        assert_eq!(whats(&merge(&[rules]).unwrap().policy), expect, "{written}");
    }
}

#[test]
fn reserved_names_are_as_powerful_as_root() {
    let reserved = "it is reserved, since it stops the machine or gives root's rights";
    for (name, names, expect) in [
        ("users", ["deploy", "sudo"], "sudo"),
        ("cron", ["deploy", "root"], "root"),
        ("services", ["nginx", "reboot.target"], "reboot.target"),
        ("kernel", ["vm.*", "kernel.core_pattern"], "kernel.core_pattern"),
    ] {
        let policy = policy(profile(name, &names));
        assert_eq!(shown(&policy), [format!("the name `{expect}`: {reserved} ({name})")]);
    }
    for (rule, name) in [
        ("usermod -aG web,sudo deploy", "sudo"),
        ("systemctl start {a|reboot}", "reboot"),
        ("crontab -u root <input>", "root"),
        ("sysctl -w kernel.core_pattern=core", "kernel.core_pattern=core"),
    ] {
        let expect = format!("outside {rule}: it spells the reserved name `{name}` (test)");
        assert_eq!(shown(&policy(vec![own(rule)]))[0], expect);
    }
}

#[test]
fn programs_that_run_an_operand_and_believed_paths_are_as_powerful_as_root() {
    for rule in [
        "sh <input>",
        "/usr/bin/python3 <path>",
        "python3.11 <path>",
        "dpkg -i <input>",
        "tee <path>",
        "visudo -cf <input>",
        "apt-get install <path>",
        "curl -o <path> http://example.org",
        "timeout 5 <name>",
    ] {
        let expect = format!("outside {rule}: the program runs, loads or places what an argument names (test)");
        assert_eq!(shown(&policy(vec![own(rule)])), [expect]);
    }
    let path = |path: &str, access| {
        let (host, guest) = (path.into(), path.to_owned());
        PathGrant { host, shape: Shape::Directory, guest, access, source: GrantSource::named("test") }
    };
    for (place, access, expect) in [
        ("/etc/apt/sources.list.d", Access::Write, true),
        ("/etc", Access::Write, true),
        ("/", Access::Write, true),
        ("/etc/cron.d", Access::Write, true),
        ("/etc/sudoers.d", Access::Write, true),
        ("/usr/local/bin", Access::Write, true),
        ("/dev", Access::Write, true),
        ("/dev/sda", Access::Write, true),
        ("/dev/null", Access::Write, false),
        ("/usr", Access::Read, false),
        ("/etc/logrotate.d", Access::Write, true),
        ("/etc/network/if-up.d", Access::Write, true),
        ("/run/docker.sock", Access::Write, true),
        ("/dev/mapper/vg-root", Access::Write, true),
        ("/etc/nginx", Access::Write, false),
        ("/library", Access::Write, false),
        ("/srv", Access::Write, false),
    ] {
        let rules = Rules { paths: vec![path(place, access)], ..Rules::default() };
        let expect = Vec::from_iter(expect.then(|| format!("write {place}")));
        assert_eq!(whats(&merge(&[rules]).unwrap().policy), expect, "{place}");
    }
}

#[test]
fn restricted_policies_keep_questions_and_what_a_ceiling_has() {
    let all = policy(profile("services", &["nginx"]));
    let questions = all.clone().read_only();
    assert!(all.outside_command("systemctl", &["restart", "nginx"], "root").is_some());
    assert!(questions.outside_command("systemctl", &["restart", "nginx"], "root").is_none());
    assert!(questions.outside_command("systemctl", &["status", "nginx"], "root").is_some());
    let most = Rules { outside: vec![own("nginx -t")], ..Rules::default() };
    let ceiling = Ceiling { party: "acme".to_owned(), rule: "trust rule 1".to_owned(), most };
    let mut rules = Rules { outside: vec![own("nginx -t"), own("nginx -s reload")], ..Rules::default() };
    ceiling.cut(&mut rules);
    assert_eq!(rules.outside, [own("nginx -t")]);
    let wide = policy(profile("services", &[]));
    let inner = &all.outside()[0];
    assert!(wide.outside().iter().any(|grant| grant.includes(inner)));
    assert!(!all.outside().iter().any(|grant| grant.includes(&wide.outside()[0])));
}
