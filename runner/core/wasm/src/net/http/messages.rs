//! `wasi:http/types`: wasmtime-wasi-http's own host, except for calls that make the host hold more: new messages and
//! fields are counted, and strings without a length limit are refused.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, DynPollable};
use wasmtime_wasi_http::FieldMap;
use wasmtime_wasi_http::p2::bindings::http::outgoing_handler;
use wasmtime_wasi_http::p2::bindings::http::types::{
    self, Duration, ErrorCode, FieldName, FieldValue, FutureIncomingResponse, FutureTrailers, IncomingBody,
    IncomingRequest, IncomingResponse, IoError, Method, OutgoingBody, OutgoingRequest, OutgoingResponse,
    RequestOptions, ResponseOutparam, Scheme, StatusCode,
};
use wasmtime_wasi_http::p2::{HeaderError, HeaderResult, HttpError, HttpResult};

use crate::net::http::view::HttpView;

/// Most bytes of a method, and of a host with its port. The type of a path has its own limit.
const MAX_STRING: usize = 1024;

/// Delegates calls unchanged.
macro_rules! hand_on {
    ($interface:path: $(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&mut self, $($arg: $type),*) -> $result {
            <_ as $interface>::$name(&mut self.inner, $($arg),*)
        })*
    };
}

impl HttpView<'_> {
    /// Ends the run if it holds more messages, fields and bodies than it may have files open.
    fn admit_one(&mut self) -> wasmtime::Result<()> {
        let held = self.inner.table.iter_mut().filter(|entry| {
            entry.is::<FieldMap>()
                || entry.is::<OutgoingRequest>()
                || entry.is::<OutgoingResponse>()
                || entry.is::<OutgoingBody>()
                || entry.is::<FutureIncomingResponse>()
                || entry.is::<IncomingResponse>()
                || entry.is::<IncomingBody>()
                || entry.is::<FutureTrailers>()
        });
        if held.count() < self.network.max_descriptors {
            return Ok(());
        }
        self.network.hit_descriptors();
        Err(wasmtime::Error::msg("the module holds too many HTTP messages"))
    }
}

impl outgoing_handler::Host for HttpView<'_> {
    hand_on! { outgoing_handler::Host:
        fn handle(request: Resource<OutgoingRequest>, options: Option<Resource<RequestOptions>>)
            -> HttpResult<Resource<FutureIncomingResponse>>;
    }
}

impl types::Host for HttpView<'_> {
    hand_on! { types::Host:
        fn convert_error_code(error: HttpError) -> wasmtime::Result<ErrorCode>;
        fn convert_header_error(error: HeaderError) -> wasmtime::Result<types::HeaderError>;
        fn http_error_code(error: Resource<IoError>) -> wasmtime::Result<Option<ErrorCode>>;
    }
}

impl types::HostFields for HttpView<'_> {
    fn new(&mut self) -> wasmtime::Result<Resource<FieldMap>> {
        self.admit_one()?;
        types::HostFields::new(&mut self.inner)
    }

    fn from_list(&mut self, entries: Vec<(FieldName, FieldValue)>) -> HeaderResult<Resource<FieldMap>> {
        self.admit_one().map_err(HeaderError::trap)?;
        self.inner.from_list(entries)
    }

    fn clone(&mut self, fields: Resource<FieldMap>) -> wasmtime::Result<Resource<FieldMap>> {
        self.admit_one()?;
        types::HostFields::clone(&mut self.inner, fields)
    }

    hand_on! { types::HostFields:
        fn drop(fields: Resource<FieldMap>) -> wasmtime::Result<()>;
        fn get(fields: Resource<FieldMap>, name: FieldName) -> wasmtime::Result<Vec<FieldValue>>;
        fn has(fields: Resource<FieldMap>, name: FieldName) -> wasmtime::Result<bool>;
        fn set(fields: Resource<FieldMap>, name: FieldName, values: Vec<FieldValue>) -> HeaderResult<()>;
        fn delete(fields: Resource<FieldMap>, name: FieldName) -> HeaderResult<()>;
        fn append(fields: Resource<FieldMap>, name: FieldName, value: FieldValue) -> HeaderResult<()>;
        fn entries(fields: Resource<FieldMap>) -> wasmtime::Result<Vec<(FieldName, FieldValue)>>;
    }
}

