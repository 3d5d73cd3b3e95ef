//! A client of `modbox mcp` that writes lines and reads lines, so that it can also say what no client says; and modules whose
//! metadata tests write.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use serde_json::{Value, json};

use crate::support::{TestDir, modbox, stretched, wait_for};

/// The newest version of the protocol that begins with `initialize`.
pub(crate) const LEGACY: &str = "2025-11-25";

/// The version in which each request says what its client is.
pub(crate) const MODERN: &str = "2026-07-28";

/// Longest time for an answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the folder for the state of modbox, which is `/var/lib` for root otherwise.
pub(crate) fn state(dir: &TestDir) -> PathBuf {
    dir.join("home/.local/state")
}

/// A running server.
pub(crate) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Lines that were read while another one was waited for.
    kept: VecDeque<Value>,
}

impl Client {
    /// Starts a server in a folder with `agent.yaml`.
    pub(crate) fn start(dir: &TestDir, arguments: &[&str]) -> Self {
        let mut command = Command::new(modbox());
        command.args(["mcp", "--policy", "agent.yaml", "--module-path", "modules"]).args(arguments);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", dir.join("home"));
        command.env("TMPDIR", dir.join("tmp"));
        command.env("XDG_STATE_HOME", state(dir)).env("XDG_CACHE_HOME", crate::support::temporary().join("cache"));
        let mut child = command
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| json!({"not a message": line, "error": error.to_string()}));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, lines, kept: VecDeque::new() }
    }

    /// Starts a server and opens a legacy session.
    pub(crate) fn legacy(dir: &TestDir, arguments: &[&str]) -> Self {
        let mut client = Self::start(dir, arguments);
        client.initialize();
        client
    }

    /// Opens a legacy session.
    pub(crate) fn initialize(&mut self) -> Value {
        self.initialize_with(&json!({}))
    }

    /// Opens a legacy session of a client with these capabilities.
    pub(crate) fn initialize_with(&mut self, capabilities: &Value) -> Value {
        let info = json!({"name": "lines", "version": "1"});
        let params = json!({"protocolVersion": LEGACY, "capabilities": capabilities, "clientInfo": info});
        let answer = self.ask("hello", "initialize", &params);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer["result"].clone()
    }

    /// Returns the process of the server.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_line(message.to_string().as_bytes());
    }

    /// Writes a line as it is.
    pub(crate) fn send_line(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line).and_then(|()| stdin.write_all(b"\n")).expect("the server reads");
    }

    /// Sends a request.
    pub(crate) fn request(&mut self, id: impl Into<Value>, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params}));
    }

    /// Sends a request and returns its answer.
    pub(crate) fn ask(&mut self, id: impl Into<Value>, method: &str, params: &Value) -> Value {
        let id = id.into();
        self.request(id.clone(), method, params);
        self.answer(|message| message["id"] == id)
    }

    /// Calls a tool and returns its answer.
    pub(crate) fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: &Value) -> Value {
        self.ask(id, "tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool and returns the structure of its answer, which the text of the answer repeats.
    #[track_caller]
    pub(crate) fn structure(&mut self, id: impl Into<Value>, tool: &str, arguments: &Value) -> Value {
        let answer = self.call(id, tool, arguments);
        let (structure, text) = (&answer["result"]["structuredContent"], &answer["result"]["content"][0]["text"]);
        assert_eq!(serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap(), *structure, "{answer}");
        let is_error = answer["result"]["isError"].as_bool().unwrap();
        let is_success = ["ok", "changed", "skipped", "planned"].contains(&structure["status"].as_str().unwrap());
        assert_eq!(is_error, !is_success, "{answer}");
        structure.clone()
    }

    /// Returns the next message that is wanted, and keeps others.
    #[track_caller]
    pub(crate) fn answer(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&is_wanted) {
            return self.kept.remove(at).unwrap();
        }
        loop {
            let line = self.lines.recv_timeout(stretched(PATIENCE)).expect("the server answers");
            if is_wanted(&line) {
                return line;
            }
            self.kept.push_back(line);
        }
    }

    /// Returns the messages that were read and not asked for.
    pub(crate) fn kept_text(&self) -> String {
        self.kept.iter().map(Value::to_string).collect()
    }

    /// Does the same as [`Client::end`], and returns what the server wrote to standard error.
    pub(crate) fn end_with_errors(mut self) -> (Vec<Value>, ExitStatus, String) {
        let mut stderr = self.child.stderr.take().unwrap();
        let (rest, status) = self.end();
        let mut text = String::new();
        stderr.read_to_string(&mut text).unwrap();
        (rest, status, text)
    }

    /// Closes the input, and returns the messages that come until the server ends, and how it ended.
    pub(crate) fn end(mut self) -> (Vec<Value>, ExitStatus) {
        drop(self.stdin.take());
        let mut status = None;
        let child = &mut self.child;
        assert!(wait_for(stretched(PATIENCE), || {
            status = child.try_wait().unwrap();
            status.is_some()
        }));
        // The reader may still have lines of the pipe, up to its end.
        let rest = std::iter::from_fn(|| self.lines.recv_timeout(stretched(PATIENCE)).ok());
        (self.kept.drain(..).chain(rest).collect(), status.unwrap())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Fails when it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns what a client of the modern protocol adds to the parameters of each request.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "lines", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

/// Returns a directory with `modules`, in which a component of these tests has metadata.
pub(crate) fn with_module(dir: &TestDir, name: &str, component: &Path, metadata: &Value) {
    let mut bytes = std::fs::read(component).unwrap();
    append_section(&mut bytes, "modbox:module", metadata.to_string().as_bytes());
    dir.write(&format!("modules/{name}.wasm"), bytes);
}

/// Appends a custom section to a module of WebAssembly.
fn append_section(bytes: &mut Vec<u8>, name: &str, content: &[u8]) {
    let number = |mut value: usize| {
        let mut bytes = Vec::new();
        loop {
            let low = u8::try_from(value & 0x7f).unwrap();
            value >>= 7;
            bytes.push(if value == 0 { low } else { low | 0x80 });
            if value == 0 {
                return bytes;
            }
        }
    };
    let section = [number(name.len()), name.as_bytes().to_vec(), content.to_vec()].concat();
    bytes.push(0);
    bytes.extend(number(section.len()));
    bytes.extend(section);
}
