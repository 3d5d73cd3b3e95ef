//! Registries that fail or lie: the pull says what is wrong, and nothing of it is kept.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::time::Duration;

use rustix::net::{self, AddressFamily, SocketType};

use crate::supply::registry::registry_place::Place;
use crate::support::RunOutput;
use crate::support::registry::{Behavior, Fault};

/// The lock file before a pull that fails.
const LOCK: &str = "version = 1\n# It is left as it is.\n";

/// Each fault, the time limit, and what is said of it.
fn faults() -> Vec<(Fault, &'static str, &'static str)> {
    let no_http = "does not answer as a registry does: ";
    vec![
        (Fault::OtherManifest, "20s", "the registry sent something else for DIGEST of `REFERENCE`; nothing of it was"),
        (Fault::OtherBlob, "20s", "the registry sent something else for sha256:"),
        (Fault::LongBlob, "20s", "bytes for this content"),
        (Fault::ShortBlob, "20s", "failed to speak with `HOST`: "),
        (Fault::HugeManifest, "20s", "`HOST` sends more than 4194304 bytes for a manifest"),
        (Fault::WrongMediaType("text/html".to_owned()), "20s", "the type of the manifest is `text/html`, not `"),
        (Fault::RedirectLoop, "20s", "after 5 other redirects"),
        (Fault::Busy(503, 1000), "20s", "`HOST` answered with status 503: UNKNOWN the registry is busy"),
        (Fault::Busy(429, 1000), "20s", "`HOST` answered with status 429: TOOMANYREQUESTS too many requests"),
        (Fault::Busy(400, 1000), "20s", "`HOST` answered with status 400: UNKNOWN the registry is busy"),
        (Fault::Busy(403, 1000), "20s", "`HOST` refuses this to the user that was given (status 403): UNKNOWN"),
        (Fault::Busy(401, 1000), "20s", "`HOST` wants a user and a password for this repository"),
        (Fault::Busy(404, 1000), "20s", "`REFERENCE` is not there"),
        (Fault::Slow, "1s", "`HOST` took longer than 1 s; try again, or raise --timeout"),
        (Fault::Silent, "1s", "`HOST` took longer than 1 s; try again, or raise --timeout"),
        (Fault::HugeHeaders, "20s", no_http),
        (Fault::NotHttp, "20s", no_http),
        (Fault::Down, "20s", "failed to speak with `HOST`: "),
    ]
}

fn pull(place: &Place, reference: &str, timeout: &str) -> RunOutput {
    place.modbox(&["pull", "--timeout", timeout]).arg(place.reference(reference)).run()
}

#[test]
fn each_fault_is_named_and_leaves_nothing() {
    let place = Place::new();
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    let digest = place.push(&module, "a:1");
    let reference = format!("a:1@{digest}");
    for (fault, timeout, message) in faults() {
        place.dir.write("modbox.lock", LOCK);
        place.registry.set(Behavior { referrers: true, fault: Some(fault.clone()), ..Behavior::default() });
        let message = message.replace("HOST", &place.registry.host());
        let message = message.replace("DIGEST", &digest).replace("REFERENCE", &place.reference(&reference));
        let failed = pull(&place, &reference, timeout);
        assert!(failed.stderr_text().contains(&message), "{fault:?}: {failed}");
        let limit = if timeout == "1s" { Duration::from_secs(2) } else { Duration::from_secs(10) };
        let failed = failed.exits_with(3).within(limit);
        assert_eq!(failed.stderr_text().lines().count(), 1, "{failed}");
        assert_eq!(failed.stdout_text(), "");
        assert_eq!(place.lock(), LOCK, "{fault:?}");
        assert_eq!(place.assert_store_whole(), [""; 0], "{fault:?}");
        place.dir.assert_nothing_left();
    }
    place.registry.set(Behavior { referrers: true, ..Behavior::default() });
    pull(&place, &reference, "20s").exits_with(0);
    assert_eq!(place.assert_store_whole().len(), 2);
    place.runs("a:1", "one");
}

