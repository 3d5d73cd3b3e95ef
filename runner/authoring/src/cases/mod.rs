//! Tests of a module as its callers use it: each file in a project's `cases` folder has arguments, files before and
//! grants, and the expected result and files after.
//!
//! Each case is a run of modbox in an empty folder, so it tests the component, its sandbox and its grants, in any
//! language. Policy files of the user do not apply. HTTP requests are answered by the case, if it says how.

mod case;
mod compare;
mod perform;
mod requests;

pub use self::perform::{CaseError, CaseOutcome, run_cases};
