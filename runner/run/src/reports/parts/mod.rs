//! The parts of a report that only some runs have: those on layers, those of providers, those of Python modules.
//!
//! What fills them stands above: `layered`, `provider`, `python_place`.

pub(crate) mod effect_report;
pub(crate) mod provider_run;
pub(crate) mod python_run;
