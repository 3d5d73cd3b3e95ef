//! One run and many: batch, jobs, signals, audit, secrets, advice. What of it needs other compilers or a browser.

pub(crate) mod audit_page;
