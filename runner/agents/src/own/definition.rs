//! What the definitions of modbox's own tools have in common.

use modbox_argument_spec::{ArgumentSpec, OptionSpec, OptionType};

use crate::schema::input_schema;
use crate::tool::{Reach, Tool};

/// Returns an option that each call has. Lists are of texts.
pub(super) fn required(option_type: OptionType, text: &str) -> OptionSpec {
    OptionSpec {
        option_type,
        elements: (option_type == OptionType::List).then_some(OptionType::Str),
        required: true,
        description: vec![text.to_owned()],
        ..OptionSpec::default()
    }
}

/// Returns a tool with these options, which has no words and changes nothing.
pub(super) fn tool<const N: usize>(name: &str, options: [(&str, OptionSpec); N]) -> Tool {
    let options = options.map(|(name, option)| (name.to_owned(), option)).into_iter().collect();
    let spec = ArgumentSpec { options, ..ArgumentSpec::default() };
    Tool {
        name: name.to_owned(),
        title: String::new(),
        description: String::new(),
        input_schema: input_schema(&spec),
        spec,
        is_exact: true,
        reach: Reach::default(),
        variables: std::collections::BTreeMap::new(),
    }
}
