//! The metadata file of a playbook: `site.meta.yml` beside `site.yml`, with specs of the variables that its plays need.
//!
//! ansible-core 2.20 and newer, `Play._metadata_candidate_paths`. Which of the specs a play uses is known only when it runs.

use crate::error::LoadError;
use crate::load::context::Loader;
use crate::load::document;
use crate::model::play::PlaybookSpecs;
use crate::paths;

/// Extensions of files of YAML, in the order in which they are looked for.
const EXTENSIONS: [&str; 3] = [".yml", ".yaml", ".json"];

/// Returns the files in which the metadata of a playbook may be, in order.
#[must_use]
pub fn candidates(playbook: &str) -> Vec<String> {
    let extension = paths::extension(playbook);
    let is_yaml = EXTENSIONS.contains(&extension);
    let stem = if is_yaml { &playbook[..playbook.len() - extension.len()] } else { playbook };
    EXTENSIONS.iter().chain(&[""]).map(|extension| format!("{stem}.meta{extension}")).collect()
}

/// Reads the metadata of a playbook; `None` if there is none.
///
/// # Errors
///
/// The file cannot be read, or is not YAML.
pub fn read(loader: &Loader<'_>, playbook: &str) -> Result<Option<PlaybookSpecs>, LoadError> {
    let is_file = |path: &String| loader.files.exists(path) && !loader.files.is_folder(path);
    let Some(path) = candidates(playbook).into_iter().find(is_file) else { return Ok(None) };
    let source = document::read(loader, &path)?;
    let specs = source.and_then(|source| source.as_map()?.get("argument_specs").cloned());
    Ok(Some(PlaybookSpecs { path, specs }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metadata_lies_beside_the_playbook() {
        assert_eq!(
            candidates("/p/site.yml"),
            ["/p/site.meta.yml", "/p/site.meta.yaml", "/p/site.meta.json", "/p/site.meta"]
        );
        assert_eq!(candidates("/p/site.v2")[0], "/p/site.v2.meta.yml");
        assert_eq!(candidates("/p.yml/site")[0], "/p.yml/site.meta.yml");
    }
}
