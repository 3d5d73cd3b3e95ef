//! Manifests that are not those of a module, that lie about sizes, or that are damaged.

use modbox_registry::digest::Digest;
use modbox_registry::manifest::{Index, Manifest};
use serde_json::{Value, json};

use crate::supply::registry::registry_place::Place;
use crate::support::registry::Behavior;
use crate::support::sample::{self, Random};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Number of damaged manifests that are read, in an ordinary run and in a whole one.
const READ: (usize, usize) = (10_000, 1_000_000);

/// Number of those that a registry sends.
const SENT: (usize, usize) = (40, 2000);

/// Returns a changed copy of a document.
fn changed(document: &Value, change: impl FnOnce(&mut Value)) -> Value {
    let mut document = document.clone();
    change(&mut document);
    document
}

#[test]
fn what_is_not_a_module_is_named() {
    let place = Place::new();
    place.push_word("one", "a:1");
    let good = place.manifest("a", "1");
    let missing = format!("sha256:{}", "0".repeat(64));
    let layer = good["layers"][0].clone();
    let size = layer["size"].as_u64().unwrap();
    let with_layer = |key: &str, value: Value| changed(&good, |document| document["layers"][0][key] = value);
    let image = "application/vnd.oci.image.layer.v1.tar+gzip";
    for (document, message) in [
        (changed(&good, |document| document["layers"] = json!([])), "it has 0 layers"),
        (changed(&good, |document| document["layers"] = json!([layer, layer])), "it has 2 layers"),
        (with_layer("mediaType", image.into()), "it has a layer of type `application/vnd.oci.image.layer.v1.tar+gzip`"),
        (with_layer("mediaType", "\u{1b}[31mred".into()), "it has a layer of type `[31mred`"),
        (with_layer("size", (1_u64 << 40).into()), "has 1099511627776 bytes; a module may have 268435456"),
        (with_layer("size", (-1).into()), "it is not a manifest of OCI"),
        (with_layer("size", (size - 1).into()), &format!("sends more than {} bytes", size - 1)),
        (with_layer("size", (size + 1).into()), "the registry sent something else for sha256:"),
        (with_layer("digest", missing.as_str().into()), &format!("but not {missing}, which it names")),
        (with_layer("digest", "sha256:../../x".into()), "it is not a manifest of OCI"),
        (with_layer("digest", "sha512:00".into()), "it is not a manifest of OCI"),
        (changed(&good, |document| document["config"]["size"] = (1 << 30).into()), "larger than 1048576 bytes"),
        (changed(&good, |document| document["schemaVersion"] = 1.into()), "its `schemaVersion` is 1; modbox reads"),
        (changed(&good, |document| document["mediaType"] = "application/json".into()), "its media type is `appl"),
        (json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": []}), "it is an index of several manifests; name"),
        (json!([]), "it is not a manifest of OCI"),
    ] {
        let digest = place.registry.put_manifest("a", "bad", MANIFEST, document.to_string().as_bytes());
        for reference in ["a:bad".to_owned(), format!("a@{digest}")] {
            let pulled = place.pull(&reference).exits_with(3).says(message);
            assert!(!pulled.stderr_text().contains('\u{1b}'), "{pulled}");
            place.run(&reference).run().exits_with(3);
        }
        assert_eq!(place.assert_store_whole(), [""; 0]);
        assert!(place.lock().is_empty());
    }
    place.dir.assert_nothing_left();
}

#[test]
fn lists_of_signatures_may_have_other_things() {
    let place = Place::of(Behavior::default());
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    let digest = place.push(&module, "a:1");
    let tag = digest.replace(':', "-");
    let index = place.manifest("a", &tag);
    let good = index["manifests"][0].clone();
    let other = place.push_word("two", "a:2");
    let bytes = place.registry.manifest("a", &other).unwrap();
    let of_other = json!({"mediaType": MANIFEST, "digest": other, "size": bytes.len()});
    let picture = json!({"mediaType": "image/png", "digest": format!("sha256:{}", "0".repeat(64)), "size": 3});
    let list = |manifests: Value| {
        let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests});
        place.registry.put_manifest("a", &tag, INDEX, index.to_string().as_bytes());
        let _ = std::fs::remove_dir_all(place.store(""));
        place.pull("a:1")
    };
    list(json!([of_other, picture, good])).exits_with(0);
    assert_eq!(place.assert_store_whole().len(), 2, "the module and its signature");
    list(json!([])).exits_with(0);
    assert_eq!(place.assert_store_whole().len(), 1);
    list(vec![of_other; 5000].into()).exits_with(0);
    assert!(place.requests().len() < 200, "{} requests", place.requests().len());
    let missing = json!({"mediaType": MANIFEST, "digest": format!("sha256:{}", "0".repeat(64)), "size": 3});
    list(json!([good, missing])).exits_with(3).says("which it names");
    assert_eq!(place.assert_store_whole(), [""; 0]);
}

