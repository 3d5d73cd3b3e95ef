//! The variables that Ansible gives to each template: where it is, and when and for what it is rendered.

use std::time::Duration;

use modbox_jinja::values::{Calendar, Clock, Moment};
use modbox_template::{Layer, Origin, Scope, Slot, Value};

use crate::files::FileDetails;

/// What `ansible_managed` is, where no configuration says otherwise.
const MANAGED: &str = "Ansible managed";

/// A template file that is rendered.
#[derive(Debug)]
pub struct RenderedFile<'a> {
    /// The path, as the task names it.
    pub name: &'a str,
    /// The path at which the file was found.
    pub path: &'a str,
    /// The file that it becomes; `None` for a lookup.
    pub destination: Option<&'a str>,
    /// The template's owner and times.
    pub details: &'a FileDetails,
    /// The name of the machine.
    pub host_name: &'a str,
    /// The time now.
    pub now: Duration,
}

/// Returns the variables of a template. `local` gives a time in the host's zone.
#[must_use]
pub fn of_template(file: &RenderedFile<'_>, scope: &Scope, local: &dyn Fn(Duration) -> Option<Moment>) -> Layer {
    let time = |time| local(time).map_or_else(|| Value::from(()), Value::from_object);
    let owner =
        file.details.owner.parse::<u32>().map_or_else(|_| Value::from(file.details.owner.as_str()), Value::from);
    let mut values = vec![
        ("template_host", Value::from(file.host_name)),
        ("template_path", Value::from(file.name)),
        ("template_mtime", time(file.details.modified)),
        ("template_uid", owner),
        ("template_run_date", time(file.now)),
        ("template_destpath", file.destination.map_or_else(|| Value::from(()), Value::from)),
        ("template_fullpath", Value::from(file.path)),
    ];
    if scope.get("ansible_managed").is_none() {
        values.push(("ansible_managed", Value::from(MANAGED)));
    }
    values.into_iter().map(|(name, value)| (name.into(), Slot::value(value, Origin::Magic))).collect()
}

/// Reads a local time as hosts of actions write it: `2026-11-24 05:45:14.741352`.
#[must_use]
pub fn of_text(text: &str) -> Option<Moment> {
    let (date, time) = text.split_once(' ')?;
    let (year, date) = date.split_once('-')?;
    let (month, day) = date.split_once('-')?;
    let (time, micros) = time.split_once('.').unwrap_or((time, "0"));
    let mut time = time.split(':').map(|part| part.parse::<u8>().ok());
    let micros = format!("{micros:0<6}").get(..6)?.parse().ok()?;
    let clock = Clock::new(time.next()??, time.next()??, time.next()??, micros)?;
    let date = Calendar::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)?;
    Some(Moment::new(date, clock, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_times_are_read() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(of_text(text).map(|moment| moment.iso(' ')).as_deref(), expect, "{text}");
        };
        check("2026-11-24 05:45:14.741352", Some("2026-11-24 05:45:14.741352"));
        check("2026-11-24 05:45:14", Some("2026-11-24 05:45:14"));
        check("2026-13-24 05:45:14", None);
        check("now", None);
    }
}
