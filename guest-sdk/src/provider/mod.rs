//! Providers of libral: programs that list, find and update resources of one type.
//!
//! [`provider!`](crate::provider!) declares the attributes and makes the program. It gets one action in its arguments,
//! such as `name='/etc/motd' ral_action=find`, and prints resources or changes as lines of `key: value`. The same source
//! builds for `wasm32-wasip2` and for the host.

mod resource;
mod run;
mod value;
mod words;

pub use self::resource::{Change, Resource, Result, Update, UpdateAnswer};
pub use self::run::{Functions, start};
pub use self::value::AttributeValue;

/// Makes a provider: a struct for its resources, `main`, the metadata in the component, and a test that checks it.
///
/// ```no_run
/// # mod module {
/// use modbox_sdk::provider::{Result, Update, UpdateAnswer};
///
/// modbox_sdk::provider! {
///     type = "motd",
///     name = "rust",
///     /// A file with one line.
///     resource = Motd {
///         /// Path of the file.
///         name, access = "write";
///         /// Whether the file exists.
///         ensure: String = ["present", "absent"];
///         /// The line.
///         text: String;
///         /// Its length in bytes.
///         length: String, kind = "r";
///     },
///     list = list,
///     find = find,
///     update = update,
/// }
///
/// fn list() -> Result<Vec<Motd>> {
///     Ok(Vec::new())
/// }
///
/// fn find(name: &str) -> Result<Option<Motd>> {
///     let text = std::fs::read_to_string(name).ok();
///     let ensure = Some(if text.is_some() { "present" } else { "absent" }.to_owned());
///     let length = text.as_ref().map(|text| text.len().to_string());
///     Ok(Some(Motd { name: name.to_owned(), ensure, text, length }))
/// }
///
/// fn update(update: Update<Motd>) -> Result<UpdateAnswer> {
///     if !update.noop {
///         std::fs::write(&update.should.name, update.should.text.unwrap_or_default())?;
///     }
///     Ok(UpdateAnswer::Everything)
/// }
/// # }
/// # fn main() {}
/// ```
///
/// A field is text (`String`), a truth value (`bool`) or a list (`Vec<String>`), and becomes an `Option`: `None` is
/// unknown in `find`, and not to be set in `update`. `= ["…"]` lists the values of an enum: lower-case letters and digits.
/// `kind` is `"r"`, `"w"` or `"rw"`; `access`, for a path, is `"read"`, `"write"` or `"entry"`. `name = "…"` is the
/// program's name unless it is given. `noop_safe = true` after it promises that `update` changes nothing if `noop` is set.
#[macro_export]
macro_rules! provider {
    // The type of an attribute, as JSON. The options of an enum need no quotes.
    (@type $type:ty = [$($option:literal),+]) => {
        $crate::typed::Piece::Of(&[
            $crate::typed::Piece::Text("\"enum["),
            $crate::typed::Piece::List(&[$($crate::typed::Piece::Text($option)),+]),
            $crate::typed::Piece::Text("]\""),
        ])
    };
    (@type $type:ty) => {
        $crate::typed::Piece::Quoted(<$type as $crate::provider::AttributeValue>::TYPE)
    };
    (
        type = $kind:literal,
        $(name = $name:literal,)?
        $(noop_safe = $noop_safe:literal,)?
        $(#[doc = $about:literal])*
        resource = $resource:ident {
            $(#[doc = $name_doc:literal])*
            name $(, access = $name_access:literal)?;
            $(
                $(#[doc = $doc:literal])*
                $field:ident: $type:ty $(= [$($option:literal),+ $(,)?])? $(, kind = $rw:literal)? $(, access = $access:literal)?;
            )*
        },
        list = $list:path,
        find = $find:path,
        update = $update:path $(,)?
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $resource {
            $(#[doc = $name_doc])*
            pub name: ::std::string::String,
            $(
                $(#[doc = $doc])*
                pub $field: ::core::option::Option<$type>,
            )*
        }

        impl $crate::provider::Resource for $resource {
            fn named(name: ::std::string::String) -> Self {
                Self { name, $($field: None),* }
            }

            fn name(&self) -> &str {
                &self.name
            }

            fn set(&mut self, attribute: &str, text: &str) -> ::core::result::Result<(), ::std::string::String> {
                match attribute {
                    $(
                        stringify!($field) => {
                            let value = $crate::provider::AttributeValue::read(text, &[$($($option),+)?])?;
                            self.$field = Some(value);
                            Ok(())
                        }
                    )*
                    other => Err(format!("unknown attribute `{other}`")),
                }
            }

            fn attributes(&self) -> ::std::vec::Vec<(&'static str, ::std::string::String)> {
                let mut attributes = ::std::vec::Vec::new();
                $(
                    if let Some(value) = &self.$field {
                        attributes.push((stringify!($field), $crate::provider::AttributeValue::write(value)));
                    }
                )*
                attributes
            }
        }

        const MODBOX_PIECES: &[$crate::typed::Piece] = {
            use $crate::typed::Piece as __Piece;
            const PROGRAM: &str = match option_env!("CARGO_BIN_NAME") {
                Some(program) => program,
                None => env!("CARGO_PKG_NAME"),
            };
            const OWN_NAME: &str = $crate::typed::first(&[$($name,)? PROGRAM]);
            &[
                __Piece::Text("{\"name\": "),
                __Piece::Quoted(OWN_NAME),
                __Piece::Text(", \"version\": "),
                __Piece::Quoted(env!("CARGO_PKG_VERSION")),
                __Piece::Text(", \"provider\": {\"type\": "),
                __Piece::Quoted($kind),
                __Piece::Text(", \"name\": "),
                __Piece::Quoted(OWN_NAME),
                __Piece::Text(", \"invoke\": \"simple\", \"actions\": [\"list\", \"find\", \"update\"], \"suitable\": true"),
                $(__Piece::Text(if $noop_safe { ", \"noop_safe\": true" } else { "" }),)?
                __Piece::Text(", \"desc\": "),
                __Piece::Quoted(concat!($($about, "\n",)* "")),
                __Piece::Text(", \"attributes\": {\"name\": {\"desc\": "),
                __Piece::Quoted(concat!($($name_doc, " ",)* "")),
                $(__Piece::Text(", \"access\": "), __Piece::Quoted($name_access),)?
                __Piece::Text("}"),
                $(
                    __Piece::Text(", "),
                    __Piece::Quoted(stringify!($field)),
                    __Piece::Text(": {\"desc\": "),
                    __Piece::Quoted(concat!($($doc, " ",)* "")),
                    __Piece::Text(", \"type\": "),
                    $crate::provider!(@type $type $(= [$($option),+])?),
                    $(__Piece::Text(", \"kind\": "), __Piece::Quoted($rw),)?
                    $(__Piece::Text(", \"access\": "), __Piece::Quoted($access),)?
                    __Piece::Text("}"),
                )*
                __Piece::Text("}}}"),
            ]
        };

        const MODBOX_METADATA: &str = $crate::module!(@text $crate::typed::Extent::Everything);

        fn main() -> ::std::process::ExitCode {
            $crate::provider::start(MODBOX_METADATA, $crate::provider::Functions { list: $list, find: $find, update: $update })
        }

        $crate::module!(@section);
    };
}
