//! The settings of the compile worker, passed as arguments.

use std::ffi::OsString;

use modbox_vocabulary::WasmFormat;

/// The worker's settings, passed as arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) format: WasmFormat,
    /// The process that started the worker. The worker ends with it.
    pub(super) parent: u32,
    /// Limit on processor time, in microseconds.
    pub(super) cpu_us: u64,
    /// Limit on memory, in bytes.
    pub(super) memory: u64,
    /// Limit on machine code, in bytes.
    pub(super) max_code: u64,
    /// Number of threads to compile with.
    pub(super) threads: u64,
}

impl Bounds {
    pub(super) fn to_args(self) -> [String; 6] {
        let format = match self.format {
            WasmFormat::Component => "component",
            WasmFormat::Core => "core",
        };
        let numbers = [self.parent.into(), self.cpu_us, self.memory, self.max_code, self.threads];
        let [parent, cpu_us, memory, max_code, threads] = numbers.map(|number: u64| number.to_string());
        [format.to_owned(), parent, cpu_us, memory, max_code, threads]
    }

    pub(super) fn of_args(args: &[OsString]) -> Option<Self> {
        let [format, numbers @ ..] = args else { return None };
        let format = match format.to_str()? {
            "component" => WasmFormat::Component,
            "core" => WasmFormat::Core,
            _ => return None,
        };
        let numbers: Option<Vec<u64>> = numbers.iter().map(|word| word.to_str()?.parse().ok()).collect();
        let [parent, cpu_us, memory, max_code, threads] = *numbers?.as_slice() else { return None };
        Some(Self { format, parent: u32::try_from(parent).ok()?, cpu_us, memory, max_code, threads })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_survive_the_command_line() {
        let bounds = Bounds { format: WasmFormat::Core, parent: 1, cpu_us: 2, memory: 3, max_code: 4, threads: 5 };
        let args = bounds.to_args().map(OsString::from);
        assert_eq!(Bounds::of_args(&args), Some(bounds));
        assert_eq!(Bounds::of_args(&args[..5]), None);
        assert_eq!(Bounds::of_args(&[]), None);
    }
}
