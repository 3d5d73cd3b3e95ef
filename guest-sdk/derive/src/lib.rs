//! The derive macros of `modbox-sdk`: a struct says which options a module takes, and is filled with them.
//!
//! `Args` makes an argument spec of a struct, and `Choice` a list of choices of an enum. What they write is text, put
//! together by the compiler, so that a module carries its spec without computing it. What a field's type means for its
//! option is not decided here but by the type, which implements `OptionValue`: a macro sees names only.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod attributes;
mod choice;
mod docs;
mod field;
mod json;
mod rules;
mod structure;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes an argument spec of a struct with named fields. See `modbox_sdk::Args`.
#[proc_macro_derive(Args, attributes(arg, args))]
pub fn args(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    structure::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Makes choices of an enum whose variants hold nothing. See `modbox_sdk::Choice`.
#[proc_macro_derive(Choice, attributes(choice))]
pub fn choice(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    choice::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
