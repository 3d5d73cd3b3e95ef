//! Decides which redirects are followed, and how: the rules of ansible-core 2.19's `HTTPRedirectHandler` and of Python.
//! Pure: this file sends nothing.

use super::url::{Url, quoted};

/// The most redirects to one URL, and in total, as in `urllib`.
const MAX_REPEATS: usize = 4;
const MAX_REDIRECTS: usize = 10;

/// Header fields that describe a body.
const OF_BODY: [&str; 3] = ["content-length", "content-type", "transfer-encoding"];

/// The redirects to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Redirects {
    /// No redirects.
    None,
    /// Redirects of `GET` and `HEAD`.
    #[default]
    Safe,
    /// All redirects, with method and body if the status says so.
    All,
    /// As Python's `urllib` does by default: redirects of `GET` and `HEAD`, and those of `POST` that turn it into a
    /// `GET`.
    Urllib,
}

/// The request after a redirect.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NextRequest {
    pub(super) method: String,
    pub(super) url: Url,
    pub(super) keep_body: bool,
}

/// The URLs of the redirects so far.
#[derive(Debug, Default)]
pub(super) struct Trail(Vec<(String, usize)>);

/// Why a redirect was not followed. The text replaces the reason of the status.
pub(super) type Refusal = Option<String>;

impl Trail {
    /// Decides about a response with a status of at least 300.
    pub(super) fn next(
        &mut self,
        policy: Redirects,
        method: &str,
        from: &Url,
        status: u16,
        location: Option<&str>,
    ) -> Result<NextRequest, Refusal> {
        let reason = super::status::reason(status);
        let location = location.filter(|_| matches!(status, 301 | 302 | 303 | 307 | 308)).ok_or(None)?;
        let mut target = Url::parse(location);
        if !matches!(target.scheme.as_str(), "http" | "https" | "ftp" | "") {
            return Err(Some(format!("{reason} - Redirection to url '{location}' is not allowed")));
        }
        if target.path.is_empty() && !target.authority.is_empty() {
            "/".clone_into(&mut target.path);
        }
        let url = from.join(&quoted(&target.to_string()));
        let (method, keep_body) = after(policy, method, status).ok_or(None)?;
        self.step(&url.to_string(), reason)?;
        Ok(NextRequest { method, url, keep_body })
    }

    fn step(&mut self, url: &str, reason: &str) -> Result<(), Refusal> {
        let seen = self.0.iter().position(|(other, _)| other == url);
        let repeats = seen.map_or(0, |index| self.0[index].1);
        if repeats >= MAX_REPEATS || self.0.len() >= MAX_REDIRECTS {
            return Err(Some(format!(
                "The HTTP server returned a redirect error that would lead to an infinite loop.\n\
                 The last 30x error message was:\n{reason}"
            )));
        }
        match seen {
            Some(index) => self.0[index].1 += 1,
            None => self.0.push((url.to_owned(), 1)),
        }
        Ok(())
    }
}

/// Returns the method after a redirect, and whether the body is sent again, or `None` if the redirect is not followed.
fn after(policy: Redirects, method: &str, status: u16) -> Option<(String, bool)> {
    let safe = matches!(method, "GET" | "HEAD");
    match policy {
        Redirects::None => return None,
        Redirects::Safe if !safe => return None,
        Redirects::Urllib if safe || method == "POST" && status < 304 => {
            // A `HEAD` stays a `HEAD`, as in newer releases of Python.
            return Some((if method == "HEAD" { "HEAD" } else { "GET" }.to_owned(), false));
        }
        Redirects::Urllib => return None,
        Redirects::Safe | Redirects::All => {}
    }
    let keep_body = matches!(status, 307 | 308);
    let to_get = match status {
        302 | 303 => method != "HEAD",
        301 => method == "POST",
        _ => false,
    };
    Some((if to_get { "GET" } else { method }.to_owned(), keep_body))
}

/// Returns whether a header field is still sent after the body is dropped.
pub(super) fn outlives_body(name: &str) -> bool {
    !OF_BODY.iter().any(|field| name.eq_ignore_ascii_case(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(policy: Redirects, method: &str, status: u16, location: &str) -> Result<(String, String, bool), Refusal> {
        let next = Trail::default().next(policy, method, &Url::parse("http://h/a"), status, Some(location))?;
        Ok((next.method, next.url.to_string(), next.keep_body))
    }

    #[test]
    fn policies_follow_what_ansible_follows() {
        let to = |method: &str, keep: bool| Ok((method.to_owned(), "http://h/b".to_owned(), keep));
        for (policy, method, status, expect) in [
            (Redirects::None, "GET", 302, Err(None)),
            (Redirects::Safe, "GET", 302, to("GET", false)),
            (Redirects::Safe, "HEAD", 301, to("HEAD", false)),
            (Redirects::Safe, "POST", 302, Err(None)),
            (Redirects::All, "POST", 301, to("GET", false)),
            (Redirects::All, "PUT", 301, to("PUT", false)),
            (Redirects::All, "PUT", 303, to("GET", false)),
            (Redirects::All, "PUT", 307, to("PUT", true)),
            (Redirects::All, "DELETE", 308, to("DELETE", true)),
            (Redirects::All, "GET", 304, Err(None)),
            (Redirects::Urllib, "POST", 302, to("GET", false)),
            (Redirects::Urllib, "POST", 307, Err(None)),
            (Redirects::Urllib, "GET", 308, to("GET", false)),
            (Redirects::Urllib, "PUT", 302, Err(None)),
        ] {
            assert_eq!(next(policy, method, status, "/b"), expect, "{policy:?} {method} {status}");
        }
    }

    #[test]
    fn redirects_to_other_schemes_and_in_circles_are_refused() {
        let refused = next(Redirects::All, "GET", 302, "file:///etc/passwd").unwrap_err().unwrap();
        assert_eq!(refused, "Found - Redirection to url 'file:///etc/passwd' is not allowed");
        assert_eq!(next(Redirects::All, "GET", 302, "http://g").unwrap().1, "http://g/");
        let (mut trail, here) = (Trail::default(), Url::parse("http://h/"));
        let mut step = |location: String| trail.next(Redirects::Safe, "GET", &here, 302, Some(&location));
        (0..4).for_each(|_| drop(step("/x".to_owned()).unwrap()));
        assert!(step("/x".to_owned()).unwrap_err().unwrap().contains("infinite loop"));
        (0..9).for_each(|number| drop(step(format!("/{number}")).unwrap()));
        assert!(step("/more".to_owned()).unwrap_err().unwrap().ends_with("message was:\nFound"));
    }
}
