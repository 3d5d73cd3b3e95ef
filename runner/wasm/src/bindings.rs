//! The host's end of `modbox:host`, what modbox offers to guests beyond WASI, generated from the interfaces' text. `files` and
//! `process` say what the functions do.

#![allow(missing_docs, clippy::error_impl_error, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../guest-sdk/host/wit",
    world: "modbox:host/guest",
    imports: { default: trappable },
    with: { "wasi": wasmtime_wasi::p2::bindings },
    require_store_data_send: true,
});