impl types::HostOutgoingRequest for HttpView<'_> {
    fn new(&mut self, headers: Resource<FieldMap>) -> wasmtime::Result<Resource<OutgoingRequest>> {
        self.admit_one()?;
        types::HostOutgoingRequest::new(&mut self.inner, headers)
    }

    fn set_method(&mut self, request: Resource<OutgoingRequest>, method: Method) -> wasmtime::Result<Result<(), ()>> {
        if matches!(&method, Method::Other(word) if word.len() > MAX_STRING) {
            return Ok(Err(()));
        }
        self.inner.set_method(request, method)
    }

    fn set_authority(
        &mut self,
        request: Resource<OutgoingRequest>,
        authority: Option<String>,
    ) -> wasmtime::Result<Result<(), ()>> {
        if authority.as_ref().is_some_and(|authority| authority.len() > MAX_STRING) {
            return Ok(Err(()));
        }
        self.inner.set_authority(request, authority)
    }

    hand_on! { types::HostOutgoingRequest:
        fn body(request: Resource<OutgoingRequest>) -> wasmtime::Result<Result<Resource<OutgoingBody>, ()>>;
        fn drop(request: Resource<OutgoingRequest>) -> wasmtime::Result<()>;
        fn method(request: Resource<OutgoingRequest>) -> wasmtime::Result<Method>;
        fn path_with_query(request: Resource<OutgoingRequest>) -> wasmtime::Result<Option<String>>;
        fn set_path_with_query(request: Resource<OutgoingRequest>, path: Option<String>)
            -> wasmtime::Result<Result<(), ()>>;
        fn scheme(request: Resource<OutgoingRequest>) -> wasmtime::Result<Option<Scheme>>;
        fn set_scheme(request: Resource<OutgoingRequest>, scheme: Option<Scheme>) -> wasmtime::Result<Result<(), ()>>;
        fn authority(request: Resource<OutgoingRequest>) -> wasmtime::Result<Option<String>>;
        fn headers(request: Resource<OutgoingRequest>) -> wasmtime::Result<Resource<FieldMap>>;
    }
}

impl types::HostOutgoingResponse for HttpView<'_> {
    fn new(&mut self, headers: Resource<FieldMap>) -> wasmtime::Result<Resource<OutgoingResponse>> {
        self.admit_one()?;
        types::HostOutgoingResponse::new(&mut self.inner, headers)
    }

    hand_on! { types::HostOutgoingResponse:
        fn status_code(response: Resource<OutgoingResponse>) -> wasmtime::Result<StatusCode>;
        fn set_status_code(response: Resource<OutgoingResponse>, status: StatusCode)
            -> wasmtime::Result<Result<(), ()>>;
        fn headers(response: Resource<OutgoingResponse>) -> wasmtime::Result<Resource<FieldMap>>;
        fn body(response: Resource<OutgoingResponse>) -> wasmtime::Result<Result<Resource<OutgoingBody>, ()>>;
        fn drop(response: Resource<OutgoingResponse>) -> wasmtime::Result<()>;
    }
}

impl types::HostIncomingRequest for HttpView<'_> {
    hand_on! { types::HostIncomingRequest:
        fn method(request: Resource<IncomingRequest>) -> wasmtime::Result<Method>;
        fn path_with_query(request: Resource<IncomingRequest>) -> wasmtime::Result<Option<String>>;
        fn scheme(request: Resource<IncomingRequest>) -> wasmtime::Result<Option<Scheme>>;
        fn authority(request: Resource<IncomingRequest>) -> wasmtime::Result<Option<String>>;
        fn headers(request: Resource<IncomingRequest>) -> wasmtime::Result<Resource<FieldMap>>;
        fn consume(request: Resource<IncomingRequest>) -> wasmtime::Result<Result<Resource<IncomingBody>, ()>>;
        fn drop(request: Resource<IncomingRequest>) -> wasmtime::Result<()>;
    }
}

