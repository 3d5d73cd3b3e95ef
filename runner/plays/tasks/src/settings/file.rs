//! The text of `ansible.cfg`, read as Ansible reads it: Python's `configparser` with comments behind `;`.

use crate::ini_file::{IniError, IniFile};

/// The sections of a file with their keys, in lower case, and values.
#[derive(Debug, Default)]
pub struct FileSettings(IniFile);

impl FileSettings {
    /// Returns the value of a key of a section. The section `DEFAULT` belongs to all others.
    #[must_use]
    pub fn get(&self, section: &str, key: &str) -> Option<&str> {
        let options = self.0.sections.get(section)?;
        options.get(key).or_else(|| self.0.defaults.get(key))?.as_deref()
    }

    /// Iterates over all sections with their keys.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &str)> {
        let of_section = |(section, options)| (section, options);
        let sections = self.0.sections.iter().map(of_section);
        sections.flat_map(|(section, options)| options.keys().map(move |key| (section.as_str(), key.as_str())))
    }
}

/// Reads the text of a file.
///
/// # Errors
///
/// The text is not an INI file; the message names the line.
pub fn read_file(text: &str) -> Result<FileSettings, String> {
    let mut file = IniFile::default();
    let text: String = text.lines().map(|line| format!("{}\n", without_comment(line))).collect();
    file.read(&text).map_err(|error: IniError| error.to_string())?;
    Ok(FileSettings(file))
}

/// Returns a line without the comment behind a `;` at its beginning or behind white space.
fn without_comment(line: &str) -> &str {
    let starts = line.match_indices(';').map(|(at, _)| at);
    let comment = starts.into_iter().find(|at| line[..*at].chars().next_back().is_none_or(char::is_whitespace));
    comment.map_or(line, |at| &line[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_configparser_reads_them() {
        let text = "[defaults]\n# a = 1\n;b = 2\nRoles_Path: a:b ; the usual ones\nforks=5\n  \nlist = a\n  ,b\n[tags]\nrun=x;y\n";
        let file = read_file(text).unwrap_or_default();
        let get = |section: &str, key: &str| file.get(section, key).map(str::to_owned);
        assert_eq!(get("defaults", "roles_path").as_deref(), Some("a:b"));
        assert_eq!(get("defaults", "forks").as_deref(), Some("5"));
        assert_eq!(get("defaults", "list").as_deref(), Some("a\n,b"));
        assert_eq!(get("tags", "run").as_deref(), Some("x;y"));
        assert_eq!(get("defaults", "a"), None);
        assert_eq!(file.keys().count(), 4);
        let wrong = read_file("roles_path = x\n").err().unwrap_or_default();
        assert!(wrong.contains("no section headers"), "{wrong}");
    }
}
