//! The hub of layers, as the process of a guest sees it that has escaped the engine and makes raw system calls: it reaches
//! the layer of its own job, and neither the real files below it, the layers of others, nor the mounts.
//!
//! Each refused call is made without the confinement, too, where it succeeds or fails for another reason. Only root has hubs.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use modbox_kernel::{Plan, PrivateMounts};
use modbox_overlay::hub::Hub;
use modbox_overlay::layers::{LayerPlan, Layers};
use modbox_overlay::quota::Quota;
use modbox_policy::{Access, PathGrant, Policy, Shape};
use modbox_vocabulary::{GrantSource, Limits};

use crate::core::kernel::kernel_walls::{c_path, call, confined, free};
use crate::support::TestDir;

/// What a refused call fails with: by a rule for files, by the filter of calls, or by a filter that hides the call.
const REFUSALS: [i32; 3] = [libc::EACCES, libc::EPERM, libc::ENOSYS];

/// A hub with the layer of a job, and beside it the layer of another one.
struct HubWalls {
    dir: TestDir,
    plan: Plan,
    /// The two layers.
    places: Vec<PathBuf>,
    /// The directory with the places.
    hub: PathBuf,
}

impl HubWalls {
    /// Makes them in the mounts of this thread. The layers end before the hub.
    fn new() -> (Self, Layers, Hub) {
        let dir = TestDir::new();
        for file in ["tree/file", "other/file", "run/tmp/own"] {
            dir.write(file, "real");
        }
        let mut hub = Hub::attach(&dir.mkdir("hub"), 2).unwrap();
        let (trees, scratch) = (vec![dir.join("tree"), dir.join("other")], dir.join("run"));
        let quota = Quota { bytes: 1 << 20, files: 100 };
        let layers = Layers::open(&LayerPlan { trees, quota, scratch, ..LayerPlan::default() }).unwrap();
        let places = hub.attach_layers(&layers).unwrap();
        let mut policy = Policy::default();
        let (host, guest, source) = (places[0].clone(), "/tree".to_owned(), GrantSource::named("test"));
        policy.allow_path(PathGrant { host, shape: Shape::Directory, guest, access: Access::Write, source }).unwrap();
        let plan = Plan::for_guest(&policy, &Limits::default(), &dir.join("run"), Some(hub.path()));
        // Limits would bind the whole process of the tests.
        let walls = Self { plan: Plan { limits: None, ..plan }, places, hub: hub.path().to_owned(), dir };
        (walls, layers, hub)
    }

    /// Opens by raw calls what no guest may reach. Each is named.
    fn open_all(&self) -> Vec<(String, io::Result<i64>)> {
        let here = libc::AT_FDCWD as usize;
        let layer = File::open(&self.places[0]).unwrap();
        let own = layer.as_raw_fd() as usize;
        let mut tried = Vec::new();
        let mut open = |at: usize, path: &Path, flags: i32| {
            let name = c_path(path);
            let opened = call(libc::SYS_openat, [at, name.as_ptr() as usize, flags as usize, 0]);
            tried.push((format!("{} with {flags:o}", path.display()), opened));
        };
        let (read, write, list) = (libc::O_RDONLY, libc::O_WRONLY, libc::O_RDONLY | libc::O_DIRECTORY);
        for file in [self.dir.join("tree/file"), self.dir.join("other/file"), self.places[1].join("file")] {
            open(here, &file, read);
            open(here, &file, write);
            open(here, Path::new(&format!("/proc/thread-self/root{}", file.display())), read);
        }
        for directory in [self.dir.join("tree"), self.hub.clone(), self.hub.join("1")] {
            open(here, &directory, list);
        }
        // Out of the own layer, whose root is a mount.
        for up in ["../../1/layer/file", "../../../tree/file", "../../../other/file"] {
            open(own, Path::new(up), read);
        }
        open(own, Path::new("../.."), list);
        // Nor by a descriptor for paths alone.
        let above = c_path(Path::new("../.."));
        if let Ok(above) = call(libc::SYS_openat, [own, above.as_ptr() as usize, libc::O_PATH as usize, 0]) {
            open(usize::try_from(above).unwrap(), Path::new("1/layer/file"), read);
            open(usize::try_from(above).unwrap(), Path::new("../tree/file"), read);
        }
        tried
    }
}

