//! What a push sends: nothing twice, the module without its `#!` line, and the signatures that are for it.

use std::fs;

use crate::supply::registry::registry_place::{Place, digest_of, pushed_digest};
use crate::support::registry::Behavior;

/// Type of an artifact that is a signature file.
const SIGNATURE: &str = "application/vnd.modbox.signature.v1";

#[test]
fn what_the_registry_has_is_not_sent_again() {
    let place = Place::new();
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    let digest = place.push(&module, "a:1");
    place.registry.clear_requests();
    assert_eq!(place.push(&module, "a:1"), digest);
    let sent: Vec<String> = place.requests().into_iter().filter(|request| !request.starts_with("HEAD ")).collect();
    assert!(!sent.is_empty() && sent.iter().all(|request| request.starts_with("PUT /v2/a/manifests/")), "{sent:?}");
    assert!(place.requests().contains(&format!("HEAD /v2/a/blobs/{}", digest_of(&module))));
    assert_eq!(place.push(&module, "a:2"), digest, "another tag of the same module");
    assert_eq!(place.registry.tags("a"), ["1", "2"]);
    let other = place.push_word("two", "a:1");
    assert_ne!(other, digest);
    assert_eq!(place.layer("a", "1"), digest_of(&place.module("two")).to_string());
    assert_eq!(place.layer("a", "2"), digest_of(&module).to_string());
}

#[test]
fn each_request_says_what_it_sends() {
    let place = Place::new();
    let module = place.module("one");
    let digest = place.push(&module, "a:1");
    let requests = place.registry.requests();
    let put = |path: &str| requests.iter().find(|request| request.method == "PUT" && request.path.contains(path));
    let manifest = put("/v2/a/manifests/1").unwrap();
    assert_eq!(manifest.header("content-type"), Some("application/vnd.oci.image.manifest.v1+json"));
    let blob = put(&format!("state=x&digest={}", digest_of(&module))).unwrap();
    assert_eq!(blob.header("content-type"), Some("application/octet-stream"));
    assert_eq!(blob.header("content-length"), Some(fs::metadata(&module).unwrap().len().to_string().as_str()));
    assert!(requests.iter().all(|request| request.header("authorization").is_none()));
    let agent = format!("modbox/{}", env!("CARGO_PKG_VERSION"));
    assert!(requests.iter().all(|request| request.header("user-agent") == Some(&agent)));
    assert!(place.registry.manifest("a", &digest).is_some());
}

#[test]
fn a_second_signature_joins_the_first() {
    for referrers in [true, false] {
        let place = Place::of(Behavior { referrers, ..Behavior::default() });
        let module = place.module("one");
        place.sign(&module, None, &[1]);
        let digest = place.push(&module, "a:1");
        let fallback = digest.replace(':', "-");
        let tags = place.registry.tags("a");
        assert_eq!(tags.contains(&fallback), !referrers, "{tags:?}");
        place.sign(&module, None, &[2]);
        assert_eq!(place.push(&module, "a:1"), digest);
        // The same signature again is not listed twice.
        assert_eq!(place.push(&module, "a:1"), digest);
        if !referrers {
            let index = place.manifest("a", &fallback);
            let listed = index["manifests"].as_array().unwrap();
            assert_eq!(index["mediaType"], "application/vnd.oci.image.index.v1+json");
            assert_eq!(listed.len(), 2, "{index}");
            for descriptor in listed {
                assert_eq!(descriptor["artifactType"], SIGNATURE);
                let signature = place.manifest("a", descriptor["digest"].as_str().unwrap());
                assert_eq!(signature["subject"]["digest"], digest.as_str());
                assert_eq!(signature["artifactType"], SIGNATURE);
                assert_eq!(signature["config"]["mediaType"], "application/vnd.oci.empty.v1+json");
            }
        }
        place.trust("  rules: [{signer: '*.example', signatures: 2}]\n  require-signature: true\n");
        let pull = place.modbox(&["pull", "--policy", "policy.yaml"]).arg(place.reference("a:1")).run();
        let text = pull.exits_with(0).stdout_text();
        let mut signers: Vec<&str> = text.trim_end().rsplit_once(" signed by ").unwrap().1.split(", ").collect();
        signers.sort_unstable();
        assert_eq!(signers, ["release@acme.example", "team@other.example"], "{text}");
        assert_eq!(place.assert_store_whole().len(), 3);
    }
}

