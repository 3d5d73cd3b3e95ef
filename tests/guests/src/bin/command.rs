//! Writes `write` into the files that it names, runs the commands in `commands` with `modbox:host/process`, and returns each
//! result, and the contents of the files in `read`. With `fail`, it exits with that status.

use serde_json::{Value, json};

fn main() {
    let args = test_guests::Args::read();
    let commands = args.0.get("commands").and_then(Value::as_array).cloned().unwrap_or_default();
    test_guests::say_started(&args);
    for (path, contents) in args.0.get("write").and_then(Value::as_object).into_iter().flatten() {
        std::fs::write(path, contents.as_str().expect("a text")).expect("a file that can be written");
    }
    let seen: Vec<Value> = commands.iter().map(run).collect();
    let files = args.0.get("read").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let read: Vec<Option<String>> = files.map(|path| std::fs::read_to_string(path).ok()).collect();
    test_guests::print(&json!({"changed": false, "seen": seen, "read": read}));
    if let Some(status) = args.number("fail") {
        std::process::exit(i32::try_from(status).expect("a status"));
    }
}

#[cfg(target_family = "wasm")]
fn run(command: &Value) -> Value {
    use modbox_host::process::{Command, Ending, Error, Output, run};
    let text = |key: &str| command[key].as_str().map(str::to_owned);
    let texts = |key: &str| -> Vec<String> {
        let items = command[key].as_array().into_iter().flatten();
        items.map(|item| item.as_str().expect("a text").to_owned()).collect()
    };
    let mut words = texts("argv").into_iter();
    let variables = command["environment"].as_object().into_iter().flatten();
    let size = command["input_size"].as_u64().and_then(|size| usize::try_from(size).ok());
    let command = Command {
        program: words.next().expect("a program"),
        arguments: words.collect(),
        environment: variables
            .map(|(name, value)| (name.clone(), value.as_str().expect("a text").to_owned()))
            .collect(),
        directory: text("directory"),
        input: size.map_or_else(|| text("input").unwrap_or_default().into_bytes(), |size| vec![b'x'; size]),
        umask: command["umask"].as_u64().and_then(|umask| u32::try_from(umask).ok()),
        timeout: command["timeout"].as_u64(),
    };
    let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned();
    match run(&command) {
        Ok(Output { ending, stdout, stderr }) => {
            let ending = match ending {
                Ending::Exited(status) => json!(status),
                Ending::Signalled(signal) => json!(format!("signal {signal}")),
                Ending::TimedOut => json!("timed out"),
                Ending::Limit(limit) => json!(format!("limit {limit}")),
            };
            json!({
                "end": ending, "stdout": shown(&stdout.bytes), "stderr": shown(&stderr.bytes), "kept": stdout.bytes.len(),
                "length": stdout.length,
            })
        }
        Err(Error::Denied(allow)) => json!({"denied": allow}),
        Err(Error::Failed(why)) => json!({"failed": why}),
        Err(Error::NotFound) => json!("not found"),
        Err(Error::NotExecutable) => json!("not executable"),
        Err(Error::NoDirectory) => json!("no directory"),
        Err(Error::TooLong) => json!("too long"),
    }
}

#[cfg(not(target_family = "wasm"))]
fn run(command: &Value) -> Value {
    panic!("{command}: only a component has the interface")
}
