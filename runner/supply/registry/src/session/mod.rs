//! A session with one repository of a registry: the monitor's side.
//!
//! A worker speaks with the registry (`worker`). The session starts it, connects it (`hosts`), gives it orders, and ends it
//! when it takes too long. What comes is not checked here: `pull` does, and it knows what it expects.

mod deadline;
mod hosts;
mod tunnel;

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use modbox_channel::descriptor;
use modbox_worker::{Role, WorkerProcess, Workers};

use self::hosts::{Hosts, Target};
use crate::credentials::Credentials;
use crate::digest::Digest;
use crate::messages::{self, Answer, Connection, Event, Opening, Order, Proof, Resource, TransferError};
use crate::proxy::Proxies;
use crate::reference::Repository;

/// How a session is made.
#[derive(Debug)]
pub struct SessionSettings<'a> {
    /// Starts workers.
    pub workers: &'a Workers,
    /// Whether the registry is spoken with without TLS.
    pub is_plain: bool,
    /// Certificates of the authorities that vouch for servers, as PEM.
    pub authorities: &'a [u8],
    /// What proves to the registry who asks.
    pub credentials: Option<Credentials>,
    /// The proxies that connections go through.
    pub proxies: Proxies,
    /// How long all of it may take.
    pub timeout: Duration,
}

