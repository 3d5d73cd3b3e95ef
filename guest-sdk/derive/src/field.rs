//! Reads one field: its name, its doc comment, and `#[arg(…)]`.

use syn::meta::ParseNestedMeta;
use syn::{Error, Field, Ident, LitStr, Path, PathArguments, Result, Token, Type, parenthesized};

use crate::attributes::{each_key, text, texts, value};
use crate::default::Default;
use crate::docs;
use crate::json::{Json, quoted, quoted_list};

/// What a macro knows of a field.
pub(crate) struct Option {
    pub(crate) ident: Ident,
    /// The option's name.
    pub(crate) name: String,
    /// The field's type.
    pub(crate) of: Type,
    pub(crate) type_name: std::option::Option<LitStr>,
    pub(crate) elements: std::option::Option<LitStr>,
    pub(crate) default: std::option::Option<Default>,
    pub(crate) aliases: Vec<LitStr>,
    pub(crate) access: std::option::Option<LitStr>,
    pub(crate) apply_defaults: bool,
    /// Keys and values as JSON: `, "no_log": true`.
    pub(crate) others: String,
    /// Whether the field has a doc comment.
    pub(crate) documented: bool,
    /// Keys and values that only document the option: `, "version_added": "1.2"`.
    pub(crate) docs: String,
}

const TYPES: [&str; 10] = ["str", "path", "raw", "json", "jsonarg", "bytes", "bits", "int", "float", "dict"];

impl Option {
    pub(crate) fn read(field: &Field) -> Result<Self> {
        let ident = field.ident.clone().ok_or_else(|| Error::new_spanned(field, "a field without a name"))?;
        let name = ident.to_string();
        let name = name.strip_prefix("r#").unwrap_or(&name).to_owned();
        let whose = format!("field `{name}`");
        let mut option = Self {
            ident,
            name,
            of: field.ty.clone(),
            type_name: None,
            elements: None,
            default: None,
            aliases: Vec::new(),
            access: None,
            apply_defaults: false,
            others: String::new(),
            documented: false,
            docs: String::new(),
        };
        let mut deprecated = Vec::new();
        each_key(&field.attrs, "arg", &whose, |key, meta| option.key(key, meta, &mut deprecated))?;
        if !deprecated.is_empty() {
            option.push("deprecated_aliases", &format!("[{}]", deprecated.join(", ")));
        }
        let paragraphs = docs::paragraphs(&field.attrs);
        option.documented = !paragraphs.is_empty();
        if !paragraphs.is_empty() {
            option.document("description", &quoted_list(paragraphs));
        }
        if option.default.is_some() && is_option(&field.ty) {
            return Err(Error::new_spanned(
                &field.ty,
                format!("{whose}: the type must not be `Option`, since an option with a default is never absent"),
            ));
        }
        Ok(option)
    }

    fn key(&mut self, key: &str, meta: &ParseNestedMeta<'_>, deprecated: &mut Vec<String>) -> Result<bool> {
        match key {
            "name" => self.name = text(meta)?,
            "type" => self.type_name = Some(known_type(value(meta)?)?),
            "elements" => self.elements = Some(known_type(value(meta)?)?),
            "default" => self.default = Some(Default::parse(meta.value()?)?),
            "alias" => self.aliases.push(value(meta)?),
            "aliases" => self.aliases.extend(texts(meta)?),
            "access" => self.access = Some(one_of(value(meta)?, &["read", "write", "entry"])?),
            "no_log" => {
                let truth = if meta.input.peek(Token![=]) { value::<syn::LitBool>(meta)?.value } else { true };
                self.push("no_log", &truth.to_string());
            }
            "apply_defaults" => self.apply_defaults = true,
            "choices" => {
                let inner;
                parenthesized!(inner in meta.input);
                let choices = inner.parse_terminated(Json::parse, Token![,])?;
                let choices: Vec<String> = choices.into_iter().map(|choice| choice.text).collect();
                self.push("choices", &format!("[{}]", choices.join(", ")));
            }
            "env" => {
                let names = if meta.input.peek(Token![=]) { vec![value(meta)?] } else { texts(meta)? };
                let names = quoted_list(names.iter().map(LitStr::value));
                self.push("fallback", &format!("[\"env_fallback\", {names}]"));
            }
            "version_added" => {
                let version = text(meta)?;
                self.document("version_added", &quoted(&version));
            }
            "deprecated" => {
                for (key, text) in removal(meta)? {
                    let key = match key.as_str() {
                        "version" => "removed_in_version",
                        "date" => "removed_at_date",
                        "collection" => "removed_from_collection",
                        other => return Err(meta.error(format!("unknown key `{other}` in `deprecated(…)`"))),
                    };
                    self.push(key, &quoted(&text));
                }
            }
            "deprecated_alias" => deprecated.push(deprecated_alias(meta)?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn push(&mut self, key: &str, json: &str) {
        self.others.push_str(&entry(key, json));
    }

    fn document(&mut self, key: &str, json: &str) {
        self.docs.push_str(&entry(key, json));
    }
}

fn entry(key: &str, json: &str) -> String {
    format!(", {}: {json}", quoted(key))
}

/// Reads `(version = "2.0", collection = "acme.tools")`.
fn removal(meta: &ParseNestedMeta<'_>) -> Result<Vec<(String, String)>> {
    let mut entries = Vec::new();
    meta.parse_nested_meta(|inner| {
        let key = inner.path.get_ident().map(ToString::to_string).unwrap_or_default();
        entries.push((key, text(&inner)?));
        Ok(())
    })?;
    Ok(entries)
}

fn deprecated_alias(meta: &ParseNestedMeta<'_>) -> Result<String> {
    let mut entries = Vec::new();
    for (key, text) in removal(meta)? {
        let key = match key.as_str() {
            "name" | "version" | "date" => key.as_str(),
            "collection" => "collection_name",
            other => return Err(meta.error(format!("unknown key `{other}` in `deprecated_alias(…)`"))),
        };
        entries.push(format!("{}: {}", quoted(key), quoted(&text)));
    }
    Ok(format!("{{{}}}", entries.join(", ")))
}

fn known_type(name: LitStr) -> Result<LitStr> {
    one_of(name, &TYPES)
}

fn one_of(given: LitStr, known: &[&str]) -> Result<LitStr> {
    if known.contains(&given.value().as_str()) {
        return Ok(given);
    }
    let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    Err(Error::new(given.span(), format!("unknown value `{}`; expected one of {}", given.value(), known.join(", "))))
}

fn is_option(of: &Type) -> bool {
    let last = |path: &Path| path.segments.last().cloned();
    let Type::Path(path) = of else { return false };
    last(&path.path).is_some_and(|segment| {
        segment.ident == "Option" && matches!(segment.arguments, PathArguments::AngleBracketed(_))
    })
}
