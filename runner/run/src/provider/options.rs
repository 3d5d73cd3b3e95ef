//! A provider's attributes as options of a module, so that paths in them are granted as those of modules are.
//!
//! Only attributes with the key `access` are paths. The actions of the JSON convention have them in lists of objects;
//! what a provider said before about a resource designates nothing.

use indexmap::IndexMap;
use modbox_argument_spec::{Access, ArgumentSpec, Metadata as ModuleMetadata, OptionSpec, OptionType};
use modbox_providers::{Action, AttributeType, Convention, Metadata, PathAccess};

/// The attribute that chooses the resource.
const NAME: &str = "name";

/// Returns the options of an action. An action that looks only reads the paths that an update would write; if nothing
/// may change, each action only reads.
pub(super) fn of_action(metadata: &Metadata, action: Action, observes: bool) -> Option<ModuleMetadata> {
    let mut module = ModuleMetadata::from_json(r#"{"name": "provider"}"#).ok()?;
    let access = |access: PathAccess| match access {
        PathAccess::Read => Access::Read,
        PathAccess::Write if action.changes() && !observes => Access::Write,
        PathAccess::Entry if !observes => Access::Entry,
        PathAccess::Write | PathAccess::Entry => Access::Read,
    };
    let options: IndexMap<String, OptionSpec> = metadata
        .attributes
        .iter()
        .filter_map(|(name, attribute)| {
            let access = Some(access(attribute.access?));
            let is_list = attribute.attribute_type == AttributeType::Array;
            let (option_type, elements) =
                if is_list { (OptionType::List, Some(OptionType::Path)) } else { (OptionType::Path, None) };
            Some((name.clone(), OptionSpec { option_type, elements, access, ..OptionSpec::default() }))
        })
        .collect();
    module.argument_spec.options = match (action.convention(), action.changes()) {
        (Some(Convention::Json), false) => names(&options),
        (Some(Convention::Json), true) => updates(options),
        _ => options,
    };
    Some(module)
}

/// Returns the option of `get`: the names of resources.
fn names(options: &IndexMap<String, OptionSpec>) -> IndexMap<String, OptionSpec> {
    let list = |name: &OptionSpec| {
        let elements = Some(OptionType::Path);
        ("names".to_owned(), OptionSpec { option_type: OptionType::List, elements, ..name.clone() })
    };
    options.get(NAME).map(list).into_iter().collect()
}

/// Returns the option of `set`: for each resource its name and what it should be.
fn updates(options: IndexMap<String, OptionSpec>) -> IndexMap<String, OptionSpec> {
    let spec = |options| Some(Box::new(ArgumentSpec { options, ..ArgumentSpec::default() }));
    let mut update: IndexMap<String, OptionSpec> =
        options.get_key_value(NAME).map(|(key, name)| (key.clone(), name.clone())).into_iter().collect();
    let should = OptionSpec { option_type: OptionType::Dict, sub_spec: spec(options), ..OptionSpec::default() };
    update.insert("should".to_owned(), should);
    let (option_type, elements) = (OptionType::List, Some(OptionType::Dict));
    let updates = OptionSpec { option_type, elements, sub_spec: spec(update), ..OptionSpec::default() };
    IndexMap::from([("updates".to_owned(), updates)])
}
