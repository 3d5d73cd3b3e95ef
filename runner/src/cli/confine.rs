//! What this process has running beside a module: the thread that waits for signals, and the one that turns the
//! spinner. Both have to be out of the way for a moment when the process is confined.

use std::io;

use indicatif::ProgressBar;

use crate::app::ProcessConfinement;
use crate::cli::signals::SignalWatch;

/// The threads of this process.
pub(crate) struct ThisProcess {
    signals: SignalWatch,
    spinner: Option<ProgressBar>,
}

impl ThisProcess {
    /// Names them.
    pub(crate) fn new(signals: SignalWatch, spinner: Option<ProgressBar>) -> Self {
        Self { signals, spinner }
    }
}

impl ProcessConfinement for ThisProcess {
    fn stop_threads(&self) -> io::Result<()> {
        if let Some(spinner) = &self.spinner {
            // What it waited for is compiled by now.
            spinner.disable_steady_tick();
            spinner.finish_and_clear();
        }
        self.signals.pause()
    }

    fn start_threads(&self) -> io::Result<()> {
        self.signals.resume()
    }

    fn largest_file(&self) -> u64 {
        let sizes = [rustix::fs::fstat(io::stdout()), rustix::fs::fstat(io::stderr())];
        let size = |stat: rustix::fs::Stat| u64::try_from(stat.st_size).unwrap_or_default();
        sizes.into_iter().flatten().map(size).max().unwrap_or_default()
    }
}
