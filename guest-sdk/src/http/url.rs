//! URLs as Python's `urllib` splits and joins them, since Ansible's modules show the results. This is not the standard
//! of browsers: nothing is normalised, and invalid URLs are detected when a request is sent.

/// Schemes with relative URLs.
const RELATIVE: [&str; 3] = ["http", "https", "ftp"];

/// The parts of a URL, unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Url {
    /// The text before `:` in lower case, or empty.
    pub scheme: String,
    /// Host, port and credentials.
    pub authority: String,
    /// The text between the authority and `?` or `#`, still percent-encoded; empty if the URL has none.
    pub path: String,
    /// The text after `?`, if there is one.
    pub query: Option<String>,
    /// The text after `#`, if there is one.
    pub fragment: Option<String>,
}

impl Url {
    /// Splits a URL. Every text is accepted.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut url = Self::default();
        let mut rest = text.trim_matches(|letter: char| letter <= ' ');
        if let Some((scheme, after)) = rest.split_once(':')
            && is_scheme(scheme)
        {
            url.scheme = scheme.to_ascii_lowercase();
            rest = after;
        }
        if let Some(after) = rest.strip_prefix("//") {
            let end = after.find(['/', '?', '#']).unwrap_or(after.len());
            url.authority = after[..end].to_owned();
            rest = &after[end..];
        }
        if let Some((before, fragment)) = rest.split_once('#') {
            url.fragment = Some(fragment.to_owned());
            rest = before;
        }
        if let Some((before, query)) = rest.split_once('?') {
            url.query = Some(query.to_owned());
            rest = before;
        }
        url.path = rest.to_owned();
        url
    }

    /// Resolves a URL relative to this one (RFC 3986, 5.2; `urllib.parse.urljoin`).
    #[must_use]
    pub fn join(&self, other: &str) -> Self {
        let mut other = Self::parse(other);
        if !other.scheme.is_empty() && other.scheme != self.scheme || !RELATIVE.contains(&self.scheme.as_str()) {
            return other;
        }
        other.scheme.clone_from(&self.scheme);
        if !other.authority.is_empty() {
            return other;
        }
        other.authority.clone_from(&self.authority);
        if other.path.is_empty() {
            other.path.clone_from(&self.path);
            other.query = other.query.or_else(|| self.query.clone());
            return other;
        }
        let folder = self.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let whole = if other.path.starts_with('/') { other.path.clone() } else { format!("{folder}/{}", other.path) };
        other.path = without_dots(&whole);
        other
    }

    /// Returns host and port as written, without credentials.
    #[must_use]
    pub fn host_and_port(&self) -> &str {
        self.authority.rsplit_once('@').map_or(&self.authority, |(_, host)| host)
    }

    /// Returns the host, in lower case, without the brackets of IPv6.
    #[must_use]
    pub fn host(&self) -> String {
        let host = self.host_and_port();
        let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((inner, _)) => inner,
            None => host.split(':').next().unwrap_or_default(),
        };
        host.to_ascii_lowercase()
    }

    /// Returns user name and password as written.
    #[must_use]
    pub fn credentials(&self) -> Option<(&str, Option<&str>)> {
        let (credentials, _) = self.authority.rsplit_once('@')?;
        Some(credentials.split_once(':').map_or((credentials, None), |(user, password)| (user, Some(password))))
    }

    /// Returns the URL for display, with `****` for its credentials (`mask_url`).
    #[must_use]
    pub fn masked(&self) -> String {
        let mask = match self.credentials() {
            Some((_, Some(password))) if !password.is_empty() => "****:****@",
            Some((user, _)) if !user.is_empty() => "****@",
            _ => return self.to_string(),
        };
        Self { authority: format!("{mask}{}", self.host_and_port()), ..self.clone() }.to_string()
    }

    /// Returns the last part of the path. Empty for a folder.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the request's target: path and query.
    pub(crate) fn target(&self) -> String {
        let path = if self.path.starts_with('/') { self.path.clone() } else { format!("/{}", self.path) };
        self.query.as_ref().map_or_else(|| path.clone(), |query| format!("{path}?{query}"))
    }
}