#[test]
fn each_fault_of_a_push_is_named() {
    let place = Place::new();
    let module = place.module("one");
    // The other faults are in answers that a push does not ask for.
    let stops = |fault: &Fault| {
        let is_busy = matches!(fault, Fault::Busy(status, _) if *status != 404);
        is_busy || matches!(fault, Fault::Silent | Fault::HugeHeaders | Fault::NotHttp | Fault::Down)
    };
    for (fault, timeout, message) in faults().into_iter().filter(|(fault, ..)| stops(fault)) {
        place.registry.set(Behavior { referrers: true, fault: Some(fault.clone()), ..Behavior::default() });
        let pushed = place.pushes(&module, "a:1").args(["--timeout", timeout]).run();
        // The answer to HEAD has no text.
        let message = message.split(": UNKNOWN").next().unwrap().split(": TOOMANY").next().unwrap();
        let message = message.replace("HOST", &place.registry.host());
        assert!(pushed.stderr_text().contains(&message), "{fault:?}: {pushed}");
        assert_eq!(pushed.exits_with(3).stdout_text(), "");
        assert_eq!(place.registry.tags("a"), [""; 0]);
        place.dir.assert_nothing_left();
    }
}

#[test]
fn a_registry_that_is_busy_for_a_moment_is_asked_again() {
    let place = Place::new();
    for status in [429, 503] {
        let set = |number| {
            let fault = (number > 0).then_some(Fault::Busy(status, number));
            place.registry.set(Behavior { referrers: true, fault, ..Behavior::default() });
            place.registry.clear_requests();
        };
        set(2);
        place.push_word("one", "a:1");
        set(2);
        place.pull("a:1").exits_with(0);
        assert_eq!(place.requests()[..3], ["GET /v2/a/manifests/1", "GET /v2/a/manifests/1", "GET /v2/a/manifests/1"]);
        place.assert_store_whole();
        set(4);
        fs::remove_file(place.dir.join("modbox.lock")).unwrap();
        place.pull("a:1").exits_with(3).says(&format!("status {status}"));
        assert_eq!(place.requests().len(), 4);
    }
    place.runs(&format!("a@{}", place.push_word("one", "a:1")), "one");
}

#[test]
fn a_digest_in_a_header_is_not_needed() {
    let place = Place::new();
    place.registry.set(Behavior { referrers: true, fault: Some(Fault::NoDigestHeader), ..Behavior::default() });
    place.push_word("one", "a:1");
    place.pull("a:1").exits_with(0);
    place.runs("a:1", "one");
}

#[test]
fn a_damaged_signature_is_not_kept() {
    let place = Place::new();
    let module = place.module("one");
    place.push(&module, "a:1");
    place.pull("a:1").exits_with(0);
    let (before, lock) = (place.assert_store_whole(), place.lock());
    place.sign(&module, None, &[1]);
    place.push(&module, "a:1");
    for fault in [Fault::OtherBlob, Fault::ShortBlob, Fault::LongBlob] {
        place.registry.set(Behavior { referrers: true, fault: Some(fault), ..Behavior::default() });
        place.pull("a:1").exits_with(3);
        assert_eq!((place.assert_store_whole(), place.lock()), (before.clone(), lock.clone()));
        assert!(!place.store("signatures").exists());
        place.runs("a:1", "one");
    }
    place.registry.set(Behavior { referrers: true, ..Behavior::default() });
    place.pull("a:1").exits_with(0);
    assert!(place.store("signatures").exists());
}

#[test]
fn a_connection_that_is_never_made_ends_at_the_limit() {
    let place = Place::new();
    // The kernel leaves a connection open that nothing accepts, when as many wait as may.
    let socket = net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    net::listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let connect = |_| TcpStream::connect_timeout(&address, Duration::from_millis(200)).ok();
    let waiting: Vec<_> = (0..4).map_while(connect).collect();
    assert!(waiting.len() < 4, "as many wait as may");
    let host = address.to_string();
    let pulled = place.modbox(&["pull", "--timeout", "1s"]).arg(format!("oci://{host}/a:1")).run();
    let pulled = pulled.exits_with(3).says(&format!("`{host}` took longer than 1 s"));
    pulled.within(Duration::from_secs(8));
    place.dir.assert_nothing_left();
}