impl types::HostResponseOutparam for HttpView<'_> {
    hand_on! { types::HostResponseOutparam:
        fn drop(outparam: Resource<ResponseOutparam>) -> wasmtime::Result<()>;
        fn set(outparam: Resource<ResponseOutparam>, response: Result<Resource<OutgoingResponse>, ErrorCode>)
            -> wasmtime::Result<()>;
        fn send_informational(outparam: Resource<ResponseOutparam>, status: u16, headers: Resource<FieldMap>)
            -> HttpResult<()>;
    }
}

impl types::HostIncomingResponse for HttpView<'_> {
    hand_on! { types::HostIncomingResponse:
        fn drop(response: Resource<IncomingResponse>) -> wasmtime::Result<()>;
        fn status(response: Resource<IncomingResponse>) -> wasmtime::Result<StatusCode>;
        fn headers(response: Resource<IncomingResponse>) -> wasmtime::Result<Resource<FieldMap>>;
        fn consume(response: Resource<IncomingResponse>) -> wasmtime::Result<Result<Resource<IncomingBody>, ()>>;
    }
}

impl types::HostIncomingBody for HttpView<'_> {
    hand_on! { types::HostIncomingBody:
        fn stream(body: Resource<IncomingBody>) -> wasmtime::Result<Result<Resource<DynInputStream>, ()>>;
        fn finish(body: Resource<IncomingBody>) -> wasmtime::Result<Resource<FutureTrailers>>;
        fn drop(body: Resource<IncomingBody>) -> wasmtime::Result<()>;
    }
}

impl types::HostOutgoingBody for HttpView<'_> {
    hand_on! { types::HostOutgoingBody:
        fn write(body: Resource<OutgoingBody>) -> wasmtime::Result<Result<Resource<DynOutputStream>, ()>>;
        fn finish(body: Resource<OutgoingBody>, trailers: Option<Resource<FieldMap>>) -> HttpResult<()>;
        fn drop(body: Resource<OutgoingBody>) -> wasmtime::Result<()>;
    }
}

impl types::HostFutureTrailers for HttpView<'_> {
    hand_on! { types::HostFutureTrailers:
        fn drop(future: Resource<FutureTrailers>) -> wasmtime::Result<()>;
        fn subscribe(future: Resource<FutureTrailers>) -> wasmtime::Result<Resource<DynPollable>>;
        fn get(future: Resource<FutureTrailers>)
            -> wasmtime::Result<Option<Result<Result<Option<Resource<FieldMap>>, ErrorCode>, ()>>>;
    }
}

impl types::HostFutureIncomingResponse for HttpView<'_> {
    hand_on! { types::HostFutureIncomingResponse:
        fn drop(future: Resource<FutureIncomingResponse>) -> wasmtime::Result<()>;
        fn subscribe(future: Resource<FutureIncomingResponse>) -> wasmtime::Result<Resource<DynPollable>>;
        fn get(future: Resource<FutureIncomingResponse>)
            -> wasmtime::Result<Option<Result<Result<Resource<IncomingResponse>, ErrorCode>, ()>>>;
    }
}

impl types::HostRequestOptions for HttpView<'_> {
    hand_on! { types::HostRequestOptions:
        fn new() -> wasmtime::Result<Resource<RequestOptions>>;
        fn connect_timeout(options: Resource<RequestOptions>) -> wasmtime::Result<Option<Duration>>;
        fn set_connect_timeout(options: Resource<RequestOptions>, duration: Option<Duration>)
            -> wasmtime::Result<Result<(), ()>>;
        fn first_byte_timeout(options: Resource<RequestOptions>) -> wasmtime::Result<Option<Duration>>;
        fn set_first_byte_timeout(options: Resource<RequestOptions>, duration: Option<Duration>)
            -> wasmtime::Result<Result<(), ()>>;
        fn between_bytes_timeout(options: Resource<RequestOptions>) -> wasmtime::Result<Option<Duration>>;
        fn set_between_bytes_timeout(options: Resource<RequestOptions>, duration: Option<Duration>)
            -> wasmtime::Result<Result<(), ()>>;
        fn drop(options: Resource<RequestOptions>) -> wasmtime::Result<()>;
    }
}
