//! Listing a playbook instead of running it: its hosts, its tasks with their tags, or its tags.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use modbox_template::{Engine, Layer, Scope};

use crate::fields::FieldError;
use crate::fields::names;
use crate::keywords::Keyword;
use crate::known_hosts::KnownHosts;
use crate::load::values;
use crate::model::block::{Item, filtered};
use crate::model::play::{Play, Playbook};
use crate::model::task::{Task, TaskKind};
use crate::run::playbooks::tags::{self, TagChoice};
use crate::run_options::RunOptions;
use crate::vars::stack::Layers;

/// What a list shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listing {
    /// The hosts of each play, wherever they are.
    pub hosts: bool,
    /// The tasks.
    pub tasks: bool,
    /// The tags of all tasks.
    pub tags: bool,
    /// Whether mappings that several places give to one variable become one.
    pub merges_mappings: bool,
}

/// Returns the list of a playbook's hosts, tasks or tags, as Ansible writes it. Dynamic includes are not followed.
///
/// # Errors
///
/// A template in the tags of a task fails.
pub fn text(
    playbook: &Playbook,
    engine: &Engine,
    options: &RunOptions,
    listing: Listing,
) -> Result<String, FieldError> {
    let mut text = format!("\nplaybook: {}\n", playbook.file);
    for (index, play) in playbook.plays.iter().enumerate() {
        write_play(play, index + 1, engine, options, listing, &mut text)?;
    }
    Ok(text)
}

fn write_play(
    play: &Play,
    number: usize,
    engine: &Engine,
    options: &RunOptions,
    listing: Listing,
    text: &mut String,
) -> Result<(), FieldError> {
    let scope = scope(play, options, listing.merges_mappings);
    let own = play_tags(play);
    let hosts = play.frame.keywords.get(Keyword::Hosts).map(values::items).unwrap_or_default();
    let hosts: Vec<String> = hosts.iter().map(|host| names::text(engine, &scope, host)).collect();
    let patterns = hosts.clone();
    let hosts = hosts.join(",");
    let name = play.frame.keywords.get(Keyword::Name).map(|name| names::text(engine, &scope, name));
    let name = name.unwrap_or_else(|| hosts.clone());
    let _ = writeln!(text, "\n  play #{number} ({hosts}): {name}\tTAGS: [{}]", join(&own, ","));
    if listing.hosts {
        write_hosts(&patterns, options, text);
    }
    if !listing.tasks && !listing.tags {
        return Ok(());
    }
    if listing.tasks {
        text.push_str("    tasks:\n");
    }
    let mut only = options.tags.clone();
    if listing.tags && only.is_empty() && options.skip_tags.is_empty() {
        only = vec!["never".to_owned(), "all".to_owned()];
    }
    let choice = TagChoice { only, skip: options.skip_tags.clone() };
    let mut all = own;
    for section in [&play.pre_tasks, &play.role_tasks, &play.tasks, &play.post_tasks] {
        let chosen = filtered(section, &mut |task: &Task| {
            Ok::<_, FieldError>(choice.runs(&tags::of_task(engine, &scope, task)?))
        })?;
        write_items(&chosen, engine, &scope, listing, &mut all, text)?;
    }
    if listing.tags {
        let _ = writeln!(text, "      TASK TAGS: [{}]", join(&all, ", "));
    }
    Ok(())
}

/// Writes the hosts that a play is for.
fn write_hosts(patterns: &[String], options: &RunOptions, text: &mut String) {
    let known = KnownHosts::new(options);
    let mut hosts = known.matching(patterns);
    let limits = options.limit_patterns();
    if !limits.is_empty() {
        let limited = known.matching(&limits);
        hosts.retain(|host| limited.contains(host));
    }
    let shown: Vec<String> = patterns.iter().map(|pattern| modbox_python_json::str_repr(pattern)).collect();
    let _ = writeln!(text, "    pattern: [{}]\n    hosts ({}):", shown.join(", "), hosts.len());
    for host in &hosts {
        let _ = writeln!(text, "      {host}");
    }
}

fn write_items(
    items: &[Item],
    engine: &Engine,
    scope: &Scope,
    listing: Listing,
    all: &mut BTreeSet<String>,
    text: &mut String,
) -> Result<(), FieldError> {
    for item in items {
        match item {
            // Ansible lists the tasks of blocks, but not those of their rescues.
            Item::Block(block) => write_items(&block.tasks, engine, scope, listing, all, text)?,
            Item::Task(task) if matches!(task.kind, TaskKind::Implicit(_)) && task.is_hidden() => {}
            Item::Task(task) => {
                let tags = tags::of_task(engine, scope, task)?;
                if listing.tasks {
                    let short = task_name(engine, scope, task);
                    let _ = writeln!(text, "      {short}\tTAGS: [{}]", join(&tags, ", "));
                }
                all.extend(tags);
            }
        }
    }
    Ok(())
}

fn task_name(engine: &Engine, scope: &Scope, task: &Task) -> String {
    let short = match task.keywords.get(Keyword::Name) {
        Some(name) if modbox_template::is_template(name) => values::scalar_text(name).unwrap_or_default(),
        _ => names::short(engine, scope, task),
    };
    if short.is_empty() { task.action_text().to_owned() } else { names::full(task, &short) }
}

/// Returns the variables that are known without running anything.
fn scope(play: &Play, options: &RunOptions, merges: bool) -> Scope {
    let magic: [Arc<Layer>; 0] = [];
    let layers = Layers {
        connection: None,
        host: None,
        play: &play.vars,
        roles: &play.roles,
        extra: &options.extra_vars,
        magic: &magic,
        merges,
    };
    layers.scope(None)
}

fn play_tags(play: &Play) -> BTreeSet<String> {
    let sources = play.frame.collected(Keyword::Tags);
    let texts = sources.into_iter().flat_map(values::items).filter_map(|source| values::scalar_text(&source));
    texts.flat_map(|text| text.split(',').map(|tag| tag.trim().to_owned()).collect::<Vec<_>>()).collect()
}

fn join(tags: &BTreeSet<String>, separator: &str) -> String {
    tags.iter().map(String::as_str).collect::<Vec<_>>().join(separator)
}
