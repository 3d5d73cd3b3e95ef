//! Hashes of passwords, as `crypt` reads them and Ansible's `password_hash` writes them.
//!
//! SHA-256, SHA-512 and bcrypt. MD5 is left out: its hashes are broken within minutes, and no system needs them.

use base64::alphabet::BCRYPT;
use base64::engine::{Engine as _, GeneralPurpose, GeneralPurposeConfig};
use sha_crypt::{Params, sha256_crypt, sha512_crypt};

/// The characters of salts and of hashes, in their order of SHA hashes.
const CHARACTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// Rounds of SHA hashes that do not say how many they have.
const IMPLICIT_ROUNDS: u32 = 5000;

/// Most rounds of SHA hashes: seconds of work. The formats allow days of it.
const MOST_ROUNDS: u32 = 20_000_000;

/// The logarithm of the most rounds of bcrypt: half a minute of work.
const MOST_COST: u32 = 18;

/// How many bytes of a password bcrypt uses.
const BCRYPT_BYTES: usize = 72;

/// A kind of hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `$5$`
    Sha256,
    /// `$6$`
    Sha512,
    /// `$2b$`
    Bcrypt,
}

/// What is given for a hash besides the password.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The salt; random without it.
    pub salt: Option<String>,
    /// The length of a random salt.
    pub salt_size: Option<usize>,
    /// The rounds, or the binary logarithm of the rounds of bcrypt.
    pub rounds: Option<u32>,
    /// The version of bcrypt.
    pub ident: Option<String>,
}

/// Error of hashing a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    /// A setting is wrong.
    #[error("{0}")]
    Setting(String),
    /// The host gives no random bytes for a salt.
    #[error("{0}")]
    Chance(String),
}

impl Scheme {
    /// Returns the scheme of a name, as passlib names them.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "sha256_crypt" => Some(Self::Sha256),
            "sha512_crypt" => Some(Self::Sha512),
            "bcrypt" => Some(Self::Bcrypt),
            _ => None,
        }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256_crypt",
            Self::Sha512 => "sha512_crypt",
            Self::Bcrypt => "bcrypt",
        }
    }

    /// Returns the length of a salt.
    #[must_use]
    pub fn salt_size(self) -> usize {
        if self == Self::Bcrypt { 22 } else { 16 }
    }

    /// Returns the version of the scheme that is written into a hash if the caller gives none; `None` for schemes without versions.
    #[must_use]
    pub fn ident(self) -> Option<&'static str> {
        (self == Self::Bcrypt).then_some("2b")
    }

    /// Returns the rounds unless others are given: those that Ansible takes.
    fn rounds(self) -> u32 {
        match self {
            Self::Sha256 => 535_000,
            Self::Sha512 => 656_000,
            Self::Bcrypt => 12,
        }
    }
}

/// Returns the hash of a password. `random` returns random bits for a salt.
///
/// # Errors
///
/// A setting is out of range, or there are no random bits.
pub fn hash(
    secret: &str,
    scheme: Scheme,
    settings: &Settings,
    random: &mut dyn FnMut() -> Result<u64, String>,
) -> Result<String, PasswordError> {
    let salt = match &settings.salt {
        Some(salt) => salt.clone(),
        None => random_salt(checked_size(scheme, settings.salt_size)?, random)?,
    };
    check_salt(scheme, &salt)?;
    let rounds = settings.rounds.unwrap_or_else(|| scheme.rounds());
    match scheme {
        Scheme::Bcrypt => bcrypt(secret, &salt, rounds, settings.ident.as_deref().unwrap_or("2b")),
        Scheme::Sha256 | Scheme::Sha512 => sha(scheme, secret, &salt, rounds),
    }
}

fn checked_size(scheme: Scheme, size: Option<usize>) -> Result<usize, PasswordError> {
    let (name, most) = (scheme.name(), scheme.salt_size());
    match size {
        Some(size) if size > most => Err(setting(format!("{name}: salt_size ({size}) above max_salt_size ({most})"))),
        Some(size) if scheme == Scheme::Bcrypt && size < most => {
            Err(setting(format!("{name}: salt_size ({size}) below min_salt_size ({most})")))
        }
        Some(size) => Ok(size),
        None => Ok(most),
    }
}

