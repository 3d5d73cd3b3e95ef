//! Finds modules by words. A word counts more the fewer modules have it, and more in a name than in a description.

use crate::tool::Tool;

/// Maximum number of words of a query that count.
const MAX_WORDS: usize = 32;

/// What an exact name counts, more than all words together.
const EXACT: f64 = 1e6;

/// Returns the tools that fit a query best, at most `most`, the best one first. Those that do not fit at all are left out.
pub(crate) fn best<'a>(tools: &'a [Tool], query: &str, most: usize) -> Vec<&'a Tool> {
    let words = words(query).into_iter().take(MAX_WORDS);
    let mut scores = vec![0.0; tools.len()];
    for word in words {
        let fits: Vec<f64> = tools.iter().map(|tool| fit(tool, &word)).collect();
        let having = fits.iter().filter(|fit| **fit > 0.0).count();
        if having == 0 {
            continue;
        }
        let rarity = (1.0 + count(tools.len()) / count(having)).ln();
        scores.iter_mut().zip(fits).for_each(|(score, fit)| *score += fit * rarity);
    }
    let scored = tools.iter().zip(scores).map(|(tool, score)| {
        let is_named = tool.title == query.trim() || tool.name == query.trim();
        (tool, score + if is_named { EXACT } else { 0.0 })
    });
    let mut found: Vec<(&Tool, f64)> = scored.filter(|(_, score)| *score > 0.0).collect();
    // Of several that fit alike, those with short names are the general ones.
    found.sort_by(|(a, one), (b, other)| {
        other.total_cmp(one).then_with(|| (a.title.len(), &a.title).cmp(&(b.title.len(), &b.title)))
    });
    found.into_iter().take(most).map(|(tool, _)| tool).collect()
}

/// Returns how well a word fits a module.
fn fit(tool: &Tool, word: &str) -> f64 {
    let is_in = |text: &str| words(text).iter().any(|own| own == word);
    let begins = |text: &str| words(text).iter().any(|own| word.len() > 2 && own.starts_with(word));
    let options = tool.spec.options.keys();
    match () {
        () if is_in(&tool.title) => 8.0,
        () if begins(&tool.title) => 4.0,
        () if is_in(&tool.description) => 3.0,
        () if begins(&tool.description) => 1.5,
        () if options.into_iter().any(|option| is_in(option)) => 1.0,
        () => 0.0,
    }
}

/// Returns the words of a text, in small letters.
fn words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::MAX, f64::from)
}

#[cfg(test)]
mod tests {
    use modbox_argument_spec::Metadata;
    use serde_json::json;

    use super::*;
    use crate::tool::Permitted;

    fn tools(modules: &[(&str, &str)]) -> Vec<Tool> {
        let tool = |(name, words): &(&str, &str)| {
            let metadata = json!({"name": name, "description": words, "argument_spec": {"owner": {}}}).to_string();
            let metadata = Metadata::from_json(&metadata).unwrap();
            Tool::new((*name).to_owned(), name, &metadata, (metadata.argument_spec.clone(), true), Permitted::default())
        };
        modules.iter().map(|module| tool(module).unwrap()).collect()
    }

    #[test]
    fn rare_words_and_names_count_most() {
        let tools = tools(&[
            ("acme.web.site", "Manage a web site."),
            ("community.general.ini_file", "Tweak settings in INI files."),
            ("copy", "Copy files to remote locations."),
            ("file", "Manage files and file properties."),
            ("ansible.builtin.user", "Manage user accounts."),
        ]);
        let found = |query: &str| best(&tools, query, 2).iter().map(|tool| tool.title.as_str()).collect::<Vec<_>>();
        assert_eq!(found("change a setting in an INI file")[0], "community.general.ini_file");
        assert_eq!(found("file"), ["file", "community.general.ini_file"]);
        assert_eq!(found("acme.web.site")[0], "acme.web.site");
        assert_eq!(found("COPY")[0], "copy");
        assert_eq!(found("ownership"), Vec::<&str>::new());
        assert_eq!(found("owner").len(), 2);
        assert_eq!(found(""), Vec::<&str>::new());
        assert_eq!(found(&"a ".repeat(100_000)), ["acme.web.site"]);
    }
}
