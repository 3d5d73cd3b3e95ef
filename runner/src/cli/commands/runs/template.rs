//! `modbox template`: renders one template, evaluates one expression, or answers questions line by line.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use modbox_contract::{Dict, Value, decode, encode};
use modbox_jinja::values;
use modbox_policy::MergedPolicy;
use modbox_template::{Engine, Layer, Origin, Scope, Slot, TemplateError, TemplateOptions};
use modbox_yaml::{Source, load_extra_vars, template_file};

use crate::cli::ansible::installed_release::installed;
use crate::cli::args::{LookupArgs, TemplateArgs};
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit, error_words};
use crate::cli::named::find::Lookup;
use crate::cli::play::{
    self, AnsibleSettings, EngineSources, PlayEngine, PlayTree, PluginRules, VaultStore, described, extra_vars,
};
use crate::cli::printing::output;
use crate::cli::settings::Settings;

/// Maximum bytes of a template, and of a question.
const MAX_TEMPLATE: u64 = 16 << 20;

/// The keys of a question.
const KEYS: [&str; 5] = ["template", "expression", "condition", "variables", "data"];

/// What to make of a text.
#[derive(Debug, Clone, Copy)]
enum Form {
    Template,
    Expression,
    Condition,
}

/// Renders the template of the command line, or answers questions.
pub(crate) fn run(context: &Context, args: &TemplateArgs) -> Result<ExitStatus, Failure> {
    let settings = Settings::load(&context.environment, &args.grants, &args.limits).or_usage()?;
    let merged = settings.for_every_module().or_usage()?;
    let policy = &merged.policy;
    let engine = engine(context, args, settings, &merged)?;
    let extra = Arc::new(extra_vars(&args.extra_vars, &VaultStore::default(), false).or_usage()?);
    if args.jsonl {
        return filter(&engine, &extra).or_internal();
    }
    let scope: Scope = [extra].into_iter().collect();
    let given = args.template.as_deref().unwrap_or_default();
    let rendered = match given.as_bytes().strip_prefix(b"@") {
        Some(path) => {
            let path = Path::new(OsStr::from_bytes(path));
            let text = read(path).or_usage()?;
            let source = template_file(&text, &path.display().to_string());
            let files = play::template_files(context, policy, path);
            engine.render_file(&source, &scope, &TemplateOptions::default(), files).map(|found| found.value)
        }
        None => {
            let text = given.to_str().context("the template is not UTF-8").or_usage()?;
            let form = if args.expression { Form::Expression } else { Form::Template };
            evaluate(&engine, &template_file(text, "<template>"), &scope, form)
        }
    };
    match rendered {
        Ok(value) => {
            print(&value, args.json).or_internal()?;
            Ok(ExitStatus::Success)
        }
        Err(error) => Err(Failure { status: ExitStatus::Failed, error: explained(&error) }),
    }
}

/// Returns the engine, with the Python plugins of a play in the current folder and beside the template file.
fn engine(
    context: &Context,
    args: &TemplateArgs,
    settings: Settings,
    merged: &MergedPolicy,
) -> Result<Engine, Failure> {
    let (environment, policy) = (&context.environment, &merged.policy);
    let home = environment.home();
    let mut ansible = AnsibleSettings::load(environment, &[]).or_usage()?;
    // Those that were judged are about plays.
    ansible.notes.clear();
    let lookup = lookup(context, args, &mut ansible)?;
    let plugin_folders = play::plugin_folders(&mut ansible, home.as_deref());
    ansible.notes.iter().for_each(|note| output::print_note(note));
    let mut folders = vec![environment.cwd.clone()];
    if let Some(path) = args.template.as_deref().and_then(|given| given.as_bytes().strip_prefix(b"@")) {
        let file = environment.absolute(Path::new(OsStr::from_bytes(path)));
        folders.extend(file.parent().map(Path::to_owned).filter(|folder| *folder != environment.cwd));
    }
    let mut tree = PlayTree::open(&folders, home.as_deref(), policy);
    if let Some(folder) = ansible.folder_of_play() {
        tree.set_config_folder(folder, home.as_deref());
    }
    let roots = lookup.collection_roots(context);
    tree.add_sources(roots.iter().map(|root| root.join("ansible_collections")));
    tree.add_sources(plugin_folders.iter().map(|(_, folder)| folder.clone()));
    let searched: Vec<String> = roots.iter().map(|root| environment.absolute(root).display().to_string()).collect();
    let sources = EngineSources {
        tree: Arc::new(tree),
        merged,
        rules: PluginRules { settings: Arc::new(settings), is_applied: true },
        lookup: &lookup,
        ansible: Arc::new(ansible),
        vault: Arc::default(),
        folders: &folders,
        collections_path: &searched,
        plugin_folders: &plugin_folders,
        release: args.contract.unwrap_or_else(|| installed(environment, &lookup)),
        explains: false,
        learns: false,
    };
    Ok(PlayEngine::new(context, sources).templates)
}

