//! The process between modbox and a native module: prepares the room, starts the module in it, watches it, and removes
//! everything that is left of it.
//!
//! It is a worker process of modbox, for three reasons. A subreaper adopts every orphan below it, so it must not be the
//! host with its other runs. The module has to be killed even when the host is killed first. Work between fork and exec
//! is not safe in a host with threads. The launcher has one thread and trusts only the host.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use modbox_channel::{descriptor, turn};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Resource};

use crate::calls::attribute_calls::FileRights;
use crate::calls::observe::Observer;
use crate::calls::reported_calls::ReportScope;
use crate::copies::commit::{Stage, TakenBack};
use crate::inside::first_process::end;
use crate::inside::init;
use crate::inside::private_space::PrivateSpace;
use crate::inside::process_limits::lower_limits;
use crate::link::{Failure, InitMessage, Ready, at};
use crate::outside::asks::{self, Asks};
use crate::outside::refresh::{Refresher, ShownStage};
use crate::processes::group::Group;
use crate::processes::module_process;
use crate::processes::namespaces::Namespaces;
use crate::processes::tree::Proc;
use crate::protocol::{End, Ended, InForce, LauncherMessage, MESSAGES, Reply, Spec};
use crate::rooms::room::Room;
use crate::step::Step;
use crate::system;
use crate::watching::observed;
use crate::watching::watch::{RoomResources, Tree};

/// Level of Landlock and seccomp.
const RULES: u8 = 2;

/// Level of Landlock, seccomp and namespaces.
const NAMESPACES: u8 = 3;

/// Runs the launcher: receives the module's output streams and the spec, and returns when the module and every process
/// that it started are gone.
///
/// # Errors
///
/// The host has ended, or does not follow the protocol.
pub fn serve(socket: UnixStream) -> io::Result<()> {
    let (stdout, stderr) = (descriptor::receive(&socket)?, descriptor::receive(&socket)?);
    rustix::stdio::dup2_stdout(&stdout)?;
    rustix::stdio::dup2_stderr(&stderr)?;
    drop((stdout, stderr));
    let spec: Spec = MESSAGES.receive_required(&socket)?;
    run(&File::from(OwnedFd::from(socket)), &spec)
}

fn run(control: &File, spec: &Spec) -> io::Result<()> {
    let (reply, room) = launch(control, spec).unwrap_or_else(|failure| (Reply::Failed(failure), None));
    // If the host is gone, the reply can be sent nowhere.
    let sent = MESSAGES.send(control, &LauncherMessage::Over(reply));
    // 11. Remove the room's first process, its file system and its control group while the host reads.
    if let Some(mut room) = room.filter(Tree::is_over) {
        room.kill();
    }
    sent
}

