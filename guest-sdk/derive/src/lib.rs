//! The derive macros of `modbox-sdk`: a struct declares a module's options, and is filled with its arguments.
//!
//! `Args` makes an argument spec of a struct, and `Choice` a list of choices of an enum. The macros write text that the
//! compiler joins, so a module contains its spec as a constant. A macro sees only names of types, so the types
//! themselves define their options, in `OptionValue`.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod attributes;
mod choice;
mod default;
mod docs;
mod field;
mod json;
mod placeholder;
mod rules;
mod structure;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::placeholder::Derived;

/// Derives an argument spec for a struct with named fields. See `modbox_sdk::Args`.
#[proc_macro_derive(Args, attributes(arg, args))]
pub fn args(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    structure::expand(&input).unwrap_or_else(|error| placeholder::with_error(&input, &error, Derived::Args)).into()
}

/// Derives choices for an enum whose variants have no fields. See `modbox_sdk::Choice`.
#[proc_macro_derive(Choice, attributes(choice))]
pub fn choice(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    choice::expand(&input).unwrap_or_else(|error| placeholder::with_error(&input, &error, Derived::Choice)).into()
}
