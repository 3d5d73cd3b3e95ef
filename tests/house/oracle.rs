//! The house rules that a program can check, README and the book. What of it is compared with the real ansible-core.

pub(crate) mod oracle_documents;
