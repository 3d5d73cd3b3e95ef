//! The HTTP requests that a case expects, and the answers that they get in place of the network's. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Value, json};

/// One expected request, and its answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedRequest {
    #[serde(default = "get")]
    method: String,
    url: String,
    /// Header fields that it must have, among others.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// Its whole body as text.
    body: Option<String>,
    /// Its whole body as JSON.
    json: Option<Value>,
    #[serde(default)]
    answer: Answer,
}

/// The answer to a request: by default, status 200 without a body.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    json: Option<Value>,
}

/// A request as the report has it.
#[derive(Debug, Deserialize)]
struct Sent {
    method: String,
    url: String,
    headers: BTreeMap<String, String>,
    body: String,
    answer: Option<usize>,
}

impl Default for Answer {
    fn default() -> Self {
        Self { status: ok(), headers: BTreeMap::new(), body: None, json: None }
    }
}

fn get() -> String {
    "GET".to_owned()
}

const fn ok() -> u16 {
    200
}

impl ExpectedRequest {
    /// Completes what was read, or returns the reason why it is invalid.
    pub(super) fn check(&mut self) -> Result<(), String> {
        let url = &self.url;
        self.url = whole_url(url).ok_or_else(|| {
            format!("`{url}` in `http` is not a URL such as `https://api.example.org/v1/hosts?name=web1`")
        })?;
        if self.method.is_empty() || !self.method.bytes().all(|letter| letter.is_ascii_uppercase() || letter == b'-') {
            return Err(format!("`{}` in `http` is not a method such as `GET`, in capital letters", self.method));
        }
        for (body, json, whose) in
            [(&self.body, &self.json, "the request"), (&self.answer.body, &self.answer.json, "the answer to")]
        {
            if body.is_some() && json.is_some() {
                return Err(format!("{whose} `{} {}` has both `body` and `json`", self.method, self.url));
            }
        }
        if !(200..600).contains(&self.answer.status) {
            return Err(format!("{} is not the status of an answer: 200 to 599", self.answer.status));
        }
        Ok(())
    }

    /// Returns the answer in the form that `modbox run` reads.
    pub(super) fn stub(&self) -> Value {
        let Answer { status, headers, body, json } = &self.answer;
        let mut headers = headers.clone();
        if json.is_some() && !headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
            headers.insert("content-type".to_owned(), "application/json".to_owned());
        }
        let body = json.as_ref().map(Value::to_string).or_else(|| body.clone()).unwrap_or_default();
        json!({"method": self.method, "url": self.url, "status": status, "headers": headers, "body": body})
    }

    fn name(&self) -> String {
        format!("{} {}", self.method, self.url)
    }

    fn differences(&self, sent: &Sent) -> Vec<String> {
        let mut found = Vec::new();
        for (name, wanted) in &self.headers {
            match sent.headers.get(&name.to_ascii_lowercase()) {
                Some(value) if value == wanted => {}
                Some(value) => found.push(format!("header {name}: expected `{wanted}`, got `{value}`")),
                None => found.push(format!("header {name}: expected `{wanted}`, and it was not sent")),
            }
        }
        if let Some(wanted) = self.body.as_ref().filter(|wanted| **wanted != sent.body) {
            found.push(format!("body: expected {wanted:?}, got {:?}", sent.body));
        }
        if let Some(wanted) = &self.json {
            match serde_json::from_str::<Value>(&sent.body) {
                Ok(value) if value == *wanted => {}
                Ok(value) => found.push(format!("body: expected {wanted}, got {value}")),
                Err(_) => found.push(format!("body: expected {wanted}, got {:?}, which is not JSON", sent.body)),
            }
        }
        found.into_iter().map(|difference| format!("{}: {difference}", self.name())).collect()
    }
}

/// Returns the differences between the requests in a report and the expected ones.
pub(super) fn differences(expected: &[ExpectedRequest], report: &Value) -> Vec<String> {
    let sent: Vec<Sent> = match report.get("requests") {
        Some(requests) => match serde_json::from_value(requests.clone()) {
            Ok(sent) => sent,
            Err(error) => return vec![format!("the report's requests cannot be read: {error}")],
        },
        None => Vec::new(),
    };
    let answered: BTreeSet<usize> = sent.iter().filter_map(|request| request.answer).collect();
    let mut found = Vec::new();
    for request in &sent {
        match request.answer.and_then(|index| expected.get(index)) {
            Some(wanted) => found.extend(wanted.differences(request)),
            None => found.push(format!("{} {}: the case does not expect this request", request.method, request.url)),
        }
    }
    let missing = expected.iter().enumerate().filter(|(index, _)| !answered.contains(index));
    found.extend(missing.map(|(_, wanted)| format!("{}: expected, and the module did not ask", wanted.name())));
    found
}

