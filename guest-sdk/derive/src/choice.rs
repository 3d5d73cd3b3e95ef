//! Derives `Choice` for an enum whose variants have no fields: the choices of an option.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Result, Variant};

use crate::attributes::{each_key, text};
use crate::json::quoted_list;

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(name, "`Choice` needs an enum; derive `Args` for a struct of options"));
    };
    if !input.generics.params.is_empty() || data.variants.is_empty() {
        return Err(Error::new_spanned(name, "`Choice` needs an enum with variants and without parameters"));
    }
    let choices = data.variants.iter().map(choice).collect::<Result<Vec<_>>>()?;
    let mut seen = Vec::new();
    for (variant, choice) in data.variants.iter().zip(&choices) {
        if seen.contains(&choice) {
            return Err(Error::new_spanned(
                variant,
                format!("variant `{}`: another variant is also named `{choice}`", variant.ident),
            ));
        }
        seen.push(choice);
    }
    let more = format!(", \"choices\": {}", quoted_list(&choices));
    let variants = data.variants.iter().map(|variant| &variant.ident);
    let named = data.variants.iter().map(|variant| &variant.ident);
    Ok(quote! {
        const _: () = {
            impl ::modbox_sdk::typed::OptionValue for #name {
                const TYPE: &'static str = "str";
                const MORE: &'static [::modbox_sdk::typed::Piece] = &[::modbox_sdk::typed::Piece::Text(#more)];
                const CHOICES: &'static [&'static str] = &[#(#choices),*];

                fn from_value(
                    value: ::modbox_sdk::Value,
                ) -> ::core::result::Result<Self, ::modbox_sdk::json::ConvertError> {
                    match value.as_str() {
                        #(::core::option::Option::Some(#choices) => ::core::result::Result::Ok(Self::#variants),)*
                        _ => ::core::result::Result::Err(::modbox_sdk::typed::no_choice(&value, <Self as ::modbox_sdk::typed::OptionValue>::CHOICES)),
                    }
                }
            }

            impl ::modbox_sdk::typed::Choice for #name {}

            impl #name {
                /// Returns the choice as written in arguments.
                #[allow(dead_code, reason = "not every module says which choice it was given")]
                #[must_use]
                pub const fn as_str(&self) -> &'static str {
                    match self {
                        #(Self::#named => #choices,)*
                    }
                }
            }
        };
    })
}

/// Returns the choice of a variant: `PresentOrNot` is `present_or_not`, unless an attribute sets another text.
fn choice(variant: &Variant) -> Result<String> {
    let whose = format!("variant `{}`", variant.ident);
    if !matches!(variant.fields, Fields::Unit) {
        return Err(Error::new_spanned(variant, format!("{whose}: a choice must not have fields")));
    }
    let mut name = snake_case(&variant.ident.to_string());
    each_key(&variant.attrs, "choice", &whose, |key, meta| {
        if key == "name" {
            name = text(meta)?;
        }
        Ok(key == "name")
    })?;
    Ok(name)
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for c in name.trim_start_matches("r#").chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_variant() {
        for (source, expect) in [
            ("enum A { B(u8) }", "variant `B`: a choice must not have fields"),
            ("enum A { B, #[choice(name = \"b\")] C }", "variant `C`: another variant is also named `b`"),
            ("enum A { #[choice(named = \"b\")] C }", "variant `C`: unknown key `named` in `#[choice(…)]`"),
            ("enum A {}", "`Choice` needs an enum with variants and without parameters"),
            ("struct A { b: u8 }", "`Choice` needs an enum; derive `Args` for a struct of options"),
        ] {
            let input: DeriveInput = syn::parse_str(source).unwrap();
            assert_eq!(expand(&input).unwrap_err().to_string(), expect, "for {source}");
        }
    }

    #[test]
    fn variants_are_written_in_small_letters() {
        assert_eq!(["Present", "AsItIs", "r#Type"].map(snake_case), ["present", "as_it_is", "type"]);
    }
}
