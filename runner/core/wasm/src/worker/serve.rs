//! The worker's main function: load, confine, run.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use modbox_channel::Parcel;
use modbox_cleanup::Cleanup;
use modbox_kernel::{KernelConfinement, KernelError, Plan};
use modbox_scratch::{RunDir, ScratchError, ScratchRoot};
use modbox_vocabulary::{CommandService, Exit, InputFile, Outcome, error_chain};

use crate::engine::Instances;
use crate::error::WasmError;
use crate::loader::Loader;
use crate::module::{GuestInput, LoadedModule, RunContext};
use crate::plugins::PluginChannel;
use crate::system_log::SystemLog;
use crate::worker::connection::{Connection, unexpected};
use crate::worker::messages::{ConfinementOrder, GuestOrder, GuestSetup, OutputStream, Reply, Request, RunDirectory};

/// Runs a guest worker until the monitor closes its end of the channel.
///
/// # Errors
///
/// The monitor sends another message than expected, or has ended.
pub fn serve(socket: UnixStream) -> io::Result<()> {
    // While the monitor reads the policy. A failure is reported when the code is loaded.
    let early = Loader::new(Instances::OnDemand);
    let Some((connection, instances, code)) = Connection::open(socket)? else { return Ok(()) };
    let connection = Arc::new(connection);
    let module = match load(early, instances, &code) {
        Ok(module) => module,
        Err(error) => return connection.send(&Reply::NotLoaded(error.into()), &[]),
    };
    drop(code);
    connection.send(&Reply::Loaded(module.timing()), &[])?;
    let Some(Parcel { message: Request::SetUp(setup), .. }) = connection.receive()? else { return Ok(()) };
    let Some(worker) = GuestProcess::set_up(module, *setup, connection)? else { return Ok(()) };
    worker.run_all()
}

/// Loads code into a pool of instances if the module runs many times and a pool can hold it, else on demand.
fn load(early: Result<Loader, WasmError>, instances: Instances, code: &File) -> Result<LoadedModule, WasmError> {
    if instances == Instances::Pooled {
        match Loader::new(Instances::Pooled).and_then(|loader| loader.load(code)) {
            Err(error) if error.is_internal() => {}
            loaded => return loaded,
        }
    }
    early?.load(code)
}

/// A confined process with a loaded module.
struct GuestProcess {
    module: LoadedModule,
    setup: GuestSetup,
    /// The system's log, if it is granted.
    log: Option<Arc<SystemLog>>,
    /// Folder for the directories of runs that the worker makes itself.
    scratch: ScratchRoot,
    connection: Arc<Connection>,
}

impl GuestProcess {
    /// Makes this process that of the run's user, and confines it. Returns `None` if it is not confined enough; the
    /// monitor has been told.
    fn set_up(module: LoadedModule, setup: GuestSetup, connection: Arc<Connection>) -> io::Result<Option<Self>> {
        if let Some(user) = setup.policy.user()
            && let Err(error) = modbox_kernel::become_user(user)
        {
            let cause = format!("it cannot become the user `{}`: {error}", user.name);
            connection.send(&Reply::NotConfined(cause), &[])?;
            return Ok(None);
        }
        // A confined worker makes no sockets of this kind.
        let log = SystemLog::open(&setup.policy);
        let order = setup.confinement.as_ref();
        let directory = order.map(|order| order.directory.clone()).unwrap_or_default();
        let (reached, listener) = match order.map(|order| confine(&setup, order)).transpose() {
            Ok(confined) => confined.unwrap_or_default(),
            Err(reply) => {
                connection.send(&reply, &[])?;
                return Ok(None);
            }
        };
        let level = reached.level;
        connection.send_confined(reached, listener)?;
        if order.is_some_and(|order| level < order.least) {
            return Ok(None);
        }
        // The monitor removes the worker's directory, so nothing has to be undone here.
        let scratch = ScratchRoot::new(&directory, Cleanup::default());
        Ok(Some(Self { module, setup, log, scratch, connection }))
    }