/// Returns a URL as reports have it: with a path, the host in small letters, and without the usual port and a fragment.
fn whole_url(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let usual = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = authority.to_ascii_lowercase();
    let authority = authority.strip_suffix(usual).unwrap_or(&authority);
    if authority.is_empty() || authority.contains('@') || url.chars().any(|letter| letter <= ' ' || !letter.is_ascii())
    {
        return None;
    }
    let slash = if path.starts_with('/') { "" } else { "/" };
    Some(format!("{scheme}://{authority}{slash}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(value: Value) -> Result<ExpectedRequest, String> {
        let mut request: ExpectedRequest = serde_json::from_value(value).map_err(|error| error.to_string())?;
        request.check().map(|()| request)
    }

    #[test]
    fn requests_are_compared_with_what_was_sent() {
        let wanted = json!({"method": "PUT", "url": "https://H/x", "headers": {"Authorization": "Bearer a", "x-id": "1"}, "json": {"a": [1]}});
        let wanted = [expected(wanted).unwrap(), expected(json!({"url": "http://h"})).unwrap()];
        let sent = |body: &str, token: &str| {
            let put = json!({"method": "PUT", "url": "https://h/x", "headers": {"authorization": token, "x-id": "1"}, "body": body, "answer": 0});
            let get = json!({"method": "GET", "url": "http://h/", "headers": {}, "body": "", "answer": 1});
            json!({"requests": [put, get]})
        };
        assert!(differences(&wanted, &sent("{\"a\": [1]}", "Bearer a")).is_empty());
        let found = differences(&wanted, &sent("{\"a\": [2]}", "Bearer b"));
        assert_eq!(
            found,
            [
                "PUT https://h/x: header Authorization: expected `Bearer a`, got `Bearer b`",
                "PUT https://h/x: body: expected {\"a\":[1]}, got {\"a\":[2]}",
            ]
        );
        let other =
            json!({"requests": [{"method": "GET", "url": "http://h/y", "headers": {}, "body": "", "answer": null}]});
        assert_eq!(
            differences(&wanted, &other),
            [
                "GET http://h/y: the case does not expect this request",
                "PUT https://h/x: expected, and the module did not ask",
                "GET http://h/: expected, and the module did not ask",
            ]
        );
    }

    #[test]
    fn urls_are_completed_and_mistakes_refused() {
        for (url, expect) in [
            ("https://API.example.org:443", "https://api.example.org/"),
            ("http://h:8080?a=/B#c", "http://h:8080/?a=/B"),
        ] {
            assert_eq!(whole_url(url).as_deref(), Some(expect));
        }
        for (value, expect) in [
            (json!({"url": "ftp://h/"}), "is not a URL"),
            (json!({"url": "http://user@h/"}), "is not a URL"),
            (json!({"url": "/v1"}), "is not a URL"),
            (json!({"url": "http://h/a b"}), "is not a URL"),
            (json!({"url": "http://h", "method": "get"}), "is not a method"),
            (json!({"url": "http://h", "body": "", "json": 1}), "the request `GET http://h/` has both"),
            (json!({"url": "http://h", "answer": {"body": "", "json": 1}}), "the answer to `GET http://h/` has both"),
            (json!({"url": "http://h", "answer": {"status": 99}}), "99 is not the status"),
            (json!({"url": "http://h", "respond": {}}), "unknown field `respond`"),
        ] {
            let reason = expected(value.clone()).unwrap_err();
            assert!(reason.contains(expect), "{value}: {reason}");
        }
    }

    #[test]
    fn a_json_answer_says_that_it_is_json() {
        let stub = expected(json!({"url": "http://h", "answer": {"json": {"a": 1}}})).unwrap().stub();
        assert_eq!(stub["headers"]["content-type"], "application/json");
        assert_eq!((&stub["body"], &stub["status"]), (&json!("{\"a\":1}"), &json!(200)));
    }
}
