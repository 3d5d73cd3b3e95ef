//! Hosts: TLS unless plain HTTP is named, and nothing secret to where a registry sends on.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::supply::registry::registry_place::{Place, pushed_digest};
use crate::support::registry::{Behavior, Fault, Registry, TokenService};
use crate::support::{Modbox, RunOutput, fixture};

/// `ann:hunter2` in base64.
const BASIC: &str = "YW5uOmh1bnRlcjI=";

fn user() -> Option<(String, String)> {
    Some(("ann".to_owned(), "hunter2".to_owned()))
}

fn secure(behavior: Behavior) -> Behavior {
    Behavior { tls: true, referrers: true, ..behavior }
}

/// Returns modbox with a login for the registry of a place, which trusts the authority of the tests.
fn modbox(place: &Place, args: &[&str]) -> Modbox {
    let config = json!({"auths": {place.registry.host(): {"auth": BASIC}}}).to_string();
    place.dir.write("docker/config.json", config);
    let modbox = place.modbox(args).env("DOCKER_CONFIG", place.dir.join("docker"));
    modbox.env("SSL_CERT_FILE", fixture("tls/authority.pem"))
}

fn pull(place: &Place) -> RunOutput {
    modbox(place, &["pull", "--timeout", "20s"]).arg(place.reference("a:1")).run()
}

fn push(place: &Place) -> String {
    let module = place.module("one");
    pushed_digest(&modbox(place, &["push"]).arg(module).arg(place.reference("a:1")).run())
}

/// Puts the blobs of a module into another registry.
fn copy_blobs(place: &Place, other: &Registry) {
    let manifest = place.manifest("a", "1");
    for descriptor in [&manifest["config"], &manifest["layers"][0]] {
        let digest = descriptor["digest"].as_str().unwrap();
        assert_eq!(other.put_blob(&place.registry.blob(digest).unwrap()), digest);
    }
}

fn authorizations(registry: &Registry) -> Vec<String> {
    let requests = registry.requests();
    requests.iter().filter_map(|request| request.header("authorization")).map(str::to_owned).collect()
}

fn assert_nothing_kept(place: &Place) {
    assert_eq!(place.assert_store_whole(), [""; 0]);
    assert!(place.lock().is_empty());
    place.dir.assert_nothing_left();
}

#[test]
fn a_registry_is_trusted_by_its_certificate() {
    let place = Place::of(secure(Behavior::default()));
    let digest = push(&place);
    assert!(place.registry.requests().iter().all(|request| request.secure));
    place.registry.clear_requests();
    let reference = place.reference("a:1");
    let with = |authority: &Path, more: &[&str]| {
        place.modbox(&["pull", &reference]).args(more).env("SSL_CERT_FILE", authority).run()
    };
    let (authority, other) = (fixture("tls/authority.pem"), fixture("tls/server.pem"));
    let refused = with(&other, &[]).exits_with(3).says(&format!("failed to speak with `{}`", place.registry.host()));
    refused.says("certificate");
    assert_eq!(place.requests(), [""; 0], "nothing is sent before the certificate counts");
    assert!(place.lock().is_empty() && !place.store("").exists());
    with(&other, &["--ca", authority.to_str().unwrap()]).exits_with(0);
    fs::remove_dir_all(place.store("")).unwrap();
    with(&authority, &[]).exits_with(0);
    fs::remove_dir_all(place.store("")).unwrap();
    let by_digest = place.reference(&format!("a@{digest}"));
    let run = place.modbox(&["run", &by_digest]);
    assert_eq!(run.env("SSL_CERT_FILE", &authority).run().exits_with(0).json()["word"], "one");
    assert!(place.registry.requests().iter().all(|request| request.secure));
    // The certificate is not for the address.
    let address = reference.replace("localhost", "127.0.0.1");
    let named = Modbox::new(&place.dir).args(["pull", &address]).env("SSL_CERT_FILE", &authority).run();
    named.exits_with(3).says("certificate");
    with(&place.dir.join("none.pem"), &[]).exits_with(3).says("failed to read the certificates `");
    with(&place.dir.write("text.pem", "x"), &[]).exits_with(3).says("text.pem` has no PEM certificates");
    with(&authority, &["--ca", "none.pem"]).exits_with(3).says("none.pem`");
}