/// Takes the launcher's steps that the documentation of [`crate`] lists. Returns the reply, and what is left of the
/// room.
fn launch(control: &File, spec: &Spec) -> Result<(Reply, Option<Tree>), Failure> {
    let own = rustix::process::getpid();
    // 1. Without /proc the tree could be neither watched nor killed, so nothing is started.
    let proc = Proc::open().map_err(at(Step::Proc))?;
    // 2. There is no terminal, so that a module neither reads what the user types nor gets the user's Ctrl-C.
    modbox_kernel::start_session().map_err(at(Step::Session))?;
    // 3. This process adopts orphans, so that a double fork does not leave the tree.
    rustix::process::set_child_subreaper(Some(own)).map_err(at(Step::Subreaper))?;
    // 4. A module inherits only the three standard streams.
    modbox_kernel::hide_descriptors_from(3).map_err(at(Step::Descriptors))?;
    let input = if spec.has_stdin { Some(descriptor::receive(control).map_err(at(Step::Stdin))?) } else { None };
    let input = input.as_ref();
    // 5. The handler is registered before the first child starts, so that no SIGCHLD is missed.
    let ended = ended_children().map_err(at(Step::ChildSignal))?;
    // 6. The module starts in its room, or in the host's namespaces when it is trusted with everything.
    let (first, resources, in_force) = match &spec.room {
        Some(room) if room.observed => {
            let (first, resources) = observed::start(spec, room, input)?;
            (first, resources, InForce::default())
        }
        Some(room) => match start_confined(control, spec, room, input)? {
            StartResult::Room(started) => *started,
            StartResult::Short(in_force) => return Ok((Reply::Short(in_force), None)),
            StartResult::NoOutside(reason) => return Ok((Reply::NoOutside(reason), None)),
        },
        None => (start_unconfined(spec, input)?, RoomResources::default(), InForce::default()),
    };
    // If the host is gone, the watch finds out.
    let _ = MESSAGES.send(control, &LauncherMessage::Began(in_force));
    // The module has its own copies of the output pipes. This process closes its copies, because the host reads until
    // all are closed. If that fails, the host only waits longer.
    let null = rustix::fs::open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
    let _ = null.map(module_process::detach_output);
    // 7. A fork bomb takes processor time from all processes, so also from the one that has to end it. Only root may
    //    take a real-time priority; for other users ending a bomb takes longer.
    let _ = system::run_before_others();

    let mut tree = Tree::new(own, first, proc, ended, resources);
    // 8. Watch until the module ends, a limit is exceeded, the host asks for the end, or the host is gone.
    let end = tree.watch(control, spec);
    let ended_by_itself = matches!(end, End::Exited(_) | End::Signalled(_));
    let left = if ended_by_itself { tree.left(spec) } else { Vec::new() };
    // 9. Kill the tree, unless only the room's first process is left, which is about to end, or what the module left may stay.
    let stays = tree.leaves_daemons(spec, &end) || ended_by_itself && spec.leaves_processes;
    let survivors = if stays || tree.is_over() { 0 } else { tree.kill() };
    // 10. If the module ended by itself, take the files of single-name grants to their places.
    let whole = survivors == 0 && ended_by_itself;
    let taken = if whole { tree.commit(spec) } else { TakenBack::default() };
    let usage = tree.usage();
    let refused_renames = tree.refused_renames();
    let (refused, refused_more, observation) = tree.refused();
    let ended = Ended {
        end,
        cpu_us: usage.cpu_us,
        memory_bytes: usage.memory_bytes,
        disk: tree.used(),
        survivors,
        notes: taken.notes,
        lost: taken.lost,
        left_in_tmp: taken.left_in_tmp,
        left,
        refused_renames,
        refused,
        refused_more,
        observation: Box::new(observation),
    };
    Ok((Reply::Ended(Box::new(ended)), Some(tree)))
}

/// Returns a stream that becomes readable when a child ends.
fn ended_children() -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    reader.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGCHLD, writer)?;
    Ok(reader)
}

/// Starts the shell in the host's namespaces.
fn start_unconfined(spec: &Spec, input: Option<&OwnedFd>) -> Result<Pid, Failure> {
    // The directory is entered here and not by `spawn`, because the error of `spawn` would look like that of a missing
    // shell.
    let directory = Path::new(&spec.directory);
    std::env::set_current_dir(directory).map_err(Failure::with(Step::Directory, directory))?;
    let raised = lower_limits(spec).map_err(at(Step::Limits))?;
    if let Some(umask) = spec.umask {
        // This process creates no other files.
        rustix::process::umask(Mode::from_raw_mode(umask & 0o777));
    }
    let variables = spec.environment.iter().map(|(name, value)| (name, value.as_os_str()));
    let start = || module_process::start(&spec.start, variables, input);
    let started = modbox_kernel::starting_as(spec.user.as_ref(), start).map_err(at(Step::User))?;
    let shell = started.map_err(at(spec.start.step()))?;
    // The launcher itself may use more processor time than the module. A failure is harmless: the same limit would kill
    // the launcher seconds of processor time later, and the host notices.
    let _ = rustix::process::setrlimit(Resource::Cpu, raised);
    Ok(shell)
}

/// Result of confining a module.
enum StartResult {
    /// The module runs.
    Room(Box<(Pid, RoomResources, InForce)>),
    /// The confinement would be below the accepted level, so the module did not start.
    Short(InForce),
    /// Commands cannot run outside of the room, for this reason, so the module did not start.
    NoOutside(String),
}

