//! What `ansible-test sanity` is not to ask of a collection of components, in the files that it reads for that.
//!
//! A collection of components is clean but for two questions, which are not meant for it: modules of Ansible's own are under the GPL,
//! and an action plugin has a module of its name. Every other check applies, and `ansible-test` reports a line of this list that
//! nothing matches.

/// Releases of ansible-core, each of which reads a file of its own: from the oldest that the collection is for.
const RELEASES: [&str; 8] = ["2.16", "2.17", "2.18", "2.19", "2.20", "2.21", "2.22", "2.23"];

/// Returns the lists for a collection with files of these paths: path and content of each.
pub(crate) fn ignored<'a>(paths: impl Iterator<Item = &'a str>) -> Vec<(String, Vec<u8>)> {
    let lines: String = paths.filter_map(ignored_of).collect();
    RELEASES.iter().map(|release| (format!("tests/sanity/ignore-{release}.txt"), lines.clone().into_bytes())).collect()
}

/// Returns the line for a file, if it has one. A line ends with the reason.
fn ignored_of(path: &str) -> Option<String> {
    if path.starts_with("plugins/modules/") {
        return Some(format!(
            "{path} validate-modules:missing-gplv3-license # its license is that of the collection\n"
        ));
    }
    path.starts_with("plugins/action/")
        .then(|| format!("{path} action-plugin-docs # it runs all modules of the collection\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_release_has_a_list_of_modules_and_action_plugins() {
        let paths = ["README.md", "plugins/action/component.py", "plugins/modules/one.py", "plugins/lookup/runner.py"];
        let lists = ignored(paths.into_iter());
        assert_eq!(lists.len(), RELEASES.len());
        let list = lists.into_iter().find(|(path, _)| path == "tests/sanity/ignore-2.19.txt").unwrap().1;
        let list = String::from_utf8(list).unwrap();
        let first: Vec<&str> = list.lines().filter_map(|line| line.split_once(" #")).map(|(entry, _)| entry).collect();
        let expect = [
            "plugins/action/component.py action-plugin-docs",
            "plugins/modules/one.py validate-modules:missing-gplv3-license",
        ];
        assert_eq!(first, expect);
    }
}