/// Why a registry did not answer, or gave an answer that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The worker cannot be started or has ended.
    #[error("failed to {verb} the process that speaks with registries")]
    Worker {
        /// What was tried.
        verb: &'static str,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// It took too long.
    #[error("`{host}` took longer than {} s; try again, or raise --timeout", timeout.as_secs())]
    Timeout {
        /// The registry.
        host: String,
        /// The limit.
        timeout: Duration,
    },
    /// The transfer failed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// Content cannot be kept.
    #[error("failed to keep what the registry sent")]
    Keep(#[source] io::Error),
}

/// A session with one repository.
#[derive(Debug)]
pub struct Session {
    worker: WorkerProcess,
    hosts: Hosts,
    host: String,
    timeout: Duration,
    deadline: Instant,
}

impl Drop for Session {
    fn drop(&mut self) {
        // It has nothing to tidy up.
        self.worker.kill();
        let _ = self.worker.wait(Duration::from_secs(5));
    }
}

impl Session {
    /// Starts a worker for a repository. Nothing is sent before the first order.
    ///
    /// # Errors
    ///
    /// The worker cannot be started.
    pub fn open(settings: SessionSettings<'_>, repository: &Repository) -> Result<Self, SessionError> {
        let failed = |source| SessionError::Worker { verb: "start", source };
        let worker = settings.workers.start(Role::Transfer).map_err(failed)?;
        let host = server_of(&repository.host);
        let opening = Opening {
            host: host.to_owned(),
            repository: repository.name.clone(),
            is_plain: settings.is_plain,
            proof: settings.credentials.map(proof),
        };
        messages::send(worker.socket(), &opening, &[settings.authorities]).map_err(failed)?;
        Ok(Self {
            hosts: Hosts::of(host, settings.is_plain, settings.proxies),
            host: host.to_owned(),
            worker,
            timeout: settings.timeout,
            deadline: Instant::now() + settings.timeout,
        })
    }

    /// Returns the host of the registry.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Fetches a manifest or an index by a tag or digest. Returns `None` if there is none.
    pub(crate) fn manifest(&mut self, reference: &str, max: u64) -> Result<Option<Vec<u8>>, SessionError> {
        self.fetch(Resource::Manifest(reference.to_owned()), max)
    }

    /// Fetches the index of what has a manifest as its subject. Returns `None` if the registry has no such indexes.
    pub(crate) fn referrers(&mut self, subject: &Digest, max: u64) -> Result<Option<Vec<u8>>, SessionError> {
        self.fetch(Resource::Referrers(subject.clone()), max)
    }

    /// Fetches a small blob. Returns `None` if there is none.
    pub(crate) fn small_blob(&mut self, digest: &Digest, max: u64) -> Result<Option<Vec<u8>>, SessionError> {
        self.fetch(Resource::Blob(digest.clone()), max)
    }

    /// Fetches a blob piece by piece. Returns whether there is one.
    pub(crate) fn blob(
        &mut self,
        digest: &Digest,
        max: u64,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<bool, SessionError> {
        let order = Order::Fetch { resource: Resource::Blob(digest.clone()), max };
        Ok(self.perform(&order, &[], None, take)? != Answer::NotFound)
    }

    /// Returns whether the registry has a blob.
    pub(crate) fn has_blob(&mut self, digest: &Digest) -> Result<bool, SessionError> {
        Ok(self.perform(&Order::Find(digest.clone()), &[], None, &mut |_| Ok(()))? != Answer::NotFound)
    }

    /// Sends a blob.
    pub(crate) fn send(&mut self, digest: &Digest, size: u64, file: &File) -> Result<(), SessionError> {
        let order = Order::Send { digest: digest.clone(), size };
        self.perform(&order, &[], Some(file), &mut |_| Ok(())).map(drop)
    }

    /// Puts a manifest under a tag or its digest. Returns whether the registry lists it among the referrers of its subject.
    pub(crate) fn put(&mut self, reference: &str, media_type: &str, manifest: &[u8]) -> Result<bool, SessionError> {
        let order = Order::Put { reference: reference.to_owned(), media_type: media_type.to_owned() };
        Ok(self.perform(&order, &[manifest], None, &mut |_| Ok(()))? == Answer::Referred)
    }

    fn fetch(&mut self, resource: Resource, max: u64) -> Result<Option<Vec<u8>>, SessionError> {
        let mut content = Vec::new();
        let mut take = |piece: &[u8]| {
            // The worker counts as well, but who took it over does not.
            if (content.len() + piece.len()) as u64 > max {
                return Err(io::Error::other(format!("it is longer than {max} bytes")));
            }
            content.extend_from_slice(piece);
            Ok(())
        };
        match self.perform(&Order::Fetch { resource, max }, &[], None, &mut take)? {
            Answer::NotFound => Ok(None),
            _ => Ok(Some(content)),
        }
    }

    /// Gives an order, and serves the worker until it is done.
    fn perform(
        &mut self,
        order: &Order,
        attached: &[&[u8]],
        file: Option<&File>,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Answer, SessionError> {
        let failed = |source| SessionError::Worker { verb: "instruct", source };
        messages::send(self.worker.socket(), order, attached).map_err(failed)?;
        if let Some(file) = file {
            descriptor::send(self.worker.socket(), file).map_err(failed)?;
        }
        loop {
            let (event, pieces) = self.next_event()?;
            match event {
                Event::Connect { host, port, is_secure } => self.connect(Target { host: &host, port, is_secure })?,
                Event::Piece => pieces.iter().try_for_each(|piece| take(piece)).map_err(SessionError::Keep)?,
                Event::Done(answer) => return Ok(answer),
                Event::Failed(error) => return Err(error.into()),
            }
        }
    }

    /// Waits for what the worker says.
    fn next_event(&self) -> Result<(Event, Vec<Vec<u8>>), SessionError> {
        let failed = |source| SessionError::Worker { verb: "hear", source };
        let timed_out = || SessionError::Timeout { host: self.host.clone(), timeout: self.timeout };
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(timed_out());
        }
        self.worker.socket().set_read_timeout(Some(left)).map_err(failed)?;
        match messages::receive_required(self.worker.socket()) {
            Ok(parcel) => Ok((parcel.message, parcel.attached)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                Err(timed_out())
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn connect(&mut self, target: Target<'_>) -> Result<(), SessionError> {
        let failed = |source| SessionError::Worker { verb: "connect", source };
        let socket = self.worker.socket();
        match self.hosts.connect(target, self.deadline) {
            Ok(stream) => {
                messages::send(socket, &Connection::Made, &[]).map_err(failed)?;
                descriptor::send(socket, &stream).map_err(failed)
            }
            Err(error) => messages::send(socket, &Connection::Refused(error.to_string().into()), &[]).map_err(failed),
        }
    }
}

/// Returns the host that has a registry's content. Docker Hub's is another one than people write.
fn server_of(host: &str) -> &str {
    if host == "docker.io" { "registry-1.docker.io" } else { host }
}

fn proof(credentials: Credentials) -> Proof {
    match credentials {
        Credentials::Password { user, password } => {
            Proof::Basic(format!("Basic {}", STANDARD.encode(format!("{user}:{}", password.reveal()))))
        }
        Credentials::IdentityToken(token) => Proof::IdentityToken(token.reveal().to_owned()),
    }
}
