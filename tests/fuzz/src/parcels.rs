//! Frames and parcels of the channel between the monitor and its workers, which a module may have taken over.

use modbox_channel::{Framing, Incoming, Parcel};
use serde_json::Value;

/// Longest frame, in bytes.
const FRAMING: Framing = Framing::new(1 << 12);

/// Frames are the same whether they are read at once or arrive in pieces. A parcel is sent and received as the same one.
pub fn run(data: &[u8]) -> bool {
    let (mut stream, mut whole) = (data, Vec::new());
    while let Ok(Some(frame)) = FRAMING.read(&mut stream) {
        whole.push(frame);
    }
    let (mut incoming, mut pieces) = (Incoming::new(FRAMING), Vec::new());
    'all: for piece in data.chunks(7) {
        incoming.extend(piece);
        loop {
            match incoming.take() {
                Ok(Some(frame)) => pieces.push(frame.to_vec()),
                Ok(None) => break,
                Err(_) => break 'all,
            }
        }
    }
    assert_eq!(whole, pieces);
    let mut read = false;
    for frame in whole.iter().map(Vec::as_slice).chain([data]) {
        let Ok(parcel) = Parcel::<Value>::decode(frame) else { continue };
        let attached: Vec<&[u8]> = parcel.attached.iter().map(Vec::as_slice).collect();
        let mut sent = Vec::new();
        Framing::new(u32::MAX).push_parcel(&mut sent, &parcel.message, &attached).expect("it can be sent");
        assert_eq!(Parcel::decode(&sent[4..]).ok(), Some(parcel));
        read = true;
    }
    read
}
