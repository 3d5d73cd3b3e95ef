//! Reads the rows of one module from the table.
//!
//! A run needs one module's rows, so only their text is parsed.

use modbox_contract::{Dict, Value};

use crate::modules::path_uses::row::{Case, Condition, PathUse, Row};

/// The table that modbox is built with.
const TABLE: &str = include_str!("table.yaml");

/// Rows of one module.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ModuleTable {
    /// Qualified name of the module.
    pub(crate) name: String,
    rows: Vec<(String, Row)>,
}

impl ModuleTable {
    /// Returns the rows of a module, by its qualified name; `None` if the table has none.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let block = blocks(TABLE).find(|block| block_name(block) == name)?;
        Self::parse(name, block).ok()
    }

    /// Returns the options and their rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&str, &Row)> {
        self.rows.iter().map(|(option, row)| (option.as_str(), row))
    }

    fn parse(name: &str, block: &str) -> Result<Self, String> {
        let parsed = serde_saphyr::from_str::<Value>(block).map_err(|error| error.to_string())?;
        let options = parsed.as_dict().and_then(|parsed| parsed.get(name)?.as_dict()).ok_or("expected options")?;
        let rows = options.iter().map(|(option, row)| {
            let row = parse_row(row).map_err(|error| format!("{name}, {option}: {error}"))?;
            Ok((option.clone(), row))
        });
        Ok(Self { name: name.to_owned(), rows: rows.collect::<Result<_, String>>()? })
    }
}

/// Returns the text of each module: a line without indentation, and the indented lines after it.
fn blocks(table: &str) -> impl Iterator<Item = &str> {
    let is_name = |line: &str| line.starts_with(|first: char| first.is_ascii_lowercase());
    let begins = move |at: usize| (at == 0 || table.as_bytes()[at - 1] == b'\n') && is_name(&table[at..]);
    let mut starts: Vec<usize> = memchr::memchr_iter(b'\n', table.as_bytes()).map(|at| at + 1).collect();
    starts.insert(0, 0);
    starts.retain(|at| begins(*at));
    let ends: Vec<usize> = starts.iter().skip(1).copied().chain([table.len()]).collect();
    starts.into_iter().zip(ends).map(|(start, end)| &table[start..end])
}

fn block_name(block: &str) -> &str {
    block.split(':').next().unwrap_or_default()
}

/// Parses a word, `WORD in FOLDER`, `beside OPTION`, or a list of cases.
fn parse_row(row: &Value) -> Result<Row, String> {
    match row {
        Value::Str(text) => {
            if let Some(option) = text.strip_prefix("beside ") {
                return Ok(Row { beside: Some(option.to_owned()), ..Row::default() });
            }
            let (word, folder) = text.split_once(" in ").map_or((text.as_str(), None), |(word, at)| (word, Some(at)));
            Ok(Row { cases: vec![always(word)?], folder: folder.map(str::to_owned), beside: None })
        }
        Value::List(cases) => {
            let cases = cases.iter().map(parse_case).collect::<Result<Vec<_>, String>>()?;
            Ok(Row { cases, ..Row::default() })
        }
        _ => Err("expected a word or a list of cases".to_owned()),
    }
}

fn always(word: &str) -> Result<Case, String> {
    Ok(Case { path_use: parse_use(word)?, conditions: Vec::new() })
}

/// Parses a word, or `WORD: {OPTION: VALUE}`, where several values are a list.
fn parse_case(case: &Value) -> Result<Case, String> {
    let conditional = |case: &Dict| {
        let (word, conditions) = case.iter().next().filter(|_| case.len() == 1)?;
        Some((word.clone(), conditions.as_dict()?.clone()))
    };
    match case {
        Value::Str(word) => always(word),
        Value::Dict(case) => {
            let (word, conditions) = conditional(case).ok_or("expected `WORD: {OPTION: VALUE}`")?;
            let conditions = conditions.into_iter().map(|(option, value)| {
                let values = if let Value::List(values) = value { values } else { vec![value] };
                Condition { option, values }
            });
            Ok(Case { path_use: parse_use(&word)?, conditions: conditions.collect() })
        }
        _ => Err("expected a case".to_owned()),
    }
}

fn parse_use(word: &str) -> Result<PathUse, String> {
    let found = PathUse::ALL.into_iter().find(|path_use| path_use.as_str() == word);
    found.ok_or_else(|| format!("unknown use `{word}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_module_of_the_table_can_be_read_and_is_found() {
        let names: Vec<&str> = blocks(TABLE).map(block_name).collect();
        assert!(names.len() > 50, "{names:?}");
        for block in blocks(TABLE) {
            let name = block_name(block);
            let parsed = ModuleTable::parse(name, block).unwrap();
            assert_eq!(ModuleTable::of(name), Some(parsed), "{name}");
        }
        let mut sorted = names.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len(), "a module is in the table twice");
        for nothing in ["", "ansible.builtin", "ansible.builtin.cop", "copy", "# What"] {
            assert_eq!(ModuleTable::of(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn mistakes_are_errors() {
        for row in ["{path: read}", "x", "[read, 7]", "[{read: 7}]", "[{read: {}, write: {}}]", "read at /etc"] {
            let block = format!("a.b.c:\n  path: {row}\n");
            assert!(ModuleTable::parse("a.b.c", &block).is_err(), "{row}");
        }
        assert!(ModuleTable::parse("a.b.c", "a.b.c: [").is_err());
        assert!(ModuleTable::parse("a.b.c", "a.b.c: 7").is_err());
    }
}
