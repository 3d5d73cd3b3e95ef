//! The store's state for `wasi:http`, the view of it for host calls, and the hooks that wasmtime-wasi-http calls.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::header::HeaderName;
use wasmtime::component::HasData;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, FieldMapError, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView,
    WasiHttpHooks,
};

use crate::net::http::{send, stubbed, tls};
use crate::net::network::Network;

/// Most bytes of the fields of one message.
pub(crate) const MAX_FIELDS: usize = 32 << 10;

/// Most bytes of one write to a body; the host holds one such chunk per body.
const MAX_CHUNK: usize = 64 << 10;

/// Returns whether a guest was ended because the fields of a message were too many or larger than [`MAX_FIELDS`].
pub(crate) fn is_too_large(cause: &(dyn std::error::Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(FieldMapError::TotalSizeTooBig | FieldMapError::TooManyFields))
}

/// The store's state for `wasi:http`.
pub(crate) struct HttpState {
    context: WasiHttpCtx,
    hooks: Hooks,
}

impl HttpState {
    pub(crate) fn new(network: Arc<Network>) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MAX_FIELDS);
        Self { context, hooks: Hooks { network } }
    }

    pub(crate) fn view<'a>(&'a mut self, table: &'a mut wasmtime::component::ResourceTable) -> HttpView<'a> {
        let network = Arc::clone(&self.hooks.network);
        HttpView { inner: WasiHttpCtxView { ctx: &mut self.context, table, hooks: &mut self.hooks }, network }
    }
}

/// The data for host calls of `wasi:http`.
pub(crate) struct HttpView<'a> {
    pub(super) inner: WasiHttpCtxView<'a>,
    pub(super) network: Arc<Network>,
}

/// Type that names [`HttpView`] to the linker.
pub(super) struct HttpData;

impl HasData for HttpData {
    type Data<'a> = HttpView<'a>;
}

/// Our implementation of wasmtime-wasi-http's hooks.
struct Hooks {
    network: Arc<Network>,
}

/// A response, and the future that runs its connection.
type Exchange = (hyper::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>);

impl WasiHttpHooks for Hooks {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        DEFAULT_FORBIDDEN_HEADERS.contains(name)
    }

    fn send_request(
        &mut self,
        request: hyper::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Exchange, Error>> + Send> {
        let network = Arc::clone(&self.network);
        Box::new(async move {
            if let Some(stub) = &network.stub {
                let response = stubbed::answer(&network, stub, request).await?;
                let work: Box<dyn Future<Output = Result<(), Error>> + Send> = Box::new(async { Ok(()) });
                return Ok((response, work));
            }
            let (response, work) = send::send(&network, request, options.unwrap_or_default()).await?;
            let work: Box<dyn Future<Output = Result<(), Error>> + Send> = Box::new(work);
            Ok((response.map(BodyExt::boxed_unsync), work))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        MAX_CHUNK
    }

    fn p2_error_from_hyper(&mut self, error: &hyper::Error) -> ErrorCode {
        if error.is_parse_too_large() {
            ErrorCode::HttpResponseHeaderSectionSize(None)
        } else if error.is_timeout() {
            ErrorCode::HttpResponseTimeout
        } else if error.is_incomplete_message() {
            ErrorCode::HttpResponseIncomplete
        } else {
            ErrorCode::HttpProtocolError
        }
    }

    fn p2_error_from_tls(&mut self, error: &std::io::Error) -> ErrorCode {
        tls::error_code(error)
    }
}
