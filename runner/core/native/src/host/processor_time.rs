//! The processor time of a module that runs, for callers that bound a part of a run, such as one call of a plugin.
//!
//! The limit of the whole run is the launcher's.

use std::io;
use std::time::Duration;

use crate::host::started::RunningModule;

impl RunningModule {
    /// Returns the processor time that the processes of the module have used until now, all threads together. The kernel counts
    /// it in hundredths of a second.
    ///
    /// # Errors
    ///
    /// `/proc` cannot be listed.
    pub fn processor_time(&self) -> io::Result<Duration> {
        self.launch.used_cpu_us().map(Duration::from_micros)
    }
}