/// Starts the module in the best room that the kernel gives.
fn start_confined(control: &File, spec: &Spec, room: &Room, input: Option<&OwnedFd>) -> Result<StartResult, Failure> {
    let mut missing = Vec::new();
    for way in Namespaces::ways(room.net.isolated) {
        match enter(spec, room, way, input) {
            Ok(entered) => return begin(control, spec, room, entered, missing),
            Err(failure) if failure.step.is_of_namespaces() => {
                let cause = format!("namespaces: {failure}");
                if !missing.contains(&cause) {
                    missing.push(cause);
                }
            }
            Err(failure) => return Err(failure),
        }
    }
    let entered = enter(spec, room, Namespaces::NONE, input)?;
    begin(control, spec, room, entered, missing)
}

/// Room in which the module waits for permission to begin.
struct PreparedRoom {
    first: Pid,
    link: UnixStream,
    ready: Ready,
    descriptors: Vec<OwnedFd>,
    namespaces: Namespaces,
    group: Option<Group>,
    /// Bytes that this process had written before.
    written: u64,
}

/// Makes a room and its first process, and waits until that process is ready.
fn enter(spec: &Spec, room: &Room, namespaces: Namespaces, input: Option<&OwnedFd>) -> Result<PreparedRoom, Failure> {
    let (link, theirs) = UnixStream::pair().map_err(at(Step::Namespaces))?;
    let mut group = Group::begin(room, namespaces.any);
    let Some(first) = group.child(namespaces).map_err(at(Step::Namespaces))? else {
        drop(link);
        init::main(spec, room, namespaces, &theirs, input)
    };
    drop(theirs);
    let written = Proc::written_by_self();
    let mut receive_ready = || -> Result<(Ready, Vec<OwnedFd>), Failure> {
        namespaces.map_identities(first).map_err(at(Step::Identities))?;
        let told = turn::give(&link).and_then(|()| {
            // While the first process makes the room, which takes longer.
            group.invite(&link, room, namespaces.any)
        });
        let is_gone =
            |error: &io::Error| matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
        // A first process that fails says why, and may have ended before it was told everything.
        told.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(error) }).map_err(at(Step::Parent))?;
        match MESSAGES.receive_required(&link).map_err(at(Step::Parent))? {
            InitMessage::Failed(failure) => Err(failure),
            InitMessage::Signalled(_) | InitMessage::Over(_) | InitMessage::Left(_) => {
                Err(at(Step::Parent)(io::Error::from(io::ErrorKind::InvalidData)))
            }
            InitMessage::Ready(ready) => {
                let count = 2 * usize::from(ready.own) + ready.stages.len() + usize::from(ready.listens);
                let descriptors: io::Result<Vec<OwnedFd>> = (0..count).map(|_| descriptor::receive(&link)).collect();
                Ok((ready, descriptors.map_err(at(Step::Parent))?))
            }
        }
    };
    match receive_ready() {
        Ok((ready, descriptors)) => {
            let group = group.complete(ready.joined);
            Ok(PreparedRoom { first, link, ready, descriptors, namespaces, group, written })
        }
        Err(failure) => {
            end(first);
            Err(failure)
        }
    }
}

/// Lets the module begin if its confinement is accepted.
fn begin(
    control: &File,
    spec: &Spec,
    room: &Room,
    mut entered: PreparedRoom,
    missing: Vec<String>,
) -> Result<StartResult, Failure> {
    let (first, namespaces) = (entered.first, entered.namespaces);
    let in_force = entered.in_force(spec, missing);
    let level = in_force.level;
    let is_open = !namespaces.any && entered.ready.level < RULES;
    if level < room.least || is_open || entered.is_uncounted(spec) {
        end(first);
        return Ok(StartResult::Short(in_force));
    }
    if let Some(reason) = no_outside(room, namespaces, &entered.ready, &in_force) {
        end(first);
        return Ok(StartResult::NoOutside(reason));
    }
    let group = entered.group.take();
    match permit(control, spec, room, entered) {
        Ok(resources) => {
            // The module runs meanwhile.
            group.iter().for_each(Group::sweep);
            Ok(StartResult::Room(Box::new((first, resources.with_group(group), in_force))))
        }
        Err(failure) => {
            end(first);
            Err(failure)
        }
    }
}

