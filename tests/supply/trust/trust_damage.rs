//! Modules that are exchanged while they are verified, and signature files that are damaged: none of them counts.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use modbox_closure::{Closure, Part};
use modbox_trust::allowed_signers::AllowedSigners;
use modbox_trust::revocations::Revocations;
use modbox_trust::verification::Keyring;

use crate::supply::trust::trust_place::{Place, public, signed, statement};
use crate::support::sample::{self, Random};
use crate::support::{Modbox, TestDir};

/// Number of damaged signature files: in an ordinary run, and in a whole one.
const DAMAGED: (usize, usize) = (10_000, 1_000_000);

/// What runs is what was verified: the digest is that of the bytes in memory.
#[test]
fn a_module_that_is_swapped_runs_only_as_it_was_signed() {
    let place = Place::new("  require-signature: true\n");
    let good = "#!/bin/sh\necho '{\"msg\": \"good\"}'\n";
    let hostile = "#!/bin/sh\necho '{\"msg\": \"hostile\"}'\n";
    let path = place.dir.write("swapped", good);
    place.dir.write("swapped.sig", signed(statement(&path, None, None), &[1]));
    let is_done = AtomicBool::new(false);
    let (mut good_runs, mut refusals) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for text in [hostile, good].iter().cycle() {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                place.dir.write("new", text);
                fs::rename(place.dir.join("new"), &path).unwrap();
            }
        });
        for _ in 0..sample::cases(40, 2000) {
            let ran = Modbox::new(&place.dir).arg("run").arg(&path).args(["--policy", "policy.yaml"]).run();
            match ran.status.code() {
                Some(0) if ran.stdout_text().contains("\"good\"") => good_runs += 1,
                Some(3 | 4) => refusals += 1,
                _ => {
                    is_done.store(true, Ordering::Relaxed);
                    panic!("{ran}");
                }
            }
        }
        is_done.store(true, Ordering::Relaxed);
    });
    assert!(good_runs > 0 && refusals > 0, "{good_runs} {refusals}");
}

#[test]
fn no_damaged_signature_file_is_accepted() {
    let dir = TestDir::new();
    let path = dir.write("module", "#!/bin/sh\n");
    let statement = statement(&path, Some("acme/module"), Some("1.0.0"));
    let module = Closure::of_file(Part { name: "module".to_owned(), digest: statement.digest.clone() });
    let whole = signed(statement, &[1]).into_bytes();
    let signers = format!("a@x {}\n", public(1));
    let keyring = Keyring {
        signers: AllowedSigners::parse(&signers, &jiff::tz::TimeZone::UTC).unwrap(),
        revocations: Revocations::default(),
    };
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    assert!(keyring.verify(&whole, &module, now).is_ok());
    let mut random = Random::new(0x7235);
    for _ in 0..sample::cases(DAMAGED.0, DAMAGED.1) {
        let mut damaged = whole.clone();
        for _ in 0..=random.below(3) {
            if damaged.is_empty() {
                break;
            }
            let at = random.below(damaged.len());
            match random.below(5) {
                0 => damaged[at] = u8::try_from(random.below(256)).unwrap(),
                1 => drop(damaged.remove(at)),
                2 => damaged.insert(at, *random.pick(b"A=\n -/+z0\xff")),
                3 => damaged.truncate(at.max(1)),
                _ => {
                    let other = random.below(damaged.len());
                    damaged.swap(at, other);
                }
            }
        }
        // Some damage takes back what other damage did, or changes nothing.
        let verdict = keyring.verify(&damaged, &module, now);
        assert!(damaged == whole || verdict.is_err(), "{}", String::from_utf8_lossy(&damaged));
        let _ = AllowedSigners::parse(&String::from_utf8_lossy(&damaged), &jiff::tz::TimeZone::UTC);
        let _ = Revocations::parse(&String::from_utf8_lossy(&damaged));
    }
}
