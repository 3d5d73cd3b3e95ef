//! Options of the YAML writer.

/// How to write.
#[derive(Debug, Clone)]
pub(crate) struct Style {
    /// Whether lists and dicts are written in brackets. `None`: if they hold only scalars.
    pub(crate) flow: Option<bool>,
    pub(crate) indent: usize,
    /// The length of lines. A negative one is unlimited.
    pub(crate) width: i64,
    pub(crate) sort_keys: bool,
    pub(crate) explicit_start: bool,
    pub(crate) explicit_end: bool,
    /// The style of all scalars: `'`, `"`, `|` or `>`.
    pub(crate) scalar: Option<char>,
    /// Whether each node has its tag, in brackets and quotes.
    pub(crate) canonical: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            flow: None,
            indent: 2,
            width: 80,
            sort_keys: true,
            explicit_start: false,
            explicit_end: false,
            scalar: None,
            canonical: false,
        }
    }
}
