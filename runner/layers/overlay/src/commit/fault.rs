//! The point before each call that changes the file system, so that a test can end the process or fail the call there.
//!
//! The program passes [`NoFault`]. This file does not make calls.

use rustix::io::Errno;

/// Kind of a call that a fault can precede.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// Makes a file, a directory or a symbolic link.
    Make,
    /// Writes bytes.
    Write,
    /// Gives a file a second name.
    Link,
    /// Changes an owner, a mode, a time or an extended attribute.
    Attribute,
    /// Renames to a free name.
    Rename,
    /// Exchanges two names.
    Exchange,
    /// Replaces one name by another.
    Replace,
    /// Removes a name.
    Remove,
    /// Writes to the disk.
    Sync,
}

/// Decision about each call before it is made.
pub trait Fault {
    /// Decides whether a call is made.
    ///
    /// # Errors
    ///
    /// Fails if the call must fail with this error instead.
    fn before(&self, call: Call) -> Result<(), Errno>;
}

/// No fault: all calls are made.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFault;

impl Fault for NoFault {
    fn before(&self, _: Call) -> Result<(), Errno> {
        Ok(())
    }
}
