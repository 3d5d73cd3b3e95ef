//! The host's side of `modbox:host`, the interfaces that modbox offers beyond WASI; generated from their WIT files.
//! `files`, `files::file_systems`, `process`, `system_log` and `net::tls` document the functions.

#![allow(missing_docs, clippy::error_impl_error, reason = "generated")]

wasmtime::component::bindgen!({
    path: "../../../guest-sdk/host/wit",
    world: "modbox:host/guest",
    imports: { default: trappable },
    with: { "wasi": wasmtime_wasi::p2::bindings },
    require_store_data_send: true,
});

/// The interface of guests that ask for space.
pub(crate) mod file_systems_guest {
    wasmtime::component::bindgen!({
        path: "../../../guest-sdk/host/wit",
        world: "modbox:host/file-systems-guest",
        imports: { default: trappable },
        with: { "wasi": wasmtime_wasi::p2::bindings },
        require_store_data_send: true,
    });
}

/// The interface of workers of Python plugins.
pub(crate) mod plugins_guest {
    wasmtime::component::bindgen!({
        path: "../../../guest-sdk/host/wit",
        world: "modbox:host/plugins-guest",
        imports: { default: trappable },
    });
}

/// The interface of guests that write to the system's log.
pub(crate) mod system_log_guest {
    wasmtime::component::bindgen!({
        path: "../../../guest-sdk/host/wit",
        world: "modbox:host/system-log-guest",
        imports: { default: trappable },
    });
}

/// The interface of guests that bring no TLS of their own.
pub(crate) mod tls_guest {
    wasmtime::component::bindgen!({
        path: "../../../guest-sdk/host/wit",
        world: "modbox:host/tls-guest",
        imports: { default: trappable },
    });
}
