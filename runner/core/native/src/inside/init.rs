//! The first process of a room: makes the room from within, confines itself, starts the module, and ends with it.
//!
//! In namespaces it is process 1: nothing in the room can signal it, and when it ends, the kernel ends all that is left
//! there. It is a fork of the launcher, which stays outside and watches. It takes the third list of steps in the
//! documentation of [`native`](crate).

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use modbox_channel::{descriptor, turn};
use modbox_kernel::{Absent, KernelError, Links, NetPlan, PathRule, Plan, ProcessLimits, Profile, Rights};
use modbox_policy::{Access, Shape};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Signal, WaitOptions, WaitStatus};

use crate::calls::reported_calls::ReportScope;
use crate::inside::root;
use crate::link::{Failure, InitMessage, LeftBehind, ModuleEnd, Ready};
use crate::processes::namespaces::Namespaces;
use crate::processes::tree::Proc;
use crate::processes::{group, left, module_process};
use crate::protocol::{MESSAGES, Spec};
use crate::rooms::base;
use crate::rooms::room::Room;
use crate::step::Step;
use crate::system;

/// Minimum of RLIMIT_DATA, because the limit also binds this process while it starts the shell.
const MIN_MEMORY: u64 = 32 << 20;

/// Minimum of descriptors, for modules that start programs: a shell's pipes, and the script that it reads.
const MIN_DESCRIPTORS: u64 = 16;

/// Processes that the same user may start elsewhere during a run, in addition to those of the module, before the module is
/// refused some: other runs at the same time.
const OTHER_PROCESSES: u64 = 1024;

/// Directory of temporary files in a room.
const TMP: &str = "/tmp";

/// Where processes start in a room whose `/tmp` is shared: the room's own directory in memory, which needs no further mount.
const START_BESIDE_SHARED: &str = "/dev/shm";

/// The most bytes of a process's name and the line end after it (Linux, `TASK_COMM_LEN`).
const MAX_PROCESS_NAME: usize = 16;

/// Exit status of this process when the module has not started.
pub(crate) const NOT_STARTED: i32 = 127;

/// Takes the name of the machine's first process, which is the one that facts are about: Ansible tells the service manager by it
/// (ansible-core 2.19, `ServiceMgrFactCollector`). The room's own first process would be no manager at all.
fn take_name_of_first() {
    // The machine's own list of processes is still mounted here.
    let mut name = [0; MAX_PROCESS_NAME];
    let read = File::open("/proc/1/comm").and_then(|mut file| file.read(&mut name)).unwrap_or(0);
    if let Ok(name) = CString::new(name.get(..read).unwrap_or_default().trim_ascii_end()) {
        let _ = rustix::thread::set_name(&name);
    }
}

/// Runs the first process; never returns.
pub(crate) fn main(spec: &Spec, room: &Room, namespaces: Namespaces, link: &UnixStream, input: Option<&OwnedFd>) -> ! {
    let run = |null| run(spec, room, namespaces, input, link, null);
    let code = match prepare(spec, room, namespaces, link).and_then(run) {
        Ok(code) => code,
        Err(failure) => {
            let _ = MESSAGES.send(link, &InitMessage::Failed(failure));
            NOT_STARTED
        }
    };
    system::exit(code)
}