/// Returns random characters for a salt.
///
/// # Errors
///
/// There are no random bits.
pub fn random_salt(length: usize, random: &mut dyn FnMut() -> Result<u64, String>) -> Result<String, PasswordError> {
    let mut salt = String::new();
    for _ in 0..length.min(BCRYPT_BYTES) {
        let bits = random().map_err(PasswordError::Chance)?;
        salt.push(character(bits));
    }
    Ok(salt)
}

fn character(bits: u64) -> char {
    usize::try_from(bits & 0x3f).ok().and_then(|at| CHARACTERS.get(at)).map_or('.', |byte| char::from(*byte))
}

fn setting(text: impl Into<String>) -> PasswordError {
    PasswordError::Setting(text.into())
}

/// Returns the error of rounds below the least or above the most.
fn out_of_range(scheme: Scheme, rounds: u32, least: u32, most: u32) -> PasswordError {
    let bound = if rounds < least {
        format!("is too low, must be at least {least}")
    } else {
        format!("is too large, cannot be more than {most}")
    };
    setting(format!("{}: min_desired_rounds ({rounds}) {bound}", scheme.name()))
}

fn check_salt(scheme: Scheme, salt: &str) -> Result<(), PasswordError> {
    let (name, most) = (scheme.name(), scheme.salt_size());
    if !salt.bytes().all(|byte| CHARACTERS.contains(&byte)) {
        return Err(setting(format!("invalid characters in {name} salt")));
    }
    if scheme == Scheme::Bcrypt && salt.len() < most {
        return Err(setting(format!("salt too small ({name} requires exactly {most} chars)")));
    }
    if salt.len() > most {
        let exactly = if scheme == Scheme::Bcrypt { "exactly" } else { "<=" };
        return Err(setting(format!("salt too large ({name} requires {exactly} {most} chars)")));
    }
    Ok(())
}

fn sha(scheme: Scheme, secret: &str, salt: &str, rounds: u32) -> Result<String, PasswordError> {
    let name = scheme.name();
    if secret.contains('\0') {
        return Err(setting(format!("{name} does not allow NULL bytes in password")));
    }
    let out_of_range = || out_of_range(scheme, rounds, Params::ROUNDS_MIN, MOST_ROUNDS);
    let params = Params::new(rounds).ok().filter(|_| rounds <= MOST_ROUNDS).ok_or_else(out_of_range)?;
    let (ident, digest) = match scheme {
        Scheme::Sha256 => ("5", encoded(&sha256_crypt(secret.as_bytes(), salt.as_bytes(), params), [2, 0, 1])),
        _ => ("6", encoded(&sha512_crypt(secret.as_bytes(), salt.as_bytes(), params), [1, 2, 0])),
    };
    let rounds = if rounds == IMPLICIT_ROUNDS { String::new() } else { format!("rounds={rounds}$") };
    Ok(format!("${ident}${rounds}{salt}${digest}"))
}

/// Encodes a digest as `crypt` does: three bytes from thirds of it at a time, whose order moves on by `turn`.
fn encoded(digest: &[u8], turn: [usize; 3]) -> String {
    let third = digest.len() / 3;
    let byte = |at: usize| u32::from(digest.get(at).copied().unwrap_or(0));
    let mut text = String::new();
    let mut write = |mut bits: u32, count: usize| {
        for _ in 0..count {
            text.push(character(u64::from(bits)));
            bits >>= 6;
        }
    };
    let mut places = [0, third, 2 * third];
    for _ in 0..third {
        write(byte(places[0]) << 16 | byte(places[1]) << 8 | byte(places[2]), 4);
        places = turn.map(|from| places[from] + 1);
    }
    match digest.len() % 3 {
        1 => write(byte(digest.len() - 1), 2),
        _ => write(byte(digest.len() - 1) << 8 | byte(digest.len() - 2), 3),
    }
    text
}

