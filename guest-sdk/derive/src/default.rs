//! Reads the default of an option: literals, and the names of constants and of choices.
//!
//! A macro sees names and no values. The compiler therefore makes the JSON text of a named default, by the type of the field.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::parse::{Parse as _, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Error, ExprPath, GenericArgument, Ident, PathArguments, Result, Token, Type, TypePath, bracketed};

use crate::json::{Json, Kind};

/// What may stand after `default =`.
const ACCEPTED: &str = "a text, a number, `true`, `false`, the name of a constant or of a choice such as `State::Present`, or a \
                        list of those in `[…]`";

pub(crate) enum Default {
    Literal(Json),
    Named(ExprPath),
    List(Vec<Default>),
}

/// What a field's type says about a named default.
enum Form {
    Text,
    Bool,
    Integer,
    Choice,
}

impl Default {
    /// Reads a default, up to the comma after it.
    pub(crate) fn parse(input: ParseStream<'_>) -> Result<Self> {
        let refused = |input: ParseStream<'_>| input.error(format!("a default must be {ACCEPTED}"));
        let default = if input.peek(syn::token::Bracket) {
            let inner;
            bracketed!(inner in input);
            Self::List(inner.parse_terminated(Self::parse, Token![,])?.into_iter().collect())
        } else if input.peek(syn::Lit) || input.peek(Token![-]) {
            let ahead = input.fork();
            Json::parse(&ahead).map_err(|_| refused(input))?;
            Self::Literal(Json::parse(input)?)
        } else if input.peek(Ident::peek_any) || input.peek(Token![::]) || input.peek(Token![<]) {
            Self::Named(ExprPath::parse(input).map_err(|_| refused(input))?)
        } else {
            return Err(refused(input));
        };
        if input.is_empty() || input.peek(Token![,]) { Ok(default) } else { Err(refused(input)) }
    }

    /// Returns the kind for the check of types, or `None` if only the compiler knows it.
    pub(crate) fn kind(&self, of: &Type) -> Result<Kind> {
        Ok(match self {
            Self::Literal(json) => json.kind,
            Self::List(_) => Kind::List,
            Self::Named(_) => match form(of)? {
                Form::Text | Form::Choice => Kind::Text,
                Form::Bool => Kind::Bool,
                Form::Integer => Kind::Number,
            },
        })
    }

    /// Returns the text, if the default is a literal text.
    pub(crate) fn literal_text(&self) -> Option<&str> {
        match self {
            Self::Literal(json) => json.string.as_deref(),
            _ => None,
        }
    }

    /// Returns the piece of the spec with the default, for a field of this type.
    pub(crate) fn piece(&self, of: &Type) -> Result<TokenStream> {
        match self {
            Self::Literal(json) => {
                let text = &json.text;
                Ok(quote!(::modbox_sdk::typed::Piece::Text(#text)))
            }
            Self::List(items) => {
                let of = item_type(of).unwrap_or(of);
                let items = items.iter().map(|item| item.piece(of)).collect::<Result<Vec<_>>>()?;
                Ok(quote! {
                    ::modbox_sdk::typed::Piece::Of(&[
                        ::modbox_sdk::typed::Piece::Text("["),
                        ::modbox_sdk::typed::Piece::List(&[#(#items),*]),
                        ::modbox_sdk::typed::Piece::Text("]"),
                    ])
                })
            }
            Self::Named(path) => named(path, of),
        }
    }
}

fn named(path: &ExprPath, of: &Type) -> Result<TokenStream> {
    let span = path.span();
    let form = form(of).map_err(|error| Error::new(span, error))?;
    Ok(match form {
        Form::Text => quote_spanned!(span => ::modbox_sdk::typed::Piece::Quoted(#path)),
        Form::Bool => quote_spanned! { span =>
            ::modbox_sdk::typed::Piece::Text(if #path { "true" } else { "false" })
        },
        Form::Integer => quote_spanned! { span =>
            ::modbox_sdk::typed::Piece::Number({
                let number: #of = #path;
                number as i128
            })
        },
        Form::Choice => quote_spanned! { span =>
            ::modbox_sdk::typed::Piece::Quoted(::modbox_sdk::typed::choice::<#of>(<#of>::as_str(&#path)))
        },
    })
}

/// Returns how the compiler makes text of a named default.
fn form(of: &Type) -> Result<Form> {
    let Some(name) = last_name(of) else { return Err(unnameable(of)) };
    Ok(match name.to_string().as_str() {
        "String" | "PathBuf" => Form::Text,
        "bool" => Form::Bool,
        "i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize" => Form::Integer,
        "f64" | "Value" | "Dict" | "BTreeMap" | "Vec" | "Option" => return Err(unnameable(of)),
        _ => Form::Choice,
    })
}

fn unnameable(of: &Type) -> Error {
    let text = "a default can be a name where the field is text, a path, a `bool`, an integer or an enum that derives `Choice`; \
                write the value itself here";
    Error::new_spanned(of, text)
}

fn last_name(of: &Type) -> Option<&Ident> {
    let Type::Path(TypePath { path, .. }) = of else { return None };
    path.segments.last().map(|segment| &segment.ident)
}

/// Returns the type of a list's items.
fn item_type(of: &Type) -> Option<&Type> {
    let Type::Path(TypePath { path, .. }) = of else { return None };
    match &path.segments.last().filter(|segment| segment.ident == "Vec")?.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(GenericArgument::Type(of)) => Some(of),
            _ => None,
        },
        _ => None,
    }
}
