//! Reading `register`: the name of a variable, or since ansible-core 2.21 a mapping of names and expressions.

use modbox_yaml::{Key, Source};

use crate::error::{LoadError, Problem};
use crate::keywords::Keyword;
use crate::load::context::Loader;
use crate::load::values;
use crate::model::task::Task;

/// Reads the name of a variable, or a mapping of names and expressions.
pub fn read(loader: &Loader<'_>, task: &mut Task, value: &Source) {
    if let Some(map) = value.as_map() {
        for (key, entry) in map.iter() {
            let name = values::key_text(key);
            if !matches!(key, Key::Text(_)) || !values::is_variable_name(&name) {
                loader.report(LoadError::new(entry.key.position(), Problem::VariableName { name }));
            }
        }
        return task.keywords.set(Keyword::Register, value.clone());
    }
    if value.as_list().is_some() {
        let expected = "the name of a variable, or a mapping of names and expressions";
        return loader.report(values::wrong_type(value, "register", expected));
    }
    let name = values::scalar_text(value).unwrap_or_default();
    if values::is_variable_name(&name) {
        task.keywords.set(Keyword::Register, value.clone());
    } else if !value.is_null() {
        loader.report(LoadError::new(value.position(), Problem::VariableName { name }));
    }
}
