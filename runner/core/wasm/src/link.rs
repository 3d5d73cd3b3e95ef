//! The interfaces that guests may import, one line each.
//!
//! A module is linked only to the interfaces that it imports: adding all of them takes longer than a short guest runs.
//! Interfaces that the policy does not grant are linked too, to functions that deny every call, because many guests
//! import sockets without using them.

use wasmtime::Engine;
use wasmtime::component::{Component, HasData, Linker, ResourceTable};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::p2::bindings::{cli, clocks, io, random, sockets};
use wasmtime_wasi::random::{WasiRandom, WasiRandomCtx};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView};

use crate::store::State;
use crate::{files, net, plugins, process, system_log};

/// The guest's resource table: all that streams and polling need.
struct Table;

impl HasData for Table {
    type Data<'a> = &'a mut ResourceTable;
}

impl State {
    fn table(&mut self) -> &mut ResourceTable {
        self.ctx().table
    }

    fn random(&mut self) -> &mut WasiRandomCtx {
        self.ctx().ctx.random()
    }
}

/// A function that adds one interface to a linker.
type Link = fn(&mut Linker<State>) -> wasmtime::Result<()>;

/// All interfaces by name, without version, sorted.
const INTERFACES: &[(&str, Link)] = &[
    ("modbox:host/file-changes", files::add_changes),
    ("modbox:host/file-systems", files::add_file_systems),
    ("modbox:host/files", files::add_attributes),
    (plugins::INTERFACE, |linker| plugins::add_plugins(linker, State::plugins)),
    (process::INTERFACE, |linker| process::add_process(linker, State::commands)),
    ("modbox:host/system-log", |linker| system_log::add_log(linker, State::log)),
    ("modbox:host/tls", |linker| net::tls::add_sessions(linker, State::net)),
    ("wasi:cli/environment", |linker| cli::environment::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:cli/exit", |linker| cli::exit::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:cli/stderr", |linker| cli::stderr::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:cli/stdin", |linker| cli::stdin::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:cli/stdout", |linker| cli::stdout::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:cli/terminal-input", |linker| cli::terminal_input::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:cli/terminal-output", |linker| cli::terminal_output::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:cli/terminal-stderr", |linker| cli::terminal_stderr::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:cli/terminal-stdin", |linker| cli::terminal_stdin::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:cli/terminal-stdout", |linker| cli::terminal_stdout::add_to_linker::<_, WasiCli>(linker, State::cli)),
    ("wasi:clocks/monotonic-clock", |linker| {
        clocks::monotonic_clock::add_to_linker::<_, WasiClocks>(linker, State::clocks)
    }),
    ("wasi:clocks/wall-clock", |linker| clocks::wall_clock::add_to_linker::<_, WasiClocks>(linker, State::clocks)),
    ("wasi:filesystem/preopens", files::add_preopens),
    ("wasi:filesystem/types", files::add_types),
    ("wasi:http/outgoing-handler", |linker| net::http::add_handler(linker, State::http)),
    ("wasi:http/types", |linker| net::http::add_types(linker, State::http)),
    ("wasi:io/error", |linker| io::error::add_to_linker::<_, Table>(linker, State::table)),
    ("wasi:io/poll", |linker| io::poll::add_to_linker::<_, Table>(linker, State::table)),
    ("wasi:io/streams", |linker| io::streams::add_to_linker::<_, Table>(linker, State::table)),
    ("wasi:random/insecure", |linker| random::insecure::add_to_linker::<_, WasiRandom>(linker, State::random)),
    ("wasi:random/insecure-seed", |linker| {
        random::insecure_seed::add_to_linker::<_, WasiRandom>(linker, State::random)
    }),
    ("wasi:random/random", |linker| random::random::add_to_linker::<_, WasiRandom>(linker, State::random)),
    ("wasi:sockets/instance-network", |linker| {
        sockets::instance_network::add_to_linker::<_, WasiSockets>(linker, State::sockets)
    }),
    ("wasi:sockets/ip-name-lookup", |linker| net::add_name_lookup(linker, State::net)),
    ("wasi:sockets/network", |linker| {
        let options = sockets::network::LinkOptions::default();
        sockets::network::add_to_linker::<_, WasiSockets>(linker, &options, State::sockets)
    }),
    ("wasi:sockets/tcp", |linker| net::add_tcp(linker, State::net)),
    ("wasi:sockets/tcp-create-socket", |linker| net::add_tcp_create(linker, State::net)),
    ("wasi:sockets/udp", |linker| sockets::udp::add_to_linker::<_, WasiSockets>(linker, State::sockets)),
    ("wasi:sockets/udp-create-socket", |linker| net::add_udp_create(linker, State::net)),
];

/// Creates a linker with the imports of a component.
///
/// # Errors
///
/// Fails if the engine refuses an interface.
pub(super) fn linker(engine: &Engine, component: &Component) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    for (import, _) in component.component_type().imports(engine) {
        let name = import.split_once('@').map_or(import, |(name, _)| name);
        if let Ok(index) = INTERFACES.binary_search_by_key(&name, |(name, _)| name) {
            INTERFACES[index].1(&mut linker)?;
        }
    }
    Ok(linker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_are_sorted_for_the_binary_search() {
        assert!(INTERFACES.is_sorted_by_key(|(name, _)| *name));
    }
}
