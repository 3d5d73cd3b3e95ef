//! Reading INI files as Python's `configparser` does, with its usual settings.

use indexmap::{IndexMap, IndexSet};

use crate::text::{is_space, strip};

/// The section whose options all others have, too.
pub(crate) const DEFAULT_SECTION: &str = "DEFAULT";

/// The options of a section. `None` is the value of an option without one.
pub(crate) type Section = IndexMap<String, Option<String>>;

/// What was read of one or more files.
#[derive(Debug, Default)]
pub(crate) struct IniFile {
    pub(crate) sections: IndexMap<String, Section>,
    pub(crate) defaults: Section,
    /// Whether names of options keep their case.
    pub(crate) case_sensitive: bool,
    /// Whether an option may have no value.
    pub(crate) allow_no_value: bool,
}

/// Why a file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum IniError {
    #[error("line {line}: section '{section}' already exists")]
    DuplicateSection { line: usize, section: String },
    #[error("line {line}: option '{option}' in section '{section}' already exists")]
    DuplicateOption { line: usize, section: String, option: String },
    #[error("File contains no section headers; line {line}: {text:?}")]
    MissingSection { line: usize, text: String },
    #[error("Source contains parsing errors; line {line}: {text:?}")]
    Syntax { line: usize, text: String },
    #[error("line {line}: the option '{option}' has no value, which another line continues")]
    Continuation { line: usize, option: String },
}

/// The state of reading one file.
#[derive(Default)]
struct Reader {
    section: Option<String>,
    option: Option<String>,
    indent: usize,
    /// Sections and options of this file.
    seen: IndexSet<(String, Option<String>)>,
    /// The first line that cannot be read. Reading goes on, so that duplicates are found as Python finds them.
    syntax: Option<IniError>,
    /// Lines of the values of this file.
    values: IndexMap<(String, String), Option<Vec<String>>>,
}

impl IniFile {
    /// Returns the name of an option as it is stored.
    pub(crate) fn option_name(&self, name: &str) -> String {
        if self.case_sensitive { name.to_owned() } else { name.to_lowercase() }
    }

    /// Adds the content of a file. Its options replace those of earlier files.
    pub(crate) fn read(&mut self, text: &str) -> Result<(), IniError> {
        let mut reader = Reader::default();
        for (index, line) in text.lines().enumerate() {
            self.line(&mut reader, index + 1, line)?;
        }
        if let Some(error) = reader.syntax {
            return Err(error);
        }
        for ((section, option), lines) in reader.values {
            let value = lines.map(|lines| lines.join("\n").trim_end_matches(is_space).to_owned());
            self.section_mut(&section).insert(option, value);
        }
        Ok(())
    }

    fn section_mut(&mut self, name: &str) -> &mut Section {
        if name == DEFAULT_SECTION { &mut self.defaults } else { self.sections.entry(name.to_owned()).or_default() }
    }

    fn line(&mut self, reader: &mut Reader, number: usize, line: &str) -> Result<(), IniError> {
        let value = strip(line);
        if value.is_empty() || value.starts_with(['#', ';']) {
            if value.is_empty() {
                reader.continue_value("");
            }
            return Ok(());
        }
        let indent = line.chars().take_while(|c| is_space(*c)).count();
        if let Some(option) = reader.option.clone().filter(|_| reader.section.is_some() && indent > reader.indent) {
            return match reader.continue_value(value) {
                true => Ok(()),
                false => Err(IniError::Continuation { line: number, option }),
            };
        }
        reader.indent = indent;
        match section_name(value) {
            Some(name) => self.begin_section(reader, number, name),
            None => self.option(reader, number, line, value),
        }
    }

    fn begin_section(&mut self, reader: &mut Reader, line: usize, name: &str) -> Result<(), IniError> {
        if name != DEFAULT_SECTION && !reader.seen.insert((name.to_owned(), None)) {
            return Err(IniError::DuplicateSection { line, section: name.to_owned() });
        }
        self.section_mut(name);
        (reader.section, reader.option) = (Some(name.to_owned()), None);
        Ok(())
    }

    fn option(&self, reader: &mut Reader, number: usize, line: &str, value: &str) -> Result<(), IniError> {
        let Some(section) = reader.section.clone() else {
            return Err(IniError::MissingSection { line: number, text: line.to_owned() });
        };
        let (name, value) = match value.find(['=', ':']) {
            Some(at) => (&value[..at], Some(strip(&value[at + 1..]))),
            None => (value, None),
        };
        let name = self.option_name(name.trim_end_matches(is_space));
        if name.is_empty() || (value.is_none() && !self.allow_no_value) {
            reader.syntax.get_or_insert_with(|| IniError::Syntax { line: number, text: line.to_owned() });
            return Ok(());
        }
        if !reader.seen.insert((section.clone(), Some(name.clone()))) {
            return Err(IniError::DuplicateOption { line: number, section, option: name });
        }
        reader.values.insert((section, name.clone()), value.map(|value| vec![value.to_owned()]));
        reader.option = Some(name);
        Ok(())
    }
}

impl Reader {
    /// Adds a line to the value of the last option. Returns false if that has none.
    fn continue_value(&mut self, line: &str) -> bool {
        let (Some(section), Some(option)) = (&self.section, &self.option) else { return false };
        match self.values.get_mut(&(section.clone(), option.clone())) {
            Some(Some(lines)) => {
                lines.push(line.to_owned());
                true
            }
            _ => false,
        }
    }
}

/// Returns the name in `[name]`, which ends at the last bracket.
fn section_name(value: &str) -> Option<&str> {
    let rest = value.strip_prefix('[')?;
    rest.rfind(']').map(|end| &rest[..end]).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<IniFile, IniError> {
        let mut file = IniFile::default();
        file.read(text).map(|()| file)
    }

    #[test]
    fn values_are_those_of_configparser() {
        let file = read("[DEFAULT]\nd = 1\n[a]\n; no\nKey = v # x\n  more\n\n  again\nother: b = c\n[b]\n").unwrap();
        assert_eq!(file.defaults["d"].as_deref(), Some("1"));
        assert_eq!(file.sections["a"]["key"].as_deref(), Some("v # x\nmore\n\nagain"));
        assert_eq!(file.sections["a"]["other"].as_deref(), Some("b = c"));
        assert!(file.sections["b"].is_empty());
    }

    #[test]
    fn mistakes_are_errors() {
        let check = |text: &str, expect: &str| {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(expect), "{text:?}: {error}");
        };
        check("a = 1\n", "no section headers");
        check("[a]\nx = 1\nX = 2\n", "option 'x' in section 'a' already exists");
        check("[a]\n[a]\n", "section 'a' already exists");
        check("[a]\nvalue\n", "parsing errors");
        check("[a]\n= x\n", "parsing errors");
    }

    #[test]
    fn options_may_lack_values_where_that_is_allowed() {
        let mut file = IniFile { allow_no_value: true, ..IniFile::default() };
        file.read("[a]\nskip\nx =\n").unwrap();
        assert_eq!(file.sections["a"]["skip"], None);
        assert_eq!(file.sections["a"]["x"].as_deref(), Some(""));
        assert!(file.read("[a]\nskip\n  more\n").is_err());
    }
}
