//! What the parser finds in a text.

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A document begins.
    DocumentStart,
    /// A document ends.
    DocumentEnd,
    /// A node that was defined above.
    Alias(String),
    /// A scalar.
    Scalar {
        /// Its anchor and tag.
        properties: Properties,
        /// Its text.
        text: String,
        /// Its type follows from its text.
        is_plain: bool,
    },
    /// A sequence begins.
    SequenceStart(Properties),
    /// A mapping begins.
    MappingStart(Properties),
    /// The innermost sequence or mapping ends.
    CollectionEnd,
}

/// What is written before a node.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Properties {
    /// The name behind `&`.
    pub(crate) anchor: Option<String>,
    /// The tag, resolved; `!` for the tag without a name.
    pub(crate) tag: Option<String>,
}
