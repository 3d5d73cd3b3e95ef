//! The HTTP requests of a test of a module: their answers, and what was asked. Nothing is sent.

use std::sync::{Mutex, MutexGuard, PoisonError};

use modbox_vocabulary::{HttpStub, StubAnswer, StubbedRequest};

/// Most requests of one run.
pub(super) const MAX_REQUESTS: usize = 1000;

/// What answers the requests of one run.
#[derive(Debug)]
pub(super) struct Stub {
    answers: Vec<StubAnswer>,
    requests: Mutex<Vec<StubbedRequest>>,
}

/// The run has sent [`MAX_REQUESTS`].
#[derive(Debug)]
pub(super) struct TooManyRequests;

impl Stub {
    pub(super) fn new(stub: HttpStub) -> Self {
        Self { answers: stub.answers, requests: Mutex::default() }
    }

    /// Returns the requests so far.
    pub(super) fn requests(&self) -> Vec<StubbedRequest> {
        self.recorded().clone()
    }

    /// Records a request, and returns its answer: the first one left for its method and URL.
    pub(super) fn record(&self, mut request: StubbedRequest) -> Result<Option<&StubAnswer>, TooManyRequests> {
        let mut recorded = self.recorded();
        if recorded.len() == MAX_REQUESTS {
            return Err(TooManyRequests);
        }
        let fits = |index: usize, answer: &StubAnswer| {
            answer.method == request.method
                && answer.url == request.url
                && recorded.iter().all(|earlier| earlier.answer != Some(index))
        };
        let found = self.answers.iter().enumerate().find(|(index, answer)| fits(*index, answer));
        request.answer = found.map(|(index, _)| index);
        recorded.push(request);
        Ok(found.map(|(_, answer)| answer))
    }

    fn recorded(&self) -> MutexGuard<'_, Vec<StubbedRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn request(method: &str, url: &str) -> StubbedRequest {
        let (method, url) = (method.to_owned(), url.to_owned());
        StubbedRequest { method, url, headers: BTreeMap::new(), body: String::new(), answer: None }
    }

    #[test]
    fn each_answer_is_given_once_in_order() {
        let answer = |method: &str, status| StubAnswer {
            method: method.to_owned(),
            url: "http://h/".to_owned(),
            status,
            headers: BTreeMap::new(),
            body: String::new(),
        };
        let stub = Stub::new(HttpStub { answers: vec![answer("GET", 200), answer("PUT", 201), answer("GET", 404)] });
        let status = |method: &str, url: &str| stub.record(request(method, url)).unwrap().map(|answer| answer.status);
        assert_eq!(
            ["GET", "GET", "PUT", "GET"].map(|method| status(method, "http://h/")),
            [Some(200), Some(404), Some(201), None]
        );
        assert_eq!(status("GET", "http://h/other"), None);
        let given: Vec<_> = stub.requests().into_iter().map(|request| request.answer).collect();
        assert_eq!(given, [Some(0), Some(2), Some(1), None, None]);
    }
}
