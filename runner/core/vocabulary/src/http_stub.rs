//! Answers for a guest's HTTP requests in place of the network's, for tests of modules.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The answers for the requests of one run. No request reaches the network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HttpStub {
    /// The answers. Each is given once: the first one left whose method and URL are those of the request.
    pub answers: Vec<StubAnswer>,
}

/// The answer to one request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StubAnswer {
    /// Method of the request, in capital letters.
    pub method: String,
    /// URL of the request, as in [`StubbedRequest::url`].
    pub url: String,
    /// Status of the response: 100 to 599.
    pub status: u16,
    /// Header fields of the response.
    pub headers: BTreeMap<String, String>,
    /// Body of the response.
    pub body: String,
}

/// A request that a guest sent while there was a stub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StubbedRequest {
    /// The method as the guest spells it, such as `GET`.
    pub method: String,
    /// URL: scheme, host in small letters, port unless it is the scheme's, path and query.
    pub url: String,
    /// Header fields, with names in small letters. Values that are not text have replacement characters, and fields of one
    /// name are joined by commas.
    pub headers: BTreeMap<String, String>,
    /// Body. Bytes that are not text have replacement characters.
    pub body: String,
    /// Index of the answer that was given; without one, the request failed.
    pub answer: Option<usize>,
}