#[test]
fn plain_http_is_spoken_only_with_named_hosts() {
    let place = Place::new();
    place.push_word("one", "a:1");
    place.registry.clear_requests();
    let (host, reference) = (place.registry.host(), place.reference("a:1"));
    let pull = |args: &[&str], variable: &str| {
        let modbox = Modbox::new(&place.dir).args(["pull", &reference]).args(args);
        modbox.env("MODBOX_PLAIN_HTTP", variable).env("SSL_CERT_FILE", fixture("tls/authority.pem")).run()
    };
    let other_port = "127.0.0.1:1";
    for (args, variable) in
        [(&[][..], ""), (&["--plain-http", other_port], ""), (&["--plain-http", "localhost"], "ghcr.io, 127.0.0.2,")]
    {
        pull(args, variable).exits_with(3).says(&format!("failed to speak with `{host}`"));
    }
    assert_eq!(place.requests(), [""; 0]);
    for (args, variable) in [
        (&["--plain-http", "127.0.0.1"][..], ""),
        (&["--plain-http", "ghcr.io", "--plain-http", &host], ""),
        (&[], "ghcr.io, 127.0.0.1"),
        (&[], &host),
    ] {
        pull(args, variable).exits_with(0);
    }
    // A registry with TLS gets nothing without it, unless that is named.
    let place = Place::of(secure(Behavior::default()));
    place.pull("a:1").exits_with(3);
    assert_eq!(place.requests(), [""; 0]);
}

#[test]
fn a_redirect_gets_no_password() {
    let place = Place::of(secure(Behavior { user: user(), ..Behavior::default() }));
    let other = Registry::new(secure(Behavior::default()));
    push(&place);
    copy_blobs(&place, &other);
    let prefix = format!("https://{}", other.host());
    let fault = Some(Fault::RedirectBlobs(prefix));
    place.registry.set(secure(Behavior { user: user(), fault, ..Behavior::default() }));
    pull(&place).exits_with(0);
    assert_eq!(other.requests().len(), 2, "the configuration and the module: {:?}", other.requests());
    assert_eq!(authorizations(&other), [""; 0]);
    assert!(authorizations(&place.registry).iter().all(|value| *value == format!("Basic {BASIC}")));
    fs::remove_dir_all(place.store("")).unwrap();
    fs::remove_file(place.dir.join("modbox.lock")).unwrap();
    other.clear_requests();
    other.set(secure(Behavior { user: user(), ..Behavior::default() }));
    let refused = pull(&place).exits_with(3).says("which asks for a password; modbox gives none to where a redirect");
    refused.says(&format!("`{}` leads to `https://{}/v2/a/blobs/", place.registry.host(), other.host()));
    assert_eq!(authorizations(&other), [""; 0]);
    // What the other host sends is checked as well.
    other.set(secure(Behavior { fault: Some(Fault::OtherBlob), ..Behavior::default() }));
    pull(&place).exits_with(3).says("the registry sent something else for sha256:");
    assert_nothing_kept(&place);
}

#[test]
fn a_redirect_does_not_lead_away_from_tls() {
    let place = Place::of(secure(Behavior { user: user(), ..Behavior::default() }));
    let other = Registry::new(Behavior::default());
    push(&place);
    copy_blobs(&place, &other);
    let set = |fault| place.registry.set(secure(Behavior { user: user(), fault: Some(fault), ..Behavior::default() }));
    set(Fault::RedirectToPlain);
    let refused = pull(&place).exits_with(3).says("which has no TLS");
    refused.says(&format!("leads to `http://{}/v2/a/blobs/", place.registry.host()));
    assert!(place.registry.requests().iter().all(|request| request.secure));
    for prefix in [format!("http://{}", other.host()), "file://localhost".to_owned(), "//x".to_owned()] {
        set(Fault::RedirectBlobs(prefix));
        pull(&place).exits_with(3);
    }
    assert_eq!(other.requests(), []);
    assert_nothing_kept(&place);
}

