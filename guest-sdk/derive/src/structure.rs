//! Derives `Args` for a struct with named fields: its spec, and the code that fills it.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Fields, Result};

use crate::json::{Kind, quoted, quoted_list};
use crate::{docs, field, rules};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let fields = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => &fields.named,
            other => {
                return Err(Error::new_spanned(other, "`Args` needs a struct with named fields: options have names"));
            }
        },
        _ => return Err(Error::new_spanned(name, "`Args` needs a struct; derive `Choice` for an enum of choices")),
    };
    if !input.generics.params.is_empty() {
        return Err(Error::new_spanned(&input.generics, "`Args` needs a struct without parameters"));
    }
    let options = fields.iter().map(field::Option::read).collect::<Result<Vec<_>>>()?;
    check_names(&options)?;
    let knows = |name: &str| {
        options.iter().any(|option| option.name == name || option.aliases.iter().any(|alias| alias.value() == name))
    };
    let rules = rules::read(&input.attrs, &format!("struct `{name}`"), &knows)?;
    let description = quoted_list(docs::paragraphs(&input.attrs));
    let pieces =
        options.iter().enumerate().map(|(index, option)| pieces(option, index == 0)).collect::<Result<Vec<_>>>()?;
    let checks = options.iter().map(checks).collect::<Result<Vec<_>>>()?;
    let idents = options.iter().map(|option| &option.ident);
    let names = options.iter().map(|option| &option.name);
    Ok(quote! {
        const _: () = {
            impl ::modbox_sdk::typed::Args for #name {
                const OPTIONS: &'static [::modbox_sdk::typed::Piece] = &[#(#pieces)*];
                const RULES: &'static str = #rules;
                const DESCRIPTION: &'static str = #description;

                fn fill(
                    arguments: &mut ::modbox_sdk::Dict,
                ) -> ::core::result::Result<Self, ::modbox_sdk::json::ConvertError> {
                    ::core::result::Result::Ok(Self {
                        #(#idents: ::modbox_sdk::typed::take(arguments, #names)?,)*
                    })
                }
            }

            impl ::modbox_sdk::typed::OptionValue for #name {
                const TYPE: &'static str = "dict";
                const MORE: &'static [::modbox_sdk::typed::Piece] = &[
                    ::modbox_sdk::typed::Piece::Text(", \"options\": {"),
                    ::modbox_sdk::typed::Piece::Of(<#name as ::modbox_sdk::typed::Args>::OPTIONS),
                    ::modbox_sdk::typed::Piece::Text("}"),
                    ::modbox_sdk::typed::Piece::Text(<#name as ::modbox_sdk::typed::Args>::RULES),
                ];

                fn from_value(
                    value: ::modbox_sdk::Value,
                ) -> ::core::result::Result<Self, ::modbox_sdk::json::ConvertError> {
                    <#name as ::modbox_sdk::typed::Args>::fill(&mut ::modbox_sdk::typed::dict(value)?)
                }
            }

            #(#checks)*
        };
    })
}

/// Refuses names with two meanings.
fn check_names(options: &[field::Option]) -> Result<()> {
    let mut owners: Vec<(String, &str)> = Vec::new();
    for option in options {
        let names = std::iter::once((option.name.clone(), option.ident.span()));
        let aliases = option.aliases.iter().map(|alias| (alias.value(), alias.span()));
        for (name, span) in names.chain(aliases) {
            if name.is_empty() || name.starts_with("_ansible_") {
                return Err(Error::new(
                    span,
                    format!("field `{}`: the option name is reserved: `{name}`", option.ident),
                ));
            }
            if let Some((_, owner)) = owners.iter().find(|(other, _)| *other == name) {
                let text = format!("field `{}`: `{name}` is also a name of option `{owner}`", option.ident);
                return Err(Error::new(span, text));
            }
            owners.push((name, &option.name));
        }
    }
    Ok(())
}

