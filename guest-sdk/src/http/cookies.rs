//! The cookies of one exchange: set by responses, sent with the redirects that follow, and returned at the end.
//!
//! The rules are those of Python's `http.cookiejar` for Netscape cookies. A server sets cookies for itself and, with
//! `Domain`, for its domain, which must contain a dot. They end with the module.

use std::time::{SystemTime, UNIX_EPOCH};

use super::date;
use super::url::Url;

/// More cookies than any honest server sets.
const MAX_COOKIES: usize = 300;

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cookie {
    domain: String,
    /// Whether hosts below the domain get it too.
    below: bool,
    path: String,
    name: String,
    value: Option<String>,
    secure: bool,
}

/// The cookies that servers have set.
#[derive(Debug, Clone, Default)]
pub(super) struct Cookies(Vec<Cookie>);

impl Cookies {
    /// Adds the cookie of one `Set-Cookie` field in a response.
    pub(super) fn take(&mut self, url: &Url, header: &str) {
        let mut pairs = header.split(';').map(|pair| {
            let (key, value) = pair.split_once('=').map_or((pair, None), |(key, value)| (key, Some(value.trim())));
            (key.trim(), value)
        });
        let Some((name, value)) = pairs.next().filter(|(name, _)| !name.is_empty()) else { return };
        let host = url.host();
        let mut cookie = Cookie {
            domain: host.clone(),
            below: false,
            path: folder(&url.path),
            name: name.to_owned(),
            value: value.map(str::to_owned),
            secure: false,
        };
        let (mut expires, mut max_age) = (None, None);
        for (key, value) in pairs {
            match (key.to_ascii_lowercase().as_str(), value) {
                ("secure", _) => cookie.secure = true,
                ("path", Some(path)) if path.starts_with('/') => cookie.path = path.to_owned(),
                ("domain", Some(domain)) if !domain.is_empty() => {
                    let domain = domain.trim_start_matches('.').to_ascii_lowercase();
                    if domain != host && (!host.ends_with(&format!(".{domain}")) || !domain.contains('.')) {
                        return;
                    }
                    cookie.below = domain.parse::<std::net::IpAddr>().is_err();
                    cookie.domain = domain;
                }
                ("expires", Some(moment)) => expires = date::read(moment.trim_matches('"')),
                ("max-age", Some(seconds)) => max_age = seconds.trim_matches('"').parse::<i64>().ok(),
                _ => {}
            }
        }
        let same =
            |other: &Cookie| (&other.domain, &other.path, &other.name) == (&cookie.domain, &cookie.path, &cookie.name);
        let there = self.0.iter().position(same);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let over = max_age.map_or_else(|| expires.is_some_and(|moment| moment <= now), |seconds| seconds <= 0);
        match there {
            Some(index) if over => drop(self.0.remove(index)),
            // A replaced cookie keeps its position.
            Some(index) => self.0[index] = cookie,
            None if over || self.0.len() >= MAX_COOKIES => {}
            None => self.0.push(cookie),
        }
    }

    /// Returns the header field for a URL. Cookies with the longest paths come first.
    pub(super) fn header(&self, url: &Url) -> Option<String> {
        let (host, path) = (url.host(), if url.path.is_empty() { "/" } else { &url.path });
        let goes = |cookie: &&Cookie| {
            let at_host = cookie.domain == host || cookie.below && host.ends_with(&format!(".{}", cookie.domain));
            let below_path = path
                .strip_prefix(cookie.path.as_str())
                .is_some_and(|rest| rest.is_empty() || cookie.path.ends_with('/') || rest.starts_with('/'));
            at_host && below_path && (!cookie.secure || url.scheme == "https")
        };
        let mut sent: Vec<&Cookie> = self.0.iter().filter(goes).collect();
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pair = |cookie: &&Cookie| match &cookie.value {
            Some(value) => format!("{}={value}", cookie.name),
            None => cookie.name.clone(),
        };
        (!sent.is_empty()).then(|| sent.iter().map(pair).collect::<Vec<_>>().join("; "))
    }

    /// Returns all cookies, grouped by domain and path, in the order of their arrival.
    pub(super) fn list(&self) -> Vec<(String, Option<String>)> {
        let first = |same: &dyn Fn(&Cookie) -> bool| self.0.iter().position(same);
        let mut all: Vec<&Cookie> = self.0.iter().collect();
        all.sort_by_cached_key(|cookie| {
            let of_domain = first(&|other| other.domain == cookie.domain);
            (of_domain, first(&|other| other.domain == cookie.domain && other.path == cookie.path))
        });
        all.into_iter().map(|cookie| (cookie.name.clone(), cookie.value.clone())).collect()
    }
}

/// Returns the folder of a path, without a slash at its end.
fn folder(path: &str) -> String {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if folder.is_empty() { "/".to_owned() } else { folder.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jar(headers: &[&str]) -> Cookies {
        let mut jar = Cookies::default();
        headers.iter().for_each(|header| jar.take(&Url::parse("http://www.example.org/a/b"), header));
        jar
    }

    #[test]
    fn cookies_go_back_to_where_they_came_from() {
        let jar = jar(&["one=1", "two=2; Path=/", "three=\"3\"; domain=.example.org; path=/", "four=4; secure"]);
        let sent = |url: &str| jar.header(&Url::parse(url));
        assert_eq!(sent("http://www.example.org/a/c").unwrap(), "one=1; two=2; three=\"3\"");
        assert_eq!(sent("http://www.example.org/b").unwrap(), "two=2; three=\"3\"");
        assert_eq!(sent("http://ftp.example.org/").unwrap(), "three=\"3\"");
        assert_eq!(sent("https://www.example.org/a/").unwrap(), "one=1; four=4; two=2; three=\"3\"");
        assert_eq!((sent("http://example.com/"), sent("http://www.example.org.evil/")), (None, None));
    }

    #[test]
    fn what_is_over_or_not_theirs_to_set_is_not_kept() {
        let gone = [
            "a=1; max-age=0",
            "b=1; expires=Thu, 01-Jan-1970 00:00:01 GMT",
            "c=1; domain=org",
            "d=1; domain=x.y",
            "=e",
        ];
        assert!(jar(&gone).list().is_empty());
        assert_eq!(jar(&["a=1", "a=2"]).list(), [("a".to_owned(), Some("2".to_owned()))]);
        assert!(jar(&["a=1", "a=; max-age=0"]).list().is_empty());
        assert_eq!(jar(&["flag"]).list(), [("flag".to_owned(), None)]);
        let many: Vec<String> = (0..1000).map(|number| format!("c{number}=1")).collect();
        assert_eq!(jar(&many.iter().map(String::as_str).collect::<Vec<_>>()).list().len(), MAX_COOKIES);
    }
}
