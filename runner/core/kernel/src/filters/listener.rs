//! seccomp user notifications: the listener of a filter that reports calls. libc has no wrapper.
//!
//! The kernel holds a reported call until the process with the filter's listener answers. If nothing answers any more,
//! the kernel refuses the call. This file does not decide the answers.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::filters::socket_families;

/// Makes the kernel switch to the waiting process at once. Since Linux 6.6.
const SYNC_WAKE_UP: u64 = 1;
const SET_FLAGS: libc::Ioctl = 0x4008_2104;

/// Receiver of the calls that a filter reports.
#[derive(Debug)]
pub struct CallListener {
    descriptor: OwnedFd,
}

/// Call that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub struct ReportedCall {
    /// Number of the report; no two of a listener have the same.
    pub id: u64,
    /// The calling thread, or 0 if it is in a PID namespace that this process cannot see.
    pub thread: u32,
    /// The system call, as the kernel numbers it on this architecture.
    pub number: i64,
    /// The six registers for arguments. Those that the call does not take hold anything.
    pub arguments: [u64; 6],
}

/// State of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListenerState {
    /// No call waits.
    Quiet,
    /// A call waits, so that [`CallListener::receive`] does not.
    CallWaits,
    /// No process with the filter is left.
    Over,
}

impl CallListener {
    /// Takes the listener that [`confine_reporting_thread`](crate::confine_reporting_thread) returned to this process or
    /// to another one.
    ///
    /// A process under the filter must not call this: the filter may hold the request.
    #[must_use]
    #[expect(unsafe_code, reason = "no library sets the flags of a listener")]
    pub fn new(descriptor: OwnedFd) -> Self {
        // Kernels without this request work without it. SAFETY: this request takes an integer.
        let _ = unsafe { libc::ioctl(descriptor.as_raw_fd(), SET_FLAGS, SYNC_WAKE_UP) };
        Self { descriptor }
    }

    /// Returns the state. Does not wait.
    #[must_use]
    pub fn state(&self) -> ListenerState {
        let mut polled = [PollFd::new(&self.descriptor, PollFlags::IN)];
        match rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, Some(&Timespec::default()))) {
            Ok(0) => ListenerState::Quiet,
            Ok(_) if polled[0].revents().contains(PollFlags::IN) => ListenerState::CallWaits,
            Ok(_) | Err(_) => ListenerState::Over,
        }
    }

    /// Receives a call. Waits for one if none waits.
    ///
    /// # Errors
    ///
    /// The caller has ended meanwhile.
    #[expect(unsafe_code, reason = "no library receives reported calls")]
    pub fn receive(&self) -> io::Result<ReportedCall> {
        let mut report = std::mem::MaybeUninit::<libc::seccomp_notif>::zeroed();
        // SAFETY: the request writes one `seccomp_notif`, which must be zeroed before; all its fields are integers.
        let report = unsafe {
            if libc::ioctl(self.descriptor.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, report.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            report.assume_init()
        };
        let data = report.data;
        Ok(ReportedCall { id: report.id, thread: report.pid, number: i64::from(data.nr), arguments: data.args })
    }

    /// Lets a call go on.
    pub fn allow(&self, call: &ReportedCall) {
        let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or_default();
        self.answer(libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags });
    }

    /// Lets a call fail as one that a filter refuses: with `EPERM`, or with `EAFNOSUPPORT` if it makes a socket of a
    /// family that no grant allows.
    pub fn refuse(&self, call: &ReportedCall) {
        self.fail(call, socket_families::error_of(call.number, &call.arguments));
    }

    /// Lets a call fail with an error.
    pub fn fail(&self, call: &ReportedCall, error: rustix::io::Errno) {
        self.answer(libc::seccomp_notif_resp { id: call.id, val: 0, error: -error.raw_os_error(), flags: 0 });
    }

    /// Lets a call return 0 without being made.
    pub fn succeed(&self, call: &ReportedCall) {
        self.answer(libc::seccomp_notif_resp { id: call.id, val: 0, error: 0, flags: 0 });
    }

    /// Lets a call return a value without being made.
    pub fn give(&self, call: &ReportedCall, value: i64) {
        self.answer(libc::seccomp_notif_resp { id: call.id, val: value, error: 0, flags: 0 });
    }

    /// Returns whether a call still waits for its answer. Then its thread is the one that made it, and so is what was opened
    /// and read of that thread since the call was received.
    #[must_use]
    #[expect(unsafe_code, reason = "no library asks about reported calls")]
    pub fn waits(&self, call: &ReportedCall) -> bool {
        // SAFETY: the request reads one integer of 64 bits.
        unsafe {
            libc::ioctl(self.descriptor.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, std::ptr::from_ref(&call.id))
                == 0
        }
    }

    #[expect(unsafe_code, reason = "no library answers reported calls")]
    fn answer(&self, mut answer: libc::seccomp_notif_resp) {
        let descriptor = self.descriptor.as_raw_fd();
        // SAFETY: the request reads one `seccomp_notif_resp`. It fails only when the thread is gone.
        unsafe { libc::ioctl(descriptor, libc::SECCOMP_IOCTL_NOTIF_SEND, std::ptr::from_mut(&mut answer)) };
    }
}

