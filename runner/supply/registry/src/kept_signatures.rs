//! Which signatures of a module are kept, where more come than there is room for.
//!
//! Any registry can send signatures of any module, so what it sends must not push out what counts. Signatures that the caller's keys
//! count come first, then those that come now, then those that were kept before. What came now and does not count takes at
//! most half of the room, unless the rest of it is free.

use modbox_trust::signature_file::{MAX_SIGNATURE_FILE, MAX_SIGNATURES, SignatureFile};

/// Number of statements about one module.
pub(crate) const MAX_STATEMENTS: usize = 32;

/// Tells whether a signature of a file counts.
pub type CountsFn<'a> = dyn Fn(&SignatureFile, &str) -> bool + 'a;

/// Numbers of what was left out for want of room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many statements had no room, each with its signatures.
    pub statements: usize,
    /// Signatures of statements that were kept.
    pub signatures: usize,
}

impl LeftOut {
    /// Returns whether nothing was left out.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// The signatures of one statement, in the order in which they were found.
struct Candidates {
    file: SignatureFile,
    /// Signatures that count, that come now, and that were kept before.
    counting: Vec<String>,
    new: Vec<String>,
    old: Vec<String>,
}

impl Candidates {
    fn add(&mut self, signature: String, is_new: bool, counts: &CountsFn<'_>) {
        if self.counting.contains(&signature) || self.new.contains(&signature) || self.old.contains(&signature) {
            return;
        }
        match (counts(&self.file, &signature), is_new) {
            (true, _) => self.counting.push(signature),
            (false, true) => self.new.push(signature),
            (false, false) => self.old.push(signature),
        }
    }

    /// Returns the file with the signatures that are kept, and the number of the others.
    fn into_file(self) -> (SignatureFile, usize) {
        let all = self.counting.len() + self.new.len() + self.old.len();
        let signatures = chosen(self.counting, self.new, self.old, MAX_SIGNATURES);
        let mut file = SignatureFile { signatures, ..self.file };
        while file.to_string().len() as u64 > MAX_SIGNATURE_FILE && file.signatures.len() > 1 {
            file.signatures.pop();
        }
        let left_out = all - file.signatures.len();
        (file, left_out)
    }
}

pub(crate) struct KeptFile {
    pub(crate) file: SignatureFile,
    /// Whether a signature of it counts.
    pub(crate) counts: bool,
}

/// Chooses what is kept of the files that were kept before, oldest first, and of those that come now. All are about the module with
/// this digest, or are left out without a word.
pub(crate) fn choose(
    digest: &str,
    old: Vec<SignatureFile>,
    new: Vec<SignatureFile>,
    counts: &CountsFn<'_>,
) -> (Vec<KeptFile>, LeftOut) {
    let mut found: Vec<(Candidates, bool)> = Vec::new();
    let files = old.into_iter().map(|file| (file, false)).chain(new.into_iter().map(|file| (file, true)));
    for (SignatureFile { statement, signatures }, is_new) in files {
        if statement.digest != digest {
            continue;
        }
        let at = found.iter().position(|(known, _)| known.file.statement == statement).unwrap_or_else(|| {
            let file = SignatureFile { statement, signatures: Vec::new() };
            let (counting, new, old) = (Vec::new(), Vec::new(), Vec::new());
            found.push((Candidates { file, counting, new, old }, is_new));
            found.len() - 1
        });
        signatures.into_iter().for_each(|signature| found[at].0.add(signature, is_new, counts));
    }
    let all = found.len();
    let (counting, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|(known, _)| !known.counting.is_empty());
    let (new, old): (Vec<_>, Vec<_>) = others.into_iter().partition(|(_, is_new)| *is_new);
    let kept = chosen(counting, new, old, MAX_STATEMENTS);
    let mut left_out = LeftOut { statements: all - kept.len(), signatures: 0 };
    let files = kept.into_iter().map(|(candidates, _)| {
        let counts = !candidates.counting.is_empty();
        let (file, signatures) = candidates.into_file();
        left_out.signatures += signatures;
        KeptFile { file, counts }
    });
    (files.collect(), left_out)
}

/// Returns whether one of the files has the statement of another file.
pub(crate) fn has_statement(files: &[Vec<u8>], other: &[u8]) -> bool {
    let parse = |file: &[u8]| SignatureFile::parse(file).ok().map(|file| file.statement);
    let Some(wanted) = parse(other) else { return false };
    files.iter().any(|file| parse(file).is_some_and(|statement| statement == wanted))
}

/// Returns up to `room` items: those that count; then new ones, which leave half of the remaining room to old ones.
fn chosen<T>(counting: Vec<T>, new: Vec<T>, old: Vec<T>, room: usize) -> Vec<T> {
    let rest = room.saturating_sub(counting.len());
    let of_old = old.len().min(rest - rest / 2);
    let of_new = new.len().min(rest - of_old);
    let of_old = old.len().min(rest - of_new);
    counting.into_iter().take(room).chain(new.into_iter().take(of_new)).chain(old.into_iter().take(of_old)).collect()
}

#[cfg(test)]
mod tests {
    use modbox_trust::statement::Statement;

