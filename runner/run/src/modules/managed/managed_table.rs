//! Reads the lines of one module from the table.

use crate::modules::managed::line::Line;

/// The table that modbox is built with.
const TABLE: &str = include_str!("table.txt");

/// The lines of one module.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ManagedTable {
    /// Qualified name of the module.
    pub(crate) name: String,
    pub(crate) lines: Vec<Line>,
}

impl ManagedTable {
    /// Returns the lines of a module, by its qualified name; `None` if the table has none.
    pub(crate) fn of(name: &str) -> Option<Self> {
        // What is read is tried by a test.
        let lines = texts(name)?.map(Line::parse).collect::<Result<_, _>>().ok()?;
        Some(Self { name: name.to_owned(), lines })
    }
}

/// Returns the texts of a module's lines.
fn texts(name: &str) -> Option<impl Iterator<Item = &'static str>> {
    let mut lines = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.find(|line| *line == name && !name.starts_with(' '))?;
    Some(lines.map_while(|line| line.strip_prefix("  ")))
}

/// Returns the names of all modules of the table.
#[cfg(test)]
fn names() -> Vec<&'static str> {
    TABLE.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase())).collect()
}

#[cfg(test)]
mod tests {
    use modbox_policy::outside::OutsideRule;

    use super::*;
    use crate::modules::managed::line::Want;

    #[test]
    fn each_line_of_the_table_can_be_read() {
        let names = names();
        assert!(names.len() > 40, "{names:?}");
        assert!(names.is_sorted_by(|one, other| one < other), "a module is in the table twice, or not in its order");
        for name in names {
            let texts: Vec<&str> = texts(name).unwrap().collect();
            assert!(!texts.is_empty(), "{name}");
            for text in texts {
                let line = Line::parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
                match line.want {
                    Want::Profile { profile, options, .. } => {
                        let kinds = profile.commands().map(|commands| commands.kinds).unwrap_or_default();
                        assert!(options.is_empty() || !kinds.is_empty(), "{name}: `{profile}` binds no names");
                    }
                    Want::Outside(rule) => assert!(rule.parse::<OutsideRule>().is_ok(), "{name}: {rule}"),
                    Want::Write(path) => assert!(path.starts_with('/'), "{name}: {path}"),
                    Want::Net(rule) => assert!(rule.parse::<modbox_policy::net::NetRule>().is_ok(), "{name}: {rule}"),
                    Want::Uncovered(..) | Want::Unconfined(_) => {}
                }
            }
        }
        for nothing in ["", "ansible.builtin", "service", "  manage-users of name", "ansible.builtin.command"] {
            assert_eq!(ManagedTable::of(nothing), None, "{nothing}");
        }
    }
}
