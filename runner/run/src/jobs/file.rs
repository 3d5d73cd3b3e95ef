//! The content of a job's file: writes it, and derives a job's state from it.

use modbox_contract::{NewSecrets, Redactor, Release};
use modbox_python_json::{Dict, Value, decode};
use modbox_vocabulary::LimitKind;

use crate::jobs::order::RunSummary;

/// The message of `async_wrapper` for a job that took too long.
const TIMEOUT: &str = "Timeout exceeded";

/// The key of a result that is a secret, as Ansible marks it for its callbacks.
const SECRET: &str = "_ansible_no_log";

/// Keys of a status that say nothing of a result.
const OF_STATE: [&str; 7] = ["started", "finished", "ansible_job_id", "results_file", "changed", "failed", "skipped"];

/// A job, as read from its file.
#[derive(Debug, Clone, PartialEq)]
pub struct JobFile {
    /// The job's id, which is the name of its file.
    pub id: String,
    /// The content of the file; `None` when it is not a JSON object, for example while it is being written.
    pub content: Option<Dict>,
}

/// How far a job has come, by its file and by whether its monitor lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It has not finished.
    Running,
    /// It finished, and its module succeeded.
    Succeeded,
    /// It finished, and its module failed or returned no result.
    Failed,
    /// It hit its time limit.
    TimedOut,
    /// It did not finish, and its monitor is gone.
    Lost,
}

impl State {
    /// Returns the state's name in listings.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed out",
            Self::Lost => "lost",
        }
    }
}

impl JobFile {
    /// Returns the job's state. `is_alive` returns whether the process with this id supervises the job of this name.
    pub fn state(&self, is_alive: impl FnOnce(u32, &str) -> bool) -> State {
        let truthy = |key: &str| self.content.as_ref().is_some_and(|file| file.get(key).is_some_and(Value::is_truthy));
        let started = self.content.as_ref().is_none_or(|file| file.contains_key("started"));
        if started && !truthy("finished") {
            return match own_process(&self.id) {
                Some((name, process)) if !is_alive(process, name) => State::Lost,
                _ => State::Running,
            };
        }
        let entry = |key: &str| self.content.as_ref().and_then(|file| file.get(key));
        let timed_out = entry("child_pid").is_some() && entry("msg").and_then(Value::as_str) == Some(TIMEOUT);
        match (truthy("failed"), timed_out) {
            (true, true) => State::TimedOut,
            (true, false) => State::Failed,
            (false, _) => State::Succeeded,
        }
    }

    /// Returns the job's status as `async_status` reports it (ansible-core 2.19). `path` is the path of the job's file.
    #[must_use]
    pub fn to_status(&self, state: State, path: &str) -> Dict {
        let mut status = self.content.clone().unwrap_or_default();
        let mut put = |key: &str, value: Value| drop(status.insert(key.to_owned(), value));
        match state {
            State::Running => {
                put("results_file", path.into());
                put("ansible_job_id", self.id.as_str().into());
                put("started", true.into());
                put("finished", false.into());
            }
            State::Lost => {
                put("failed", true.into());
                put("msg", "the job ended without a result: its monitor was killed".into());
                put("ansible_job_id", self.id.as_str().into());
                put("started", true.into());
                put("finished", true.into());
            }
            State::Succeeded | State::Failed | State::TimedOut => {
                put("finished", true.into());
                put("ansible_job_id", self.id.as_str().into());
            }
        }
        status
    }
}

/// Returns the part of a status that may be shown: all of it without the secrets that come with it, unless the result is a
/// secret. `why` is said in its place.
#[must_use]
pub fn shown(mut status: Dict, why: &str) -> Dict {
    if let Some(secrets) = NewSecrets::take(&mut status) {
        status = Redactor::new(secrets.iter()).mask_result(status);
    }
    if !status.get(SECRET).is_some_and(Value::is_truthy) {
        return status;
    }
    let of_state = status.into_iter().filter(|(key, _)| OF_STATE.contains(&key.as_str()));
    of_state.chain([("censored".to_owned(), why.into())]).collect()
}

/// Returns a random name for a job. The job's id is this name, a dot and the monitor's process id. Names made here
/// start with a zero, after the `j` if there is one; names made by Ansible never do.
#[must_use]
pub fn new_name(release: Release) -> String {
    let mut random = [0; 8];
    // Without random bytes, the process id still makes ids unique.
    let _ = rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty());
    let number = u64::from_le_bytes(random) % 100_000_000_000;
    let letter = if release >= Release::V2_14 { "j" } else { "" };
    format!("{letter}0{number:011}")
}

/// Splits the id of a job that modbox started into name and process id. Returns `None` for any other id.
fn own_process(id: &str) -> Option<(&str, u32)> {
    let (name, process) = id.rsplit_once('.')?;
    let digits = name.strip_prefix('j').unwrap_or(name);
    (digits.len() == 12 && digits.starts_with('0')).then_some((name, process.parse().ok()?))
}

