//! One run in an audit log. Every field may be missing or of another type, since another program may have written the
//! line; only what all views need must be there.

use std::path::Path;
use std::time::SystemTime;

use modbox_python_json::{Dict, Value, decode, encode};

/// Statuses of runs that went well.
const GOOD: [&str; 3] = ["ok", "changed", "skipped"];

/// A line of an audit log.
#[derive(Debug)]
pub(crate) struct AuditEntry {
    line: Vec<u8>,
    fields: Dict,
    time: SystemTime,
}

impl AuditEntry {
    /// Parses a line without its line end.
    ///
    /// # Errors
    ///
    /// The line is not one of an audit log; the error says why.
    pub(crate) fn parse(line: Vec<u8>) -> Result<Self, String> {
        let text = std::str::from_utf8(&line).map_err(|_| "it is not UTF-8".to_owned())?;
        let value = decode(text).map_err(|error| format!("it is not JSON: {}", error.message()))?;
        let Value::Dict(fields) = value else { return Err("it is not a JSON object".to_owned()) };
        let time = fields.get("time").and_then(Value::as_str).and_then(|time| humantime::parse_rfc3339(time).ok());
        let time = time.ok_or("it has no valid `time`")?;
        if fields.get("status").and_then(Value::as_str).is_none() {
            return Err("it has no `status`".to_owned());
        }
        if fields.get("module").and_then(Value::as_dict).is_none() {
            return Err("it has no `module`".to_owned());
        }
        Ok(Self { line, fields, time })
    }

    /// Returns the line as it is in the log, without its line end.
    pub(crate) fn line(&self) -> &[u8] {
        &self.line
    }

    /// Returns the time at which the run began.
    pub(crate) fn time(&self) -> SystemTime {
        self.time
    }

    /// Returns the time at which the run began in UTC, without fractions.
    pub(crate) fn time_text(&self) -> String {
        time_text(self.time)
    }

    /// Returns the module's name, or the file's name if it was not found.
    pub(crate) fn module(&self) -> String {
        let path = self.path();
        let file = || Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned());
        let name = self.inner("module", "name").map(text).filter(|name| !name.is_empty());
        name.or_else(file).unwrap_or(path)
    }

    /// Returns the module's path.
    pub(crate) fn path(&self) -> String {
        self.inner("module", "path").map(text).unwrap_or_default()
    }

    /// Returns the module's kind; empty if it was not found.
    pub(crate) fn kind(&self) -> String {
        self.inner("module", "kind").map(text).unwrap_or_default()
    }

    /// Returns the status of the report, or `interrupted`.
    pub(crate) fn status(&self) -> &str {
        self.fields.get("status").and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns whether the run did not do what it was asked.
    pub(crate) fn has_failed(&self) -> bool {
        !GOOD.contains(&self.status())
    }

    /// Returns the exit status; `None` for interrupted runs and jobs of a batch.
    pub(crate) fn exit(&self) -> Option<i64> {
        self.fields.get("exit").and_then(Value::as_int)
    }

    /// Returns the user, and in parentheses the one who logged in, if that is another one.
    pub(crate) fn user(&self) -> String {
        let named = |name: &str, id: &str| {
            let name = self.inner("who", name).map(text).filter(|name| !name.is_empty());
            name.or_else(|| self.inner("who", id).map(text)).unwrap_or_default()
        };
        let (user, login) = (named("user", "uid"), named("login", "login_uid"));
        match login.is_empty() || login == user {
            true => user,
            false => format!("{user} ({login})"),
        }
    }

    /// Returns the host: by the name that the controller has for it, else by its own; empty if neither is known.
    pub(crate) fn host(&self) -> String {
        let named = self.field("host").map(text).filter(|name| !name.is_empty());
        named.or_else(|| self.inner("who", "host").map(text)).unwrap_or_default()
    }

    /// Returns how long the run took, in microseconds.
    pub(crate) fn micros(&self) -> u64 {
        self.fields.get("duration_us").and_then(Value::as_int).and_then(|us| u64::try_from(us).ok()).unwrap_or_default()
    }

    /// Returns the number of denials, including those that the log omits.
    pub(crate) fn denials(&self) -> u64 {
        self.list("denials").iter().fold(0_u64, |sum, denial| sum.saturating_add(omitted(denial).unwrap_or(1)))
    }

    /// Returns whether something was denied.
    pub(crate) fn is_denied(&self) -> bool {
        self.status() == "denied" || self.denials() > 0
    }

    pub(crate) fn field(&self, key: &str) -> Option<&Value> {
        self.fields.get(key)
    }

    /// Returns an entry of a field that is a dict.
    pub(crate) fn inner(&self, key: &str, inner: &str) -> Option<&Value> {
        self.fields.get(key).and_then(Value::as_dict)?.get(inner)
    }

    /// Returns the items of a list; empty if it is missing.
    pub(crate) fn list(&self, key: &str) -> &[Value] {
        self.fields.get(key).and_then(Value::as_list).unwrap_or_default()
    }
}

