//! Inventories in INI format: sections of hosts, of groups (`:children`) and of variables (`:vars`).

use std::sync::Arc;

use indexmap::IndexMap;
use modbox_yaml::{Position, Source, inventory_lines};

use crate::address;
use crate::error::{InventoryError, Problem};
use crate::model::Inventory;
use crate::origin::Origin;

/// Adds the hosts, groups and variables of a file.
///
/// # Errors
///
/// A line is malformed, a group is used and not defined, or the hosts are too many.
pub fn read_ini(inventory: &mut Inventory, text: &str, origin: &Origin) -> Result<(), InventoryError> {
    let lines = inventory_lines(text, &origin.name)
        .map_err(|error| Problem::from(error).at(&Position::start_of(&origin.name)))?;
    let mut reader = Reader { inventory, origin, pending: IndexMap::new() };
    let (mut group, mut section) = ("ungrouped".to_owned(), Section::Hosts);
    for line in &lines {
        let Some(text) = line.as_text().filter(|text| !text.is_empty() && !text.starts_with([';', '#'])) else {
            continue;
        };
        let done = if let Some(header) = header(text) {
            header.and_then(|(name, kind)| {
                (group, section) = (name.to_owned(), kind);
                reader.begin(name, kind, line.position())
            })
        } else {
            match section {
                Section::Hosts => reader.hosts(&group, line),
                Section::Vars => reader.variable(&group, line),
                Section::Children => reader.child(&group, text, line.position()),
            }
        };
        done.map_err(|problem| problem.at(line.position()))?;
    }
    match reader.pending.into_iter().next() {
        Some((name, pending)) => Err(Problem::UndefinedGroup(name).at(&pending.position)),
        None => Ok(()),
    }
}

/// What the lines of a section are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    Hosts,
    Children,
    Vars,
}

/// A group that is used, and not defined yet.
struct Pending {
    position: Position,
    /// Groups that it is to be put below.
    parents: Vec<String>,
}

struct Reader<'a> {
    inventory: &'a mut Inventory,
    origin: &'a Origin,
    pending: IndexMap<String, Pending>,
}

/// Reads a line such as `[group:vars]  # comment`; `None` if it is not a section.
fn header(line: &str) -> Option<Result<(&str, Section), Problem>> {
    let rest = line.strip_prefix('[')?;
    let whole = || Problem::Section(line.to_owned());
    let parsed = rest.split_once(']').and_then(|(inside, after)| {
        let after = after.trim_start();
        let (name, kind) = inside.split_once(':').unwrap_or((inside, "hosts"));
        let named = !name.is_empty() && !name.contains(char::is_whitespace);
        let worded = !kind.is_empty() && kind.chars().all(|character| character.is_alphanumeric() || character == '_');
        (named && worded && (after.is_empty() || after.starts_with('#'))).then_some((name, kind))
    });
    match parsed {
        Some((name, "hosts")) => Some(Ok((name, Section::Hosts))),
        Some((name, "children")) => Some(Ok((name, Section::Children))),
        Some((name, "vars")) => Some(Ok((name, Section::Vars))),
        Some(_) => Some(Err(Problem::SectionType(line.to_owned()))),
        // A host can begin with a bracket: `[::1]:22`.
        None => line.ends_with(']').then(|| Err(whole())),
    }
}

impl Reader<'_> {
    /// Begins a section. `[group]` and `[group:children]` define the group; `[group:vars]` needs it to be defined
    /// elsewhere.
    fn begin(&mut self, name: &str, section: Section, position: &Position) -> Result<(), Problem> {
        let new = self.inventory.add_group(name);
        if section == Section::Vars {
            if new && !self.pending.contains_key(name) {
                self.pending.insert(name.to_owned(), Pending { position: position.clone(), parents: Vec::new() });
            }
            return Ok(());
        }
        let pending = self.pending.shift_remove(name);
        pending
            .into_iter()
            .flat_map(|pending| pending.parents)
            .try_for_each(|parent| self.inventory.add_child(&parent, name))
    }

    /// Reads a line of hosts: a name, which can have ranges and a port, and variables.
    fn hosts(&mut self, group: &str, line: &Source) -> Result<(), Problem> {
        let words = line.shell_words()?;
        let Some((name, variables)) = words.split_first() else { return Ok(()) };
        let address = address::parse(name.as_text().map_or("", |text| text))?;
        let variables = variables.iter().map(|word| key_value(word, word)).collect::<Result<Vec<_>, _>>()?;
        for host in &address.hosts {
            self.inventory.add_host(group, host, address.port, self.origin)?;
            for (name, value) in &variables {
                self.inventory.set_host_variable(host, Arc::clone(name), value.clone());
            }
        }
        Ok(())
    }

    /// Reads a line of variables. The whole rest of the line is the value.
    fn variable(&mut self, group: &str, line: &Source) -> Result<(), Problem> {
        let (name, value) = key_value(line, line)?;
        self.inventory.set_group_variable(group, name, value);
        Ok(())
    }

    /// Reads a line of groups: the name of one.
    fn child(&mut self, group: &str, line: &str, position: &Position) -> Result<(), Problem> {
        let (name, rest) = line.split_at(line.find([' ', '\t', ':', ']', '#']).unwrap_or(line.len()));
        let rest = rest.trim_start();
        if name.is_empty() || !(rest.is_empty() || rest.starts_with('#')) {
            return Err(Problem::GroupName(line.to_owned()));
        }
        if self.inventory.group(name).is_some() && !self.pending.contains_key(name) {
            return self.inventory.add_child(group, name);
        }
        let pending = self.pending.entry(name.to_owned());
        let pending = pending.or_insert_with(|| Pending { position: position.clone(), parents: Vec::new() });
        pending.parents.push(group.to_owned());
        Ok(())
    }
}

