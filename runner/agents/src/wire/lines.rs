//! Lines of a stream: bounded ones are read, and whole ones are written, each in a thread, since neither can be done without
//! waiting for all kinds of standard streams.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use tokio::sync::{Notify, mpsc as async_mpsc, oneshot};

/// Maximum bytes of a line: arguments of modules are at most a few kilobytes long, and files have names.
pub(super) const MAX_LINE: usize = 4 << 20;

/// Lines that were read and not yet handled. A client that sends more waits.
const QUEUE: usize = 16;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum InputLine {
    /// A line, without its end.
    Whole(Vec<u8>),
    /// A line of more than [`MAX_LINE`] bytes, which is not kept.
    TooLong,
}

/// Reads lines in a thread. The channel closes when the stream ends or cannot be read.
pub(super) fn read_lines(input: impl Read + Send + 'static) -> io::Result<async_mpsc::Receiver<InputLine>> {
    let (sender, receiver) = async_mpsc::channel(QUEUE);
    thread::Builder::new().name("input".to_owned()).spawn(move || {
        let mut input = BufReader::with_capacity(64 << 10, input);
        while let Ok(Some(line)) = next_line(&mut input, MAX_LINE) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// Returns the next line that is not empty; `None` at the end. A long line is passed over without being kept.
fn next_line(input: &mut impl BufRead, most: usize) -> io::Result<Option<InputLine>> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let is_over = chunk.is_empty() || end.is_some();
        let part = &chunk[..end.unwrap_or(chunk.len())];
        is_too_long |= line.len() + part.len() > most;
        if is_too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let (is_end, read) = (chunk.is_empty(), end.map_or(chunk.len(), |end| end + 1));
        input.consume(read);
        if is_over && is_too_long {
            return Ok(Some(InputLine::TooLong));
        }
        if is_over && !line.iter().all(u8::is_ascii_whitespace) {
            return Ok(Some(InputLine::Whole(line)));
        }
        if is_end {
            return Ok(None);
        }
        if is_over {
            line.clear();
        }
    }
}

/// Lines that wait to be written, at most, while more of the input is read. A client that does not read its answers waits, too.
const MAX_UNWRITTEN: usize = 128;

/// Writer of whole lines.
#[derive(Debug, Clone)]
pub(super) struct LineWriter {
    lines: mpsc::Sender<(Vec<u8>, oneshot::Sender<io::Result<()>>)>,
    waiting: Arc<Waiting>,
}

/// Lines that wait to be written.
#[derive(Debug, Default)]
struct Waiting {
    count: AtomicUsize,
    fewer: Notify,
}

impl LineWriter {
    /// Starts the thread that writes.
    pub(super) fn start(mut output: impl Write + Send + 'static) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel::<(Vec<u8>, oneshot::Sender<io::Result<()>>)>();
        let waiting: Arc<Waiting> = Arc::default();
        let own = Arc::clone(&waiting);
        thread::Builder::new().name("output".to_owned()).spawn(move || {
            for (line, written) in lines {
                let result = output.write_all(&line).and_then(|()| output.flush());
                own.count.fetch_sub(1, Ordering::AcqRel);
                own.fewer.notify_one();
                let _ = written.send(result);
            }
        })?;
        Ok(Self { lines: sender, waiting })
    }

    /// Writes a line, and adds its end. The returned value tells when and how that ended.
    pub(super) fn write(&self, mut line: Vec<u8>) -> impl Future<Output = io::Result<()>> + Send + 'static + use<> {
        line.push(b'\n');
        let (written, ended) = oneshot::channel();
        self.waiting.count.fetch_add(1, Ordering::AcqRel);
        let sent = self.lines.send((line, written));
        async move {
            match (sent, ended.await) {
                (Ok(()), Ok(written)) => written,
                _ => Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    /// Waits until few lines wait to be written.
    pub(super) async fn has_room(&self) {
        while self.waiting.count.load(Ordering::Acquire) >= MAX_UNWRITTEN {
            self.waiting.fewer.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], most: usize) -> Vec<InputLine> {
        let mut input = BufReader::with_capacity(3, text);
        std::iter::from_fn(|| next_line(&mut input, most).unwrap()).collect()
    }

    #[test]
    fn long_lines_are_passed_over() {
        let whole = |text: &str| InputLine::Whole(text.as_bytes().to_vec());
        assert_eq!(
            lines(b"one\n\n  \r\nfour\nfives!\nsix", 5),
            [whole("one"), whole("four"), InputLine::TooLong, whole("six")]
        );
        assert_eq!(lines(b"fives!", 5), [InputLine::TooLong]);
        assert_eq!(lines(b"", 5), []);
    }
}
