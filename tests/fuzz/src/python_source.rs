//! Sources of Python modules: imports, needs and the argument spec, read without running them.

use modbox_kinds::ansiballz::{DottedName, is_inert, needs, scan};
use modbox_kinds::module_call;

/// A source that one reader can parse, all can.
pub fn run(data: &[u8]) -> bool {
    let name = DottedName::parse("ansible_collections.acme.tools.plugins.modules.sample");
    let scanned = scan(data, &name, false);
    assert_eq!(scanned.is_ok(), needs(data).is_ok());
    assert!(scanned.is_ok() || module_call::read(data).is_err());
    let _ = is_inert(data);
    let _ = module_call::file_options(data);
    scanned.is_ok()
}
