//! Sets and removes one value of a TOML file. Comments, order and spaces stay.
//!
//! The crate `toml_edit` reads and writes the file, `value.rs` converts between its values and those of arguments.

mod value;

use std::io::ErrorKind;

use modbox_sdk::{Args, Choice, Context as _, Diff, Exit, Failure, Module, Value, fs};
use toml_edit::{DocumentMut, Item, Key, Table, TableLike};

modbox_sdk::module! {
    args = TomlValue,
    run = run,
    check_mode = true,
    returns = [path: str if "always" = "The file.", key: str if "always" = "The key."],
    examples = ["modbox run toml_value path=/etc/app.toml key=server.port value=8080"],
}

/// The longest file.
const MAX_BYTES: u64 = 16 << 20;

/// Sets or removes one value of a TOML file.
///
/// Comments, order and spaces of the file stay.
#[derive(Args)]
#[args(required_if("state", "present", ["value"]))]
struct TomlValue {
    /// The file. It is made if it is missing and a value is to be there.
    #[arg(type = "path", access = "write")]
    path: String,
    /// The key, with dots between tables: `server.port`, or `servers."a.example".port`.
    key: String,
    /// The value: text, a number, a bool, or a list or dict of those. Text from `KEY=VALUE` that is a number or a bool of TOML
    /// becomes one.
    value: Option<Value>,
    /// Whether the key is to be there.
    #[arg(default = State::Present)]
    state: State,
}

#[derive(Choice, PartialEq)]
enum State {
    Present,
    Absent,
}

fn run(args: TomlValue, module: &mut Module) -> Result<Exit, Failure> {
    let before = match fs::read_text(&args.path, MAX_BYTES) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        before => before?,
    };
    let mut document: DocumentMut =
        before.parse().with_context(|| format!("failed to read `{}` as TOML", args.path))?;
    let keys = Key::parse(&args.key).with_context(|| format!("`{}` is not a key", args.key))?;
    let changed = match (&args.state, args.value) {
        (State::Present, Some(value)) => set(&mut document, &keys, &value)?,
        _ => remove(&mut document, &keys)?,
    };
    let exit = Exit::new(changed).with("path", args.path.as_str()).with("key", args.key);
    if !changed {
        return Ok(exit);
    }
    let after = document.to_string();
    // Writes nothing in check mode.
    fs::update(module, &args.path, &after)?;
    Ok(exit.diff(Diff::new(before, after).headers(&args.path, &args.path)))
}

/// Sets a value, and returns whether it was another one.
fn set(document: &mut DocumentMut, keys: &[Key], wanted: &Value) -> Result<bool, Failure> {
    let (last, tables) = keys.split_last().context("the key is empty")?;
    let table = find(document, tables, true)?.context("the table was not made")?;
    let mut new = value::to_toml(wanted)?;
    match table.get_mut(last.get()) {
        Some(Item::Value(old)) if value::of_toml(old) == value::of_toml(&new) => return Ok(false),
        Some(Item::Value(old)) => {
            // The comment behind it stays.
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        Some(_) => return Err(Failure::new(format!("`{}` is a table and not a value", last.get()))),
        None => drop(table.insert(last.get(), Item::Value(new))),
    }
    Ok(true)
}

/// Removes a value or a table, and returns whether there was one.
fn remove(document: &mut DocumentMut, keys: &[Key]) -> Result<bool, Failure> {
    let (last, tables) = keys.split_last().context("the key is empty")?;
    let table = find(document, tables, false)?;
    Ok(table.is_some_and(|table| table.remove(last.get()).is_some()))
}

/// Finds the table of some keys. A missing one is made with `create`.
fn find<'a>(
    document: &'a mut DocumentMut,
    keys: &[Key],
    create: bool,
) -> Result<Option<&'a mut dyn TableLike>, Failure> {
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for key in keys {
        let name = key.get();
        if !table.contains_key(name) {
            if !create {
                return Ok(None);
            }
            let mut made = Table::new();
            made.set_implicit(true);
            table.insert(name, Item::Table(made));
        }
        let found = table.get_mut(name).and_then(Item::as_table_like_mut);
        table = found.with_context(|| format!("`{name}` is a value and not a table"))?;
    }
    Ok(Some(table))
}