#[test]
fn no_damaged_manifest_makes_the_reader_panic() {
    let place = Place::new();
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    let digest = place.push(&module, "a:1");
    let whole = place.registry.manifest("a", &digest).unwrap();
    let name: Digest = digest.parse().unwrap();
    let mut random = Random::new(0x0c1);
    for _ in 0..sample::cases(READ.0, READ.1) {
        let damaged = damaged(&whole, &mut random);
        assert!(damaged == whole || Digest::of(&damaged) != name);
        if let Ok(manifest) = Manifest::parse(&damaged) {
            let _ = (manifest.module().is_ok(), manifest.signature_of(&name).is_some());
            assert_eq!(Manifest::parse(&manifest.to_bytes()).unwrap(), manifest);
        }
        let _ = Index::parse(&damaged).is_ok();
    }
}

#[test]
fn no_damaged_manifest_is_accepted() {
    let place = Place::of(Behavior::default());
    let module = place.module("one");
    place.sign(&module, None, &[1]);
    let digest = place.push(&module, "a:1");
    let tag = digest.replace(':', "-");
    let (whole, list) = ["1", &tag].map(|tag| place.registry.manifest("a", tag).unwrap()).into();
    let mut random = Random::new(0x0c2);
    for _ in 0..sample::cases(SENT.0, SENT.1) {
        let bad = damaged(&whole, &mut random);
        if bad == whole {
            continue;
        }
        place.registry.put_manifest("a", &digest, MANIFEST, &bad);
        place.pull(&format!("a@{digest}")).exits_with(3).says("the registry sent something else for sha256:");
        assert_eq!(place.assert_store_whole(), [""; 0]);
        // The one of a tag has no digest before it comes, and what it names is checked.
        place.registry.put_manifest("a", "bad", MANIFEST, &bad);
        let pulled = place.pull("a:bad");
        assert!([Some(0), Some(3)].contains(&pulled.status.code()), "{pulled}");
        let _ = place.assert_store_whole();
        let _ = std::fs::remove_dir_all(place.store(""));
        let _ = std::fs::remove_file(place.dir.join("modbox.lock"));
    }
    place.registry.put_manifest("a", "1", MANIFEST, &whole);
    for _ in 0..sample::cases(SENT.0 / 2, SENT.1) {
        place.registry.put_manifest("a", &tag, INDEX, &damaged(&list, &mut random));
        let pulled = place.pull(&format!("a@{digest}"));
        assert!([Some(0), Some(3)].contains(&pulled.status.code()), "{pulled}");
        let _ = place.assert_store_whole();
        let _ = std::fs::remove_dir_all(place.store(""));
    }
    place.dir.assert_nothing_left();
}

/// Returns a text with some bytes changed.
fn damaged(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_owned();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len().saturating_sub(1));
        match random.below(5) {
            0 => bytes[at] = u8::try_from(random.below(256)).unwrap(),
            1 if bytes.len() > 1 => drop(bytes.remove(at)),
            2 => bytes.insert(at, *random.pick(b"\"{}[],:0-9aA\\ \n\xff")),
            3 => bytes.truncate(at.max(1)),
            _ => {
                let other = random.below(bytes.len());
                bytes.swap(at, other);
            }
        }
    }
    bytes
}
