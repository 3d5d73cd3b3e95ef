//! One run and many: batch, jobs, signals, audit, secrets, advice. What of it is compared with the real ansible-core.

pub(crate) mod oracle_jobs;