/// Makes the room, and waits until the module may begin. Returns an open `/dev/null`.
fn prepare(spec: &Spec, room: &Room, namespaces: Namespaces, link: &UnixStream) -> Result<Option<OwnedFd>, Failure> {
    let at = |step| move |error: io::Error| Failure::new(step, &error);
    system::default_child_signal();
    // 1. Arrange to end with the launcher, so that the room ends too.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(|e| at(Step::Parent)(e.into()))?;
    // 2. Wait until the launcher has written the user map. The wait fails if the launcher is gone. Then become the user
    // whose module it is, so that everything after this is done with that user's rights.
    turn::wait(link).map_err(at(Step::Parent))?;
    become_user(spec, namespaces).map_err(at(Step::User))?;
    let mut ready = Ready::default();
    let mut stages = Vec::new();
    let mut own = None;
    let mut rules = if namespaces.any {
        // 3. A session of its own also has its own share of the processor.
        rustix::process::setsid().map_err(|errno| at(Step::Session)(errno.into()))?;
        if room.tells_facts {
            take_name_of_first();
        }
        // 4. Make the file system. Without a umask, files get the modes that the code gives.
        let umask = rustix::process::umask(Mode::empty());
        let root = root::enter(room)?;
        rustix::process::umask(umask);
        (stages, own, ready.notes) = (root.names.stages, Some([root.private, root.proc]), root.names.notes);
        ready.unmade = root.names.unmade;
        root.rules
    } else {
        ready.notes = not_kept(room, spec.is_of_root());
        rules_on_host(room, spec.is_of_root())
    };
    // 5. Join the control group, which counts and bounds the memory of all processes together.
    let joined = group::join(link).map_err(at(Step::Parent))?;
    (ready.joined, ready.counts_memory) = (joined.groups, joined.counts_memory);
    if !joined.counts_memory {
        // Mapped for writing, this device is memory that belongs to no process.
        let zero = rules.iter_mut().filter(|rule| rule.path == Path::new("/dev/zero"));
        zero.for_each(|rule| rule.rights = Rights::ReadFile);
    }
    // 6. Enter the working directory: the caller's, if the module can see it.
    enter_directory(spec, room, namespaces)?;
    // Opened before the filter of step 7, so that it is not reported.
    let null = rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).ok();
    if !namespaces.any {
        // Its memory is readable by no other process. In namespaces capabilities ensure that, and the launcher can go
        // on counting what this process writes.
        rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
            .map_err(|errno| at(Step::Confine)(errno.into()))?;
    }
    // 7. Apply the confinement by the kernel; it cannot be undone.
    // 8. Its filter reports refused calls, and calls that name a path or an address, to the launcher.
    let counts = ReportScope::of_room(namespaces.any, joined.counts_memory, room.reports_reads);
    let plan = plan(room, counts, spec.is_of_root(), rules);
    let confined = modbox_kernel::confine_reporting_thread(&plan, &counts.reported());
    let (reached, listener) = confined.map_err(|error| confine_failure(room, &error))?;
    (ready.level, ready.layers, ready.missing) = (reached.level, reached.layers, reached.missing);
    if let Some(cause) = &reached.unreported {
        ready.notes.push(format!("what the module is refused is not seen: {cause}"));
    }
    (ready.listens, ready.interruptible) = (listener.is_some(), reached.interruptible);
    ready.own = own.is_some();
    ready.stages = stages.iter().map(|(names, _)| names.clone()).collect();
    // 9. Report the confinement in force to the launcher, which decides whether the module may begin.
    let report = || -> io::Result<()> {
        MESSAGES.send(link, &InitMessage::Ready(ready))?;
        let directories = stages.iter().map(|(_, directory)| directory);
        for descriptor in own.iter().flatten().chain(directories).chain(&listener) {
            descriptor::send(link, descriptor)?;
        }
        turn::wait(link)
    };
    report().map_err(at(Step::Parent))?;
    Ok(null)
}

/// Enters the directory in which the module starts. One that another user cannot enter is that of the caller alone.
fn enter_directory(spec: &Spec, room: &Room, namespaces: Namespaces) -> Result<(), Failure> {
    let (asked, own) = (Path::new(&spec.directory), own_directory(room, namespaces));
    let shown = if namespaces.any { room.shown_at(asked) } else { room.grant_at(asked) };
    let start = if spec.only_there || shown.is_some() { asked } else { own };
    let may_differ = spec.user.is_some() && !spec.only_there;
    let entered = match std::env::set_current_dir(start) {
        Err(error) if may_differ && error.kind() == io::ErrorKind::PermissionDenied => std::env::set_current_dir(own),
        entered => entered,
    };
    entered.map_err(Failure::with(Step::Directory, start))
}

/// Becomes the user whose module it is. In namespaces this process keeps the capability to mount until it is confined.
fn become_user(spec: &Spec, namespaces: Namespaces) -> io::Result<()> {
    match &spec.user {
        Some(user) if namespaces.any => modbox_kernel::become_user_who_mounts(user),
        Some(user) => modbox_kernel::become_user(user),
        None => Ok(()),
    }
}