/// Returns where collections and the Python with ansible-core are.
fn lookup(context: &Context, args: &TemplateArgs, ansible: &mut AnsibleSettings) -> Result<Lookup, Failure> {
    let given = LookupArgs {
        collections_path: args.collections_path.clone(),
        interpreter: args.interpreter.clone(),
        ..LookupArgs::default()
    };
    let mut lookup = Lookup::new(context, &given)?;
    if lookup.python.collections.variable.is_none() {
        lookup.python.collections.variable = ansible.paths("COLLECTIONS_PATHS", "--collections-path");
    }
    Ok(lookup)
}

fn read(path: &Path) -> anyhow::Result<String> {
    let bytes =
        modbox_files::read_file(path, MAX_TEMPLATE).with_context(|| format!("failed to read `{}`", path.display()))?;
    String::from_utf8(bytes).ok().with_context(|| format!("`{}` is not UTF-8", path.display()))
}

fn evaluate(
    engine: &Engine,
    source: &Source,
    scope: &Scope,
    form: Form,
) -> Result<modbox_template::Value, TemplateError> {
    match form {
        Form::Template => engine.evaluate(source, scope).map(|found| found.value),
        Form::Expression => engine.expression(source, scope).map(|found| found.value),
        Form::Condition => engine.condition(source, scope).map(|found| found.value.into()),
    }
}

fn print(value: &modbox_template::Value, json: bool) -> anyhow::Result<()> {
    match value.as_str() {
        Some(text) if !json => {
            let text = play::without_secrets(text);
            let text = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
            // A program gets the text as it is.
            let text = if io::stdout().is_terminal() { output::clean(&text) } else { text };
            output::print_bytes(text.as_bytes())
        }
        _ => output::print_line(&play::without_secrets(&encode(&values::to_json(value)?))),
    }
}

fn explained(error: &TemplateError) -> anyhow::Error {
    anyhow::anyhow!("{}: {}", error.position(), play::without_secrets(&error.message()))
}

/// Answers each line of standard input with a line on standard output. Flushes the output before it waits for input.
fn filter(engine: &Engine, extra: &Arc<Layer>) -> anyhow::Result<ExitStatus> {
    let mut input = BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    loop {
        if !input.buffer().contains(&b'\n') {
            output::written(out.flush())?;
        }
        line.clear();
        let length = input.by_ref().take(MAX_TEMPLATE + 1).read_until(b'\n', &mut line);
        if length.context("failed to read standard input")? == 0 {
            break;
        }
        let answer = if line.len() as u64 > MAX_TEMPLATE && line.last() != Some(&b'\n') {
            input.skip_until(b'\n').context("failed to read standard input")?;
            broken(&format!("the line is longer than the limit of {MAX_TEMPLATE} bytes"))
        } else if line.trim_ascii().is_empty() {
            continue;
        } else {
            answer(engine, extra, &line).unwrap_or_else(|error| broken(&error_words(&error)))
        };
        output::written(
            out.write_all(play::without_secrets(&encode(&answer)).as_bytes()).and_then(|()| out.write_all(b"\n")),
        )?;
    }
    output::written(out.flush())?;
    Ok(ExitStatus::Success)
}

fn broken(message: &str) -> Value {
    Value::from([("broken", message)])
}

fn answer(engine: &Engine, extra: &Arc<Layer>, line: &[u8]) -> anyhow::Result<Value> {
    let text = str::from_utf8(line).context("the line is not UTF-8")?;
    let question = decode(text).map_err(|error| anyhow::anyhow!("the line is not JSON: {error}"))?;
    let Value::Dict(question) = question else { anyhow::bail!("expected an object") };
    if let Some(key) = question.keys().find(|key| !KEYS.contains(&key.as_str())) {
        anyhow::bail!("unknown key `{key}`; the keys of a question are `{}`", KEYS.join("`, `"));
    }
    let forms = [("template", Form::Template), ("expression", Form::Expression), ("condition", Form::Condition)];
    let asked = forms.iter().find_map(|(key, form)| Some((question.get(*key)?.as_str()?, *form)));
    let (text, form) = asked.context("it has no `template`, `expression` or `condition` that is text")?;
    let scope: Scope = [variables(&question)?, data(&question)?, Arc::clone(extra)].into_iter().collect();
    let source = template_file(text, "<template>");
    Ok(match evaluate(engine, &source, &scope, form) {
        Ok(value) => {
            Value::from([("value", values::to_json(&value)?), ("type", Value::from(values::type_name(&value)))])
        }
        Err(error) => Value::from([("error", error.message()), ("position", error.position().to_string())]),
    })
}

/// Returns the variables that may have templates in them.
fn variables(question: &Dict) -> anyhow::Result<Arc<Layer>> {
    let Some(given) = question.get("variables") else { return Ok(Arc::default()) };
    let root = load_extra_vars(&encode(given), "<variables>").map_err(described)?.root;
    let layer = Layer::of_source(&root).context("`variables` must be an object")?;
    Ok(Arc::new(layer))
}

/// Returns the variables that are data.
fn data(question: &Dict) -> anyhow::Result<Arc<Layer>> {
    let mut layer = Layer::default();
    match question.get("data") {
        None => {}
        Some(Value::Dict(entries)) => {
            for (name, value) in entries {
                let slot = Slot::value(values::from_json(value), Origin::Result("data".into()));
                layer.insert(name.as_str(), slot);
            }
        }
        Some(_) => anyhow::bail!("`data` must be an object"),
    }
    Ok(Arc::new(layer))
}
