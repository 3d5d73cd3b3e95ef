//! Messages between a confined process and its broker. The standard input of the command follows a request, and the
//! command's output follows an answer, each as a frame of bytes.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use modbox_channel::Framing;
use modbox_policy::Policy;
use modbox_vocabulary::{CommandOutput, CommandRefusal, Limits};
use serde::{Deserialize, Serialize};

/// Framing of messages. A command is at most 2 MiB long, and each of its bytes takes at most six in JSON.
pub(super) const MESSAGES: Framing = Framing::new(16 << 20);

/// Framing of streams: a command's input from a guest, or the captured output of a run.
pub(super) const STREAMS: Framing = Framing::new(1 << 30);

/// First message to a broker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Greeting {
    pub(super) policy: Policy,
    pub(super) limits: Limits,
    pub(super) temp_dir: PathBuf,
    pub(super) directory: PathBuf,
}

/// Answer to a request: the command's end, followed by its two outputs as streams, or the reason why it did not run.
type Answer = Result<CommandOutput, CommandRefusal>;

/// Sends the answer to a request.
pub(super) fn send_answer(stream: &File, result: Answer) -> io::Result<()> {
    match result {
        Ok(mut output) => {
            let kept = [&mut output.stdout, &mut output.stderr].map(|stream| std::mem::take(&mut stream.bytes));
            MESSAGES.send(stream, &Answer::Ok(output))?;
            kept.iter().try_for_each(|bytes| STREAMS.write(stream, bytes))
        }
        refused => MESSAGES.send(stream, &refused),
    }
}

/// Receives the answer to a request.
pub(super) fn receive_answer(stream: &File) -> io::Result<Answer> {
    let mut answer: Answer = MESSAGES.receive_required(stream)?;
    if let Ok(output) = &mut answer {
        output.stdout.bytes = STREAMS.read_required(stream)?;
        output.stderr.bytes = STREAMS.read_required(stream)?;
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
        assert!(MESSAGES.receive::<Greeting>(&there).unwrap().is_none());
    }
}