/// Returns the content of a job's file while the job runs.
#[must_use]
pub fn started(id: &str, release: Release) -> Dict {
    let flag = |is: bool| if release >= Release::V2_19 { Value::from(is) } else { i64::from(is).into() };
    let entries = [("started", flag(true)), ("finished", flag(false)), ("ansible_job_id", id.into())];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Returns what `modbox run --async` prints for a started job.
#[must_use]
pub fn reply(id: &str, path: &str, release: Release) -> Dict {
    let failed = if release >= Release::V2_19 { Value::from(false) } else { 0.into() };
    let mut reply = Dict::from_iter([("failed".to_owned(), failed)]);
    reply.extend(started(id, release));
    reply.insert("results_file".to_owned(), path.into());
    // Ansible's controller adds this key to the output of `async_wrapper`.
    reply.insert("changed".to_owned(), true.into());
    reply
}

/// Returns the content of a job's file after the run. `process` is the id of the process of the run.
#[must_use]
pub fn finished(id: &str, process: u32, summary: RunSummary) -> Dict {
    let RunSummary { result, parsed, stderr, limit, command, kept_files, is_secret } = summary;
    let mut result = match decode(&result) {
        Ok(Value::Dict(result)) => result,
        // Cannot happen: the run encoded a dict.
        _ => Dict::new(),
    };
    let mut file = if limit.as_deref() == Some(LimitKind::Wall.as_str()) {
        let entries = [("msg", Value::from(TIMEOUT)), ("failed", true.into()), ("child_pid", process.into())];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    } else if parsed {
        if !stderr.is_empty() {
            result.insert("stderr".to_owned(), stderr.into());
        }
        result
    } else {
        let taken = |result: &mut Dict, key: &str| result.shift_remove(key).unwrap_or_else(|| "".into());
        let entries = [
            ("failed", Value::from(true)),
            ("cmd", command.into()),
            ("data", taken(&mut result, "module_stdout")),
            ("stderr", taken(&mut result, "module_stderr")),
            ("msg", taken(&mut result, "msg")),
            ("ansible_job_id", id.into()),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    };
    if let Some(path) = kept_files {
        file.insert("kept_files".to_owned(), path.into());
    }
    if is_secret {
        file.insert(SECRET.to_owned(), true.into());
    }
    // Readers take a file with this key for that of an unfinished job.
    file.shift_remove("started");
    file
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use super::*;

    fn file(id: &str, content: &str) -> JobFile {
        let content = match decode(content) {
            Ok(Value::Dict(dict)) => Some(dict),
            _ => None,
        };
        JobFile { id: id.to_owned(), content }
    }

    #[test]
    fn states_are_told_apart() {
        let id = format!("{}.7", new_name(Release::V2_19));
        let started = r#"{"started": 1, "finished": 0, "ansible_job_id": "x"}"#;
        for (id, content, alive, expect) in [
            (id.as_str(), started, true, State::Running),
            (&id, started, false, State::Lost),
            (&id, "{", true, State::Running),
            ("j123.7", started, false, State::Running),
            (&id, r#"{"changed": true}"#, false, State::Succeeded),
            (&id, r#"{"failed": true, "msg": "Timeout exceeded"}"#, false, State::Failed),
            (&id, r#"{"failed": true, "msg": "Timeout exceeded", "child_pid": 3}"#, false, State::TimedOut),
        ] {
            let asked = |process: u32, name: &str| {
                assert!(process == 7 && id.starts_with(name));
                alive
            };
            assert_eq!(file(id, content).state(asked), expect, "{id} {content}");
        }
    }

    #[test]
    fn secrets_that_come_with_a_result_are_not_shown() {
        let text = r#"{"msg": "a Q7x9", "changed": true, "_ansible_new_secrets": ["Q7x9"]}"#;
        let status = file("j1", text).to_status(State::Succeeded, "/j");
        assert_eq!(
            encode(&Value::Dict(shown(status, "why"))),
            r#"{"msg": "a $REDACTED$", "changed": true, "finished": true, "ansible_job_id": "j1"}"#
        );
    }

    #[test]
    fn names_follow_the_release() {
        for (release, length) in [(Release::V2_9, 12), (Release::V2_14, 13), (Release::V2_19, 13)] {
            let name = new_name(release);
            assert_eq!((name.len(), name.starts_with('j')), (length, length == 13), "{name}");
            assert_eq!(own_process(&format!("{name}.12")), Some((name.as_str(), 12)));
        }
        assert_eq!(own_process("j123456789012.5"), None);
    }

    #[test]
    fn files_are_those_of_the_release() {
        let text = |dict| encode(&Value::Dict(dict));
        assert_eq!(
            text(started("j1.2", Release::V2_19)),
            r#"{"started": true, "finished": false, "ansible_job_id": "j1.2"}"#
        );
        assert_eq!(text(started("1.2", Release::V2_9)), r#"{"started": 1, "finished": 0, "ansible_job_id": "1.2"}"#);
        let summary = |result: &str, parsed, limit: Option<&str>| RunSummary {
            result: result.to_owned(),
            parsed,
            stderr: "e".to_owned(),
            limit: limit.map(str::to_owned),
            command: "/m".to_owned(),
            kept_files: None,
            is_secret: false,
        };
        for (summary, expect) in [
            (summary(r#"{"a": NaN, "started": 1}"#, true, None), r#"{"a": NaN, "stderr": "e"}"#),
            (summary("{}", false, Some("wall")), r#"{"msg": "Timeout exceeded", "failed": true, "child_pid": 9}"#),
            (
                summary(r#"{"failed": true, "msg": "m", "module_stdout": "o", "module_stderr": "e"}"#, false, None),
                r#"{"failed": true, "cmd": "/m", "data": "o", "stderr": "e", "msg": "m", "ansible_job_id": "j1.2"}"#,
            ),
        ] {
            assert_eq!(text(finished("j1.2", 9, summary)), expect);
        }
    }
}
