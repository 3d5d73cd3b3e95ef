//! Limits of what is read, and the size of trees with aliases.
//!
//! YAML is small where the tree that it describes is not: an alias repeats a tree for a few bytes. A tree here shares
//! what is repeated, but whatever walks the tree meets each repetition. So each node knows how large it is when walked,
//! and reading refuses a tree that is too large.

/// Length of a text in bytes. The largest YAML file in collections of modules, a changelog, has less than a tenth of
/// it.
pub const MAX_TEXT: usize = 16 << 20;

/// Number of nodes of a text, aliases counted once. A node takes about 150 bytes of memory. Changelogs have up to 100
/// 000.
pub const MAX_NODES: usize = 1_000_000;

/// Number of documents of a text that may have several.
pub const MAX_DOCUMENTS: usize = 10_000;

/// How deep nodes may nest, aliases followed. Real files have up to 20 levels, and each level costs stack in all that
/// walks a tree.
pub const MAX_DEPTH: u32 = 200;

/// Size of a tree with aliases followed: each node counts 32, and text its length in bytes. It is more than
/// a text of [`MAX_TEXT`] with [`MAX_NODES`] can have without aliases.
pub const MAX_EXPANDED_SIZE: u64 = 64 << 20;

/// What each node adds to the size of a tree.
const NODE_SIZE: u64 = 32;

/// Number of warnings for one text; the others are left out.
pub(crate) const MAX_WARNINGS: usize = 100;

/// How large a tree is with aliases followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The sum over all nodes; it stays at the largest number instead of overflowing.
    pub(crate) size: u64,
    /// The number of levels.
    pub(crate) height: u32,
}

impl Extent {
    /// Measures a node without children.
    pub(crate) fn of_text(length: usize) -> Self {
        Self { size: NODE_SIZE.saturating_add(length as u64), height: 1 }
    }

    /// Measures a node with children.
    pub(crate) fn of_children(children: impl Iterator<Item = Self>) -> Self {
        children.fold(Self::of_text(0), |all, child| Self {
            size: all.size.saturating_add(child.size),
            height: all.height.max(child.height.saturating_add(1)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_add_up_and_never_overflow() {
        let leaf = Extent::of_text(8);
        assert_eq!(Extent::of_children([leaf, leaf].into_iter()), Extent { size: 112, height: 2 });
        let huge = Extent { size: u64::MAX - 1, height: u32::MAX };
        assert_eq!(Extent::of_children([huge, leaf].into_iter()), Extent { size: u64::MAX, height: u32::MAX });
    }

    #[test]
    fn a_text_without_aliases_fits_in_a_tree() {
        assert!(MAX_TEXT as u64 + MAX_NODES as u64 * NODE_SIZE <= MAX_EXPANDED_SIZE);
    }
}
