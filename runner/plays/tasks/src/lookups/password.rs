//! `password`: a random password, which is kept in a file.

use modbox_jinja::filters::Twister;
use modbox_jinja::passwords::{self, Scheme, Settings};
use modbox_template::{LookupError, Value};
use modbox_yaml::key_values;

use super::call::Call;
use super::host::SharedHost;
use super::options::{Options, failed};
use super::password_file::{self, Stored};

/// The options of the lookup.
const OPTIONS: [&str; 5] = ["length", "encrypt", "chars", "ident", "seed"];

/// How long a password may be.
const MAX_LENGTH: i64 = 100_000;

/// Sets of characters, by their names in Python's module `string`.
const SETS: [(&str, &str); 9] = [
    ("ascii_letters", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ("ascii_lowercase", "abcdefghijklmnopqrstuvwxyz"),
    ("ascii_uppercase", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ("digits", "0123456789"),
    ("hexdigits", "0123456789abcdefABCDEF"),
    ("octdigits", "01234567"),
    ("punctuation", "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
    ("whitespace", " \t\n\r\x0b\x0c"),
    (
        "printable",
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ \t\n\r\x0b\x0c",
    ),
];

pub(super) fn run(call: &Call<'_>) -> Result<Vec<Value>, LookupError> {
    let mut found = Vec::new();
    for term in call.texts()? {
        let (path, options) = parameters(term, &call.options)?;
        found.push(Value::from(password(call, &path, &options)?));
    }
    Ok(found)
}

/// Returns the path in a term, and the options that hold for it.
fn parameters(term: &str, given: &Options) -> Result<(String, Options), LookupError> {
    let Some((first, rest)) = term.split_once(' ') else { return Ok((term.to_owned(), given.clone())) };
    let mut path = first.to_owned();
    let mut named = Vec::new();
    for (name, value) in key_values(rest, false).map_err(|error| failed(error.to_string()))? {
        if name == "_raw_params" {
            path = format!("{path} {value}");
        } else if OPTIONS.contains(&name.as_str()) {
            named.push((name, value));
        } else {
            return Err(failed(format!("Unrecognized parameter(s) given to password lookup: {name}")));
        }
    }
    if !term.starts_with(&path) {
        return Err(failed("Unrecognized value after key=value parameters given to password lookup"));
    }
    if named.is_empty() {
        return Ok((path, given.clone()));
    }
    // As in Ansible, options in the term replace all named ones.
    let mut options = Options::default();
    for (name, value) in named {
        let value = if name == "chars" { Value::from(character_sets(&value)) } else { Value::from(value) };
        options.set(&name, value);
    }
    Ok((path, options))
}

/// Splits `chars` of a term at commas. A doubled comma stands for a comma.
fn character_sets(text: &str) -> Vec<String> {
    let mut sets: Vec<String> = text.contains(",,").then(|| ",".to_owned()).into_iter().collect();
    sets.extend(text.replace(",,", ",").split(',').filter(|set| !set.is_empty()).map(str::to_owned));
    sets
}

fn password(call: &Call<'_>, path: &str, options: &Options) -> Result<String, LookupError> {
    let path = call.expand(unquoted(path))?;
    let keeps = path != "/dev/null";
    let known = if keeps && call.kind(&path)?.is_some() { Some(stored(call, &path)?) } else { None };
    let mut is_changed = known.is_none();
    let mut stored = match known {
        Some(stored) => stored,
        None => Stored { password: generate(call.host, options)?, ..Stored::default() },
    };
    let scheme = options.text("encrypt")?.filter(|scheme| !scheme.is_empty());
    let wanted = options.text("ident")?;
    match (&stored.ident, &wanted) {
        (Some(known), Some(wanted)) if known != wanted => {
            let text = format!("The ident parameter provided ({known}) does not match the stored one ({wanted}).");
            return Err(failed(text));
        }
        (None, Some(_)) => stored.ident = wanted,
        _ => {}
    }
    call.host.register_secret(&stored.password);
    let Some(scheme) = scheme else {
        return finished(call, &path, &stored, keeps && is_changed).map(|()| stored.password);
    };
    let scheme = Scheme::named(&scheme).ok_or_else(|| {
        failed(format!("the hash `{scheme}` is not supported; use `sha512_crypt`, `sha256_crypt` or `bcrypt`"))
    })?;
    let mut random = || call.host.random().map_err(|error| error.to_string());
    if stored.salt.is_none() {
        let salt = passwords::random_salt(scheme.salt_size(), &mut random);
        stored.salt = Some(salt.map_err(|error| failed(error.to_string()))?);
        is_changed = true;
    }
    if let (None, Some(ident)) = (&stored.ident, scheme.ident()) {
        stored.ident = Some(ident.to_owned());
        is_changed = true;
    }
    finished(call, &path, &stored, keeps && is_changed)?;
    let settings = Settings { salt: stored.salt, ident: stored.ident, ..Settings::default() };
    let hashed = passwords::hash(&stored.password, scheme, &settings, &mut random);
    hashed.map_err(|error| failed(format!("Could not hash the secret: {error}")))
}

/// Writes the file of a password that is new, or got a salt.
fn finished(call: &Call<'_>, path: &str, stored: &Stored, is_changed: bool) -> Result<(), LookupError> {
    if is_changed {
        call.host.write_file(path, password_file::content(stored).as_bytes(), 0o600)?;
    }
    Ok(())
}

fn stored(call: &Call<'_>, path: &str) -> Result<Stored, LookupError> {
    let content = String::from_utf8(call.content(path)?);
    let content = content.map_err(|_| failed(format!("failed to read `{path}`: the file is not UTF-8 text")))?;
    Ok(password_file::parse(&content))
}

fn unquoted(path: &str) -> &str {
    let inside = |quote| path.strip_prefix(quote).and_then(|rest: &str| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(path)
}

/// Makes a password. With a seed, it is the one that Python makes of it.
fn generate(host: &SharedHost, options: &Options) -> Result<String, LookupError> {
    let sets =
        options.texts("chars")?.unwrap_or_else(|| ["ascii_letters", "digits", ".,:-_"].map(str::to_owned).to_vec());
    let characters = candidates(&sets);
    let length = options.integer("length", 20)?;
    if length > MAX_LENGTH {
        return Err(failed(format!("the password is longer than {MAX_LENGTH} characters")));
    }
    let count = u64::try_from(characters.len()).unwrap_or(0);
    if count == 0 && length > 0 {
        return Err(failed("Cannot choose from an empty sequence"));
    }
    let mut seeded = options.text("seed")?.map(|seed| Twister::from_text(&seed));
    let mut password = String::new();
    for _ in 0..length {
        let picked = match &mut seeded {
            Some(twister) => u64::try_from(twister.below(count.into())).unwrap_or(0),
            None => below(host, count)?,
        };
        password.extend(usize::try_from(picked).ok().and_then(|at| characters.get(at)));
    }
    Ok(password)
}

/// Returns the characters of sets. Quotes are left out, since the password may be put into any file.
fn candidates(sets: &[String]) -> Vec<char> {
    let set = |name: &str| {
        SETS.iter().find(|(known, _)| *known == name).map_or_else(|| name.to_owned(), |(_, set)| (*set).to_owned())
    };
    sets.iter().flat_map(|name| set(name).chars().collect::<Vec<_>>()).filter(|c| !matches!(c, '"' | '\'')).collect()
}

/// Returns a random number below a limit, each with the same probability.
fn below(host: &SharedHost, limit: u64) -> Result<u64, LookupError> {
    let most = u64::MAX - u64::MAX % limit;
    loop {
        let number = host.random()?;
        if number < most {
            return Ok(number % limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_have_a_path_and_options() {
        let (path, options) = parameters("my file length=8 chars=digits,,,x", &Options::default()).unwrap();
        assert_eq!(path, "my file");
        assert_eq!(options.integer("length", 0), Ok(8));
        assert_eq!(options.texts("chars"), Ok(Some([",", "digits", "x"].map(str::to_owned).to_vec())));
        assert!(parameters("file size=3", &Options::default()).is_err());
        assert!(parameters("file length=3 more", &Options::default()).is_err());
    }

    #[test]
    fn quotes_are_not_characters_of_passwords() {
        let text = |sets: &[&str]| {
            candidates(&sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>()).into_iter().collect::<String>()
        };
        assert_eq!(text(&["digits", "?|"]), "0123456789?|");
        assert_eq!(text(&["\"a'"]), "a");
        assert!(!text(&["punctuation"]).contains('"'));
    }
}
