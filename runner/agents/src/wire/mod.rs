//! The Model Context Protocol over standard input and output, for clients of both generations: those that begin with
//! `initialize` (2024-11-05 to 2025-11-25), and those that say in each request what they are (2026-07-28).
//!
//! This folder alone names `rmcp`. It answers lists and wrong calls by itself, and hands each valid call to who serves the
//! tools, in the order of their arrival. It runs in threads of its own.
//!
//! | file | content |
//! |---|---|
//! | `served` | the introduction that a client gets at once, and the tools, which may come later |
//! | `calls` | what is handed over, and how it is answered |
//! | `server` | lists, calls, their bounds and progress |
//! | `elicitation` | the question to a person |
//! | `transport` | messages to and from lines |
//! | `lines` | bounded lines of standard input, and whole lines of standard output |

mod calls;
mod elicitation;
mod lines;
mod served;
mod server;
mod transport;

use std::io::{self, Read, Write};
use std::thread;

use rmcp::ServiceExt as _;
use tokio::sync::watch;

pub use self::calls::{Call, Caller, Decided, Decision, MAX_CALLS, Order, Outcome, PendingQuestion, Reply};
use self::served::Tools;
pub use self::served::{Introduction, Served, Serving};
use self::server::ToolServer;
use self::transport::LineTransport;
use crate::tool::Tool;

/// Returns the list of tools as clients get it, as JSON in several lines.
#[must_use]
pub fn list_as_json(tools: &[Tool]) -> String {
    serde_json::to_string_pretty(&self::server::list(tools)).unwrap_or_default()
}

/// Answers a client in a thread until the input ends and every call is answered, or the output is closed. Calls wait until the tools are
/// served. `ended` is called at the end.
///
/// # Errors
///
/// The kernel gives no thread.
pub fn serve(
    introduction: Introduction,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    ended: impl FnOnce() + Send + 'static,
) -> io::Result<Serving> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let transport = LineTransport::start(input, output)?;
    let (tools, known_tools) = watch::channel(Tools::Read);
    let protocol = thread::Builder::new().name("protocol".to_owned()).spawn(move || {
        // Also after a panic, so that who waits for the end sees it.
        let _ended = AtEnd(Some(ended));
        runtime.block_on(async {
            let input_ended = transport.input_ended();
            match ToolServer::new(introduction, known_tools, input_ended).serve(transport).await {
                Ok(service) => {
                    let _reason = service.waiting().await;
                    Ok(())
                }
                // The input ended before anything was asked.
                Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
                Err(error) => Err(io::Error::other(error.to_string())),
            }
        })
    })?;
    Ok(Serving { tools, protocol })
}

struct AtEnd<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        if let Some(ended) = self.0.take() {
            ended();
        }
    }
}
