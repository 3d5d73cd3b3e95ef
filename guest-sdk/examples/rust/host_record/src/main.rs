//! Keeps the record of a host at a server with an HTTP interface: `GET`, `PUT` and `DELETE` of `URL/hosts/NAME`, in JSON.

use modbox_sdk::http::{Body, Request, Response, form_quoted};
use modbox_sdk::{Args, Choice, Diff, Exit, Failure, Module};
use serde::{Deserialize, Serialize};

modbox_sdk::module! {
    args = HostRecord,
    run = run,
    check_mode = true,
    returns = [url: str if "always" = "The URL of the record."],
    examples = ["modbox run host_record --allow-net api.example.org:443 url=https://api.example.org/v1 name=web1 address=192.0.2.1"],
}

/// The longest answer.
const MAX_BYTES: u64 = 1 << 20;

/// Keeps the record of a host at a server.
#[derive(Args)]
#[args(required_if("state", "present", ["address"]))]
struct HostRecord {
    /// The server, with the path before `/hosts`.
    url: String,
    /// The host's name.
    name: String,
    /// The host's address.
    address: Option<String>,
    /// The token that the server asks for.
    #[arg(no_log)]
    token: Option<String>,
    /// Whether the record is to be there.
    #[arg(default = State::Present)]
    state: State,
}

#[derive(Choice)]
enum State {
    Present,
    Absent,
}

/// A record, as the server has it.
#[derive(Serialize, Deserialize, PartialEq)]
struct Record {
    address: String,
}

fn run(args: HostRecord, module: &mut Module) -> Result<Exit, Failure> {
    // In a path, a space is `%20`.
    let name = form_quoted(&args.name).replace('+', "%20");
    let url = format!("{}/hosts/{name}", args.url.trim_end_matches('/'));
    let before = read(&args, &url)?;
    let after = match args.state {
        State::Present => args.address.clone().map(|address| Record { address }),
        State::Absent => None,
    };
    if before == after {
        return Ok(Exit::unchanged().with("url", url));
    }
    if !module.check_mode() {
        write(&args, &url, after.as_ref())?;
    }
    let diff = Diff::new(shown(before.as_ref()), shown(after.as_ref())).headers(&url, &url);
    Ok(Exit::changed().with("url", url).diff(diff))
}

/// Returns the record at the server, if there is one.
fn read(args: &HostRecord, url: &str) -> Result<Option<Record>, Failure> {
    let mut response = request(args, "GET", url).send()?;
    match response.status {
        200 => Ok(Some(response.json(MAX_BYTES)?)),
        404 => Ok(None),
        _ => Err(refused(&response, "read")),
    }
}

fn write(args: &HostRecord, url: &str, record: Option<&Record>) -> Result<(), Failure> {
    let response = match record {
        Some(record) => request(args, "PUT", url).body(Body::json(record)?).send()?,
        None => request(args, "DELETE", url).send()?,
    };
    if (200..300).contains(&response.status) { Ok(()) } else { Err(refused(&response, "change")) }
}

fn request(args: &HostRecord, method: &str, url: &str) -> Request {
    let request = Request::new(method, url).header("accept", "application/json");
    match &args.token {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    }
}

fn refused(response: &Response, what: &str) -> Failure {
    let (url, status, reason) = (response.url.to_string(), response.status, &response.reason);
    Failure::new(format!("the server did not {what} `{url}`: {status} {reason}")).with("status", i64::from(status))
}

fn shown(record: Option<&Record>) -> String {
    record.map(|record| format!("address: {}\n", record.address)).unwrap_or_default()
}
