//! Components do not tell where they were built: neither their bytes nor their digest depend on the folders of a machine.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::{Modbox, TestDir};

/// A machine: a home, and folders of cargo and modbox in it.
struct Machine {
    dir: TestDir,
}

impl Machine {
    /// Makes a machine with the crates of this one, so that nothing is downloaded.
    fn new() -> Self {
        let dir = TestDir::new();
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.unwrap_or_else(|| Path::new(&std::env::var_os("HOME").unwrap()).join(".cargo"));
        symlink(home.join("registry"), dir.mkdir("home/crates").join("registry")).unwrap();
        Self { dir }
    }

    fn modbox(&self) -> Modbox {
        let command = Modbox::new(&self.dir).own_cache(&self.dir).with_toolchain();
        command.env("CARGO_HOME", self.dir.join("home/crates")).env("CARGO_NET_OFFLINE", "true")
    }

    /// Builds a project. Returns the component.
    fn build(&self, project: &str) -> Vec<u8> {
        let built = self.modbox().args(["build", project]).run().exits_with(0);
        fs::read(built.stdout_text().trim()).unwrap()
    }

    #[track_caller]
    fn check_is_not_in(&self, component: &[u8]) {
        let path = self.dir.path().display().to_string();
        let found = component.windows(path.len()).position(|window| window == path.as_bytes());
        let shown = |at: usize| String::from_utf8_lossy(&component[at..component.len().min(at + 200)]).into_owned();
        assert_eq!(found.map(shown), None);
    }
}

#[test]
#[ignore = "takes long; run it with `--ignored`"]
fn a_module_has_the_same_digest_on_every_machine() {
    let (one, other) = (Machine::new(), Machine::new());
    one.modbox().args(["new", "motd"]).run().exits_with(0);
    other.modbox().args(["new", "motd"]).run().exits_with(0);
    fs::rename(other.dir.join("motd"), other.dir.mkdir("deeper/in").join("motd")).unwrap();
    let (first, second) = (one.build("motd"), other.build("deeper/in/motd"));
    one.check_is_not_in(&first);
    other.check_is_not_in(&second);
    assert!(first == second, "{} and {} bytes", first.len(), second.len());
    // The second project uses the crates of the first.
    one.modbox().args(["new", "second"]).run().exits_with(0);
    let told = one.modbox().args(["build", "second"]).run().exits_with(0).stderr_text();
    assert!(!told.contains("Compiling serde"), "{told}");
}

/// Writes a package that tells the places of its sources: its own, those of a crate, and those of a build script. The crate is
/// at a path relative to the package.
fn write_package(machine: &Machine, place: &str, crate_path: &str) {
    let write = |name: &str, text: &str| machine.dir.write(&format!("{place}/{name}"), text);
    let package = |name: &str| format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    write(&format!("{crate_path}/Cargo.toml"), &package("near"));
    write(&format!("{crate_path}/src/lib.rs"), "pub fn place() -> &'static str { file!() }\n");
    let more = format!("[workspace]\n[dependencies]\nnear = {{ path = \"{crate_path}\" }}\n");
    write("Cargo.toml", &(package("told") + &more));
    let script = "fn main() { let out = std::env::var(\"OUT_DIR\").unwrap();\n\
         let made = \"pub fn place() -> &'static str { file!() }\";\n\
         std::fs::write(format!(\"{out}/made.rs\"), made).unwrap() }\n";
    write("build.rs", script);
    let main = "mod made { include!(concat!(env!(\"OUT_DIR\"), \"/made.rs\")); }\n\
         fn main() { let (near, made, ours) = (near::place(), made::place(), cfg!(ours));\n\
         print!(\"{{\\\"msg\\\": \\\"{near} {made} {} {ours}\\\"}}\", file!()) }\n";
    write("src/main.rs", main);
}

fn told(machine: &Machine, project: &str) -> String {
    let ran = machine.modbox().args(["run", &format!("./{project}")]).run().exits_with(0).json();
    ran["msg"].as_str().unwrap().to_owned()
}

#[test]
fn the_authors_own_flags_stay() {
    let settings = [
        "[build]\nrustflags = \"--cfg ours\"\n",
        "[target.wasm32-wasip2]\nrustflags = [\"--cfg\", \"ours\"]\n",
        "[target.'cfg(target_family = \"wasm\")']\nrustflags = [\"--cfg=ours\"]\n",
    ];
    let (one, other) = (Machine::new(), Machine::new());
    let mut components = Vec::new();
    for (machine, place) in [(&one, "a"), (&other, "other/b")] {
        write_package(machine, place, "near");
        for settings in settings {
            machine.dir.write(&format!("{place}/.cargo/config.toml"), settings);
            let component = machine.build(place);
            machine.check_is_not_in(&component);
            components.push(component);
        }
        let told = told(machine, place);
        assert!(told.starts_with("near/src/lib.rs /build/") && told.ends_with(" src/main.rs true"), "{told}");
    }
    assert!(components.iter().all(|component| *component == components[0]));
    // Cargo would use only one of the two.
    one.dir.write("a/.cargo/config.toml", [settings[0], settings[2]].concat());
    let built = one.modbox().args(["build", "a"]).run().exits_with(0);
    built.says("the component may keep paths of this machine").says("`[target.wasm32-wasip2]`");
}

#[test]
fn a_crate_outside_the_project_has_a_name_in_place_of_its_folder() {
    let machine = Machine::new();
    write_package(&machine, "in/project", "../../out/near");
    machine.check_is_not_in(&machine.build("in/project"));
    let told = told(&machine, "in/project");
    assert!(told.starts_with("/near/src/lib.rs /build/"), "{told}");
}
