//! An OCI registry on this machine that keeps all content in memory. It has what push, pull and referrers need of the
//! distribution specification 1.1, and it can be wrong in the ways of [`Fault`].
//!
//! It deletes no content, gives lists on one page and blobs in one part, and knows no digests but SHA-256.
//!
//! | module | content |
//! |---|---|
//! | `behavior` | what a registry has, asks for and does wrong |
//! | `connection` | connections with and without TLS |
//! | `request`, `answer` | HTTP |
//! | `route` | what a path stands for |
//! | `store` | blobs, manifests, tags and uploads |
//! | `endpoints`, `manifests`, `uploads` | the endpoints of the specification |
//! | `auth` | credentials and tokens |
//! | `fault` | wrong answers |

mod answer;
mod auth;
mod behavior;
mod connection;
mod endpoints;
mod fault;
mod manifests;
mod request;
mod route;
mod store;
mod uploads;

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use answer::Answer;
pub use behavior::{Behavior, Fault, TokenService};
use connection::Connection;
use endpoints::Call;
pub use request::Request;
use route::{Resource, Route};
use store::Store;

/// A registry on a port of this machine. Each connection has a thread. It ends with the test's process.
#[derive(Debug)]
pub struct Registry {
    /// The address of the registry.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

/// What all connections of a registry use.
#[derive(Debug)]
struct Shared {
    port: u16,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    behavior: Behavior,
    /// The number of requests that were answered as busy since the behavior was set.
    busy: usize,
    requests: Vec<Request>,
    scopes: Vec<String>,
    store: Store,
}

impl Registry {
    /// Starts a registry without content.
    pub fn new(behavior: Behavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Mutex::new(State { behavior, ..State::default() });
        let shared = Arc::new(Shared { port: address.port(), state });
        let registry = Self { address, shared: Arc::clone(&shared) };
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.serve(stream));
            }
        });
        registry
    }

    /// Returns the host and the port for references: `localhost` with TLS, since the certificate is for that, and the
    /// address without it.
    pub fn host(&self) -> String {
        self.shared.host(&self.state().behavior)
    }

    /// Changes the behavior for the requests that follow.
    pub fn set(&self, behavior: Behavior) {
        let mut state = self.state();
        state.behavior = behavior;
        state.busy = 0;
    }

    /// Returns all requests so far, also those that got no answer.
    pub fn requests(&self) -> Vec<Request> {
        self.state().requests.clone()
    }

    /// Forgets the requests and the scopes so far.
    pub fn clear_requests(&self) {
        let mut state = self.state();
        state.requests.clear();
        state.scopes.clear();
    }

    /// Returns the scopes that its token service was asked for.
    pub fn scopes(&self) -> Vec<String> {
        self.state().scopes.clone()
    }

    /// Puts a blob, and returns its digest.
    pub fn put_blob(&self, bytes: &[u8]) -> String {
        self.state().store.put_blob(bytes)
    }

    /// Puts a manifest under its digest, and under a tag or a digest that it need not have. It is not checked. Returns
    /// its digest.
    pub fn put_manifest(&self, name: &str, reference: &str, media_type: &str, bytes: &[u8]) -> String {
        self.state().store.put_manifest(name, reference, media_type, bytes)
    }

    /// Returns the manifest of a tag or a digest.
    pub fn manifest(&self, name: &str, reference: &str) -> Option<Vec<u8>> {
        self.state().store.manifest(name, reference).map(|manifest| manifest.bytes.clone())
    }

    /// Returns the blob with a digest.
    pub fn blob(&self, digest: &str) -> Option<Vec<u8>> {
        self.state().store.blobs.get(digest).cloned()
    }

    /// Returns the tags of a repository, sorted.
    pub fn tags(&self, name: &str) -> Vec<String> {
        self.state().store.tags(name).unwrap_or_default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap()
    }
}

impl Shared {
    fn host(&self, behavior: &Behavior) -> String {
        format!("{}:{}", if behavior.tls { "localhost" } else { "127.0.0.1" }, self.port)
    }

    fn behavior(&self) -> Behavior {
        self.state.lock().unwrap().behavior.clone()
    }

    /// Serves the requests of a connection until it ends.
    fn serve(&self, stream: TcpStream) {
        let behavior = self.behavior();
        if behavior.fault == Some(Fault::Down) {
            return;
        }
        let Some((mut connection, secure)) = connection::open(stream, behavior.tls) else { return };
        while let Some(request) = Request::read(&mut connection, secure) {
            self.state.lock().unwrap().requests.push(request.clone());
            if !self.respond(&mut connection, &request) {
                return;
            }
        }
    }

    /// Responds to a request. Returns whether the connection goes on.
    fn respond(&self, connection: &mut Connection, request: &Request) -> bool {
        let fault = self.behavior().fault;
        if fault == Some(Fault::Silent) {
            // The client ends the connection.
            let _ = io::copy(connection, &mut io::sink());
        }
        if matches!(fault, Some(Fault::Silent | Fault::Down)) {
            return false;
        }
        let Some(body) = request.body(connection) else { return false };
        if fault == Some(Fault::NotHttp) {
            let stream = connection.get_mut();
            let _ = stream.write_all(fault::GARBAGE).and_then(|()| stream.flush());
            return false;
        }
        let sent = self.answer(request, &body).send(connection.get_mut(), &request.method);
        sent.unwrap_or(false) && !request.ends_connection()
    }

    /// Answers a request, rightly or wrongly.
    fn answer(&self, request: &Request, body: &[u8]) -> Answer {
        let mut state = self.state.lock().unwrap();
        let state = &mut *state;
        let (route, fault) = (Route::of(&request.path), state.behavior.fault.as_ref());
        if let Some(busy) = fault::busy(fault, &mut state.busy) {
            return busy;
        }
        let host = self.host(&state.behavior);
        let answer = right_answer(state, &host, request, route, body);
        match state.behavior.fault.as_ref() {
            Some(fault) => fault::change(fault, &host, request, &route, answer),
            None => answer,
        }
    }
}

/// Answers a request as a registry without faults.
fn right_answer(state: &mut State, host: &str, request: &Request, route: Route<'_>, body: &[u8]) -> Answer {
    let behavior = &state.behavior;
    if behavior.tls && !request.secure {
        return Answer::error(400, "UNSUPPORTED", "this registry speaks TLS");
    }
    if let (Resource::Token, Some(service)) = (route.resource, &behavior.token) {
        state.scopes.extend(auth::scopes(request));
        return auth::token(service, request, body);
    }
    let origin = format!("{}://{host}", if behavior.tls { "https" } else { "http" });
    let refusal = auth::refusal(behavior, &origin, request, &route);
    let call = Call { request, route, body, referrers: behavior.referrers };
    refusal.unwrap_or_else(|| endpoints::answer(&mut state.store, &call))
}
