//! The calls into the host, generated from the interface's text. This is the only place with unsafe code: what crosses the
//! border of a component is memory by address and length.

#![allow(unsafe_code, reason = "generated: what crosses the border is memory by address and length")]
#![allow(unreachable_pub, missing_debug_implementations, clippy::all, clippy::error_impl_error, reason = "generated")]

wit_bindgen::generate!({
    path: "wit",
    world: "modbox:host/guest",
    with: {
        "wasi:io/error@0.2.12": wasip2::io::error,
        "wasi:io/poll@0.2.12": wasip2::io::poll,
        "wasi:io/streams@0.2.12": wasip2::io::streams,
        "wasi:clocks/wall-clock@0.2.12": wasip2::clocks::wall_clock,
        "wasi:filesystem/types@0.2.12": wasip2::filesystem::types,
    },
});
