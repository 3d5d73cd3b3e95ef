//! `modbox verify`: tells who signed a module, and the most that the trust rules let it be granted.

use std::fmt::Write as _;
use std::path::Path;

use modbox_policy::{Ceiling, MergedPolicy, ModuleSignature, Policy, TrustStanding, merge};
use modbox_python_json::{Value, encode, to_value};
use modbox_run::{Module, locate};

use crate::cli::args::VerifyArgs;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::identity::Identity;
use crate::cli::named::find::Lookup;
use crate::cli::printing::output::{self, clean_line};
use crate::cli::registry::is_reference;
use crate::cli::runner::runner;
use crate::cli::settings::{ModuleIdentity, Settings, Trust};

/// Verifies the modules, and prints a verdict on each.
pub(crate) fn run(context: &Context, args: &VerifyArgs) -> Result<ExitStatus, Failure> {
    let lookup = Lookup::new(context, &args.lookup)?;
    let trust = match &args.signers {
        Some(signers) => {
            let environment = &context.environment;
            let revoked = args.revoked.as_deref().map(|path| environment.absolute(path));
            let cores = args.ansible_core.iter().map(|path| environment.absolute(path)).collect();
            let signers = environment.absolute(signers);
            let trust = Trust::of_keys(&signers, args.signer.as_deref(), revoked.as_deref(), cores);
            trust.or_usage()?.with_store(environment)
        }
        None => Settings::trust_of(&context.environment, &args.policy).or_usage()?,
    };
    if trust.is_empty() {
        let message = "no key counts: give a file of keys with `--signers`, or name one as `signers` in the section `trust` \
                       of a policy file";
        return Err(anyhow::anyhow!(message)).or_usage();
    }
    let mut counts = true;
    let runner = runner(context, None, lookup.python.clone());
    for module in &args.modules {
        let found = lookup.find(context, module)?;
        let opened = Module::new(locate::read(&found.path).or_unavailable()?, None);
        let identity = Identity::of(&runner, &opened, &found.name, &lookup.interpreters, &Policy::default());
        let digest = identity.closure.digest().to_owned();
        let standing = trust.standing(Some(ModuleIdentity::of(&found.name, &opened, &identity)));
        counts &= is_good(&standing);
        let shown = if is_reference(module) { module.as_path() } else { &found.path };
        let text = match args.json {
            true => encode(&to_json(shown, &digest, &standing)),
            false => to_text(shown, &digest, &standing),
        };
        output::print_line(text.trim_end()).or_internal()?;
    }
    Ok(if counts { ExitStatus::Success } else { ExitStatus::Denied })
}

fn is_good(standing: &TrustStanding) -> bool {
    standing.refusals.is_empty() && standing.signature.as_ref().is_some_and(|signature| signature.verified)
}

fn to_text(path: &Path, digest: &str, standing: &TrustStanding) -> String {
    let mut text = format!("{}: sha256:{digest}\n", clean_line(&path.display().to_string()));
    push_signature(&mut text, standing);
    text
}

/// Writes the verdict on a signature, in lines that are indented.
pub(crate) fn push_signature(text: &mut String, standing: &TrustStanding) {
    let Some(ModuleSignature { verified, signers, keys, name, version, ansible_core, reason, .. }) =
        &standing.signature
    else {
        return;
    };
    if *verified {
        let _ = writeln!(text, "  signed by: {} ({})", clean_line(&signers.join(", ")), keys.join(", "));
        if let Some(name) = name {
            let version = version.as_deref().unwrap_or_default();
            let _ = writeln!(text, "{}", format!("  signed as: {name} {version}").trim_end());
        }
        if let Some(reason) = reason {
            let _ = writeln!(text, "  no trust rule for it: {}", clean_line(reason));
        }
        if let Some(release) = ansible_core {
            let _ = writeln!(text, "  parts of ansible-core {release}: signed");
        }
    } else {
        let _ = writeln!(text, "  not signed: {}", clean_line(reason.as_deref().unwrap_or("no signature counts")));
    }
    for refusal in &standing.refusals {
        let _ = writeln!(text, "  refused: {}", clean_line(refusal));
    }
    for ceiling in &standing.ceilings {
        let _ = writeln!(text, "  at most: {} ({})", most(ceiling).join(", "), clean_line(&ceiling.rule));
    }
}

/// Returns what a ceiling lets a module be granted, in words.
fn most(ceiling: &Ceiling) -> Vec<String> {
    let grants = merge(std::slice::from_ref(&ceiling.most)).map(|MergedPolicy { policy, .. }| policy.grants());
    let grants = grants.unwrap_or_default();
    let mut words: Vec<String> =
        grants.iter().map(|grant| clean_line(&format!("{} {}", grant.capability, grant.subject))).collect();
    words.push(format!("designated {}", ceiling.designated()));
    words
}

fn to_json(path: &Path, digest: &str, standing: &TrustStanding) -> Value {
    let strings = |list: &[String]| list.iter().map(String::as_str).collect::<Vec<_>>().into();
    let ceilings = standing.ceilings.iter().map(|ceiling| -> Value {
        [("rule", ceiling.rule.as_str().into()), ("at_most", strings(&most(ceiling)))].into()
    });
    let signature = standing.signature.as_ref().map(|signature| to_value(signature).expect("it has a JSON form"));
    [
        ("path", Value::from(path.to_string_lossy().as_ref())),
        ("digest", format!("sha256:{digest}").into()),
        ("signature", signature.into()),
        ("refusals", strings(&standing.refusals)),
        ("ceilings", ceilings.collect::<Vec<_>>().into()),
    ]
    .into()
}
