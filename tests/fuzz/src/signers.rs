//! Files of allowed signers, and of keys and modules that are revoked.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use modbox_trust::allowed_signers::AllowedSigners;
use modbox_trust::revocations::Revocations;

/// Each line counts once, and an error names a line of the file.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(data) else { return false };
    let lines = text.lines().count();
    let (signers, revoked) = (AllowedSigners::parse(text, &TimeZone::UTC), Revocations::parse(text));
    match &signers {
        Ok(signers) => {
            assert!(signers.names().count() <= lines);
            assert!(signers.out_of_time(Timestamp::UNIX_EPOCH).all(|(line, _)| (1..=lines).contains(&line)));
            let _ = signers.has_signer("release@acme.example");
        }
        Err(error) => assert!((1..=lines).contains(&error.line), "{error}"),
    }
    match &revoked {
        Ok(revoked) => assert!(!revoked.has_module("")),
        Err(error) => assert!((1..=lines).contains(&error.0), "{error}"),
    }
    signers.is_ok() || revoked.is_ok()
}
