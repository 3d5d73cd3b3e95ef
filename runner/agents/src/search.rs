//! Finds modules by words. A word counts more the fewer modules have it, and more in a name than in a description.

use crate::tool::Tool;

/// Maximum number of words of a query that count.
const MAX_WORDS: usize = 32;

/// What an exact name counts, more than all words together.
const EXACT: f64 = 1e6;

/// Returns the tools that fit a query best, at most `most`, the best one first. Those that do not fit at all are left out.
pub(crate) fn best<'a>(tools: &'a [Tool], query: &str, most: usize) -> Vec<&'a Tool> {
    let words: Vec<String> = words(query).into_iter().take(MAX_WORDS).collect();
    let fits: Vec<Vec<f64>> = tools.iter().map(|tool| fits(tool, &words)).collect();
    let rarity = |place: usize| {
        let having = fits.iter().filter(|fits| fits[place] > 0.0).count();
        (1.0 + count(tools.len()) / count(having.max(1))).ln()
    };
    let rarities: Vec<f64> = (0..words.len()).map(rarity).collect();
    let score = |fits: &Vec<f64>| fits.iter().zip(&rarities).map(|(fit, rarity)| fit * rarity).sum();
    let scores: Vec<f64> = fits.iter().map(score).collect();
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

/// Returns how well each word fits a module.
fn fits(tool: &Tool, query: &[String]) -> Vec<f64> {
    let (title, description) = (words(&tool.title), words(&tool.description));
    let options: Vec<String> = tool.spec.options.keys().flat_map(|option| words(option)).collect();
    let fit = |word: &String| {
        let begins = |own: &[String]| word.len() > 2 && own.iter().any(|own| own.starts_with(word.as_str()));
        match () {
            () if title.contains(word) => 8.0,
            () if begins(&title) => 4.0,
            () if description.contains(word) => 3.0,
            () if begins(&description) => 1.5,
            () if options.contains(word) => 1.0,
            () => 0.0,
        }
    };
    query.iter().map(fit).collect()
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