/// Returns the failure of a confinement: that of a grant, if a granted path was replaced or removed meanwhile.
fn confine_failure(room: &Room, error: &KernelError) -> Failure {
    let changed = match error {
        KernelError::Open { path, source } => Some((path, source.raw_os_error().unwrap_or(libc::ENOENT))),
        KernelError::Changed { path, .. } => Some((path, libc::ENOTDIR)),
        _ => None,
    };
    match changed.filter(|(path, _)| room.grants.iter().any(|grant| grant.host == **path)) {
        Some((path, errno)) => Failure { step: Step::Grant, errno, subject: path.display().to_string() },
        None => Failure { step: Step::Confine, errno: 0, subject: modbox_vocabulary::error_chain(error) },
    }
}

/// Starts the module, waits for its end, and reaps every orphan that ends meanwhile.
fn run(
    spec: &Spec,
    room: &Room,
    namespaces: Namespaces,
    input: Option<&OwnedFd>,
    link: &UnixStream,
    null: Option<OwnedFd>,
) -> Result<i32, Failure> {
    // 10. Start the module.
    if let Some(umask) = spec.umask {
        rustix::process::umask(Mode::from_raw_mode(umask & 0o777));
    }
    let shell = start_shell(spec, temporary(room, namespaces), input)
        .map_err(|error| Failure::new(spec.start.step(), &error))?;
    // The host reads the module's output until all copies of the pipes are closed, so this process closes its own. If
    // that fails, the host only waits longer.
    drop(null.map(module_process::detach_output));
    // 11. Wait. When this process exits, the kernel ends all others.
    let status = wait_for(shell).map_err(|errno| Failure::new(Step::Shell, &errno.into()))?;
    let killed = status.terminating_signal();
    let code = status.exit_status().or_else(|| killed.map(|signal| 128 + signal)).unwrap_or(NOT_STARTED);
    let signal = killed.filter(|_| spec.start.tells_signals());
    let message = match signal {
        _ if namespaces.any && is_alone() => {
            let usage = system::children_usage().and(system::own_usage());
            Some(InitMessage::Over(ModuleEnd { code, signal, usage, written: Proc::written_by_self() }))
        }
        // All processes of the room descend from this one.
        signal if namespaces.any => match left_behind() {
            names if names.is_empty() => signal.map(InitMessage::Signalled),
            names => Some(InitMessage::Left(LeftBehind { signal, names })),
        },
        signal => signal.map(InitMessage::Signalled),
    };
    if let Some(message) = message {
        let _ = MESSAGES.send(link, &message);
    }
    Ok(code)
}

/// Returns the names of processes that the module left running.
fn left_behind() -> Vec<String> {
    let Ok(proc) = Proc::open() else { return Vec::new() };
    let own = rustix::process::getpid();
    let others = || {
        is_alone();
        Ok(proc.processes()?.into_iter().filter(|process| process.pid != own).collect())
    };
    left::named(&proc, &left::after_a_moment(&proc, others))
}

/// Waits for a child's end, and reaps every orphan that ends meanwhile.
pub(crate) fn wait_for(child: Pid) -> rustix::io::Result<WaitStatus> {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == child => return Ok(status),
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Returns whether this process is the only one in its namespace. All others there descend from it.
fn is_alone() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(errno) => return errno == Errno::CHILD,
        }
    }
}

fn start_shell(spec: &Spec, temporary: &Path, input: Option<&OwnedFd>) -> io::Result<Pid> {
    // The default variables of a room name its `/tmp`; without namespaces the module's temporary directory replaces it.
    let variables = spec.environment.iter().map(|(name, value)| match name.to_str() {
        Some("TMPDIR") if value == TMP => (name, temporary.as_os_str()),
        _ => (name, value.as_os_str()),
    });
    module_process::start(&spec.start, variables, input)
}

/// Returns where the module's processes start if they may not where they are asked to. In a shared `/tmp`, programs would read
/// settings that others wrote.
fn own_directory(room: &Room, namespaces: Namespaces) -> &Path {
    let is_shared = namespaces.any && room.temporary.is_some();
    if is_shared { Path::new(START_BESIDE_SHARED) } else { temporary(room, namespaces) }
}

