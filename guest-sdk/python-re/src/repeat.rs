//! Quantifiers: what they apply to, and how often.

/// What a quantifier would apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// The start of the pattern, of a group or of an alternative, or an anchor.
    Nothing,
    /// A character, a class or a group.
    Item,
    /// An item with a quantifier.
    Repeated,
}

impl Last {
    /// Returns what comes after a quantifier that begins at a position.
    ///
    /// # Errors
    ///
    /// The repeat follows nothing.
    pub(crate) fn repeated(self, at: usize) -> Result<Self, String> {
        match self {
            Self::Nothing => Err(format!("nothing to repeat at position {at}")),
            Self::Repeated => Err(format!("multiple repeat at position {at}")),
            Self::Item => Ok(Self::Repeated),
        }
    }
}

/// Reads what follows a brace: `2}`, `2,}`, `,2}` or `2,3}`. Returns the quantifier and the number of characters that were
/// read, or `None` for a brace that is a literal.
///
/// # Errors
///
/// The first number is greater than the second.
pub(crate) fn counted(rest: &[char], at: usize) -> Result<Option<(String, usize)>, String> {
    let end = rest.iter().position(|c| *c == '}');
    let inside: String = end.map_or_else(String::new, |end| rest[..end].iter().collect());
    let (low, high) = inside.split_once(',').map_or((inside.as_str(), None), |(low, high)| (low, Some(high)));
    let is_number = |text: &str| text.bytes().all(|c| c.is_ascii_digit());
    if !is_number(low) || !high.is_none_or(is_number) || (low.is_empty() && high.is_none()) {
        return Ok(None);
    }
    let low = if low.is_empty() { "0" } else { low };
    let text = high.map_or_else(|| format!("{{{low}}}"), |high| format!("{{{low},{high}}}"));
    let reversed = high.and_then(|high| Some(high.parse::<u32>().ok()? < low.parse::<u32>().ok()?));
    if reversed == Some(true) {
        return Err(format!("min repeat greater than max repeat at position {at}"));
    }
    // Digits and commas are as many characters as bytes.
    Ok(Some((text, inside.len() + 1)))
}