#[test]
fn a_plain_registry_sends_on_to_no_other_plain_host() {
    let place = Place::new();
    let other = Registry::new(Behavior::default());
    push(&place);
    copy_blobs(&place, &other);
    let fault = Some(Fault::RedirectBlobs(format!("http://{}", other.host())));
    place.registry.set(Behavior { fault, ..Behavior::default() });
    pull(&place).exits_with(3).says("which has no TLS");
    assert_eq!(other.requests(), []);
    assert_nothing_kept(&place);
}

#[test]
fn a_plain_registry_may_send_on_to_one_with_tls() {
    let place = Place::new();
    let other = Registry::new(secure(Behavior::default()));
    push(&place);
    copy_blobs(&place, &other);
    let fault = Some(Fault::RedirectBlobs(format!("https://{}", other.host())));
    place.registry.set(Behavior { fault, ..Behavior::default() });
    pull(&place).exits_with(0);
    place.runs("a:1", "one");
    assert!(other.requests().iter().all(|request| request.secure));
}

#[test]
fn a_registry_of_this_machine_leads_to_no_other_network() {
    let place = Place::of(secure(Behavior::default()));
    push(&place);
    for (host, shown) in [
        ("169.254.169.254", "169.254.169.254"),
        ("10.255.255.1:5000", "10.255.255.1"),
        ("[fd00::1]", "fd00::1"),
        ("[::ffff:169.254.169.254]", "169.254.169.254"),
        ("100.64.0.1", "100.64.0.1"),
        ("2852039166", "169.254.169.254"),
    ] {
        let fault = Some(Fault::RedirectBlobs(format!("https://{host}")));
        place.registry.set(secure(Behavior { fault, ..Behavior::default() }));
        let refused = pull(&place).exits_with(3).within(std::time::Duration::from_secs(5));
        let message = refused.stderr_text();
        assert!(message.contains(shown) && message.contains("which is not an address of the internet"), "{refused}");
    }
    assert_nothing_kept(&place);
}

#[test]
fn a_password_goes_to_the_token_service_alone() {
    let service = Registry::new(secure(Behavior {
        token: Some(TokenService { user: user(), ..TokenService::default() }),
        ..Behavior::default()
    }));
    let realm = Some(format!("https://{}/token", service.host()));
    let token = Some(TokenService { realm, ..TokenService::default() });
    let place = Place::of(secure(Behavior { token, ..Behavior::default() }));
    push(&place);
    pull(&place).exits_with(0);
    assert!(authorizations(&place.registry).iter().all(|value| value.starts_with("Bearer ")));
    assert!(authorizations(&service).iter().all(|value| *value == format!("Basic {BASIC}")));
    assert!(service.scopes().contains(&"repository:a:pull".to_owned()), "{:?}", service.scopes());
    // The login is that of the registry, and so is the advice.
    fs::remove_dir_all(place.store("")).unwrap();
    let other = Some(("ann".to_owned(), "other".to_owned()));
    let token = Some(TokenService { user: other, ..TokenService::default() });
    service.set(secure(Behavior { token, ..Behavior::default() }));
    let refused = pull(&place).exits_with(3);
    refused.says(&format!("log in by `docker login {}`", place.registry.host()));
}

#[test]
fn a_token_service_without_tls_gets_nothing() {
    let service = Registry::new(Behavior { token: Some(TokenService::default()), ..Behavior::default() });
    for tls in [true, false] {
        let realm = Some(format!("http://{}/token", service.host()));
        let token = Some(TokenService { realm, ..TokenService::default() });
        let place = Place::of(Behavior { token, tls, ..Behavior::default() });
        let refused = pull(&place).exits_with(3).says("a token service that has no TLS; modbox sends nothing to it");
        refused.says(&format!("leads to `http://{}/token`", service.host()));
        assert!(!place.store("").exists() && authorizations(&place.registry).is_empty());
    }
    assert_eq!(service.requests(), []);
}
