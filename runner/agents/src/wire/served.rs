//! The introduction that a client gets at once, and the tools, which may come later.
//!
//! Clients give up on a server that does not answer its first requests within a minute, and to read thousands of modules can take
//! longer. So the list that clients get is known before the tools are.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::watch;

use crate::tool::Tool;
use crate::wire::calls::Order;

/// What a client is told before it calls a tool.
#[derive(Debug)]
pub struct Introduction {
    /// Version of the program.
    pub version: &'static str,
    /// What a model is told of the tools as a whole.
    pub instructions: String,
    /// The tools that are listed, in their order.
    pub listed: Vec<Tool>,
}

/// What is served.
pub struct Served {
    /// Whether calls can lead to questions.
    pub asks: bool,
    /// The tools. The last ones are those that are listed.
    pub tools: Arc<[Tool]>,
    /// Number of tools at the beginning that are not listed. Tools of modbox's own find and call them.
    pub hidden: usize,
    /// Takes orders. It does not wait.
    pub orders: Box<dyn Fn(Order) + Send + Sync>,
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("tools", &self.tools.len()).finish_non_exhaustive()
    }
}

/// What is known of the tools.
#[derive(Debug, Clone)]
pub(super) enum Tools {
    /// They are being read. Calls wait.
    Read,
    /// They are served.
    Served(Arc<Served>),
    /// They cannot be served, for this reason.
    Refused(String),
}

/// A server that answers its client, in a thread of its own.
#[derive(Debug)]
pub struct Serving {
    pub(super) tools: watch::Sender<Tools>,
    pub(super) protocol: JoinHandle<io::Result<()>>,
}

impl Serving {
    /// Serves the tools: calls that wait are done, and all that come.
    pub fn serve(&self, served: Served) {
        self.tools.send_replace(Tools::Served(Arc::new(served)));
    }

    /// Refuses each call with a reason why the tools cannot be served.
    pub fn refuse(&self, reason: String) {
        self.tools.send_replace(Tools::Refused(reason));
    }

    /// Returns whether the input has ended and no call waits.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.protocol.is_finished()
    }

    /// Waits until the input has ended and every call is answered.
    ///
    /// # Errors
    ///
    /// The protocol failed.
    pub fn join(self) -> io::Result<()> {
        let ended = self.protocol.join();
        ended.unwrap_or_else(|_| Err(io::Error::other("the thread of the protocol has panicked")))
    }
}
