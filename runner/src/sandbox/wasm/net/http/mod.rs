//! `wasi:http`: outgoing requests, each checked by the rules and sent to the very address that was checked.
//!
//! wasmtime-wasi-http does the protocol's types; sending is ours, because its own way to send looks the name up again.
//! Redirects are the guest's business: it gets the response, and what it asks for next is checked like any request.
//! There are no incoming requests. What the host holds is bounded: messages in number (they count like open files),
//! fields, methods and addresses of each in bytes, bodies by the one chunk that is on its way.

mod messages;
mod response;
mod send;
mod tls;

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::header::HeaderName;
use wasmtime::component::{HasData, Linker};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;
use wasmtime_wasi_http::p2::bindings::http::{outgoing_handler, types};
use wasmtime_wasi_http::{
    DEFAULT_FORBIDDEN_HEADERS, Error, FieldMapError, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpCtxView,
    WasiHttpHooks,
};

use super::Network;
use crate::sandbox::wasm::store::State;

/// Bytes that the fields of one message may take.
pub(in crate::sandbox::wasm) const MAX_FIELDS: usize = 32 << 10;

/// Bytes of one write to a body; the host holds one of them for each body.
const MAX_CHUNK: usize = 64 << 10;

/// Returns whether a guest was ended because the fields of a message would be more than [`MAX_FIELDS`], or too many.
pub(in crate::sandbox::wasm) fn is_too_large(cause: &(dyn std::error::Error + 'static)) -> bool {
    matches!(cause.downcast_ref(), Some(FieldMapError::TotalSizeTooBig | FieldMapError::TooManyFields))
}

/// What a store holds for `wasi:http`.
pub(in crate::sandbox::wasm) struct HttpState {
    context: WasiHttpCtx,
    hooks: Hooks,
}

impl HttpState {
    pub(in crate::sandbox::wasm) fn new(network: Arc<Network>) -> Self {
        let mut context = WasiHttpCtx::new();
        context.set_field_size_limit(MAX_FIELDS);
        Self { context, hooks: Hooks { network } }
    }

    pub(in crate::sandbox::wasm) fn view<'a>(
        &'a mut self,
        table: &'a mut wasmtime::component::ResourceTable,
    ) -> HttpView<'a> {
        let network = Arc::clone(&self.hooks.network);
        HttpView { inner: WasiHttpCtxView { ctx: &mut self.context, table, hooks: &mut self.hooks }, network }
    }
}

/// What the host calls of `wasi:http` work on.
pub(in crate::sandbox::wasm) struct HttpView<'a> {
    inner: WasiHttpCtxView<'a>,
    network: Arc<Network>,
}

/// Stands for [`HttpView`] in the linker.
struct Guarded;

impl HasData for Guarded {
    type Data<'a> = HttpView<'a>;
}

/// Links `wasi:http/outgoing-handler`.
pub(in crate::sandbox::wasm) fn add_handler(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    outgoing_handler::add_to_linker::<_, Guarded>(linker, State::http)
}

/// Links `wasi:http/types`.
pub(in crate::sandbox::wasm) fn add_types(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    types::add_to_linker::<_, Guarded>(linker, &types::LinkOptions::default(), State::http)
}

/// What wasmtime-wasi-http asks and has done.
struct Hooks {
    network: Arc<Network>,
}

/// A response, and the work that goes on behind it.
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
