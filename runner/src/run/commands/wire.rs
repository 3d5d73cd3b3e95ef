//! What a confined process and its broker say to each other: frames, each a length and that many bytes. A message is a frame of
//! JSON, and for each stream of bytes that goes with it one more.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::sandbox::command::{CommandOutput, CommandRefusal};
use crate::sandbox::limits::Limits;
use crate::sandbox::policy::Policy;

/// Longest message. A command is at most 2 MiB long, and each of its bytes takes at most six in JSON.
const MAX_MESSAGE: usize = 16 << 20;

/// Longest stream: what a guest may hand over, or what a run keeps of its output.
const MAX_STREAM: usize = 1 << 30;

/// What a broker is told first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Greeting {
    pub(super) policy: Policy,
    pub(super) limits: Limits,
    pub(super) temp_dir: PathBuf,
    pub(super) directory: PathBuf,
}

/// The answer to a request: the command's end, whose two outputs follow as streams, or why it did not run.
type Answer = Result<CommandOutput, CommandRefusal>;

/// Sends a message with its streams.
pub(super) fn send(mut stream: &File, message: &impl Serialize, streams: &[&[u8]]) -> io::Result<()> {
    let json = serde_json::to_vec(message)?;
    for bytes in [json.as_slice()].iter().chain(streams) {
        let length = u32::try_from(bytes.len()).map_err(|_| too_long())?;
        stream.write_all(&length.to_le_bytes())?;
        stream.write_all(bytes)?;
    }
    Ok(())
}

/// Receives a message; nothing, when the other end is gone.
pub(super) fn receive<M: DeserializeOwned>(stream: &File) -> io::Result<Option<M>> {
    match receive_bytes(stream, MAX_MESSAGE)? {
        Some(json) => Ok(Some(serde_json::from_slice(&json)?)),
        None => Ok(None),
    }
}

/// Receives a stream that goes with a message.
pub(super) fn receive_stream(stream: &File) -> io::Result<Vec<u8>> {
    receive_bytes(stream, MAX_STREAM)?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}

fn receive_bytes(mut stream: &File, max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; 4];
    match stream.read(&mut header[..1])? {
        0 => return Ok(None),
        _ => stream.read_exact(&mut header[1..])?,
    }
    let length = u32::from_le_bytes(header) as usize;
    if length > max {
        return Err(too_long());
    }
    // The length is only a claim: no more is allocated than comes.
    let mut bytes = Vec::new();
    stream.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message between modbox and its broker is too long")
}

/// Sends what became of a command.
pub(super) fn send_answer(stream: &File, result: Answer) -> io::Result<()> {
    match result {
        Ok(mut output) => {
            let kept = [&mut output.stdout, &mut output.stderr].map(|stream| std::mem::take(&mut stream.bytes));
            send(stream, &Answer::Ok(output), &kept.each_ref().map(Vec::as_slice))
        }
        refused => send(stream, &refused, &[]),
    }
}

/// Receives what became of a command.
pub(super) fn receive_answer(stream: &File) -> io::Result<Answer> {
    let mut answer = receive::<Answer>(stream)?.ok_or(io::ErrorKind::UnexpectedEof)?;
    if let Ok(output) = &mut answer {
        (output.stdout.bytes, output.stderr.bytes) = (receive_stream(stream)?, receive_stream(stream)?);
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use modbox_vocabulary::{Capability, Captured, CommandEnd, Denial, LimitHit, LimitKind, Operation, Unit};

    use super::*;

    fn pair() -> (File, File) {
        let (one, other) = UnixStream::pair().unwrap();
        (OwnedFd::from(one).into(), OwnedFd::from(other).into())
    }

    #[test]
    fn answers_arrive_as_they_were_sent() {
        let denial = Denial {
            capability: Capability::Read,
            subject: "/x".to_owned(),
            operation: Operation::Open,
            allow: "--allow-read /x".to_owned(),
        };
        let stream = |bytes: &[u8], total| Captured { bytes: bytes.to_vec(), total };
        let output = |end| CommandOutput {
            end,
            stdout: stream(b"out\xff", 4),
            stderr: stream(b"", 1 << 40),
            cpu_time: Duration::from_micros(7),
            memory_bytes: 8,
            disk_bytes: 9,
            files: 10,
            denials: vec![denial.clone()].into(),
            notes: vec!["a note".to_owned()],
        };
        let hit = LimitHit { kind: LimitKind::Processes, allowed: 3, unit: Unit::Processes };
        let results = [
            Ok(output(CommandEnd::Exited(3))),
            Ok(output(CommandEnd::Signalled(9))),
            Ok(output(CommandEnd::TimedOut)),
            Ok(output(CommandEnd::Limit(hit))),
            Err(CommandRefusal::Denied(denial.clone())),
            Err(CommandRefusal::NotFound),
            Err(CommandRefusal::NotExecutable),
            Err(CommandRefusal::NoDirectory),
            Err(CommandRefusal::TooLong),
            Err(CommandRefusal::Failed("why".to_owned())),
        ];
        let (here, there) = pair();
        for result in results {
            send_answer(&here, result.clone()).unwrap();
            assert_eq!(receive_answer(&there).unwrap(), result);
        }
        drop(here);
        assert!(receive_answer(&there).is_err());
        assert!(receive::<Greeting>(&there).unwrap().is_none());
    }

    #[test]
    fn a_claimed_length_is_bounded_and_a_cut_message_is_an_error() {
        let (mut here, there) = pair();
        here.write_all(&u32::MAX.to_le_bytes()).unwrap();
        assert_eq!(receive::<Greeting>(&there).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let (mut here, there) = pair();
        here.write_all(&100_u32.to_le_bytes()).unwrap();
        here.write_all(b"{").unwrap();
        drop(here);
        assert_eq!(receive::<Greeting>(&there).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
