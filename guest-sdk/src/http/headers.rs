//! The header fields of a response, and the values inside them.

use super::url::unquoted;

/// The header fields of a response, in their order, with names in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Takes header fields. The bytes of their values are read as Latin 1, as in Python's `http.client`.
    #[must_use]
    pub fn new(fields: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let text = |bytes: Vec<u8>| bytes.into_iter().map(char::from).collect();
        Self(fields.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), text(value))).collect())
    }

    /// Returns the first header field with a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Returns all header fields with a name.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns all header fields.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Returns the content type in lower case. As in Python, an invalid or missing one is `text/plain`.
    #[must_use]
    pub fn content_type(&self) -> String {
        let kind = self.get("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
        let kind = kind.trim().to_ascii_lowercase();
        if kind.matches('/').count() == 1 { kind } else { "text/plain".to_owned() }
    }

    /// Returns a parameter of a header field, such as `filename` of `content-disposition`.
    #[must_use]
    pub fn parameter(&self, field: &str, name: &str) -> Option<String> {
        parameters(self.get(field)?).into_iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// Returns the file name that the server gives, without folders.
    #[must_use]
    pub fn file_name(&self) -> Option<String> {
        let name = self.parameter("content-disposition", "filename")?;
        let name = name.rsplit('/').next().unwrap_or_default();
        (!matches!(name, "" | "." | "..") && !name.contains('\0')).then(|| name.to_owned())
    }

    /// Returns the length that the server gives.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        self.get("content-length")?.trim().parse().ok()
    }
}

/// Returns the parameters after the first word, with names in lower case. Those in the form of RFC 2231
/// (`name*=UTF-8''%20`) are decoded.
fn parameters(value: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for piece in pieces(value).into_iter().skip(1) {
        let Some((name, value)) = piece.split_once('=') else { continue };
        let (name, value) = (name.trim().to_ascii_lowercase(), unescaped(value.trim()));
        match name.strip_suffix('*') {
            Some(name) => {
                let text = value.splitn(3, '\'').nth(2).map_or_else(|| value.clone(), str::to_owned);
                found.push((name.to_owned(), unquoted(&text)));
            }
            None => found.push((name, value)),
        }
    }
    found
}

/// Splits at semicolons outside quotes.
fn pieces(value: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut inside, mut escaped) = (Vec::new(), 0, false, false);
    for (at, letter) in value.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            ';' if !inside => {
                pieces.push(&value[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&value[start..]);
    pieces
}

fn unescaped(value: &str) -> String {
    match value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\\", "\\").replace("\\\"", "\""),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&str, &str)]) -> Headers {
        Headers::new(fields.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())))
    }

    #[test]
    fn kinds_and_their_parameters_are_read() {
        let of = |value: &str| headers(&[("Content-Type", value)]);
        assert_eq!(of("Text/HTML; charset=\"utf-8\"").content_type(), "text/html");
        assert_eq!(of("text/html; charset=\"utf-8\"; x=1").parameter("content-type", "charset").unwrap(), "utf-8");
        assert_eq!(of("nonsense").content_type(), "text/plain");
        assert_eq!(headers(&[]).content_type(), "text/plain");
        assert_eq!(headers(&[("a", "1"), ("A", "2")]).all("a").collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn a_file_name_leads_nowhere_else() {
        let of = |value: &str| headers(&[("content-disposition", value)]).file_name();
        assert_eq!(of("attachment; filename=x.txt").unwrap(), "x.txt");
        assert_eq!(of("attachment; filename=\"a; b.txt\"").unwrap(), "a; b.txt");
        assert_eq!(of("attachment; filename*=UTF-8''%e2%82%ac.txt").unwrap(), "€.txt");
        assert_eq!(of("attachment; filename=\"../../etc/passwd\"").unwrap(), "passwd");
        for evil in
            ["attachment; filename=\"..\"", "attachment; filename=a/", "attachment; filename=\".\"", "attachment"]
        {
            assert_eq!(of(evil), None, "{evil}");
        }
    }
}