impl std::fmt::Display for Url {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.scheme.is_empty() {
            write!(out, "{}:", self.scheme)?;
        }
        if !self.authority.is_empty() {
            write!(out, "//{}", self.authority)?;
        }
        write!(out, "{}", self.path)?;
        // As in Python, an empty query or fragment is dropped with its mark.
        for (mark, part) in [('?', &self.query), ('#', &self.fragment)] {
            if let Some(part) = part.as_deref().filter(|part| !part.is_empty()) {
                write!(out, "{mark}{part}")?;
            }
        }
        Ok(())
    }
}

/// Returns a URL for display: unchanged, or with `****` for its credentials.
#[must_use]
pub fn mask_url(text: &str) -> String {
    let url = Url::parse(text);
    if url.credentials().is_some() { url.masked() } else { text.to_owned() }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Removes `.` and `..` from a path.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut parts = path.split('/').skip(1).peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        match part {
            "." | ".." => {
                if part == ".." {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            // `urljoin` reduces doubled slashes inside a path to one.
            "" if !last => {}
            part => kept.push(part),
        }
    }
    format!("/{}", kept.join("/"))
}

/// Encodes all bytes except ASCII letters, digits and marks as `%XX`, as `urllib` does for the target of a redirect.
pub(crate) fn quoted(text: &str) -> String {
    let quote = |letter: char| match u8::try_from(u32::from(letter)) {
        Ok(byte) if byte.is_ascii_graphic() => letter.to_string(),
        Ok(byte) => hex(byte),
        Err(_) => letter.encode_utf8(&mut [0; 4]).bytes().map(hex).collect(),
    };
    text.chars().map(quote).collect()
}

/// Encodes a text for a form (`quote_plus`).
#[must_use]
pub fn form_quoted(text: &str) -> String {
    let quote = |byte: u8| match byte {
        b' ' => "+".to_owned(),
        b'_' | b'.' | b'-' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => hex(byte),
    };
    text.bytes().map(quote).collect()
}

/// Decodes `%XX`. Bytes that are not UTF-8 become U+FFFD.
#[must_use]
pub fn unquoted(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes.get(at + 1..at + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let byte = digits.filter(|_| bytes[at] == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn hex(byte: u8) -> String {
    format!("%{byte:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart_and_put_together() {
        let url = Url::parse("HTTP://user:pa%3Ass@Example.org:8080/a/b?q=1#f");
        assert_eq!((url.scheme.as_str(), url.host().as_str(), url.file_name()), ("http", "example.org", "b"));
        assert_eq!((url.host_and_port(), url.target().as_str()), ("Example.org:8080", "/a/b?q=1"));
        assert_eq!(url.credentials(), Some(("user", Some("pa%3Ass"))));
        assert_eq!(url.masked(), "http://****:****@Example.org:8080/a/b?q=1#f");
        assert_eq!(Url::parse("http://me@h/").masked(), "http://****@h/");
        assert_eq!(Url::parse("http://[::1]:80").host(), "::1");
        assert_eq!(Url::parse("http://h").target(), "/");
        assert_eq!(Url::parse("http://h?a").target(), "/?a");
        assert_eq!(mask_url("http:///path?"), "http:///path?");
        assert_eq!(Url::parse("no address").to_string(), "no address");
    }

    #[test]
    fn relative_addresses_mean_what_urllib_says() {
        for (other, joined) in [
            ("/x", "http://h/x"),
            ("x", "http://h/a/x"),
            ("../x", "http://h/x"),
            ("../../../x", "http://h/x"),
            ("./", "http://h/a/"),
            ("?q", "http://h/a/b?q"),
            ("", "http://h/a/b?o"),
            ("//g/y", "http://g/y"),
            ("https://g/y", "https://g/y"),
            ("c/./d/..", "http://h/a/c/"),
        ] {
            assert_eq!(Url::parse("http://h/a/b?o").join(other).to_string(), joined, "{other}");
        }
    }

    #[test]
    fn letters_are_quoted() {
        assert_eq!(quoted("/ä b%20?"), "/%E4%20b%20?");
        assert_eq!(form_quoted("a b&ü=~"), "a+b%26%C3%BC%3D~");
        assert_eq!(unquoted("a%20b%zz%C3%BC%"), "a b%zzü%");
    }
}
