//! Increments the epochs by a signal, in a process that runs one guest and nothing else.
//!
//! A guest that can make no call that blocks needs no thread of its own. Whoever runs it has no hand free then, but the
//! kernel has: a timer sends a signal, whose handler increments the epoch wherever the guest is. To start a thread and to
//! wait for it would cost a short run a tenth of its time. Handlers and timers belong to a whole process, so this is
//! nothing for a process with other things to do: those have the [`ticker`](super::ticker).

use std::io;

use signal_hook::SigId;
use signal_hook::consts::SIGVTALRM;
use wasmtime::Engine;

use crate::sandbox::wasm::ticker::TICK;

/// The timer, until it is dropped.
pub(super) struct Alarm {
    timer: libc::timer_t,
    handler: SigId,
}

impl Alarm {
    /// Increments the epoch of an engine every [`TICK`] from now on.
    ///
    /// The timer is a new one: the one behind `alarm` may be another's, who had it end this process. It sends the signal
    /// that nobody else does.
    ///
    /// # Errors
    ///
    /// A process that may have no further timer or handler.
    #[expect(
        unsafe_code,
        reason = "no safe wrapper makes a timer, and what a handler may do the compiler does not know"
    )]
    pub(super) fn start(engine: &Engine) -> io::Result<Self> {
        let engine = engine.clone();
        // SAFETY: incrementing an epoch is adding to an atomic number, which the engine's documents allow in a handler.
        let handler = unsafe { signal_hook::low_level::register(SIGVTALRM, move || engine.increment_epoch()) }?;
        // SAFETY: `timer_create` reads a `sigevent` in which every field that it looks at was set, zero being a value of
        // all others, and writes a `timer_t`; `sigprocmask` reads a set that was made empty before. All are live locals.
        let timer = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, SIGVTALRM);
            // It may have been blocked when the process began.
            libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_SIGNAL;
            event.sigev_signo = SIGVTALRM;
            let mut timer = std::mem::zeroed();
            match libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) {
                0 => timer,
                _ => {
                    let error = io::Error::last_os_error();
                    signal_hook::low_level::unregister(handler);
                    return Err(error);
                }
            }
        };
        let alarm = Self { timer, handler };
        alarm.set()?;
        Ok(alarm)
    }

    #[expect(unsafe_code, reason = "no safe wrapper sets a timer")]
    fn set(&self) -> io::Result<()> {
        let tick = libc::timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        let times = libc::itimerspec { it_interval: tick, it_value: tick };
        // SAFETY: the timer lives as long as this; the times are a live local, and null asks for no old ones.
        let status = unsafe { libc::timer_settime(self.timer, 0, &raw const times, std::ptr::null_mut()) };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Alarm {
    #[expect(unsafe_code, reason = "no safe wrapper deletes a timer")]
    fn drop(&mut self) {
        // SAFETY: the timer was made by `start`, and nobody uses it after this.
        unsafe { libc::timer_delete(self.timer) };
        signal_hook::low_level::unregister(self.handler);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use wasmtime::{Config, Store, UpdateDeadline};

    use super::*;

    #[test]
    fn a_guest_on_the_thread_that_started_it_is_looked_at_until_the_alarm_is_dropped() {
        let engine = Engine::new(Config::new().epoch_interruption(true)).unwrap();
        let endless = wat::parse_str(r#"(module (func (export "f") (loop (br 0))))"#).unwrap();
        let module = wasmtime::Module::new(&engine, endless).unwrap();
        let mut store = Store::new(&engine, 0);
        let alarm = Alarm::start(&engine).unwrap();
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut cx| {
            *cx.data_mut() += 1;
            Ok(if *cx.data() < 5 { UpdateDeadline::Continue(1) } else { UpdateDeadline::Interrupt })
        });
        let instance = wasmtime::Instance::new(&mut store, &module, &[]).unwrap();
        let started = Instant::now();
        instance.get_typed_func::<(), ()>(&mut store, "f").unwrap().call(&mut store, ()).unwrap_err();
        assert_eq!(*store.data(), 5);
        assert!(started.elapsed() > TICK * 4, "{:?}", started.elapsed());
        drop(alarm);
        // A signal that was on its way.
        std::thread::sleep(TICK);
        store.set_epoch_deadline(1);
        std::thread::sleep(Duration::from_millis(50));
        let nop = wat::parse_str(r#"(module (func (export "f")))"#).unwrap();
        let module = wasmtime::Module::new(&engine, nop).unwrap();
        let instance = wasmtime::Instance::new(&mut store, &module, &[]).unwrap();
        instance.get_typed_func::<(), ()>(&mut store, "f").unwrap().call(&mut store, ()).unwrap();
        assert_eq!(*store.data(), 5, "nothing ticks any more");
    }
}
