//! Statements about modules and releases, and the files with their signatures.

use modbox_trust::core_statement::{CoreFile, CoreStatement};
use modbox_trust::signature_file::SignatureFile;
use modbox_trust::ssh_signature::SigningKey;
use modbox_trust::statement::Statement;

/// A statement that is read is written as the same text: two texts with one meaning would be two statements.
pub fn run(data: &[u8]) -> bool {
    if let Ok(file) = SignatureFile::parse(data) {
        assert_eq!(file.to_string().as_bytes(), data);
        verify(&file.statement.to_string(), &file.signatures);
        return true;
    }
    if let Ok(file) = CoreFile::parse(data) {
        assert_eq!(file.to_string().as_bytes(), data);
        verify(&file.statement.to_string(), &file.signatures);
        return true;
    }
    let Ok(text) = str::from_utf8(data) else { return false };
    let (statement, core) = (Statement::parse(text), CoreStatement::parse(text));
    if let Ok(statement) = &statement {
        assert_eq!(statement.to_string(), text);
        assert_eq!(statement.check(), Ok(()));
    }
    if let Ok(statement) = &core {
        assert_eq!(statement.to_string(), text);
    }
    statement.is_ok() || core.is_ok()
}

/// A signature that counts for a statement does not count for another one.
fn verify(statement: &str, signatures: &[String]) {
    for signature in signatures {
        if SigningKey::verify(signature, statement).is_ok() {
            assert!(SigningKey::verify(signature, &format!("{statement}\n")).is_err());
        }
    }
}
