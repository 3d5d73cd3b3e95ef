//! Replays the seeds of the fuzz targets, without libFuzzer: what the targets check holds for each seed, and for damaged ones.
//!
//! `fuzz/run` fuzzes; this test holds that it could. Inputs that once made a reader fail are seeds, too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::house::crates::crates_below;
use crate::support::repository;
use crate::support::sample::Random;

#[expect(unreachable_pub, reason = "the file is also a crate of its own")]
#[path = "../fuzz/src/lib.rs"]
mod targets;

/// Bytes of all seeds together: they are in every clone.
const MAX_SEEDS: u64 = 200 << 10;

/// Stack of a thread that reads Python or YAML, as in modbox.
const STACK: usize = 64 << 20;

/// Damaged copies of each seed.
const DAMAGED: usize = 40;

/// Returns the seeds of a target, with their paths.
fn seeds(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = repository().join("tests/fuzz/seeds").join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Returns a copy with some bytes changed, removed or repeated.
fn damaged(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        let end = (at + random.below(20)).min(bytes.len());
        match random.below(4) {
            0 => bytes[at] = random.below(256).to_le_bytes()[0],
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..end)),
            _ => bytes.extend_from_within(at..end),
        }
    }
    bytes
}

#[test]
#[expect(clippy::print_stdout, reason = "a panic of a target follows the path of its input")]
fn what_targets_check_holds_for_their_seeds_and_for_damaged_ones() {
    let replay = |name: &str, run: targets::Target| {
        let mut random = Random::new(0xf022);
        let mut is_read = false;
        for (path, seed) in seeds(name) {
            println!("{}", path.display());
            is_read |= run(&seed);
            for _ in 0..DAMAGED {
                run(&damaged(&seed, &mut random));
            }
        }
        is_read
    };
    let run_all = move || targets::TARGETS.into_iter().filter(|(name, run)| !replay(name, *run)).collect::<Vec<_>>();
    let idle = std::thread::Builder::new().stack_size(STACK).spawn(run_all).unwrap().join().unwrap();
    assert!(idle.is_empty(), "targets that take none of their seeds, so that nothing is checked: {idle:?}");
}

#[test]
fn each_target_has_a_program_and_seeds() {
    let names = |folder: &str| -> Vec<String> {
        let folder = repository().join("tests/fuzz").join(folder);
        let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(|file| name(&file.unwrap().path())).collect();
        names.sort();
        names
    };
    let targets: Vec<String> = targets::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names("src/bin"), targets);
    assert_eq!(names("seeds"), targets);
    for name in &targets {
        let program = fs::read_to_string(repository().join(format!("tests/fuzz/src/bin/{name}.rs"))).unwrap();
        assert!(program.contains(&format!("modbox_fuzz::{name}::run(data)")), "{program}");
    }
    let size: u64 = targets.iter().flat_map(|name| seeds(name)).map(|(_, seed)| seed.len() as u64).sum();
    assert!(size <= MAX_SEEDS, "the seeds have {size} bytes; at most {MAX_SEEDS} are kept");
}

/// The targets are built from the same versions of crates as modbox.
#[test]
fn fuzz_targets_have_the_crates_of_modbox() {
    let versions = |path: &str| -> BTreeMap<String, Vec<String>> {
        let text = fs::read_to_string(repository().join(path)).unwrap();
        let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for package in text.split("[[package]]").skip(1) {
            let value = |key: &str| package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            let value = |key| value(key).unwrap().trim_matches('"').to_owned();
            versions.entry(value("name")).or_default().push(value("version"));
        }
        versions
    };
    // Only libFuzzer, and what its build stands on.
    let own = ["arbitrary", "jobserver", "libfuzzer-sys", "modbox-fuzz"];
    let ours = versions("Cargo.lock");
    for (name, versions) in versions("tests/fuzz/Cargo.lock") {
        let known = ours.get(&name).is_some_and(|known| versions.iter().all(|version| known.contains(version)));
        assert!(
            known || own.contains(&name.as_str()),
            "`{name}` has the versions {versions:?} for fuzzing, and {:?} in modbox; copy Cargo.lock to tests/fuzz and \
             run `cargo check` there",
            ours.get(&name)
        );
    }
}

/// What a crate gets as a new dependency has to be in the lock file of the targets, too, since they are built by it alone.
#[test]
fn the_lock_file_of_the_targets_knows_all_dependencies() {
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lock = read(&repository().join("tests/fuzz/Cargo.lock"));
    let mut seen = 0;
    for package in lock.split("[[package]]\nname = \"").skip(1) {
        let (name, package) = package.split_once('"').unwrap();
        let Some(folder) = name.strip_prefix("modbox-").filter(|name| *name != "fuzz") else { continue };
        let crates = ["runner", "guest-sdk"].map(|above| (above, crates_below(above)));
        let mut crates =
            crates.iter().flat_map(|(above, crates)| crates.iter().map(move |path| Path::new(above).join(path)));
        let path = crates.find(|path| path.ends_with(folder)).unwrap_or_else(|| panic!("{name}: no such crate"));
        let manifest = read(&repository().join(path).join("Cargo.toml"));
        let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default().split("\n[").next().unwrap();
        for line in dependencies.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let dependency = line.split(['.', ' ', '=']).next().unwrap();
            seen += 1;
            assert!(
                package.contains(&format!("\n \"{dependency}\"")) || package.contains(&format!("\n \"{dependency} ")),
                "`{name}` has the dependency `{dependency}`, and tests/fuzz/Cargo.lock does not know it; copy Cargo.lock there \
                 and run `cargo check` in tests/fuzz"
            );
        }
    }
    assert!(seen > 50, "only {seen} dependencies were found");
}
