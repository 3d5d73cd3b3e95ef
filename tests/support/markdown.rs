//! Parses the documents of the repository: fenced blocks, links, headings and prose.
//!
//! The parser supports the part of Markdown that the documents use: blocks fenced by three backticks, headings that
//! begin with `#`, inline links. It does not render anything.

use std::fs;

use regex::Regex;

use crate::{repository, tracked};

/// A Markdown file of the repository.
#[derive(Debug)]
pub struct Document {
    /// The path, relative to the repository.
    pub path: String,
    /// The content.
    pub text: String,
}

/// A fenced block.
#[derive(Debug, Clone)]
pub struct Block {
    /// The word after the fence, such as `console`.
    pub language: String,
    /// The name of the file that the block shows, from `title="…"` after the language.
    pub title: Option<String>,
    /// The reason why its commands are not run, from a comment `<!-- not run: … -->` before it.
    pub not_run: Option<String>,
    /// The index of the block's first line in the document.
    pub start: usize,
    /// The lines of the block, without the fences.
    pub lines: Vec<String>,
}

/// The folder of the book.
pub const BOOK: &str = "runner/docs";

/// Returns the repository's Markdown files, except templates, which belong to other projects.
pub fn documents() -> Vec<Document> {
    let paths = tracked().iter().filter(|path| path.ends_with(".md") && !path.contains("/template/"));
    paths.map(|path| Document::read(path)).collect()
}

/// Returns the pages of the book.
pub fn pages() -> Vec<Document> {
    let folder = format!("{BOOK}/src/");
    let pages: Vec<Document> = documents().into_iter().filter(|document| document.path.starts_with(&folder)).collect();
    assert!(pages.len() > 10, "only {} pages were found", pages.len());
    pages
}

impl Document {
    /// Reads a file of the repository.
    pub fn read(path: &str) -> Self {
        let text = fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        Self { path: path.to_owned(), text }
    }

    /// Returns the fenced blocks, in order.
    pub fn blocks(&self) -> Vec<Block> {
        let title = Regex::new(r#"title="([^"]+)""#).unwrap();
        let mut blocks: Vec<Block> = Vec::new();
        let mut open = false;
        let mut not_run = None;
        for (index, line) in self.text.lines().enumerate() {
            if let Some(info) = line.trim_start().strip_prefix("```") {
                open = !open;
                if open {
                    blocks.push(Block {
                        language: info.split([' ', ',', '{']).next().unwrap_or_default().to_owned(),
                        title: title.captures(info).map(|found| found[1].to_owned()),
                        not_run: not_run.take(),
                        start: index + 1,
                        lines: Vec::new(),
                    });
                }
            } else if open {
                blocks.last_mut().expect("one is open").lines.push(line.to_owned());
            } else if let Some(comment) = line.strip_prefix("<!-- not run: ") {
                not_run = Some(comment.trim_end_matches(" -->").to_owned());
            } else if !line.trim().is_empty() {
                not_run = None;
            }
        }
        assert!(!open, "{}: a block is not closed", self.path);
        blocks
    }

    /// Returns the document without its fenced blocks, as numbered lines.
    pub fn prose(&self) -> Vec<(usize, &str)> {
        let mut fenced = false;
        let lines = self.text.lines().enumerate().filter(|(_, line)| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            !fence && !fenced
        });
        lines.map(|(index, line)| (index + 1, line)).collect()
    }

    /// Returns the targets of links and pictures, each with its line number.
    pub fn links(&self) -> Vec<(usize, String)> {
        let link = Regex::new(r"\]\(([^) ]+)\)").unwrap();
        let code = Regex::new(r"`[^`]*`").unwrap();
        let of_line = |(number, line): (usize, &str)| {
            let line = code.replace_all(line, "").into_owned();
            link.captures_iter(&line).map(|found| (number, found[1].to_owned())).collect::<Vec<_>>()
        };
        self.prose().into_iter().flat_map(of_line).collect()
    }

    /// Returns the anchors of the headings.
    pub fn anchors(&self) -> Vec<String> {
        let headings = self.prose().into_iter().filter(|(_, line)| line.starts_with('#'));
        headings.map(|(_, line)| anchor(line.trim_start_matches('#'))).collect()
    }
}

/// Returns the anchor of a heading, as Python-Markdown and the common repository hosts generate it.
fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ');
    let text: String = heading.trim().to_lowercase().chars().filter(kept).collect();
    text.split([' ', '-']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}
