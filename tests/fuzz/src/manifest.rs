//! Manifests, lists of manifests and references, as registries send them.

use modbox_registry::manifest::{Index, Manifest};
use modbox_registry::reference::Reference;

/// A manifest that is read equals itself after it is written and read again.
pub fn run(data: &[u8]) -> bool {
    let (manifest, index) = (Manifest::parse(data), Index::parse(data));
    if let Ok(manifest) = &manifest {
        assert_eq!(Manifest::parse(&manifest.to_bytes()).ok().as_ref(), Some(manifest));
        let _ = manifest.module();
        let _ = manifest.subject.as_ref().map(|subject| manifest.signature_of(&subject.digest));
    }
    if let Ok(index) = &index {
        assert_eq!(Index::parse(&index.to_bytes()).ok().as_ref(), Some(index));
    }
    let reference = str::from_utf8(data).ok().and_then(|text| text.parse::<Reference>().ok());
    if let Some(reference) = &reference {
        assert_eq!(reference.to_string().parse().as_ref(), Ok(reference));
        assert_eq!(Reference::from_layout(&reference.without_scheme()).as_ref(), Ok(reference));
    }
    manifest.is_ok() || index.is_ok() || reference.is_some()
}