/// Returns the pieces of an option's text. The field's type declares some of them.
fn pieces(option: &field::Option, first: bool) -> Result<TokenStream> {
    let of = &option.of;
    let comma = if first { "" } else { ", " };
    let start = format!("{comma}{}: {{\"type\": \"", quoted(&option.name));
    let type_name = match &option.type_name {
        Some(name) => quote!(#name),
        None => quote!(<#of as ::modbox_sdk::typed::OptionValue>::TYPE),
    };
    let more = match &option.elements {
        Some(elements) => {
            let text = format!("\", \"elements\": {}", quoted(&elements.value()));
            quote!(::modbox_sdk::typed::Piece::Text(#text),)
        }
        None => {
            quote!(::modbox_sdk::typed::Piece::Text("\""), ::modbox_sdk::typed::Piece::Of(<#of as ::modbox_sdk::typed::OptionValue>::MORE),)
        }
    };
    let required = match (&option.default, option.apply_defaults) {
        (None, false) => {
            quote!(::modbox_sdk::typed::Piece::Text(if <#of as ::modbox_sdk::typed::OptionValue>::REQUIRED { ", \"required\": true" } else { "" }),)
        }
        (None, true) => quote!(::modbox_sdk::typed::Piece::Text(", \"apply_defaults\": true"),),
        (Some(default), _) => {
            let default = default.piece(of).map_err(|error| of_field(option, error))?;
            quote!(::modbox_sdk::typed::Piece::Text(", \"default\": "), #default,)
        }
    };
    let mut rest = String::new();
    if let Some(access) = &option.access {
        rest.push_str(&format!(", \"access\": {}", quoted(&access.value())));
    }
    if !option.aliases.is_empty() {
        rest.push_str(&format!(", \"aliases\": {}", quoted_list(option.aliases.iter().map(syn::LitStr::value))));
    }
    rest.push_str(&option.others);
    let docs = &option.docs;
    Ok(quote! {
        ::modbox_sdk::typed::Piece::Text(#start),
        ::modbox_sdk::typed::Piece::Text(#type_name),
        #more
        #required
        ::modbox_sdk::typed::Piece::Text(#rest),
        ::modbox_sdk::typed::Piece::Doc(&[::modbox_sdk::typed::Piece::Text(#docs)]),
        ::modbox_sdk::typed::Piece::Text("}"),
    })
}

/// Returns an error that begins with the field.
fn of_field(option: &field::Option, error: Error) -> Error {
    Error::new(error.span(), format!("field `{}`: {error}", option.name))
}

/// Returns the checks that need types, so that only the compiler can make them.
fn checks(option: &field::Option) -> Result<TokenStream> {
    let of = &option.of;
    let name = &option.name;
    let type_name = match &option.type_name {
        Some(name) => quote!(#name),
        None => quote!(<#of as ::modbox_sdk::typed::OptionValue>::TYPE),
    };
    let mut checks = TokenStream::new();
    if !option.documented {
        checks.extend(undocumented(option));
    }
    if let Some(access) = &option.access {
        let elements = match &option.elements {
            Some(elements) => quote!(#elements),
            None => quote!(<#of as ::modbox_sdk::typed::OptionValue>::ELEMENTS),
        };
        let message = format!("field `{name}`: `access` needs a path: use `PathBuf`, or add `type = \"path\"`");
        checks.extend(quote_spanned! { access.span() =>
            const _: () = ::core::assert!(::modbox_sdk::typed::is_path(#type_name, #elements), #message);
        });
    }
    if let Some(default) = &option.default {
        let kinds: &[&str] = match default.kind(of).map_err(|error| of_field(option, error))? {
            Kind::Text => &["str", "int", "float", "path", "raw", "json", "jsonarg", "bytes", "bits", "list"],
            Kind::Number => &["int", "float", "bytes", "bits", "raw"],
            Kind::Bool => &["bool", "raw"],
            Kind::List => &["list", "raw"],
        };
        let message = format!("field `{name}`: the default has another type than the field");
        checks.extend(quote_spanned! { of.span() =>
            const _: () = ::core::assert!(::modbox_sdk::typed::is_one_of(#type_name, &[#(#kinds),*]), #message);
        });
        if let Some(text) = default.literal_text() {
            // `assert!` treats braces as placeholders.
            let shown = text.replace('{', "{{").replace('}', "}}");
            let message = format!("field `{name}`: the default `{shown}` is not one of the choices");
            checks.extend(quote_spanned! { of.span() =>
                const _: () = ::core::assert!(::modbox_sdk::typed::allows(<#of as ::modbox_sdk::typed::OptionValue>::CHOICES, #text), #message);
            });
        }
    }
    Ok(checks)
}

/// Returns code that the compiler warns of: stable macros have no warnings of their own, but the use of a deprecated
/// constant is one, with a text and a place.
fn undocumented(option: &field::Option) -> TokenStream {
    let note = format!("option `{}` has no description in the manual; add a doc comment to the field", option.name);
    quote_spanned! { option.ident.span() =>
        const _: () = {
            #[deprecated(note = #note)]
            #[allow(non_upper_case_globals, reason = "the compiler shows the name")]
            const undocumented: () = ();
            undocumented
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACCEPTED: &str = "field `a`: a default must be a text, a number, `true`, `false`, the name of a constant or of a choice \
                            such as `State::Present`, or a list of those in `[…]`";

    #[track_caller]
    fn check(source: &str, expect: &str) {
        let input: DeriveInput = syn::parse_str(source).unwrap();
        let got = expand(&input).map_or_else(|error| error.to_string(), |_| "ok".to_owned());
        assert_eq!(got, expect, "for {source}");
    }

    #[test]
    fn errors_name_the_field() {
        check("struct A { #[arg(default = \"x\", no_log, alias = \"b\")] a: String }", "ok");
        for (attribute, expect) in [
            ("acess = \"read\"", "field `a`: unknown key `acess` in `#[arg(…)]`"),
            ("access = \"all\"", "field `a`: unknown value `all`; expected one of `read`, `write`, `entry`"),
            ("no_log, no_log", "field `a`: `no_log` is given twice"),
            ("alias = \"b\"", "field `b`: `b` is also a name of option `a`"),
            ("name = \"_ansible_x\"", "field `a`: the option name is reserved: `_ansible_x`"),
            ("default = 'x'", ACCEPTED),
            ("default = \"a\".len()", ACCEPTED),
            ("default = State::default()", ACCEPTED),
            ("default = concat!(\"a\")", ACCEPTED),
            ("default = -PORT", ACCEPTED),
            ("default = [1, ['x']]", ACCEPTED),
            ("choices(a)", "field `a`: expected a text, a number, `true`, `false` or a list of those"),
            ("deprecated(since = \"1\")", "field `a`: unknown key `since` in `deprecated(…)`"),
        ] {
            check(&format!("struct A {{ #[arg({attribute})] a: String, b: bool }}"), expect);
        }
        for of in ["f64", "Value", "Vec<State>", "std::collections::BTreeMap<String, String>"] {
            let text = "field `a`: a default can be a name where the field is text, a path, a `bool`, an integer or an enum that \
                        derives `Choice`; write the value itself here";
            check(&format!("struct A {{ #[arg(default = NAME)] a: {of} }}"), text);
        }
        let text = "field `a`: the type must not be `Option`, since an option with a default is never absent";
        check("struct A { #[arg(default = 1)] a: Option<u8> }", text);
    }

    #[test]
    fn rules_name_options_that_there_are() {
        check("#[args(required_if(\"a\", true, [\"b\"]))] struct A { a: bool, #[arg(alias = \"b\")] c: bool }", "ok");
        let text = "struct `A`: unknown option `b` in `required_together`";
        check("#[args(required_together(\"a\", \"b\"))] struct A { a: bool }", text);
        check("#[args(required(\"a\"))] struct A { a: bool }", "struct `A`: unknown key `required` in `#[args(…)]`");
    }

    #[test]
    fn options_without_a_doc_comment_are_warned_of() {
        let warned = |source: &str| {
            let input: DeriveInput = syn::parse_str(source).unwrap();
            expand(&input).unwrap().to_string().matches("has no description").count()
        };
        assert_eq!(warned("struct A { /// Text.\n a: u8, b: u8, #[arg(no_log)] c: u8 }"), 2);
        assert_eq!(warned("struct A { #[doc = \"Text.\"] a: u8 }"), 0);
    }

    #[test]
    fn only_plain_structs_have_options() {
        check("struct A(u8);", "`Args` needs a struct with named fields: options have names");
        check("struct A<T> { a: T }", "`Args` needs a struct without parameters");
        check("enum A { B }", "`Args` needs a struct; derive `Choice` for an enum of choices");
    }
}