    fn run_all(&self) -> io::Result<()> {
        while let Some(Parcel { message, attached }) = self.connection.receive()? {
            let Request::Run(order) = message else { return Err(unexpected()) };
            let order = with_bytes(*order, attached)?;
            let reply = match self.run(order) {
                Ok(outcome) => Reply::Ended(Box::new(outcome)),
                Err(error) => Reply::NotStarted(error.into()),
            };
            self.connection.send(&reply, &[])?;
        }
        Ok(())
    }

    fn run(&self, order: GuestOrder) -> Result<Outcome, WasmError> {
        let run_dir = Arc::new(
            self.run_dir(order.directory).map_err(|error| WasmError::Runtime(io::Error::other(error_chain(&error))))?,
        );
        let policy = order.policy.as_deref().unwrap_or(&self.setup.policy);
        let (out, err) = (Arc::clone(&self.connection), Arc::clone(&self.connection));
        let input = GuestInput { program: &order.program, files: &order.files, stdin: order.stdin };
        let context = RunContext {
            run_dir: &run_dir,
            commands: self
                .setup
                .policy
                .allows_commands()
                .then(|| Arc::clone(&self.connection) as Arc<dyn CommandService>),
            log: self.log.clone(),
            plugins: self.setup.has_plugins.then(|| Arc::clone(&self.connection) as Arc<dyn PluginChannel>),
            http: self.setup.http.clone(),
            on_stdout: Some(Arc::new(move |bytes| out.print(OutputStream::Stdout, bytes))),
            on_stderr: Some(Arc::new(move |bytes| err.print(OutputStream::Stderr, bytes))),
        };
        let completed = self.module.run(input, policy, &self.setup.limits, context);
        match &completed {
            // The guest came to its own end, so nothing of it still writes to the directory.
            Ok(Outcome { exit: Exit::Code(_), .. }) => run_dir.give_back(),
            _ => run_dir.close(),
        }
        completed
    }

    fn run_dir(&self, directory: RunDirectory) -> Result<RunDir, ScratchError> {
        match directory {
            RunDirectory::Made(path, purpose) => Ok(RunDir::attached(&self.scratch, path, purpose)),
            RunDirectory::ToMake(purpose) => RunDir::create(&self.scratch, purpose, None),
        }
    }
}

fn confine(setup: &GuestSetup, order: &ConfinementOrder) -> Result<(KernelConfinement, Option<OwnedFd>), Box<Reply>> {
    let mut plan = Plan::for_guest(&setup.policy, &setup.limits, &order.directory, order.hub.as_deref());
    if let Some(limits) = plan.limits.as_mut().filter(|_| !order.is_single) {
        limits.cpu_time = None;
    }
    let failed = |error: KernelError| match &error {
        // A granted path that was replaced or removed after it had been granted.
        KernelError::Open { path, .. } | KernelError::Changed { path, .. } if is_granted(setup, path) => {
            Reply::NotStarted(WasmError::Open { path: path.clone(), source: error.into() }.into())
        }
        error => Reply::NotConfined(error_chain(error)),
    };
    modbox_kernel::confine_process(&plan).map_err(|error| Box::new(failed(error)))
}

/// Returns whether a path is granted, or the directory of a granted name.
fn is_granted(setup: &GuestSetup, path: &Path) -> bool {
    let is_place = |host: &Path| host == path || host.parent() == Some(path);
    setup.policy.paths().iter().any(|grant| is_place(setup.policy.single_files().place(&grant.host)))
}

/// Puts the attached bytes back into an order.
fn with_bytes(mut order: GuestOrder, attached: Vec<Vec<u8>>) -> io::Result<GuestOrder> {
    let mut attached = attached.into_iter();
    order.stdin = attached.next().ok_or_else(unexpected)?;
    for InputFile { contents, .. } in &mut order.files {
        *contents = attached.next().ok_or_else(unexpected)?.into();
    }
    if attached.next().is_some() { Err(unexpected()) } else { Ok(order) }
}
