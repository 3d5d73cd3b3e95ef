//! Implementations for a type with a mistake, so that the compiler reports the mistake and not also that the type lacks
//! the traits. They never run, since the crate does not compile.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, Error};

/// Macro that found the mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Derived {
    Args,
    Choice,
}

/// Returns the error, and the implementations that the macro would have made.
pub(crate) fn with_error(input: &DeriveInput, error: &Error, derived: Derived) -> TokenStream {
    let error = error.to_compile_error();
    let name = &input.ident;
    let (parameters, arguments, conditions) = input.generics.split_for_impl();
    let args = (derived == Derived::Args).then(|| {
        quote! {
            impl #parameters ::modbox_sdk::typed::Args for #name #arguments #conditions {
                const OPTIONS: &'static [::modbox_sdk::typed::Piece] = &[];
                const RULES: &'static str = "";
                const DESCRIPTION: &'static str = "[]";

                fn fill(
                    _: &mut ::modbox_sdk::Dict,
                ) -> ::core::result::Result<Self, ::modbox_sdk::json::ConvertError> {
                    loop {}
                }
            }
        }
    });
    let as_str = (derived == Derived::Choice).then(|| {
        quote! {
            impl #parameters #name #arguments #conditions {
                #[allow(dead_code, reason = "as the derived one")]
                pub const fn as_str(&self) -> &'static str {
                    ""
                }
            }

            impl #parameters ::modbox_sdk::typed::Choice for #name #arguments #conditions {}
        }
    });
    quote! {
        #error
        const _: () = {
            #args
            #as_str
            impl #parameters ::modbox_sdk::typed::OptionValue for #name #arguments #conditions {
                const TYPE: &'static str = "raw";

                fn from_value(
                    _: ::modbox_sdk::Value,
                ) -> ::core::result::Result<Self, ::modbox_sdk::json::ConvertError> {
                    loop {}
                }
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traits_are_there_beside_the_error() {
        let input: DeriveInput = syn::parse_str("struct A<T: Copy> { a: T }").unwrap();
        let error = Error::new_spanned(&input.ident, "the mistake");
        for (derived, expect) in [(Derived::Args, "typed :: Args for A < T >"), (Derived::Choice, "fn as_str")] {
            let text = with_error(&input, &error, derived).to_string();
            assert!(text.contains("the mistake") && text.contains("OptionValue for A < T >"), "{text}");
            assert!(text.contains(expect), "{text}");
            syn::parse_str::<syn::File>(&text).unwrap();
        }
    }
}
