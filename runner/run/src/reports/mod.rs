//! What is told of a run: its report, its errors, advice, the audit log, and the secrets that none of them shows.

pub(crate) mod advice;
pub mod audit;
pub(crate) mod error;
pub(crate) mod facts;
pub(crate) mod file_errors;
pub(crate) mod hidden;
pub(crate) mod live_secrets;
pub(crate) mod masked_report;
pub(crate) mod missing_grant;
pub(crate) mod observed;
pub(crate) mod own_tmp;
pub(crate) mod parts;
pub(crate) mod refusal;
pub(crate) mod report;
pub(crate) mod secrets;
pub(crate) mod shown_path;
pub mod spelling;
pub(crate) mod stopped;
pub mod suggestion;
pub(crate) mod unfinished;
pub(crate) mod unseen;
pub(crate) mod url_passwords;
