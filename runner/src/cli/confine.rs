//! Pauses this process's other threads while the process is confined: the thread that waits for signals, and the one
//! that draws the spinner.

use std::io;

use indicatif::ProgressBar;

use crate::app::ProcessConfinement;
use crate::cli::signals::SignalWatch;

/// Handles to the other threads of this process.
pub(crate) struct ThisProcess {
    signals: SignalWatch,
    spinner: Option<ProgressBar>,
}

impl ThisProcess {
    /// Collects the handles.
    pub(crate) fn new(signals: SignalWatch, spinner: Option<ProgressBar>) -> Self {
        Self { signals, spinner }
    }
}

impl ProcessConfinement for ThisProcess {
    fn stop_threads(&self) -> io::Result<()> {
        if let Some(spinner) = &self.spinner {
            // The module is compiled by now, so the spinner is not needed any more.
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