    use super::*;

    fn file(name: &str, signatures: &[&str]) -> SignatureFile {
        let (digest, file, name) = ("ab".repeat(32), "m".to_owned(), Some(name.to_owned()));
        let statement = Statement { digest, file, name, version: None, requests: None, parts: Vec::new() };
        SignatureFile { statement, signatures: signatures.iter().map(|text| (*text).to_owned()).collect() }
    }

    fn junk(count: usize) -> Vec<SignatureFile> {
        (0..count).map(|number| file(&format!("junk{number}"), &["junk"])).collect()
    }

    fn kept(old: Vec<SignatureFile>, new: Vec<SignatureFile>, good: &str) -> (Vec<SignatureFile>, LeftOut) {
        let (files, left_out) = choose(&"ab".repeat(32), old, new, &|_, signature| signature == good);
        (files.into_iter().map(|kept| kept.file).collect(), left_out)
    }

    #[test]
    fn what_counts_is_kept_whatever_else_comes() {
        for (old, new) in [
            (vec![file("a", &["good"])], junk(100)),
            (junk(32), vec![file("a", &["good"])]),
            (junk(31), [junk(50), vec![file("a", &["x", "good"])]].concat()),
        ] {
            let (files, left_out) = kept(old, new, "good");
            assert!(files.len() <= MAX_STATEMENTS && files[0].signatures.contains(&"good".to_owned()));
            assert!(left_out.statements > 0);
        }
        let many: Vec<String> = (0..40).map(|number| format!("junk{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for (old, new) in [(file("a", &["good"]), file("a", &many)), (file("a", &many), file("a", &["good"]))] {
            let (files, left_out) = kept(vec![old], vec![new], "good");
            assert_eq!((files[0].signatures[0].as_str(), files[0].signatures.len()), ("good", MAX_SIGNATURES));
            assert_eq!(left_out, LeftOut { statements: 0, signatures: 41 - MAX_SIGNATURES });
        }
    }

    #[test]
    fn without_keys_neither_old_nor_new_ones_are_all_pushed_out() {
        let honest = vec![file("a", &["good"])];
        let has_honest = |files: &[SignatureFile]| files.iter().any(|kept| kept.statement == honest[0].statement);
        let (files, _) = kept(honest.clone(), junk(100), "none");
        assert!(has_honest(&files) && files.len() == MAX_STATEMENTS);
        let (files, _) = kept(junk(MAX_STATEMENTS), honest.clone(), "none");
        assert!(has_honest(&files), "a pull from the honest source heals");
    }

    #[test]
    fn files_about_other_modules_are_not_kept() {
        let (files, left_out) = choose(&"cd".repeat(32), junk(3), Vec::new(), &|_, _| true);
        assert!(files.is_empty() && left_out.is_nothing());
    }
}
