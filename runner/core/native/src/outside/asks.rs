//! What the module asks for, on the side of the launcher: copies words and descriptors of the process that asks, passes them to the
//! starter, and answers.
//!
//! A process that asks waits in its call. So its memory and its descriptors are read while the report holds, and whatever it or
//! others change later takes no part. The launcher judges nothing.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use modbox_channel::descriptor;
use modbox_kernel::{CallListener, ReportedCall};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags};

use crate::caller::call_arguments::process_of;
use crate::caller::memory;
use crate::outside::answer::{Answer, CALL};
use crate::outside::messages::{Answered, Ask, MAX_VARIABLES, MAX_WORDS, OUTSIDE_MESSAGES};
use crate::outside::refresh::Refresher;

/// Asks that wait for answers.
#[derive(Debug)]
pub(crate) struct Asks {
    /// Channel to the starter; `None` when that is gone.
    starter: Option<UnixStream>,
    waiting: BTreeMap<u64, ReportedCall>,
    refresher: Refresher,
}

impl Asks {
    pub(crate) fn new(starter: UnixStream, refresher: Refresher) -> Self {
        Self { starter: Some(starter), waiting: BTreeMap::new(), refresher }
    }

    /// Returns whether a report is an ask.
    pub(crate) fn is_ask(report: &ReportedCall) -> bool {
        report.number == CALL
    }

    /// Returns the channel on which answers arrive.
    pub(crate) fn channel(&self) -> Option<BorrowedFd<'_>> {
        self.starter.as_ref().map(AsFd::as_fd)
    }

    /// Takes an ask, which [`Self::answer`] answers.
    pub(crate) fn take(&mut self, listener: &CallListener, report: &ReportedCall) {
        match self.pass_on(listener, report) {
            Ok(()) => drop(self.waiting.insert(report.id, *report)),
            Err(errno) => listener.fail(report, errno),
        }
    }

    fn pass_on(&self, listener: &CallListener, report: &ReportedCall) -> Result<(), Errno> {
        let starter = self.starter.as_ref().ok_or(Errno::PIPE)?;
        let (ask, descriptors) = copied(report)?;
        // Only now it is certain that all of it was the caller's.
        if !listener.waits(report) {
            return Err(Errno::SRCH);
        }
        let sent = OUTSIDE_MESSAGES
            .send(starter, &ask)
            .and_then(|()| descriptors.iter().try_for_each(|own| descriptor::send(starter, own)));
        sent.map_err(|_| Errno::PIPE)
    }

    /// Gives the answers that have arrived. Without the starter, all that wait fail.
    pub(crate) fn answer(&mut self, listener: &CallListener) {
        let Some(starter) = &self.starter else { return };
        match OUTSIDE_MESSAGES.receive_required::<Answered>(starter) {
            Ok(Answered { id, answer }) => {
                if let Answer::Exit(_) | Answer::Signal(_) = answer {
                    self.refresher.refresh();
                }
                if let Some(report) = self.waiting.remove(&id) {
                    match answer.value() {
                        Ok(value) => listener.give(&report, value),
                        Err(errno) => listener.fail(&report, errno),
                    }
                }
            }
            Err(_) => {
                self.starter = None;
                let failed = Answer::not_started(Errno::PIPE).value();
                let waiting = std::mem::take(&mut self.waiting);
                waiting.values().for_each(|report| listener.fail(report, failed.err().unwrap_or(Errno::PIPE)));
            }
        }
    }
}

/// Copies what a process asks for: the words, and its descriptors.
fn copied(report: &ReportedCall) -> Result<(Ask, Vec<OwnedFd>), Errno> {
    let [words, words_length, variables, variables_length, umask, _] = report.arguments;
    let words = texts(report.thread, words, words_length, MAX_WORDS)?;
    if words.is_empty() {
        return Err(Errno::INVAL);
    }
    let variables = texts(report.thread, variables, variables_length, MAX_VARIABLES).unwrap_or_default();
    let number =
        process_of(report.thread).and_then(|process| Pid::from_raw(process.cast_signed())).ok_or(Errno::SRCH)?;
    let process = rustix::process::pidfd_open(number, PidfdFlags::empty())?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, format!("/proc/{}/root", report.thread), flags, Mode::empty())?;
    let mut descriptors = vec![root];
    let mut streams = [false; 3];
    for (own, stream) in streams.iter_mut().zip(0..) {
        match rustix::process::pidfd_getfd(&process, stream, PidfdGetfdFlags::empty()) {
            Ok(descriptor) => {
                *own = true;
                descriptors.push(descriptor);
            }
            Err(Errno::BADF) => {}
            Err(errno) => return Err(errno),
        }
    }
    descriptors.insert(0, process);
    let umask = u32::try_from(umask & 0o777).unwrap_or_default();
    Ok((Ask { id: report.id, words, variables, umask, streams }, descriptors))
}

/// Reads texts with a NUL byte at the end of each from the memory of a process, once.
fn texts(thread: u32, address: u64, length: u64, most: u64) -> Result<Vec<Vec<u8>>, Errno> {
    if length > most {
        return Err(Errno::TOOBIG);
    }
    let mut bytes = vec![0; usize::try_from(length).map_err(|_| Errno::TOOBIG)?];
    if memory::read(thread, address, &mut bytes) != bytes.len() {
        return Err(Errno::FAULT);
    }
    match bytes.strip_suffix(b"\0") {
        Some(texts) => Ok(texts.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()),
        None if bytes.is_empty() => Ok(Vec::new()),
        None => Err(Errno::INVAL),
    }
}

/// Limits how long a message to the starter waits, so that the launcher goes on watching.
pub(crate) fn bound(starter: &UnixStream) -> io::Result<()> {
    let patience = Some(std::time::Duration::from_secs(5));
    starter.set_read_timeout(patience)?;
    starter.set_write_timeout(patience)
}
