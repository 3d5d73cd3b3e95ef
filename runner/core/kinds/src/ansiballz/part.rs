//! The part of a payload that one of its files needs: the file and all its imports.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;

use crate::ansiballz::closure::{self, EmbeddedFile, Found, Lookup};
use crate::ansiballz::closure_error::ClosureError;
use crate::ansiballz::name::DottedName;
use crate::ansiballz::payload::Payload;
use crate::ansiballz::routing::Routing;

/// Returns the paths of a utility of ansible-core, such as `basic`, and of all its imports in a payload.
///
/// # Errors
///
/// A source that is not valid Python.
pub fn part(payload: &Payload, utility: &str) -> Result<BTreeSet<String>, ClosureError<Infallible>> {
    let name = DottedName::parse(&format!("ansible.module_utils.{utility}"));
    let importer = DottedName::parse("ansible.modules.importer");
    let (closure, embedded) = closure::find((&importer, b""), &[name], &mut InPayload(payload))?;
    let sources = closure.into_iter().map(|(name, (_, is_package))| name.file(is_package));
    Ok(sources.chain(embedded.into_keys()).collect())
}

struct InPayload<'a>(&'a Payload);

impl InPayload<'_> {
    fn find(&self, name: &DottedName) -> Option<Found> {
        [true, false].into_iter().find_map(|is_package| {
            let source = Arc::clone(self.0.files.get(&name.file(is_package))?);
            Some(Found { source, is_package })
        })
    }
}

impl Lookup for InPayload<'_> {
    type Error = Infallible;

    fn core(&mut self, parts: &[String]) -> Result<Option<Found>, Infallible> {
        let prefix = ["ansible", "module_utils"].map(str::to_owned);
        Ok(self.find(&DottedName::of(&[&prefix[..], parts].concat())))
    }

    fn collection(&mut self, [namespace, name]: &[String; 2], parts: &[String]) -> Result<Option<Found>, Infallible> {
        let prefix = ["ansible_collections", namespace, name, "plugins", "module_utils"].map(str::to_owned);
        Ok(self.find(&DottedName::of(&[&prefix[..], parts].concat())))
    }

    /// Files that stand for redirects are in the payload.
    fn routing(&mut self, _: &[String; 2]) -> Result<Option<Arc<Routing>>, Infallible> {
        Ok(None)
    }

    fn embedded(&mut self, package: &DottedName, name: &str) -> Result<EmbeddedFile, Infallible> {
        let file = self.0.files.get(&format!("{}/{name}", package.parts().join("/")));
        Ok(file.map_or(EmbeddedFile::NoFile, |bytes| EmbeddedFile::Found(Arc::clone(bytes))))
    }

    fn searched(&self, _: &DottedName) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_a_file_with_its_imports() {
        let file = |path: &str, source: &str| (path.to_owned(), source.as_bytes().into());
        let payload = Payload {
            module: DottedName::parse("ansible.modules.x"),
            has_loader: false,
            files: [
                file("ansible/module_utils/basic.py", "from ansible.module_utils.common.text import a\n"),
                file("ansible/module_utils/common/__init__.py", ""),
                file("ansible/module_utils/common/text.py", "import ansible.module_utils.absent\n"),
                file("ansible/module_utils/urls.py", ""),
            ]
            .into(),
        };
        assert!(part(&payload, "basic").is_err(), "an import that is not there, and not optional");
        let files = payload.files.clone().into_iter().chain([file("ansible/module_utils/absent.py", "")]);
        let whole = Payload { files: files.collect(), ..payload };
        let paths: Vec<String> = part(&whole, "basic").unwrap().into_iter().collect();
        assert_eq!(
            paths,
            ["absent.py", "basic.py", "common/__init__.py", "common/text.py"]
                .map(|path| format!("ansible/module_utils/{path}"))
        );
    }
}
