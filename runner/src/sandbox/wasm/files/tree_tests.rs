//! What a walk may yield, by examples and for all paths.
