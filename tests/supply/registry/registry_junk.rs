//! Signatures that strangers add to the bytes of a module do not push out those that count.

use std::fs;
use std::path::PathBuf;

use crate::supply::registry::registry_place::{Place, digest_of};
use crate::support::RunOutput;

/// Rules for one signer, without whose signature no module runs.
const RULES: &str = "  rules: [{signer: release@acme.example, modules: ['acme/*']}]\n  require-signature: true\n";

/// Keys that no policy names.
const STRANGERS: std::ops::Range<u8> = 20..52;

struct Case {
    place: Place,
    module: PathBuf,
}

impl Case {
    /// `a:1` has a signature that counts, and `b:1` the same bytes.
    fn new() -> Self {
        let place = Place::new();
        place.trust(RULES);
        let module = place.module("one");
        place.sign(&module, Some("acme/one"), &[1]);
        place.push(&module, "a:1");
        Self { place, module }
    }

    /// Adds a signature file to the module of another repository.
    fn add_junk(&self, name: &str, seeds: &[u8]) {
        self.place.sign(&self.module, Some(name), seeds);
        self.place.push(&self.module, "b:1");
    }

    fn pull(&self, from: &str, options: &[&str]) -> RunOutput {
        self.place.modbox(&["pull"]).args(options).arg(self.place.reference(from)).run()
    }

    #[track_caller]
    fn runs(&self) {
        let ran = self.place.run("a:1").args(["--offline", "--policy", "policy.yaml"]).run();
        assert_eq!(ran.exits_with(0).json()["word"], "one");
    }

    fn kept(&self) -> usize {
        fs::read_dir(self.place.store("signatures").join(digest_of(&self.module).hex())).unwrap().count()
    }
}

const POLICY: [&str; 2] = ["--policy", "policy.yaml"];

#[test]
fn statements_of_strangers_do_not_hide_one_that_counts() {
    let case = Case::new();
    for number in STRANGERS {
        case.add_junk(&format!("junk/x{number}"), &[number]);
    }
    // The strangers come first.
    case.pull("b:1", &[]).exits_with(0);
    assert_eq!(case.kept(), STRANGERS.len());
    case.pull("a:1", &POLICY).exits_with(0).says("left out 1 statements and 0 signatures");
    case.runs();
    // They come again, with and without keys to judge by.
    for options in [&[][..], &[], &POLICY] {
        case.pull("b:1", options);
        case.runs();
    }
    assert_eq!(case.kept(), STRANGERS.len());
    case.place.assert_store_whole();
}

#[test]
fn without_a_policy_a_pull_from_the_honest_source_heals() {
    let case = Case::new();
    for number in STRANGERS {
        case.add_junk(&format!("junk/x{number}"), &[number]);
    }
    case.pull("b:1", &[]).exits_with(0);
    case.pull("a:1", &[]).exits_with(0);
    case.runs();
}

#[test]
fn signatures_of_strangers_of_the_same_statement_do_not_hide_one_that_counts() {
    let case = Case::new();
    let strangers: Vec<u8> = STRANGERS.collect();
    for seeds in strangers.chunks(16) {
        case.add_junk("acme/one", seeds);
    }
    case.pull("a:1", &POLICY).exits_with(0);
    case.runs();
    for options in [&[][..], &POLICY] {
        case.pull("b:1", options).exits_with(0).says("left out 0 statements and ");
        case.runs();
    }
    // The strangers come first.
    fs::remove_dir_all(case.place.store("")).unwrap();
    case.pull("b:1", &[]).exits_with(0);
    case.pull("a:1", &POLICY).exits_with(0);
    case.runs();
    case.place.assert_store_whole();
}

#[test]
fn a_signature_that_counts_is_found_behind_those_of_strangers() {
    let case = Case::new();
    for number in STRANGERS {
        case.add_junk(&format!("junk/x{number}"), &[number]);
    }
    case.add_junk("acme/one", &[1]);
    case.pull("b:1", &POLICY).exits_with(0);
    let ran = case.place.run("b:1").args(["--offline", "--policy", "policy.yaml"]).run();
    ran.exits_with(0);
}
