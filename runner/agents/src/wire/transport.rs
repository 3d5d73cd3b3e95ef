//! Messages of the protocol, one on each line.
//!
//! What `rmcp` leaves open is decided here. An invalid line is answered with an error, and the server goes on. What is
//! no request before the first request is passed over; it would end the server. When the input ends, calls that are running are
//! still answered.

use std::collections::HashSet;
use std::io::{self, Read, Write};

use rmcp::model::{ClientNotification, ErrorCode, ErrorData, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;

use crate::wire::lines::{InputLine, LineWriter, MAX_LINE, read_lines};

pub(super) struct LineTransport {
    lines: Receiver<InputLine>,
    writer: LineWriter,
    /// Requests that are not answered.
    open: HashSet<RequestId>,
    /// Whether a request has arrived.
    has_begun: bool,
    has_ended: watch::Sender<bool>,
}

impl LineTransport {
    /// Starts to read and write.
    ///
    /// # Errors
    ///
    /// The kernel gives no thread.
    pub(super) fn start(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, writer) = (read_lines(input)?, LineWriter::start(output)?);
        Ok(Self { lines, writer, open: HashSet::new(), has_begun: false, has_ended: watch::Sender::new(false) })
    }

    /// Returns what tells whether the input has ended.
    pub(super) fn input_ended(&self) -> watch::Receiver<bool> {
        self.has_ended.subscribe()
    }

    /// Returns the message of a line, if it is one to be handled now, or the answer of an invalid line.
    fn parse(&mut self, line: &[u8]) -> Result<Option<RxJsonRpcMessage<RoleServer>>, Wrong> {
        let value: serde_json::Value = serde_json::from_slice(line)
            .map_err(|error| Wrong::new(ErrorCode::PARSE_ERROR, format!("the line is not JSON: {error}"), None))?;
        let id = value.get("id").and_then(request_id);
        let is_request = value.get("method").is_some() && id.is_some();
        let message: RxJsonRpcMessage<RoleServer> = match serde_json::from_value(value) {
            Ok(message) => message,
            Err(error) => {
                let (code, what) = match is_request {
                    true => (ErrorCode::INVALID_PARAMS, "the request has wrong parameters"),
                    false => (ErrorCode::INVALID_REQUEST, "the line is not a message of the protocol"),
                };
                return Err(Wrong::new(code, format!("{what}: {error}"), id));
            }
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                self.has_begun = true;
                self.open.insert(request.id.clone());
            }
            JsonRpcMessage::Notification(_) | JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
                if !self.has_begun =>
            {
                return Ok(None);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    self.close_request(cancelled.params.request_id.as_ref());
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        Ok(Some(message))
    }

    /// Notes that a request needs no answer any more.
    fn close_request(&mut self, id: Option<&RequestId>) {
        if let Some(id) = id {
            self.open.remove(id);
        }
    }
}

/// An invalid line.
struct Wrong {
    error: ErrorData,
    id: Option<RequestId>,
}

impl Wrong {
    fn new(code: ErrorCode, message: String, id: Option<RequestId>) -> Self {
        Self { error: ErrorData::new(code, message, None), id }
    }
}

fn request_id(value: &serde_json::Value) -> Option<RequestId> {
    serde_json::from_value(value.clone()).ok()
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        match &item {
            JsonRpcMessage::Response(response) => self.close_request(Some(&response.id)),
            JsonRpcMessage::Error(error) => self.close_request(error.id.as_ref()),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
        let line = serde_json::to_vec(&item).map(|line| self.writer.write(line));
        async move { line?.await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        // Each step that waits keeps nothing: the future may be dropped at it, and made again.
        while !*self.has_ended.borrow() {
            self.writer.has_room().await;
            let parsed = match self.lines.recv().await {
                Some(InputLine::Whole(line)) => self.parse(&line),
                Some(InputLine::TooLong) => {
                    let message = format!("the line is longer than {MAX_LINE} bytes");
                    Err(Wrong::new(ErrorCode::PARSE_ERROR, message, None))
                }
                None => {
                    self.has_ended.send_replace(true);
                    break;
                }
            };
            match parsed {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(Wrong { error, id }) => {
                    // It is queued at once. Whether it can be written shows with the next answer.
                    drop(self.send(JsonRpcMessage::error(error, id)));
                }
            }
        }
        match self.open.is_empty() {
            true => None,
            // Made again after each answer.
            false => std::future::pending().await,
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.lines.close();
        Ok(())
    }
}