impl AsFd for CallListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use modbox_vocabulary::ConfinementLayer;
    use rustix::io::Errno;
    use rustix::net::{AddressFamily, SocketType};

    use super::*;
    use crate::{NetPlan, Plan, Ports, Profile, ReportedCalls};

    /// Makes a call that no list has.
    #[expect(unsafe_code, reason = "what is tested are system calls, past every library")]
    fn refused_call() -> Option<i32> {
        // SAFETY: the kernel refuses the call. Otherwise it would fail, since there is nothing at address 0.
        let made = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, 0) };
        (made == -1).then(io::Error::last_os_error).and_then(|error| error.raw_os_error())
    }

    /// Makes a socket, and returns the error.
    fn socket(family: AddressFamily, kind: SocketType) -> Option<i32> {
        rustix::net::socket(family, kind, None).err().map(Errno::raw_os_error)
    }

    /// Confines a thread, and returns the listener of its filter. The thread makes one call for each turn, and tells
    /// their errors.
    fn confined(
        net: NetPlan,
        turns: mpsc::Receiver<()>,
        make_call: impl Fn() -> Option<i32> + Send + 'static,
    ) -> (CallListener, thread::JoinHandle<Vec<Option<i32>>>) {
        confined_as(Profile::Guest, net, turns, make_call)
    }

    fn confined_as(
        profile: Profile,
        net: NetPlan,
        turns: mpsc::Receiver<()>,
        make_call: impl Fn() -> Option<i32> + Send + 'static,
    ) -> (CallListener, thread::JoinHandle<Vec<Option<i32>>>) {
        let (send, receive) = mpsc::channel();
        let plan = Plan { profile, paths: Vec::new(), net, counted_memory: false, limits: None };
        let thread = thread::spawn(move || {
            let confined = crate::confine_reporting_thread(&plan, &ReportedCalls::default()).unwrap();
            send.send(confined).unwrap();
            turns.iter().map(|()| make_call()).collect()
        });
        let (reached, listener) = receive.recv().unwrap();
        assert_eq!((reached.unreported, reached.layers.contains(&ConfinementLayer::Seccomp)), (None, true));
        (CallListener::new(listener.unwrap()), thread)
    }

    fn wait(listener: &CallListener) -> ListenerState {
        rustix::event::poll(&mut [PollFd::new(listener, PollFlags::IN)], None).unwrap();
        listener.state()
    }

    #[test]
    fn a_refused_call_is_reported_and_fails_as_any_other() {
        let (turn, turns) = mpsc::channel();
        let (listener, thread) = confined(NetPlan::default(), turns, refused_call);
        // What the thread did so far is allowed, and not reported.
        assert_eq!(listener.state(), ListenerState::Quiet);
        for _ in 0..2 {
            turn.send(()).unwrap();
            assert_eq!(wait(&listener), ListenerState::CallWaits);
            let call = listener.receive().unwrap();
            assert_eq!((call.number, call.arguments[0]), (libc::SYS_io_uring_setup, 1));
            assert!(listener.waits(&call));
            listener.refuse(&call);
            // It is gone.
            listener.refuse(&call);
            assert!(!listener.waits(&call));
        }
        drop(turn);
        assert_eq!(thread.join().unwrap(), [Some(libc::EPERM); 2]);
        assert_eq!(wait(&listener), ListenerState::Over);
    }

    #[test]
    fn a_socket_that_name_look_ups_do_without_is_refused_without_a_report() {
        let net = || NetPlan { connect: Ports::Some(vec![80]), ..NetPlan::default() };
        for (family, kind, expect, is_reported) in [
            (AddressFamily::INET, SocketType::STREAM, None, false),
            (AddressFamily::UNIX, SocketType::STREAM, Some(libc::EPERM), false),
            (AddressFamily::NETLINK, SocketType::DGRAM, Some(libc::EAFNOSUPPORT), false),
            (AddressFamily::INET, SocketType::SEQPACKET, Some(libc::EPERM), true),
        ] {
            let (turn, turns) = mpsc::channel();
            let (listener, thread) = confined(net(), turns, move || socket(family, kind));
            turn.send(()).unwrap();
            drop(turn);
            // Otherwise the thread ends.
            assert_eq!(wait(&listener) == ListenerState::CallWaits, is_reported, "{family:?} {kind:?}");
            if is_reported {
                let call = listener.receive().unwrap();
                assert_eq!(call.number, libc::SYS_socket);
                listener.refuse(&call);
            }
            assert_eq!(thread.join().unwrap(), [expect], "{family:?} {kind:?}");
        }
    }

    #[test]
    fn an_observed_thread_is_refused_nothing_and_its_calls_are_reported() {
        /// A call with its result, and its number if it is reported.
        type Case = (fn() -> Option<i32>, Option<i64>);
        let quiet = || Some(rustix::process::getpid().as_raw_nonzero().get());
        let netlink = || socket(AddressFamily::NETLINK, SocketType::RAW);
        let cases: [Case; 4] = [
            (quiet, None),
            (|| socket(AddressFamily::UNIX, SocketType::DGRAM), None),
            (netlink, Some(libc::SYS_socket)),
            (refused_call, Some(libc::SYS_io_uring_setup)),
        ];
        for (make_call, reported) in cases {
            let (send, receive) = mpsc::channel();
            let (turn, turns) = mpsc::channel();
            let thread = thread::spawn(move || {
                send.send(crate::report_calls(&ReportedCalls::default()).unwrap()).unwrap();
                turns.iter().map(|()| make_call()).collect::<Vec<_>>()
            });
            let listener = CallListener::new(receive.recv().unwrap());
            turn.send(()).unwrap();
            drop(turn);
            assert_eq!(wait(&listener) == ListenerState::CallWaits, reported.is_some());
            if let Some(number) = reported {
                let call = listener.receive().unwrap();
                assert_eq!(call.number, number);
                listener.allow(&call);
            }
            // What the thread was told is what the kernel says without a filter.
            assert_eq!(thread.join().unwrap(), [make_call()]);
        }
    }

    #[test]
    fn a_socket_of_a_family_that_no_grant_allows_is_reported_for_a_native_module() {
        let cases = [
            (AddressFamily::NETLINK, None),
            (AddressFamily::PACKET, Some("socket(AF_PACKET)")),
            (AddressFamily::from_raw(30), Some("socket(AF_TIPC)")),
            (AddressFamily::from_raw(44), Some("socket(AF_XDP)")),
            (AddressFamily::from_raw(21), Some("socket(21)")),
        ];
        for (family, described) in cases {
            let (turn, turns) = mpsc::channel();
            let net = NetPlan { isolated: true, ..NetPlan::default() };
            let (listener, thread) = confined_as(Profile::Native, net, turns, move || socket(family, SocketType::RAW));
            turn.send(()).unwrap();
            drop(turn);
            assert_eq!(wait(&listener) == ListenerState::CallWaits, described.is_some(), "{family:?}");
            if let Some(described) = described {
                let call = listener.receive().unwrap();
                assert_eq!(crate::refused_use(&call).subject, described);
                listener.refuse(&call);
            }
            assert_eq!(thread.join().unwrap(), [Some(libc::EAFNOSUPPORT)], "{family:?}");
        }
    }

    #[test]
    fn a_call_returns_the_value_that_it_is_given() {
        let (turn, turns) = mpsc::channel();
        let (given, values) = mpsc::channel();
        let (listener, thread) = confined(NetPlan::default(), turns, move || {
            // SAFETY: the kernel does not make the call. Otherwise it would fail, since there is nothing at address 0.
            #[expect(unsafe_code, reason = "what is tested are system calls, past every library")]
            given.send(unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, 0) }).unwrap();
            None
        });
        turn.send(()).unwrap();
        drop(turn);
        assert_eq!(wait(&listener), ListenerState::CallWaits);
        listener.give(&listener.receive().unwrap(), 0x1_0f);
        assert_eq!(values.recv().unwrap(), 0x1_0f);
        thread.join().unwrap();
    }

    #[test]
    fn calls_fail_without_a_listener() {
        let (turn, turns) = mpsc::channel();
        let (listener, thread) = confined(NetPlan::default(), turns, refused_call);
        drop(listener);
        turn.send(()).unwrap();
        drop(turn);
        assert_eq!(thread.join().unwrap(), [Some(libc::ENOSYS)]);
    }

    #[test]
    fn a_descriptor_that_is_not_a_listener_is_an_error() {
        let (reader, writer) = io::pipe().unwrap();
        let listener = CallListener::new(reader.into());
        assert!(listener.receive().is_err());
        drop(writer);
        assert_eq!(listener.state(), ListenerState::Over);
    }
}
