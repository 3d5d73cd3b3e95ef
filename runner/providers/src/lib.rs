//! Providers of libral: metadata, output, updates; pure.

#![forbid(unsafe_code)]
#![deny(missing_docs)]
