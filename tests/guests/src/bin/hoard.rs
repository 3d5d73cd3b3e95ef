//! Makes the host hold objects: creates the object `what` up to `times` times, and drops none. Returns the number of
//! successes.

use std::hint::black_box;
use std::mem::forget;

use serde_json::json;
use test_guests::Args;
use wasip2::cli::{environment, stdin, stdout};
use wasip2::clocks::monotonic_clock;
use wasip2::filesystem::preopens;
use wasip2::http::types::{Fields, OutgoingRequest};
use wasip2::io::poll;
use wasip2::random::random;

/// The length of a long text.
const LARGE: usize = 60_000;

fn main() {
    let args = Args::read();
    let times = args.number("times").unwrap_or(u64::MAX);
    let what = args.text("what");
    for _ in 0..times {
        take(what);
    }
    test_guests::print(&json!({"changed": false, "times": times}));
}

fn take(what: &str) {
    match what {
        "timers" => forget(monotonic_clock::subscribe_duration(u64::MAX)),
        "streams" => forget(stdout::get_stdout()),
        "inputs" => {
            let stream = stdin::get_stdin();
            forget(stream.subscribe());
            forget(stream);
        }
        "empty_writes" => {
            let stream = stdout::get_stdout();
            let _ = stream.check_write();
            let _ = stream.write(&[]);
        }
        "zeroes" => _ = stdout::get_stdout().blocking_write_zeroes_and_flush(4096),
        "directories" => forget(preopens::get_directories()),
        "listings" => {
            for (directory, _) in preopens::get_directories() {
                forget(directory.read_directory());
            }
        }
        "entries" => {
            for (directory, path) in preopens::get_directories() {
                let entries = directory.read_directory();
                while let (true, Ok(entries)) = (path.contains("granted"), &entries) {
                    if !matches!(entries.read_directory_entry(), Ok(Some(_))) {
                        break;
                    }
                }
            }
        }
        "fields" => {
            let fields = Fields::new();
            let _ = fields.append("x", &vec![b'x'; LARGE / 2]);
            forget(fields);
        }
        "one_large_field" => _ = Fields::new().append("x", &vec![b'x'; 100 * LARGE]),
        "requests" => {
            let request = OutgoingRequest::new(Fields::new());
            let _ = request.set_path_with_query(Some(&format!("/{}", "x".repeat(LARGE))));
            forget(request.body());
            forget(request);
        }
        "random" => _ = black_box(random::get_random_bytes(1 << 20)),
        "too_much_random" => _ = black_box(random::get_random_bytes(1 << 40)),
        "environment" => _ = black_box(environment::get_environment()),
        "polls" => {
            let timer = monotonic_clock::subscribe_duration(0);
            black_box(poll::poll(&vec![&timer; 5_000]));
        }
        "reads_of_directories" => {
            for (directory, _) in preopens::get_directories() {
                let _ = black_box(directory.read(u64::MAX, 0));
            }
        }
        what => panic!("`{what}` is nothing that this guest can take"),
    }
}
