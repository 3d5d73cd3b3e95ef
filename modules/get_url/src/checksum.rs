//! The required checksum of a file, from the option `checksum` or from a file of checksums on a server.

use std::path::Path;

use modbox_sdk::http::{Url, mask_url};
use modbox_sdk::{Dict, Failure, Module};

use crate::args::GetUrlArgs;
use crate::download::{self, Source};
use crate::result::failure;

/// The supported algorithms.
const ALGORITHMS: [&str; 6] = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"];

/// The longest file of checksums.
const MAX_LIST: u64 = 4 << 20;

/// An algorithm, and the required digits.
pub(crate) struct Checksum {
    algorithm: String,
    pub(crate) digits: String,
}

impl Checksum {
    /// Reads the option, and the file of checksums that it may name.
    pub(crate) fn of(args: &GetUrlArgs, module: &mut Module, result: &Dict) -> Result<Option<Self>, Failure> {
        if args.checksum.is_empty() {
            return Ok(None);
        }
        let Some((algorithm, rest)) = args.checksum.split_once(':') else {
            let why = "The checksum parameter has to be in format <algorithm>:<checksum>";
            return Err(failure(why, result.clone()));
        };
        let digits = if is_address(rest) { look_up(args, module, rest)? } else { rest.to_owned() };
        // Web pages may contain zero-width spaces between digits, which are removed too.
        let digits: String = digits.chars().filter(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        let digits = digits.to_lowercase();
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(failure("The checksum format is invalid", result.clone()));
        }
        Ok(Some(Self { algorithm: algorithm.to_owned(), digits }))
    }

    /// Returns a file's checksum with this algorithm.
    pub(crate) fn compute(&self, path: &Path) -> Result<String, Failure> {
        if !ALGORITHMS.contains(&self.algorithm.as_str()) {
            let (path, algorithm, known) = (path.display(), &self.algorithm, ALGORITHMS.join(", "));
            let why =
                format!("Could not hash file '{path}' with algorithm '{algorithm}'. Available algorithms: {known}");
            return Err(Failure::new(why));
        }
        let read = modbox_checksum::of_file(path, &self.algorithm);
        read.map_err(|error| {
            Failure::new(format!("failed to read `{}`: {}", path.display(), modbox_sdk::fs::words(&error)))
        })
    }

    /// Returns whether a file has this checksum.
    pub(crate) fn holds(&self, path: &Path) -> Result<bool, Failure> {
        Ok(self.compute(path)? == self.digits)
    }
}

fn is_address(text: &str) -> bool {
    ["http", "https", "ftp", "file"].contains(&Url::parse(text).scheme.as_str())
}

/// Finds the requested file's checksum in a file of checksums.
fn look_up(args: &GetUrlArgs, module: &mut Module, address: &str) -> Result<String, Failure> {
    let source = Source { url: address, newer_than: None, force: args.force, head_only: false };
    let list = download::get(args, module, &source)?;
    let bytes = modbox_sdk::fs::read(&*list.file, MAX_LIST);
    let bytes = bytes.map_err(|error| Failure::new(format!("failed to read the checksums of `{address}`: {error}")))?;
    let text = String::from_utf8_lossy(&bytes);
    let name = download::name_in(&Url::parse(&args.url));
    let lines: Vec<&str> = text.lines().collect();
    let found = match lines.as_slice() {
        [only] if only.split_whitespace().count() == 1 => Some((*only).to_owned()),
        lines => lines
            .iter()
            .filter_map(|line| entry(line))
            .find(|(_, path)| *path == name)
            .map(|(digest, _)| digest.to_owned()),
    };
    found.ok_or_else(|| {
        let address = mask_url(address);
        Failure::new(format!("Unable to find a checksum for file '{name}' in '{address}'"))
    })
}

/// Reads a line in the format of BSD's tools, `SHA256 (file) = digits`, or of GNU's, `digits *file`.
fn entry(line: &str) -> Option<(&str, &str)> {
    bsd(line).or_else(|| gnu(line))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn is_digest(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '.')
}

fn bsd(line: &str) -> Option<(&str, &str)> {
    let (algorithm, rest) = line.split_once('(')?;
    let (path, digest) = rest.rsplit_once('=')?;
    let path = path.strip_suffix(' ').unwrap_or(path).strip_suffix(')')?;
    let digest = digest.strip_prefix(' ').unwrap_or(digest);
    let fits = is_word(algorithm.strip_suffix(' ').unwrap_or(algorithm)) && is_digest(digest) && !path.is_empty();
    fits.then_some((digest, path))
}

fn gnu(line: &str) -> Option<(&str, &str)> {
    let (digest, path) = line.split_once(char::is_whitespace)?;
    let path = path.trim_start();
    let path = path.strip_prefix('*').unwrap_or(path).trim_start_matches(['.', '/']);
    (is_digest(digest) && !path.is_empty()).then_some((digest, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_tools_are_read() {
        for (line, expect) in [
            ("abc123  file", Some(("abc123", "file"))),
            ("abc123 *file", Some(("abc123", "file"))),
            ("abc123 ./dir/file name", Some(("abc123", "dir/file name"))),
            ("SHA256 (file) = abc123", Some(("abc123", "file"))),
            ("MD5(a (b).txt)=abc123", Some(("abc123", "a (b).txt"))),
            ("abc123", None),
            ("", None),
            ("# a comment", None),
        ] {
            assert_eq!(entry(line), expect, "{line}");
        }
    }

    #[test]
    fn addresses_of_checksums_are_told_from_digits() {
        assert!(is_address("https://example.org/SUMS") && !is_address("abc123") && !is_address("x:y"));
    }
}
