//! Logins: found where docker and podman keep them, and sent only to the registry and to its token service.

use serde_json::{Value, json};

use crate::supply::registry::registry_place::Place;
use crate::support::RunOutput;
use crate::support::registry::{Behavior, Request, TokenService};

const PASSWORD: &str = "hunter2:with a colon";

/// `ann:hunter2:with a colon` in base64.
const BASIC: &str = "YW5uOmh1bnRlcjI6d2l0aCBhIGNvbG9u";

fn user() -> Option<(String, String)> {
    Some(("ann".to_owned(), PASSWORD.to_owned()))
}

fn basic() -> Place {
    Place::of(Behavior { user: user(), referrers: true, ..Behavior::default() })
}

fn of_tokens(service: TokenService) -> Place {
    Place::of(Behavior { token: Some(service), referrers: true, ..Behavior::default() })
}

/// Writes docker's file of logins.
fn log_in(place: &Place, config: &Value) {
    place.dir.write("docker/config.json", config.to_string());
}

fn auths(place: &Place, entry: Value) -> Value {
    json!({"auths": {place.registry.host(): entry}})
}

fn pull(place: &Place, from: &str) -> RunOutput {
    let pull = place.modbox(&["pull"]).arg(place.reference(from)).env("DOCKER_CONFIG", place.dir.join("docker"));
    let ran = pull.env("PATH", format!("{}:/usr/bin:/bin", place.dir.join("bin").display())).run();
    for shown in [ran.stdout_text(), ran.stderr_text()] {
        assert!(!shown.contains("hunter2") && !shown.contains(BASIC), "{ran}");
    }
    ran
}

fn push(place: &Place, to: &str) {
    let module = place.module("one");
    place.pushes(&module, to).env("DOCKER_CONFIG", place.dir.join("docker")).run().exits_with(0);
}

fn authorizations(place: &Place) -> Vec<String> {
    let value = |request: &Request| request.header("authorization").unwrap_or("none").to_owned();
    place.registry.requests().iter().map(value).collect()
}

#[test]
fn a_password_of_docker_is_used() {
    let place = basic();
    log_in(&place, &auths(&place, json!({"auth": BASIC})));
    push(&place, "a:1");
    place.registry.clear_requests();
    pull(&place, "a:1").exits_with(0);
    let sent = authorizations(&place);
    assert_eq!(sent[0], "none", "it is sent when the registry asks for it");
    assert!(sent.len() > 2 && sent[1..].iter().all(|value| *value == format!("Basic {BASIC}")), "{sent:?}");
    place.dir.assert_nothing_left();
}

#[test]
fn logins_are_found_in_each_file_that_tools_write() {
    let place = basic();
    log_in(&place, &auths(&place, json!({"auth": BASIC})));
    push(&place, "a:1");
    let config = auths(&place, json!({"auth": BASIC})).to_string();
    let wrong = auths(&place, json!({"auth": "YW5uOndyb25n"})).to_string();
    for (variable, value, file) in [
        ("MODBOX_REGISTRY_AUTH_FILE", "own.json", "own.json"),
        ("REGISTRY_AUTH_FILE", "podman.json", "podman.json"),
        ("XDG_RUNTIME_DIR", "run", "run/containers/auth.json"),
        ("XDG_CONFIG_HOME", "config", "config/containers/auth.json"),
        ("HOME", "home", "home/.docker/config.json"),
    ] {
        let path = place.dir.write(file, &config);
        let pull = || place.modbox(&["pull"]).arg(place.reference("a:1")).env(variable, place.dir.join(value));
        pull().run().exits_with(0);
        std::fs::remove_file(path).unwrap();
        pull().run().exits_with(3).says("wants a user and a password");
    }
    // The first file with an entry counts.
    place.dir.write("own.json", &wrong);
    let both = place.modbox(&["pull"]).arg(place.reference("a:1")).env("DOCKER_CONFIG", place.dir.join("docker"));
    both.env("MODBOX_REGISTRY_AUTH_FILE", "own.json").run().exits_with(3).says("does not take those that were found");
}

