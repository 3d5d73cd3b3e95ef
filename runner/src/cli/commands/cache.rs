//! `modbox cache`: lists, prunes or clears the cache of compiled modules.

use std::time::SystemTime;

use anyhow::Context as _;
use modbox_authoring::clear_shared_output;
use modbox_run::{clear_descriptions, clear_python_cache};
use modbox_wasm::CompileCache;

use crate::cli::args::CacheCommand;
use crate::cli::context::Context;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::folders::fleet_folder;
use crate::cli::printing::output;
use crate::cli::runner::cache_of_user;

/// Lists, prunes or clears the cache.
pub(crate) fn run(context: &Context, command: &CacheCommand) -> Result<ExitStatus, Failure> {
    let cache = cache_of_user(context)
        .context("failed to find the cache: this user has no home folder; set XDG_CACHE_HOME")
        .or_usage()?;
    match command {
        CacheCommand::List => list(&cache),
        CacheCommand::Clear => {
            let python =
                context.environment.cache_dir.as_ref().map_or(Ok(0), |dir| clear_python_cache(&dir.join("python")));
            let described =
                context.environment.cache_dir.as_ref().map_or(Ok(0), |dir| clear_descriptions(&dir.join("providers")));
            let built = context.environment.cache_dir.as_ref().map_or(Ok(0), |dir| clear_shared_output(dir));
            let sent = fleet_folder::clear(&context.environment).or_internal()?;
            let built = built.context("failed to remove the compiled crates of projects").or_internal()?;
            report(
                &cache,
                cache.store().clear().or_internal()? + python.or_internal()? + described.or_internal()? + built + sent,
            )
        }
        CacheCommand::Prune { max_size } => report(&cache, cache.store().prune(*max_size).or_internal()?),
    }
}

fn report(cache: &CompileCache, removed: u64) -> Result<ExitStatus, Failure> {
    output::print_name(&format!("removed {removed} files from {}", cache.store().dir().display())).or_internal()?;
    Ok(ExitStatus::Success)
}

fn list(cache: &CompileCache) -> Result<ExitStatus, Failure> {
    let now = SystemTime::now();
    for entry in cache.list().or_internal()? {
        let age = now.duration_since(entry.written).unwrap_or_default();
        let age = humantime::format_duration(std::time::Duration::from_secs(age.as_secs()));
        let size = bytesize::ByteSize(entry.bytes).display().iec();
        let name = cache.name_of(&entry.module).unwrap_or_else(|| "-".to_owned());
        let name = output::clean_line(&name);
        output::print_name(&format!("sha256:{}  {size}  {age} old  {name}", entry.module)).or_internal()?;
    }
    Ok(ExitStatus::Success)
}