#[test]
fn a_list_that_is_not_one_of_signatures_is_left_alone() {
    let place = Place::of(Behavior::default());
    let module = place.module("one");
    let digest = place.push(&module, "a:1");
    let fallback = digest.replace(':', "-");
    let other = place.registry.manifest("a", "1").unwrap();
    place.registry.put_manifest("a", &fallback, "application/vnd.oci.image.manifest.v1+json", &other);
    place.sign(&module, None, &[1]);
    let refused = place.pushes(&module, "a:1").run().exits_with(3);
    refused.says(&format!("something else than a list of signatures under the tag `{fallback}`"));
    assert_eq!(place.registry.manifest("a", &fallback).unwrap(), other);
}

#[test]
fn a_first_line_for_an_interpreter_is_left_out() {
    let place = Place::new();
    let module = place.module("one");
    let wasm = fs::read(&module).unwrap();
    let script = place.dir.write("script", [b"#!/usr/bin/env -S modbox run\n", wasm.as_slice()].concat());
    let digest = place.push(&script, "a:1");
    assert_eq!(place.registry.blob(&place.layer("a", "1")).unwrap(), wasm);
    assert_eq!(digest, place.push(&module, "a:2"), "the same module without the line");
    place.pull("a:1").exits_with(0);
    assert_eq!(fs::read(place.blob(&place.layer("a", "1"))).unwrap(), wasm);
    place.runs("a:1", "one");
}

#[test]
fn a_signature_of_another_module_stops_the_push() {
    let place = Place::new();
    let (module, other) = (place.module("one"), place.module("two"));
    place.sign(&other, None, &[1]);
    fs::rename(place.dir.join("two.wasm.sig"), place.dir.join("one.wasm.sig")).unwrap();
    let refused = place.pushes(&module, "a:1").run().exits_with(3);
    let refused = refused.says(&format!("signs {}, and the module has {}", digest_of(&other), digest_of(&module)));
    let refused = refused.says("sign the module again, or remove the file");
    assert_eq!((refused.stdout_text(), place.requests()), (String::new(), Vec::new()));
    place.dir.write("one.wasm.sig", "nonsense");
    place.pushes(&module, "a:1").run().exits_with(3).says("failed to read `");
    assert_eq!(place.requests(), [""; 0]);
    fs::remove_file(place.dir.join("one.wasm.sig")).unwrap();
    assert!(!place.pushes(&module, "a:1").run().exits_with(0).stderr_text().contains("goes along"));
}

#[test]
fn what_is_not_a_component_is_not_pushed() {
    let place = Place::new();
    let script = place.dir.write("script", "#!/bin/sh\necho '{}'\n");
    place.pushes(&script, "a:1").run().exits_with(3).says("script` is not a WebAssembly module");
    let broken = place.dir.write("broken.wasm", b"\0asm\x0d\0\x01\0\xff\xff\xff");
    place.pushes(&broken, "a:1").run().exits_with(3);
    place.pushes(&place.dir.join("none.wasm"), "a:1").run().exits_with(3).says("none.wasm");
    assert_eq!(place.requests(), [""; 0]);
}

#[test]
fn a_module_of_the_store_can_be_pushed_to_another_repository() {
    let place = Place::new();
    let digest = place.push_word("one", "a:1");
    let from = place.reference(&format!("a@{digest}"));
    let pushed = place.modbox(&["push", &from, &place.reference("b:2")]).run();
    assert_eq!(pushed_digest(&pushed), digest);
    assert_eq!(place.layer("b", "2"), place.layer("a", "1"));
}
