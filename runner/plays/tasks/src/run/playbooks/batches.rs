//! The order of a play's hosts, its batches, and how many of them may fail (`order`, `serial`, `max_fail_percentage`).
//!
//! Hosts are local and run one after the other. So the batches decide only when a play ends early: after one in which all hosts, or
//! too many of them, failed.

use std::hash::{BuildHasher, RandomState};

use modbox_python_json::Value;

use crate::fields::Fields;
use crate::keywords::Keyword;
use crate::report::events::Event;
use crate::report::message::Message;
use crate::run::errors;
use crate::run::session::{BatchState, Session};
use crate::run::steps::task::TaskEnd;

/// Puts the hosts of a play in the order that it wants (ansible-core 2.21, `InventoryManager.get_hosts`).
///
/// # Errors
///
/// The order is unknown.
pub(super) fn order(session: &Session<'_>, hosts: &mut [String]) -> Result<(), Message> {
    match value(session, Keyword::Order)?.map(|order| modbox_python_json::str(&order)).as_deref() {
        None | Some("" | "inventory" | "None") => {}
        Some("sorted") => hosts.sort(),
        Some("reverse_sorted") => hosts.sort_by(|a, b| b.cmp(a)),
        Some("reverse_inventory") => hosts.reverse(),
        Some("shuffle") => {
            let random = RandomState::new();
            hosts.sort_by_key(|host| random.hash_one(host));
        }
        Some(other) => return Err(Message::new(format!("Invalid 'order' specified for inventory hosts: {other}"))),
    }
    Ok(())
}

/// Returns the batches of a play (ansible-core 2.21, `_get_serialized_batches`).
///
/// # Errors
///
/// A size is neither a number nor a percentage.
pub(super) fn of<'h>(session: &Session<'_>, hosts: &'h [String]) -> Result<Vec<&'h [String]>, Message> {
    let sizes = match value(session, Keyword::Serial)? {
        Some(Value::List(sizes)) => sizes,
        Some(size) => vec![size],
        None => Vec::new(),
    };
    let sizes = sizes.iter().map(|size| number(size, hosts.len())).collect::<Result<Vec<_>, _>>()?;
    Ok(split(hosts, &sizes))
}

/// Returns the batches of these sizes. The last size is that of all that follow; none, or one below 1, is the rest.
fn split<'h>(hosts: &'h [String], sizes: &[usize]) -> Vec<&'h [String]> {
    let (mut batches, mut rest, mut at) = (Vec::new(), hosts, 0);
    while !rest.is_empty() {
        let size = sizes.get(at.min(sizes.len().saturating_sub(1))).copied().unwrap_or(0);
        let size = if size == 0 { rest.len() } else { size.min(rest.len()) };
        let (batch, others) = rest.split_at(size);
        batches.push(batch);
        (rest, at) = (others, at + 1);
    }
    batches
}

/// Returns the size that a number or a percentage of all hosts is. A percentage is one host at least.
fn number(size: &Value, hosts: usize) -> Result<usize, Message> {
    let text = modbox_python_json::str(size);
    let wrong = || Message::new(format!("the size `{text}` of `serial` is neither a number nor a percentage"));
    if let Some(percentage) = text.trim().strip_suffix('%') {
        let percentage: usize = percentage.trim().parse().map_err(|_| wrong())?;
        return Ok((percentage.saturating_mul(hosts) / 100).max(1));
    }
    let size: i64 = text.trim().parse().map_err(|_| wrong())?;
    Ok(usize::try_from(size).unwrap_or(0))
}

/// Says whether more hosts of a batch failed than the play allows.
///
/// # Errors
///
/// The percentage cannot be evaluated.
pub(super) fn too_many_failed(session: &Session<'_>, failed: usize, batch: usize) -> Result<bool, Message> {
    let Some(most) = value(session, Keyword::MaxFailPercentage)? else { return Ok(false) };
    let most = modbox_python_json::str(&most).trim_end_matches('%').trim().parse::<f64>().ok();
    let count = |number: usize| u32::try_from(number).map_or(f64::MAX, f64::from);
    Ok(most.is_some_and(|most| count(failed) / count(batch) > most / 100.0))
}

/// Tells that no host is left, where a failure of some hosts is a failure of all.
pub(super) fn tell_end(session: &mut Session<'_>, end: &TaskEnd) -> Result<(), Message> {
    let BatchState { hosts, failed } = session.play.batch;
    let is_failure = end.outcome.is_failed() && !end.ignore_errors;
    if is_failure && too_many_failed(session, failed + 1, hosts)? {
        // Once for the failures, and once more for the hosts that are left.
        session.event(Event::NoHostsRemaining);
        session.event(Event::NoHostsRemaining);
    }
    Ok(())
}

/// Evaluates a keyword of the play.
fn value(session: &Session<'_>, keyword: Keyword) -> Result<Option<Value>, Message> {
    let Some(source) = session.play.keyword(keyword) else { return Ok(None) };
    let scope = session.scope(None);
    let fields = Fields { engine: session.engine, scope: &scope };
    let value = fields.source(keyword, source).map_err(|error| errors::of_field(session, &error))?;
    Ok(value.filter(|value| *value != Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_size_is_that_of_what_follows() {
        let hosts: Vec<String> = (1..=7).map(|number| number.to_string()).collect();
        let sizes = |sizes: &[usize]| split(&hosts, sizes).iter().map(|batch| batch.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&[]), [7]);
        assert_eq!(sizes(&[1]), [1; 7]);
        assert_eq!(sizes(&[1, 2]), [1, 2, 2, 2]);
        assert_eq!(sizes(&[2, 0]), [2, 5]);
        assert_eq!(sizes(&[9]), [7]);
        assert!(split(&[], &[1]).is_empty());
        let size = |text: &str| number(&Value::from(text), 7).map_err(|error| error.brief());
        assert_eq!((size("3"), size("-1"), size("30%"), size("1%"), size("0")), (Ok(3), Ok(0), Ok(2), Ok(1), Ok(0)));
        assert!(size("many").unwrap_err().contains("`many`"));
    }
}
