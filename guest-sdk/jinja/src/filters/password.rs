//! `password_hash`: the settings of a hash as passlib checks them. The host hashes.

use minijinja::Value;

use super::encoding::bytes_of;
use crate::call::{Call, given, int_argument};
use crate::failure::{Outcome, failure};
use crate::host::{Host, PasswordRequest, PasswordScheme};
use crate::values::text;

/// The characters of salts.
const SALT: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Rounds that a template may ask for: some seconds of work. passlib has no limit.
const MAX_ROUNDS: i64 = 5_000_000;

/// Logarithm of the rounds of bcrypt that a template may ask for.
const MAX_COST: i64 = 16;

/// What passlib knows of a scheme.
struct Rules {
    scheme: PasswordScheme,
    salt_sizes: std::ops::RangeInclusive<usize>,
    rounds: std::ops::RangeInclusive<i64>,
    default_rounds: i64,
}

/// Returns the hash of a password.
pub(super) fn password_hash(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([password], [kind, salt, salt_size, rounds, ident]) =
        call.bind(["password"], ["hashtype", "salt", "salt_size", "rounds", "ident"])?;
    let kind = given(kind).as_ref().map_or(Ok("sha512".to_owned()), text)?;
    let ident = given(ident).as_ref().map_or(Ok(String::new()), text)?;
    let rules = rules(&kind, &ident)?;
    let rounds = match given(rounds) {
        None => rules.default_rounds,
        Some(rounds) => match int_argument(&rounds)? {
            0 => rules.default_rounds,
            rounds => rounds,
        },
    };
    if !rules.rounds.contains(&rounds) {
        let (least, most) = (rules.rounds.start(), rules.rounds.end());
        return Err(failure(format!("Could not hash the secret: rounds must be between {least} and {most}")));
    }
    let salt = match given(salt).as_ref().map(text).transpose()?.filter(|salt| !salt.is_empty()) {
        Some(salt) => salt,
        None => random_salt(call.host, size(salt_size, &rules)?)?,
    };
    if !salt.bytes().all(|byte| SALT.contains(&byte)) || !rules.salt_sizes.contains(&salt.len()) {
        let (least, most) = (rules.salt_sizes.start(), rules.salt_sizes.end());
        return Err(failure(format!(
            "Could not hash the secret: a salt has {least} to {most} letters, digits, dots and slashes"
        )));
    }
    let password = bytes_of(&password)?;
    if password.contains(&0) {
        return Err(failure("Could not hash the secret: the password has a NUL character"));
    }
    let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
    let request = PasswordRequest { password: &password, scheme: rules.scheme, salt: &salt, rounds };
    Ok(Value::from(call.host.password_hash(&request)?))
}

fn rules(kind: &str, ident: &str) -> Outcome<Rules> {
    let sha = |scheme, default_rounds| Rules { scheme, salt_sizes: 0..=16, rounds: 1000..=MAX_ROUNDS, default_rounds };
    Ok(match kind {
        "sha512" | "sha512_crypt" => sha(PasswordScheme::Sha512, 656_000),
        "sha256" | "sha256_crypt" => sha(PasswordScheme::Sha256, 535_000),
        "blowfish" | "bcrypt" => {
            let version = match ident {
                "" | "2b" => "2b",
                "2a" => "2a",
                "2y" => "2y",
                _ => return Err(failure(format!("Could not hash the secret: unknown ident '{ident}' of bcrypt"))),
            };
            let scheme = PasswordScheme::Bcrypt(version);
            Rules { scheme, salt_sizes: 22..=22, rounds: 4..=MAX_COST, default_rounds: 12 }
        }
        "md5" | "md5_crypt" => {
            return Err(failure("the hash type md5 is not supported, since it protects no password; use sha512"));
        }
        _ => {
            return Err(failure(format!(
                "{kind} is not in the list of supported passlib algorithms: md5, blowfish, sha256, sha512"
            )));
        }
    })
}

fn size(given_size: Option<Value>, rules: &Rules) -> Outcome<usize> {
    let most = *rules.salt_sizes.end();
    let Some(size) = given(given_size) else { return Ok(most) };
    let size = int_argument(&size)?;
    let size = usize::try_from(size).ok().filter(|size| rules.salt_sizes.contains(size));
    size.ok_or_else(|| failure(format!("Could not hash the secret: the salt has at most {most} characters")))
}

fn random_salt(host: &dyn Host, size: usize) -> Outcome<String> {
    let mut salt = String::with_capacity(size);
    while salt.len() < size {
        // Six bits for a character, of which there are 64.
        let random = host.random()?;
        let place = usize::try_from(random & 63).unwrap_or(0);
        salt.push(char::from(SALT[place]));
    }
    Ok(salt)
}