fn bcrypt(secret: &str, salt: &str, cost: u32, ident: &str) -> Result<String, PasswordError> {
    if secret.contains('\0') {
        return Err(setting("bcrypt does not allow NULL bytes in password"));
    }
    let version = ident.trim_matches('$');
    if !matches!(version, "2a" | "2b" | "2y") {
        return Err(setting(format!("invalid ident: {ident:?}")));
    }
    if !(4..=MOST_COST).contains(&cost) {
        return Err(out_of_range(Scheme::Bcrypt, cost, 4, MOST_COST));
    }
    let base64 = GeneralPurpose::new(
        &BCRYPT,
        GeneralPurposeConfig::new()
            .with_encode_padding(false)
            .with_decode_padding_mode(base64::engine::DecodePaddingMode::RequireNone)
            .with_decode_allow_trailing_bits(true),
    );
    let mut bytes = [0; 16];
    let length = base64.decode_slice_unchecked(salt, &mut bytes).map_err(|error| setting(error.to_string()))?;
    if length != bytes.len() {
        return Err(setting("invalid salt"));
    }
    let key: Vec<u8> = secret.bytes().chain([0]).take(BCRYPT_BYTES).collect();
    let digest = bcrypt::bcrypt(cost, bytes, &key);
    let (salt, digest) = (base64.encode(bytes), base64.encode(&digest[..23]));
    Ok(format!("${version}${cost:02}${salt}{digest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn none() -> Result<u64, String> {
        Err("no chance".to_owned())
    }

    #[test]
    fn hashes_are_those_of_crypt() {
        // The first three are those of the specifications; all are what passlib makes.
        let check = |scheme, secret: &str, salt: &str, rounds, expect: &str| {
            let settings = Settings { salt: Some(salt.to_owned()), rounds: Some(rounds), ..Settings::default() };
            assert_eq!(hash(secret, scheme, &settings, &mut none).as_deref(), Ok(expect), "{secret}");
        };
        let expect = "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5";
        check(Scheme::Sha256, "Hello world!", "saltstring", 5000, expect);
        let expect =
            "$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1";
        check(Scheme::Sha512, "Hello world!", "saltstring", 5000, expect);
        let expect = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";
        check(Scheme::Bcrypt, "U*U", "CCCCCCCCCCCCCCCCCCCCC.", 5, expect);
        let expect = "$6$rounds=1400$anotherlongsalts$POfYwTEok97VWcjxIiSOjiykti.o/pQs.wPvMxQ6Fm7I6IoYN3CmLs66x9t0oSwbtEW7o7UmJEiDwGqd8p4ur1";
        check(
            Scheme::Sha512,
            "a very much longer text to encrypt.  This one even stretches over morethan one line.",
            "anotherlongsalts",
            1400,
            expect,
        );
    }

    #[test]
    fn settings_have_bounds() {
        let check = |scheme, settings: Settings, expect: &str| {
            let error = hash("x", scheme, &settings, &mut || Ok(7)).unwrap_err();
            assert!(error.to_string().contains(expect), "{error}");
        };
        let salt = |salt: &str| Settings { salt: Some(salt.to_owned()), ..Settings::default() };
        let rounds = |rounds| Settings { rounds: Some(rounds), ..Settings::default() };
        check(Scheme::Sha512, rounds(1), "is too low");
        check(Scheme::Bcrypt, rounds(32), "is too large");
        check(Scheme::Sha256, salt("a$b"), "invalid characters");
        check(Scheme::Sha256, salt("12345678901234567"), "salt too large");
        check(Scheme::Bcrypt, salt("short"), "salt too small");
        let settings = Settings { ident: Some("2x".to_owned()), ..Settings::default() };
        check(Scheme::Bcrypt, settings, "invalid ident");
    }

    #[test]
    fn salts_are_random() {
        let mut next = 0;
        let mut count = || {
            next += 1;
            Ok(next)
        };
        let settings = Settings { rounds: Some(1000), ..Settings::default() };
        let hashed = hash("x", Scheme::Sha256, &settings, &mut count).unwrap();
        assert!(hashed.starts_with("$5$rounds=1000$/0123456789ABCDE$"), "{hashed}");
        assert_eq!(hash("x", Scheme::Sha256, &settings, &mut none), Err(PasswordError::Chance("no chance".to_owned())));
    }
}
