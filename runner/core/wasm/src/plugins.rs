//! `modbox:host/plugins`: the channel between a worker of Python plugins and the monitor. Other guests have none.

use std::sync::Arc;

use wasmtime::component::{HasData, Linker};

use crate::bindings::plugins_guest::modbox::host::plugins;

/// The interface, without its version.
pub(super) const INTERFACE: &str = "modbox:host/plugins";

/// Largest message of a worker, in bytes.
pub const MAX_PLUGIN_MESSAGE: usize = 32 << 20;

/// The monitor's end of the channel, as a guest uses it.
pub trait PluginChannel: Send + Sync {
    /// Waits for the next message; `None` when the monitor is done.
    fn receive(&self) -> Option<Vec<u8>>;

    /// Sends a message, and returns whether the monitor takes it.
    fn send(&self, message: &[u8]) -> bool;
}

/// The channel of a run, if it has one.
pub(super) type RunPlugins = Option<Arc<dyn PluginChannel>>;

impl plugins::Host for RunPlugins {
    fn next(&mut self) -> wasmtime::Result<Option<Vec<u8>>> {
        Ok(self.as_ref().and_then(|channel| channel.receive()))
    }

    fn answer(&mut self, message: Vec<u8>) -> wasmtime::Result<bool> {
        Ok(self.as_ref().is_some_and(|channel| channel.send(&message)))
    }

    fn ask(&mut self, question: Vec<u8>) -> wasmtime::Result<Option<Vec<u8>>> {
        let Some(channel) = self else { return Ok(None) };
        Ok(channel.send(&question).then(|| channel.receive()).flatten())
    }
}

/// Type that names [`RunPlugins`] to the linker.
struct Plugins;

impl HasData for Plugins {
    type Data<'a> = &'a mut RunPlugins;
}

/// Links the interface. `channel` returns the channel of the run from the store's data.
pub(super) fn add_plugins<T: 'static>(
    linker: &mut Linker<T>,
    channel: fn(&mut T) -> &mut RunPlugins,
) -> wasmtime::Result<()> {
    plugins::add_to_linker::<T, Plugins>(linker, channel)
}

#[cfg(test)]
mod tests {
    use super::plugins::Host as _;
    use super::*;

    /// Answers with what it was sent, until it is sent nothing.
    struct Echo(std::sync::Mutex<Option<Vec<u8>>>);

    impl PluginChannel for Echo {
        fn receive(&self) -> Option<Vec<u8>> {
            self.0.lock().unwrap().take()
        }

        fn send(&self, message: &[u8]) -> bool {
            *self.0.lock().unwrap() = Some(message.to_owned());
            !message.is_empty()
        }
    }

    #[test]
    fn a_question_is_sent_before_its_reply_is_awaited() {
        let mut run: RunPlugins = Some(Arc::new(Echo(std::sync::Mutex::default())));
        assert_eq!(run.ask(b"a".to_vec()).unwrap(), Some(b"a".to_vec()));
        assert_eq!((run.next().unwrap(), run.answer(b"b".to_vec()).unwrap()), (None, true));
        assert_eq!(run.next().unwrap(), Some(b"b".to_vec()));
        assert_eq!(run.ask(Vec::new()).unwrap(), None, "the monitor does not take it");
    }

    #[test]
    fn a_guest_without_a_channel_has_nothing_to_do() {
        let mut run: RunPlugins = None;
        assert_eq!(
            (run.next().unwrap(), run.answer(Vec::new()).unwrap(), run.ask(Vec::new()).unwrap()),
            (None, false, None)
        );
    }
}
