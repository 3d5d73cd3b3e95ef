//! Reads the rules between options, in `#[args(…)]` on the struct, and checks the names in them.

use syn::meta::ParseNestedMeta;
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Error, LitStr, Result, Token, bracketed, parenthesized};

use crate::attributes::{each_key, texts};
use crate::json::{Json, quoted, quoted_list};

/// Returns the rules of a struct as keys with JSON: `, "required_if": […]`.
pub(crate) fn read(attributes: &[Attribute], whose: &str, knows: &dyn Fn(&str) -> bool) -> Result<String> {
    let mut rules: Vec<(&'static str, Vec<String>)> = Vec::new();
    each_key(attributes, "args", whose, |key, meta| {
        let (rule, json, names) = match key {
            "mutually_exclusive" => group("mutually_exclusive", meta)?,
            "required_together" => group("required_together", meta)?,
            "required_one_of" => group("required_one_of", meta)?,
            "required_if" => required_if(meta, false)?,
            "required_if_any" => required_if(meta, true)?,
            "required_by" => required_by(meta)?,
            _ => return Ok(false),
        };
        if let Some(unknown) = names.iter().find(|name| !knows(&name.value())) {
            return Err(Error::new(unknown.span(), format!("unknown option `{}` in `{key}`", unknown.value())));
        }
        match rules.iter_mut().find(|(other, _)| *other == rule) {
            Some((_, all)) => all.push(json),
            None => rules.push((rule, vec![json])),
        }
        Ok(true)
    })?;
    let written = rules.iter().map(|(rule, all)| match *rule {
        "required_by" => format!(", \"required_by\": {{{}}}", all.join(", ")),
        rule => format!(", {}: [{}]", quoted(rule), all.join(", ")),
    });
    Ok(written.collect())
}

type Rule = (&'static str, String, Vec<LitStr>);

fn group(rule: &'static str, meta: &ParseNestedMeta<'_>) -> Result<Rule> {
    let names = texts(meta)?;
    Ok((rule, quoted_list(names.iter().map(LitStr::value)), names))
}

/// Reads `("state", "present", ["path"])`.
fn required_if(meta: &ParseNestedMeta<'_>, any: bool) -> Result<Rule> {
    let inner;
    parenthesized!(inner in meta.input);
    let key: LitStr = inner.parse()?;
    inner.parse::<Token![,]>()?;
    let value = Json::parse(&inner)?.text;
    inner.parse::<Token![,]>()?;
    let requirements = list(&inner)?;
    inner.parse::<Option<Token![,]>>()?;
    let names = quoted_list(requirements.iter().map(LitStr::value));
    let json = format!("[{}, {value}, {names}, {any}]", quoted(&key.value()));
    Ok(("required_if", json, [vec![key], requirements].concat()))
}

/// Reads `("key", ["path"])`.
fn required_by(meta: &ParseNestedMeta<'_>) -> Result<Rule> {
    let inner;
    parenthesized!(inner in meta.input);
    let key: LitStr = inner.parse()?;
    inner.parse::<Token![,]>()?;
    let requirements = list(&inner)?;
    inner.parse::<Option<Token![,]>>()?;
    let json = format!("{}: {}", quoted(&key.value()), quoted_list(requirements.iter().map(LitStr::value)));
    Ok(("required_by", json, [vec![key], requirements].concat()))
}

fn list(input: ParseStream<'_>) -> Result<Vec<LitStr>> {
    let inner;
    bracketed!(inner in input);
    let texts = inner.parse_terminated(<LitStr as Parse>::parse, Token![,])?;
    Ok(texts.into_iter().collect())
}
