//! Where a part of an inventory comes from.

/// A source of an inventory, as the variables `inventory_file` and `inventory_dir` show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The file, or the list of hosts as it was given.
    pub name: String,
    /// The folder of the file; `None` for a list of hosts.
    pub folder: Option<String>,
}

impl Origin {
    /// Returns the origin that is a file.
    #[must_use]
    pub fn file(path: &str) -> Self {
        let folder = path.rsplit_once('/').map(|(folder, _)| if folder.is_empty() { "/" } else { folder });
        Self { name: path.to_owned(), folder: folder.map(str::to_owned) }
    }

    /// Returns the origin that is a list of hosts.
    #[must_use]
    pub fn list(hosts: &str) -> Self {
        Self { name: hosts.to_owned(), folder: None }
    }
}
