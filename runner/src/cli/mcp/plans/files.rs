//! The names of the files of a plan, and how a record is written.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::cli::mcp::plans::record::PlanRecord;

/// End of the name of a plan's record.
pub(super) const RECORD: &str = "json";

/// End of the name of a record that is being written.
pub(super) const UNFINISHED: &str = "unfinished";

/// End of the name of the record of a plan that is being applied.
pub(super) const CLAIMED: &str = "claimed";

/// End of the name of the record of a plan to which a person has said yes by hand, and whose call is not answered yet.
pub(super) const GIVEN: &str = "given";

/// End of the name of a saved preview.
pub(crate) const CHANGES: &str = "changes";

/// Writes a record. It is there as a whole: another process that sweeps takes a part of one for damage.
pub(super) fn write(record: &PlanRecord, unfinished: &Path, path: &Path) -> io::Result<()> {
    let mut written = File::options().write(true).create_new(true).mode(0o600).open(unfinished)?;
    written.write_all(&serde_json::to_vec(record)?)?;
    fs::rename(unfinished, path)
}