impl PreparedRoom {
    /// Returns the confinement that the kernel gives. `missing` says what it did not give before this room was made.
    fn in_force(&mut self, spec: &Spec, mut missing: Vec<String>) -> InForce {
        let mut layers = self.namespaces.layers();
        layers.append(&mut self.ready.layers);
        layers.extend(self.group.iter().flat_map(Group::layers));
        missing.append(&mut self.ready.missing);
        if self.is_uncounted(spec) {
            missing.push("without seccomp notifications, nothing bounds the processes of root".to_owned());
        }
        let level = if self.namespaces.any && self.ready.level == RULES { NAMESPACES } else { self.ready.level };
        InForce { level, layers, missing, notes: std::mem::take(&mut self.ready.notes) }
    }

    /// Returns whether nothing bounds the number of processes. In the host's file system Landlock and seccomp are the
    /// only confinement. The kernel's limit of processes does not hold for root, and only a listener counts them before
    /// they start.
    fn is_uncounted(&self, spec: &Spec) -> bool {
        !self.namespaces.any && !self.ready.listens && spec.is_of_root()
    }
}

/// Takes over what the first process has sent, and permits it to start the module.
fn permit(control: &File, spec: &Spec, room: &Room, entered: PreparedRoom) -> Result<RoomResources, Failure> {
    let PreparedRoom { link, ready, descriptors, namespaces, written, .. } = entered;
    // Received after the first process was made, which has no copy of it then.
    let mut descriptors = descriptors.into_iter();
    let (private, proc) = if ready.own { (descriptors.next(), descriptors.next()) } else { (None, None) };
    let private_of_asks = private.as_ref().filter(|_| !room.outside.is_empty());
    let mut stages = Vec::new();
    for names in ready.stages {
        let subject = names.directory.clone();
        let directory =
            descriptors.next().ok_or_else(|| at(Step::Parent)(io::Error::other("a descriptor is missing")))?;
        let stage = modbox_kernel::as_user(spec.user.as_ref(), || Stage::new(names, directory));
        stages.push(stage.flatten().map_err(Failure::with(Step::Grant, subject.as_ref()))?);
    }
    let asks = private_of_asks.map(|private| asks(control, private, &stages, room));
    let asks = asks.transpose().map_err(at(Step::Stubs))?;
    let observer = if ready.listens {
        let counts = ReportScope::of_room(namespaces.any, ready.counts_memory, room.reports_reads);
        let rights = if spec.is_of_root() { FileRights::Root } else { FileRights::Owner };
        descriptors
            .next()
            .map(|listener| Observer::new(listener, room, Path::new(&spec.directory), counts, rights).with_asks(asks))
    } else {
        None
    };
    turn::give(&link).map_err(at(Step::Parent))?;
    let names = (stages, ready.unmade);
    let private = match private {
        Some(private) => PrivateSpace::file_system(private),
        None => PrivateSpace::directory(&room.tmpdir),
    };
    let shared = room.temporary.as_deref().filter(|_| namespaces.any);
    let private = private.and_then(|private| match shared {
        Some(shared) => private.and_shared(shared),
        None => Ok(private),
    });
    let private = private.map_err(at(Step::Private))?;
    Ok(RoomResources::new(private, proc.map(Proc::from), names, observer, link, written))
}

/// Returns why commands cannot run outside of a room, if the policy grants some.
fn no_outside(room: &Room, namespaces: Namespaces, ready: &Ready, in_force: &InForce) -> Option<String> {
    let missing = || in_force.missing.iter().map(|missing| format!("; {missing}")).collect::<String>();
    match room.outside.is_empty() {
        true => None,
        false if !namespaces.any => {
            Some(format!("the module has no namespaces, which these commands need{}", missing()))
        }
        false if !ready.listens => Some(format!("the kernel reports no system calls{}", missing())),
        false if ready.interruptible => {
            Some("signals interrupt reported system calls; Linux 5.19 and newer hold them".to_owned())
        }
        false => None,
    }
}

/// Receives the channel to the starter of commands outside.
fn asks(control: &File, private: &OwnedFd, stages: &[Stage], room: &Room) -> io::Result<Asks> {
    let starter = UnixStream::from(descriptor::receive(control)?);
    asks::bound(&starter)?;
    let stages = stages.iter().map(ShownStage::of).collect::<io::Result<_>>()?;
    let refresher = Refresher::new((private.try_clone()?, stages), room.shows_homes, room.passwords_of.clone());
    Ok(Asks::new(starter, refresher))
}