/// Splits `name=value`. The value is a Python literal, or text.
fn key_value(source: &Source, shown: &Source) -> Result<(Arc<str>, Source), Problem> {
    let wrong = || Problem::KeyValue(shown.as_text().map_or_else(String::new, |text| text.to_string()));
    let text = source.as_text().ok_or_else(wrong)?;
    let at = text.find('=').ok_or_else(wrong)?;
    let value = &text[at + 1..];
    let start = at + 1 + (value.len() - value.trim_start().len());
    let end = start + value.trim().len();
    let value = source.text_of(start.min(text.len())..end.min(text.len())).ok_or_else(wrong)?;
    Ok((text[..at].trim().into(), value.python_literal()))
}

#[cfg(test)]
mod tests {
    use modbox_python_json::encode;

    use super::*;

    fn read(text: &str) -> Result<Inventory, String> {
        let mut inventory = Inventory::new();
        read_ini(&mut inventory, text, &Origin::file("/p/hosts")).map_err(|error| error.to_string())?;
        inventory.reconcile();
        Ok(inventory)
    }

    #[test]
    fn hosts_groups_and_variables_are_read() {
        let text = "lone ; x=1\n[web]\nweb[1:2]:22 ansible_connection=local n=1 l=\"['a', 2]\" t='{{ x }}' # c\n\n[site:vars]\n\
                    a = b c # not a comment\n[site:children]\nweb # c\ndb\n[db]\nweb1\n# [no]\n";
        let error = read(text).unwrap_err();
        assert_eq!(
            error,
            "failed to read the inventory `/p/hosts:1:1`: expected `name=value`, found `;`; quote a value that has blanks in it"
        );
        let inventory = read(&text.replace(" ; x=1", "")).unwrap();
        assert_eq!(inventory.hosts_of("site"), ["web1", "web2"]);
        assert_eq!(inventory.groups_of("web1"), ["all", "site", "db", "web"]);
        assert_eq!(inventory.groups_of("lone"), ["all", "ungrouped"]);
        let host = inventory.host("web2").unwrap();
        let shown: Vec<String> =
            host.vars.iter().map(|(name, value)| format!("{name}={}", encode(&value.to_data().unwrap()))).collect();
        assert_eq!(shown, ["ansible_connection=\"local\"", "n=1", "l=[\"a\", 2]", "t=\"{{ x }}\""]);
        assert_eq!((host.port, host.origin.as_ref().unwrap().folder.as_deref()), (Some(22), Some("/p")));
        let site = inventory.group("site").unwrap();
        assert_eq!(&**site.vars["a"].as_text().unwrap(), "b c # not a comment");
    }

    #[test]
    fn mistakes_are_told_with_their_places() {
        for (text, expect) in [
            ("[a:b]\n", "1:1`: unknown section type in `[a:b]`"),
            ("[a b]\n", "1:1`: invalid section `[a b]`"),
            ("[a:vars]\nx=1\n", "1:1`: undefined group `a`"),
            ("[a:children]\nb\n", "2:1`: undefined group `b`"),
            ("[a:vars]\nx\n[a]\n", "2:1`: expected `name=value`, found `x`"),
            ("[a:children]\nb c\n", "2:1`: expected the name of a group, found `b c`"),
            ("h x\n", "1:1`: expected `name=value`, found `x`"),
            ("h 'x\n", "1:1`: failed to read `/p/hosts:1:1`"),
            ("---\n", "1:1`: invalid host `---`"),
            ("a:\n", "1:1`: invalid host `a:`"),
            ("[a:children]\nb\n[b:children]\na\n", "4:1`: the group `a` cannot be a child of `b`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expect), "{text}: {error}");
        }
    }
}
