//! The variables that Ansible gives to each template: where it is, and when and for what it is rendered.

use std::time::Duration;

use modbox_jinja::values::Moment;
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