/// Returns the number in the last entry of a list that was cut, `{"omitted": N}`.
pub(crate) fn omitted(item: &Value) -> Option<u64> {
    let omitted = item.as_dict()?.get("omitted")?.as_int()?;
    Some(u64::try_from(omitted).unwrap_or_default())
}

/// Returns the text of a value: a string as it is, other values as JSON, and nothing for null.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Str(text) => text.clone(),
        Value::Surrogates(text) => text.to_string_lossy(),
        other => encode(other),
    }
}

/// Returns a time in UTC, without fractions and the letters of the standard form.
pub(crate) fn time_text(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string().replace('T', " ").trim_end_matches('Z').to_owned()
}

/// Returns a duration with the precision that matters at its length.
#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
pub(crate) fn duration_text(micros: u64) -> String {
    match micros {
        0..1_000_000 => format!("{:.1}ms", micros as f64 / 1e3),
        1_000_000..60_000_000 => format!("{:.1}s", micros as f64 / 1e6),
        _ => format!("{}m{:02}s", micros / 60_000_000, micros / 1_000_000 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_the_unit_of_their_length() {
        let shown = [0, 950, 12_345, 999_999, 2_500_000, 61_000_000, 7_200_000_000].map(duration_text);
        assert_eq!(shown, ["0.0ms", "0.9ms", "12.3ms", "1000.0ms", "2.5s", "1m01s", "120m00s"]);
    }

    #[test]
    fn fields_of_other_types_are_empty() {
        let line =
            br#"{"time": "2026-01-02T03:04:05Z", "status": "ok", "module": {"name": 7}, "exit": "x", "who": []}"#;
        let entry = AuditEntry::parse(line.to_vec()).unwrap();
        assert_eq!((entry.module().as_str(), entry.path().as_str()), ("7", ""));
        assert_eq!((entry.exit(), entry.user(), entry.denials()), (None, String::new(), 0));
        assert_eq!(entry.time_text(), "2026-01-02 03:04:05");
    }

    #[test]
    fn what_is_missing_is_named() {
        let wrong = |line: &str| AuditEntry::parse(line.as_bytes().to_vec()).unwrap_err();
        assert!(wrong("{").starts_with("it is not JSON: "));
        assert_eq!(wrong("[]"), "it is not a JSON object");
        assert_eq!(wrong(r#"{"time": "yesterday"}"#), "it has no valid `time`");
        assert_eq!(wrong(r#"{"time": "2026-01-02T03:04:05Z"}"#), "it has no `status`");
        assert_eq!(wrong(r#"{"time": "2026-01-02T03:04:05Z", "status": "ok"}"#), "it has no `module`");
        assert_eq!(AuditEntry::parse(vec![0xff]).unwrap_err(), "it is not UTF-8");
    }
}
