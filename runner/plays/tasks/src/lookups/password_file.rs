//! The file of a generated password: `password salt=salt ident=ident`, with a line end.

use crate::text::strip_end;

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) password: String,
    /// The salt of its hash.
    pub(super) salt: Option<String>,
    /// The version of its hash.
    pub(super) ident: Option<String>,
}

/// Reads the content of a file.
pub(super) fn parse(content: &str) -> Stored {
    let content = strip_end(content);
    let Some((password, rest)) = content.rsplit_once(" salt=") else {
        return Stored { password: content.to_owned(), ..Stored::default() };
    };
    let (salt, ident) = match rest.rsplit_once(" ident=") {
        Some((salt, ident)) => (salt, Some(ident.to_owned())),
        None => (rest, None),
    };
    Stored { password: password.to_owned(), salt: Some(salt.to_owned()), ident }
}

/// Returns the content of a file.
pub(super) fn content(stored: &Stored) -> String {
    let password = &stored.password;
    match (&stored.salt, &stored.ident) {
        (Some(salt), Some(ident)) => format!("{password} salt={salt} ident={ident}\n"),
        (Some(salt), None) => format!("{password} salt={salt}\n"),
        (None, _) => format!("{password}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_read_as_ansible_does() {
        let check = |text: &str, password: &str, salt: Option<&str>, ident: Option<&str>| {
            let [salt, ident] = [salt, ident].map(|part| part.map(str::to_owned));
            let expect = Stored { password: password.to_owned(), salt, ident };
            assert_eq!(parse(text), expect, "{text:?}");
            assert_eq!(parse(&content(&expect)), expect, "{text:?}");
        };
        check("secret\n", "secret", None, None);
        check("a b salt=xyz\n", "a b", Some("xyz"), None);
        check("a salt=x salt=y", "a salt=x", Some("y"), None);
        check("a salt=x ident=2b\n", "a", Some("x"), Some("2b"));
        check("", "", None, None);
    }
}