#[test]
fn a_helper_of_docker_is_asked() {
    let place = basic();
    log_in(&place, &auths(&place, json!({"auth": BASIC})));
    push(&place, "a:1");
    let host = place.registry.host();
    let answer = json!({"ServerURL": host, "Username": "ann", "Secret": PASSWORD});
    let script = format!("#!/bin/sh\nread -r server\necho \"$1 $server\" >> asked\necho '{answer}'\n");
    place.dir.write_executable("bin/docker-credential-x", script);
    for config in [json!({"credHelpers": {host.as_str(): "x"}}), json!({"credsStore": "x"})] {
        log_in(&place, &config);
        pull(&place, "a:1").exits_with(0);
        let asked = std::fs::read_to_string(place.dir.join("asked")).unwrap();
        assert_eq!(asked, format!("get {host}\n"));
        std::fs::remove_file(place.dir.join("asked")).unwrap();
    }
    // A helper for another host is not asked.
    log_in(&place, &json!({"credHelpers": {"other.example": "x"}}));
    pull(&place, "a:1").exits_with(3).says("wants a user and a password");
    assert!(!place.dir.join("asked").exists());
    place.dir.write_executable("bin/docker-credential-x", "#!/bin/sh\necho hunter2 is locked\nexit 1\n");
    log_in(&place, &json!({"credsStore": "x"}));
    let failed = pull(&place, "a:1").exits_with(3).says("failed to get credentials from `docker-credential-x`");
    failed.says(&format!("run `echo {host} | docker-credential-x get` to see why"));
    log_in(&place, &json!({"credsStore": "missing"}));
    pull(&place, "a:1").exits_with(3).says("it is not in a folder of `PATH`");
    place.dir.assert_nothing_left();
}

#[test]
fn wrong_and_missing_passwords_are_told_apart_from_missing_modules() {
    let place = basic();
    log_in(&place, &auths(&place, json!({"auth": BASIC})));
    push(&place, "a:1");
    pull(&place, "a:none").exits_with(3).says("is not there");
    let host = place.registry.host();
    let refused = format!(
        "`{host}` wants a user and a password for this repository, or does not take those that were found; log in by \
         `docker login {host}` or `podman login {host}`"
    );
    for entry in [json!({"auth": "YW5uOndyb25n"}), json!({"identitytoken": "hunter2"}), json!({})] {
        log_in(&place, &auths(&place, entry));
        pull(&place, "a:1").exits_with(3).says(&refused);
    }
    log_in(&place, &auths(&place, json!({"auth": "hunter2"})));
    pull(&place, "a:1").exits_with(3).says(&format!("run `docker login {host}`"));
    place.dir.write("docker/config.json", "{\"auths\": {hunter2");
    pull(&place, "a:1").exits_with(3).says("line 1, column 12 is not JSON");
    log_in(&place, &json!({"auths": {"other.example": {"auth": BASIC}}}));
    place.registry.clear_requests();
    pull(&place, "a:1").exits_with(3).says(&refused);
    assert_eq!(authorizations(&place), ["none"], "the password of another host is not sent");
    assert!(place.lock().is_empty() && !place.store("").exists());
}

#[test]
fn tokens_are_fetched_by_password_and_for_what_is_done() {
    let place = of_tokens(TokenService { user: user(), ..TokenService::default() });
    log_in(&place, &auths(&place, json!({"username": "ann", "password": PASSWORD})));
    push(&place, "acme/a:1");
    assert!(
        place.registry.scopes().contains(&"repository:acme/a:pull,push".to_owned()),
        "{:?}",
        place.registry.scopes()
    );
    place.registry.clear_requests();
    pull(&place, "acme/a:1").exits_with(0);
    assert_eq!(place.registry.scopes(), ["repository:acme/a:pull"], "one token is enough");
    for request in place.registry.requests() {
        let sent = request.header("authorization").unwrap_or("none");
        let is_right = match request.path.starts_with("/token?") {
            true => sent == format!("Basic {BASIC}"),
            false => sent == "none" || sent.starts_with("Bearer "),
        };
        assert!(is_right, "{request:?}");
    }
    log_in(&place, &json!({}));
    let host = place.registry.host();
    pull(&place, "acme/a:1").exits_with(3).says(&format!("log in by `docker login {host}`"));
}

#[test]
fn tokens_are_fetched_without_a_login_where_that_is_enough() {
    let place = of_tokens(TokenService::default());
    log_in(&place, &json!({}));
    push(&place, "a:1");
    pull(&place, "a:1").exits_with(0);
    place.runs("a:1", "one");
}

#[test]
fn an_identity_token_is_exchanged() {
    let service =
        TokenService { user: user(), identity: Some("secret+&=/token".to_owned()), ..TokenService::default() };
    let place = of_tokens(service);
    log_in(&place, &auths(&place, json!({"identitytoken": "secret+&=/token"})));
    push(&place, "a:1");
    pull(&place, "a:1").exits_with(0);
    assert!(place.requests().contains(&"POST /token".to_owned()), "{:?}", place.requests());
    assert!(authorizations(&place).iter().all(|value| !value.starts_with("Basic")));
    log_in(&place, &auths(&place, json!({"identitytoken": "other"})));
    pull(&place, "a:1").exits_with(3).says("status 400");
    // A helper gives one by this name.
    let answer = json!({"ServerURL": "x", "Username": "<token>", "Secret": "secret+&=/token"});
    place.dir.write_executable("bin/docker-credential-x", format!("#!/bin/sh\necho '{answer}'\n"));
    log_in(&place, &json!({"credsStore": "x"}));
    pull(&place, "a:1").exits_with(0);
}
