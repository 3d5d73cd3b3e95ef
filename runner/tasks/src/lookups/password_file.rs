//! The file of a generated password: `password salt=salt ident=ident`, with a line end.

use crate::text::strip_end;

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) password: String,
    /// The version of the hash that was asked for.
    pub(super) ident: Option<String>,
}

/// Reads the content of a file. Salts are for hashes, which modbox does not make.
pub(super) fn parse(content: &str) -> Stored {
    let content = strip_end(content);
    let Some((password, rest)) = content.rsplit_once(" salt=") else {
        return Stored { password: content.to_owned(), ident: None };
    };
    let ident = rest.rsplit_once(" ident=").map(|(_, ident)| ident.to_owned());
    Stored { password: password.to_owned(), ident }
}

/// Returns the content of a file for a password.
pub(super) fn content(password: &str) -> String {
    format!("{password}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_read_as_ansible_does() {
        let check = |content: &str, password: &str, ident: Option<&str>| {
            let expect = Stored { password: password.to_owned(), ident: ident.map(str::to_owned) };
            assert_eq!(parse(content), expect, "{content:?}");
        };
        check("secret\n", "secret", None);
        check("a b salt=xyz\n", "a b", None);
        check("a salt=x salt=y", "a salt=x", None);
        check("a salt=x ident=2b\n", "a", Some("2b"));
        check("", "", None);
        assert_eq!(parse(&content("p")).password, "p");
    }
}
