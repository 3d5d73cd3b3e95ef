//! `modbox inspect`: shows a module's kind, metadata and requests, and which requests are granted, without running the
//! module.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use modbox_argument_spec::{ArgumentSpec, Metadata};
use modbox_closure::Part;
use modbox_policy::TrustStanding;
use modbox_providers::ralsh_json::{self, ListedProvider};
use modbox_providers::{Attribute, Metadata as ProviderMetadata, SuitableRule};
use modbox_python_json::{Value, decode, encode, to_value};
use modbox_run::{
    DescribedSpec, Module, PythonConfig, RequestComparison, WasmInfo, compare, detect_file, locate, wasm_bytes,
};

use crate::cli::args::{InspectArgs, LimitArgs};
use crate::cli::commands::supply::verify::push_signature;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::identity::Identity;
use crate::cli::named::find::Lookup;
use crate::cli::printing::output::{self, clean_line};
use crate::cli::runner::runner;
use crate::cli::settings::{ModuleIdentity, Settings};

/// Prints the facts about a module's file.
pub(crate) fn run(context: &Context, args: &InspectArgs) -> Result<ExitStatus, Failure> {
    let lookup = Lookup::new(context, &args.lookup)?;
    let found = lookup.find(context, &args.module)?;
    let path = found.path;
    let file = locate::read(&path).or_unavailable()?;
    let detection = detect_file(&path, &file.bytes).or_unavailable()?;
    let info = match wasm_bytes(&file.bytes) {
        Some(wasm) => WasmInfo::parse(wasm).or_unavailable()?,
        None => WasmInfo::default(),
    };
    let described = (!detection.kind.is_wasm()).then(|| lookup.describe(context, &file, detection.kind, &found.name));
    let (metadata, json, source_spec) = match described {
        Some(described) => {
            let spec = match described.spec {
                DescribedSpec::Exact(_, json) => Some(Ok(json)),
                DescribedSpec::Documented(_, reason) | DescribedSpec::Unknown(reason) => Some(Err(reason)),
            };
            (described.metadata, described.json, spec)
        }
        // The section was read as metadata, so it decodes.
        None => (info.metadata().or_unavailable()?, info.metadata.as_deref().and_then(|text| decode(text).ok()), None),
    };
    let provider = match detection.kind.is_provider() {
        true => Some(runner(context, None, PythonConfig::default()).known_provider(&path).or_unavailable()?),
        false => None,
    };
    let settings = Settings::load(&context.environment, &args.grants, &LimitArgs::default()).or_usage()?;
    let module = Module::new(file.clone(), None);
    let runner = runner(context, None, lookup.python.clone());
    let general = settings.for_every_module().or_usage()?.policy;
    let identity = Identity::of(&runner, &module, &found.name, &lookup.interpreters, &general);
    let policy = settings.for_module(ModuleIdentity::of(&found.name, &module, &identity)).or_usage()?.policy;
    let requests = metadata.as_ref().map(|metadata| compare(metadata, &policy)).unwrap_or_default();
    let is_program = detection.kind.is_wasm() || file.bytes.starts_with(b"#!") || is_executable(&path);
    let facts = Facts {
        path: path.display().to_string(),
        kind: detection.kind.as_str(),
        reason: detection.reason,
        is_program,
        identity,
        size: file.bytes.len() as u64,
        info,
        json,
        metadata,
        source_spec: source_spec.filter(|_| provider.is_none()),
        provider,
        requests,
        standing: policy.trust().clone(),
    };
    let text = if args.json { encode(&facts.to_value()) } else { facts.to_text().trim_end().to_owned() };
    output::print_line(&text).or_internal()?;
    Ok(ExitStatus::Success)
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

struct Facts {
    path: String,
    kind: &'static str,
    reason: String,
    /// Whether the file looks like a program: WebAssembly, a `#!` line or the right to execute it.
    is_program: bool,
    identity: Identity,
    size: u64,
    info: WasmInfo,
    /// Metadata as JSON.
    json: Option<Value>,
    metadata: Option<Metadata>,
    /// Argument spec in the source of a native module, or the reason why it is unknown.
    source_spec: Option<Result<Value, String>>,
    /// What a provider of libral says about itself, if it is known; `None` for other modules.
    provider: Option<Option<ProviderMetadata>>,
    requests: Vec<RequestComparison>,
    /// What the trust rules of the policy files say.
    standing: TrustStanding,
}

impl Facts {
    fn to_value(&self) -> Value {
        let strings = |list: &[String]| list.iter().map(String::as_str).collect::<Vec<_>>().into();
        [
            ("path", Value::from(self.path.as_str())),
            ("kind", self.kind.into()),
            ("reason", self.reason.as_str().into()),
            ("digest", format!("sha256:{}", self.identity.closure.digest()).into()),
            ("file_digest", format!("sha256:{}", self.identity.closure.file().digest).into()),
            ("parts", self.parts_value()),
            ("size", self.size.into()),
            ("signature", self.standing.signature.as_ref().map(|it| to_value(it).expect("it has a JSON form")).into()),
            ("imports", strings(&self.info.imports)),
            ("exports", strings(&self.info.exports)),
            ("metadata", self.json.clone().into()),
            ("source_spec", self.source_spec.as_ref().and_then(|spec| spec.clone().ok()).into()),
            ("provider", self.provider.iter().flatten().next().map(|known| provider_value(known, &self.path)).into()),
            ("requests", self.requests.iter().map(request_value).collect::<Vec<_>>().into()),
        ]
        .into()
    }

    /// Returns the parts; `null` if they cannot be found.
    fn parts_value(&self) -> Value {
        let known = self.identity.unresolved.is_none().then(|| self.identity.closure.parts());
        known.map(|parts| Value::from(parts.iter().map(part_value).collect::<Vec<_>>())).into()
    }

    fn has_spec(&self) -> bool {
        matches!(self.source_spec, Some(Ok(_)))
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(text, "file:    {}", clean_line(&self.path));
        let _ = writeln!(text, "kind:    {} ({})", self.kind, clean_line(&self.reason));
        if !self.is_program && self.metadata.is_none() && !self.has_spec() {
            text += "note:    not executable and without a `#!` line: this is hardly a module\n";
        }
        let closure = &self.identity.closure;
        let _ = writeln!(text, "digest:  sha256:{}", closure.digest());
        if !closure.parts().is_empty() {
            let _ = writeln!(text, "file digest: sha256:{}", closure.file().digest);
        }
        let _ = writeln!(text, "size:    {}", bytesize::ByteSize(self.size).display().iec());
        push_signature(&mut text, &self.standing);
        push_list(&mut text, "parts", &closure.parts().iter().map(Part::to_string).collect::<Vec<_>>());
        if self.identity.unresolved.is_some() {
            text += "parts:   unknown, so the digest is that of the file alone; a run says why\n";
        }
        push_list(&mut text, "imports", &self.info.imports);
        push_list(&mut text, "exports", &self.info.exports);
        if let Some(metadata) = &self.metadata {
            push_metadata(&mut text, metadata, &self.requests);
        }
        match &self.provider {
            Some(Some(provider)) => push_provider(&mut text, provider),
            Some(None) => text += "provider: it has not been asked for its metadata; `ral_action=describe` asks it\n",
            None => {}
        }
        match &self.source_spec {
            Some(Ok(_)) => text += "argument spec: known from the source\n",
            Some(Err(reason)) => {
                let _ = writeln!(text, "argument spec: unknown ({})", clean_line(reason));
            }
            None => {}
        }
        text
    }
}

fn part_value(part: &Part) -> Value {
    [("name", Value::from(part.name.as_str())), ("digest", format!("sha256:{}", part.digest).into())].into()
}

fn push_list(text: &mut String, title: &str, items: &[String]) {
    if items.is_empty() {
        return;
    }
    let _ = writeln!(text, "{title}:");
    for item in items {
        let _ = writeln!(text, "  {}", clean_line(item));
    }
}

fn request_value(compared: &RequestComparison) -> Value {
    let request = &compared.request;
    [
        ("capability", Value::from(request.capability.as_str())),
        ("subject", request.subject.as_str().into()),
        ("reason", request.reason.as_str().into()),
        ("required", request.required.into()),
        ("granted", compared.granted.into()),
        ("allow", compared.allow.as_str().into()),
    ]
    .into()
}

fn request_line(compared: &RequestComparison) -> String {
    let request = &compared.request;
    let required = if request.required { ", required" } else { "" };
    let state =
        if compared.granted { "granted".to_owned() } else { format!("missing, `{}` grants it", compared.allow) };
    let reason = if request.reason.is_empty() { String::new() } else { format!(": {}", request.reason) };
    format!("{} {}{required}{reason} ({state})", request.capability, request.subject)
}

fn provider_value(provider: &ProviderMetadata, path: &str) -> Value {
    let suitable = provider.suitable == SuitableRule::Constant(true);
    ralsh_json::provider(&ListedProvider { metadata: provider, source: path, suitable })
}

fn push_provider(text: &mut String, provider: &ProviderMetadata) {
    let _ = writeln!(text, "provider: {} ({})", clean_line(&provider.qualified_name()), provider.convention.as_str());
    let line = |(name, attribute): (&str, &Attribute)| {
        let access = attribute.access.map(|access| format!(", a path: {}", access.as_str())).unwrap_or_default();
        format!("{name}: {} ({}){access}", attribute.attribute_type, attribute.kind)
    };
    push_list(text, "attributes", &provider.ordered_attributes().map(line).collect::<Vec<_>>());
}

fn push_metadata(text: &mut String, metadata: &Metadata, requests: &[RequestComparison]) {
    let _ = writeln!(
        text,
        "{}",
        format!("module:  {} {}", clean_line(&metadata.name), clean_line(&metadata.version)).trim_end()
    );
    let check = if metadata.supports_check_mode { "supported" } else { "not supported" };
    let _ = writeln!(text, "check mode: {check}");
    push_list(text, "requests", &requests.iter().map(request_line).collect::<Vec<_>>());
    let mut paths = Vec::new();
    path_options(&metadata.argument_spec, "", &mut paths);
    push_list(text, "paths that arguments name", &paths);
    let _ = writeln!(text, "options:");
    for (name, option) in &metadata.argument_spec.options {
        let required = if option.required { ", required" } else { "" };
        let _ = writeln!(text, "  {}: {}{required}", clean_line(name), option.option_type.name());
    }
}

/// Collects the options in which naming a path grants it, including suboptions.
fn path_options(spec: &ArgumentSpec, prefix: &str, found: &mut Vec<String>) {
    for (name, option) in &spec.options {
        if let Some(access) = option.access {
            found.push(format!("{prefix}{name}: {}", access.name()));
        }
        if let Some(sub_spec) = option.sub_spec.as_deref() {
            path_options(sub_spec, &format!("{prefix}{name}."), found);
        }
    }
}
