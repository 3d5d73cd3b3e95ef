//! Turns the switches for grants and limits into rules.

use std::ffi::OsStr;

use anyhow::Context;
use modbox_policy::{Access, EnvGrant, LimitName, LimitOverrides, Rules};
use modbox_vocabulary::GrantSource;

use crate::cli::args::{GrantArgs, LimitArgs};
use crate::cli::process::environment::Environment;
use crate::cli::settings::grants;

/// Resolves the switches. The rules have no common source: each grant names its switch, and the names of limits are
/// clear enough.
///
/// # Errors
///
/// A grant is wrong, or names something that does not exist.
pub(super) fn rules(environment: &Environment, args: &GrantArgs, limits: &LimitArgs) -> anyhow::Result<Rules> {
    let mut rules =
        Rules { designated: args.designated, python: args.python, limits: overrides(limits), ..Rules::default() };
    rules.designates.clone_from(&args.designate);
    rules.min_confinement = args.min_confinement;
    rules.audit = args.audit.iter().map(|path| environment.cwd.join(path)).collect();
    for (switch, access, paths) in
        [("--allow-read", Access::Read, &args.allow_read), ("--allow-write", Access::Write, &args.allow_write)]
    {
        let by = GrantSource::named(switch);
        for path in paths {
            let named = grants::path(environment, path, access, &by).with_context(|| in_switch(switch, path))?;
            named.add_to(&mut rules);
        }
    }
    for rule in &args.allow_own {
        let (switch, by) = ("--allow-own", GrantSource::named("--allow-own"));
        rules.own.push(grants::own(rule, &by).with_context(|| in_switch(switch, rule.as_ref()))?);
    }
    for variable in &args.allow_env {
        let (switch, by) = ("--allow-env", GrantSource::named("--allow-env"));
        let grant = grants::env(environment, variable, &by).with_context(|| in_switch(switch, variable))?;
        rules.env.extend(grant);
    }
    for rule in &args.allow_net {
        let (switch, by) = ("--allow-net", GrantSource::named("--allow-net"));
        rules.net.push(grants::net(rule, &by).with_context(|| in_switch(switch, rule.as_ref()))?);
    }
    for rule in &args.allow_listen {
        let (switch, by) = ("--allow-listen", GrantSource::named("--allow-listen"));
        rules.listen.push(grants::listen(rule, &by).with_context(|| in_switch(switch, rule.as_ref()))?);
    }
    for rule in &args.allow_run {
        let (switch, by) = ("--allow-run", GrantSource::named("--allow-run"));
        rules.run.push(grants::run(rule, &by).with_context(|| in_switch(switch, rule.as_ref()))?);
    }
    for rule in &args.allow_outside {
        let (switch, by) = ("--allow-outside", GrantSource::named("--allow-outside"));
        rules.outside.push(grants::outside(rule, &by).with_context(|| in_switch(switch, rule.as_ref()))?);
    }
    if args.allow_all {
        let source = GrantSource::named("--allow-all");
        rules.everything = Some(source.clone());
        for (name, value) in &environment.variables {
            if let (Some(name), Some(value)) = (name.to_str(), value.to_str()) {
                let (name, value, source) = (name.to_owned(), value.to_owned(), source.clone());
                rules.env.push(EnvGrant { name, value, source });
            }
        }
    }
    Ok(rules)
}

fn in_switch(switch: &str, value: &OsStr) -> String {
    format!("invalid grant `{switch} {}`", value.to_string_lossy())
}

fn overrides(args: &LimitArgs) -> LimitOverrides {
    let mut overrides = LimitOverrides::default();
    for (name, time) in [
        (LimitName::Timeout, args.timeout),
        (LimitName::CpuTime, args.cpu_time),
        (LimitName::CompileTime, args.compile_time),
        (LimitName::Outside, args.outside_time),
    ] {
        if let Some(time) = time {
            overrides.set_time(name, time);
        }
    }
    for (name, value) in [
        (LimitName::Memory, args.max_memory),
        (LimitName::Output, args.max_output),
        (LimitName::Disk, args.max_disk),
        (LimitName::Tmp, args.max_tmp),
        (LimitName::Files, args.max_files),
        (LimitName::Descriptors, args.max_descriptors),
        (LimitName::Processes, args.max_processes),
        (LimitName::Module, args.max_module),
        (LimitName::CompileMemory, args.compile_memory),
    ] {
        if let Some(value) = value {
            overrides.set(name, value);
        }
    }
    overrides
}
