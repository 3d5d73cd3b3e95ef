//! YAML and JSON of plays: the three doors, for files of a play, extra variables and data.

use modbox_contract::{decode, encode};
use modbox_yaml::{extra_vars_key_values, load_data, load_extra_vars, load_play_file};

/// Extra variables are a file of a play that is a mapping. Data is written as JSON and read again as the same.
pub fn run(data: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(data) else { return false };
    let file = load_play_file(text, "fuzz.yml");
    let is_map = file.as_ref().is_ok_and(|document| document.root.as_map().is_some());
    assert_eq!(load_extra_vars(text, "fuzz.yml").is_ok(), is_map);
    if let Err(error) = &file {
        assert!(!error.to_string().is_empty() && error.position().line >= 1);
        let _ = (error.snippet(), error.explanation());
    }
    let data = load_data(text, "fuzz.yml");
    for value in data.iter().flatten() {
        // Compared as text: `NaN` is not equal to itself.
        let written = encode(value);
        assert_eq!(decode(&written).map(|value| encode(&value)), Ok(written));
    }
    file.is_ok() || data.is_ok() || extra_vars_key_values(text, "fuzz.yml").is_ok()
}
