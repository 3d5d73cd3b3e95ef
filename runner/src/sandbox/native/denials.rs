//! What a module was refused, as the report has it: with the switch that allows it.

use std::path::PathBuf;

use crate::sandbox::invocation::Denial;
use crate::sandbox::native::protocol::{Call, RefusedUse, Transport};

impl Call {
    fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Execute => "execute",
            Self::Change => "change",
            Self::Connect => "connect",
            Self::Stray => "make, and it was not kept",
        }
    }
}

/// Makes denials of what was seen.
pub(super) fn denials(refused: Vec<RefusedUse>) -> Vec<Denial> {
    refused.into_iter().map(denial).collect()
}

/// A single name that could not be taken back to where it belongs.
pub(super) fn uncommitted((path, why): &(PathBuf, String)) -> String {
    format!("`{}` is as it was before: {why}", path.display())
}

fn denial(refused: RefusedUse) -> Denial {
    let path = |capability, path: String, call: Call| {
        let allow = format!("--allow-{capability} {}", quote(&path));
        Denial { capability, subject: path, operation: call.as_str(), allow }
    };
    // The kernel keeps a native module to ports and not to hosts, and of datagrams it does not know the ports.
    let prefix = |transport| if transport == Transport::Udp { "udp:" } else { "" };
    match refused {
        RefusedUse::Read(subject, call) => path("read", subject, call),
        RefusedUse::Write(subject, call) => path("write", subject, call),
        RefusedUse::Connect(transport, address) => {
            let hosts = match transport {
                Transport::Tcp => format!("*:{}+any", address.port()),
                Transport::Udp => "udp:*+any".to_owned(),
            };
            let subject = format!("{}{address}", prefix(transport));
            Denial { capability: "net", subject, operation: "connect", allow: format!("--allow-net '{hosts}'") }
        }
        RefusedUse::Bind(transport, address) => {
            let place = match transport {
                Transport::Tcp => format!("0.0.0.0:{}", address.port()),
                Transport::Udp => "udp:0.0.0.0:0-65535".to_owned(),
            };
            let subject = format!("{}{address}", prefix(transport));
            Denial { capability: "listen", subject, operation: "bind", allow: format!("--allow-listen {place}") }
        }
    }
}

/// Quotes a word for a shell, if it needs that.
fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}