/// Calls that make, change, leave or look behind mounts.
fn mount_calls(walls: &HubWalls) -> Vec<(&'static str, io::Result<i64>)> {
    let here = libc::AT_FDCWD as usize;
    let [tree, place]: [CString; 2] = [walls.dir.join("tree"), walls.places[0].clone()].map(|path| c_path(&path));
    let (tree, place) = (tree.as_ptr() as usize, place.as_ptr() as usize);
    let none = usize::MAX;
    vec![
        ("open_tree", call(libc::SYS_open_tree, [here, tree, 1, 0])),
        ("fsopen", call(libc::SYS_fsopen, [c"tmpfs".as_ptr() as usize, 0, 0, 0])),
        // Without arguments that do something.
        ("fsmount", call(libc::SYS_fsmount, [none, 0, 0, 0])),
        ("move_mount", call(libc::SYS_move_mount, [none, tree, here, place])),
        ("mount_setattr", call(libc::SYS_mount_setattr, [here, place, 0, 0])),
        ("mount", call(libc::SYS_mount, [tree, place, 0, 0])),
        ("umount2", call(libc::SYS_umount2, [place, none, 0, 0])),
        ("pivot_root", call(libc::SYS_pivot_root, [tree, tree, 0, 0])),
        ("setns", call(libc::SYS_setns, [none, 0, 0, 0])),
        ("unshare", call(libc::SYS_unshare, [libc::CLONE_FS as usize, 0, 0, 0])),
        ("chroot", call(libc::SYS_chroot, [c"/none".as_ptr() as usize, 0, 0, 0])),
        ("open_by_handle_at", call(libc::SYS_open_by_handle_at, [here, none, 0, 0])),
    ]
}

fn is_refusal(tried: &io::Result<i64>) -> bool {
    tried.as_ref().is_err_and(|error| error.raw_os_error().is_some_and(|errno| REFUSALS.contains(&errno)))
}

/// Does something with a hub, in a thread with mounts of its own.
fn with_hub(action: impl FnOnce(&HubWalls) + Send) {
    if rustix::process::geteuid().is_root() {
        free(|| {
            PrivateMounts::enter().unwrap();
            let (walls, _layers, _hub) = HubWalls::new();
            action(&walls);
        });
    }
}

#[test]
fn a_guest_reaches_its_own_layer_and_no_real_file_below_it() {
    with_hub(|walls| {
        let (real, layer) = (walls.dir.join("tree/file"), walls.places[0].join("file"));
        for (what, tried) in walls.open_all() {
            tried.unwrap_or_else(|error| panic!("{what} without the plan: {error}"));
        }
        let (tried, written) = confined(&walls.plan, || {
            let path = c_path(&layer);
            let flags = (libc::O_WRONLY | libc::O_TRUNC) as usize;
            let opened = call(libc::SYS_openat, [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags, 0]);
            (walls.open_all(), opened.and_then(|_| fs::write(&layer, "layer")))
        });
        written.unwrap();
        for (what, tried) in tried {
            assert!(is_refusal(&tried), "{what}: {tried:?}");
        }
        assert_eq!((fs::read(&real).unwrap(), fs::read(&layer).unwrap()), (b"real".to_vec(), b"layer".to_vec()));
    });
}

#[test]
fn a_guest_changes_no_mounts_of_the_hub() {
    with_hub(|walls| {
        for (what, tried) in confined(&walls.plan, || mount_calls(walls)) {
            assert!(is_refusal(&tried), "{what}: {tried:?}");
        }
        for (what, tried) in mount_calls(walls) {
            assert!(!is_refusal(&tried), "{what} without the plan: {tried:?}");
        }
        assert_eq!(fs::read(walls.places[0].join("file")).unwrap(), b"real");
    });
}