/// Returns the directory of the module's temporary files.
fn temporary(room: &Room, namespaces: Namespaces) -> &Path {
    if namespaces.any { Path::new(TMP) } else { &room.tmpdir }
}

fn plan(room: &Room, kernel: ReportScope, is_of_root: bool, paths: Vec<PathRule>) -> Plan {
    let limits = &room.limits;
    let net = if kernel.namespaces {
        room.net.clone()
    } else {
        // There is no network namespace, and Landlock has no rule for sockets with a path.
        NetPlan { isolated: false, unix: false, ..room.net.clone() }
    };
    Plan {
        profile: if kernel.namespaces { Profile::Native } else { Profile::NativeOnHost },
        paths,
        net,
        counted_memory: kernel.memory,
        limits: Some(ProcessLimits {
            memory: limits.max_memory.max(MIN_MEMORY),
            // Limit of each process; the launcher counts all of them together.
            cpu_time: Some(limits.cpu_time.saturating_add(Duration::from_secs(1))),
            descriptors: limits.max_descriptors.max(MIN_DESCRIPTORS),
            file_size: None,
            // The kernel does not hold root to it.
            processes: (!kernel.namespaces && !is_of_root)
                .then(|| limits.max_processes.saturating_add(OTHER_PROCESSES)),
        }),
    }
}

/// Returns the path rules for a module in the machine's own file system.
fn rules_on_host(room: &Room, is_of_root: bool) -> Vec<PathRule> {
    let rule = |path: &Path, rights, links, absent| PathRule { path: path.to_owned(), rights, links, absent };
    // Root's module gives files there any owner, as in a `/tmp` of its own, and then moves none of them to where owners are
    // granted. Its programs copy them.
    let own = if is_of_root { Rights::OwnDirectoryApart } else { Rights::OwnDirectory };
    let mut rules = vec![rule(&room.tmpdir, own, Links::Follow, Absent::Error)];
    for path in base::paths().map(Path::new).chain([Path::new("/proc")]) {
        let rights = if path.is_dir() { Rights::RunDirectory } else { Rights::RunFile };
        if path.exists() {
            rules.push(rule(path, rights, Links::Follow, Absent::Nothing));
        }
    }
    for device in base::DEVICES {
        rules.push(rule(Path::new(device), Rights::Device, Links::Follow, Absent::Nothing));
    }
    for grant in &room.grants {
        let (rights, absent) = match (grant.shape, grant.access) {
            (Shape::Directory, Access::Read) => (Rights::RunDirectory, Absent::Error),
            (Shape::Directory, Access::Write) => (Rights::OwnDirectory, Absent::Error),
            (Shape::Name, Access::Read) => (Rights::RunFile, Absent::Nothing),
            (Shape::Name, Access::Write) => (Rights::OwnFile, Absent::Nothing),
        };
        rules.push(rule(&grant.host, rights, Links::Refuse, absent));
    }
    rules
}

/// Returns notes on the restrictions that a room without namespaces does not keep, and on the features it lacks.
fn not_kept(room: &Room, is_of_root: bool) -> Vec<String> {
    let mut notes = vec![
        "without namespaces the module can ask which files and processes there are, and its `/tmp` is not there: its own \
         directory is in TMPDIR"
            .to_owned(),
    ];
    if is_of_root {
        notes.push(
            "without namespaces only rules of the kernel confine root's module, and no owners and modes of files behind \
             them; `--min-confinement 3` refuses that"
                .to_owned(),
        );
    }
    if room.temporary.is_some() {
        notes.push("without namespaces a command does not see the files in its module's `/tmp`".to_owned());
    }
    for grant in &room.grants {
        if grant.shape == Shape::Name && grant.access == Access::Write {
            let guest = &grant.guest;
            notes.push(format!(
                "without namespaces `{guest}` is written in place, if it is there, and cannot be replaced"
            ));
        }
        if Path::new(&grant.guest) != grant.host {
            let (host, guest) = (grant.host.display(), &grant.guest);
            notes.push(format!("without namespaces `{host}` cannot be shown at `{guest}`; it is where it is"));
        }
    }
    notes
}
