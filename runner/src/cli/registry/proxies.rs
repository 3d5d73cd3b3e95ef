//! The user's proxies, from the variables that other tools read.

use modbox_registry::proxy::{Proxies, Proxy, ProxyError};

use crate::cli::process::environment::Environment;

/// Returns the proxies.
///
/// # Errors
///
/// A variable names none.
pub(super) fn of(environment: &Environment) -> Result<Proxies, ProxyError> {
    let first = |names: &[&'static str]| {
        let found = |name: &&'static str| Some((*name, value(environment, name)?));
        names.iter().find_map(found).map(|(name, value)| Proxy::parse(name, &value)).transpose()
    };
    Ok(Proxies {
        secure: first(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"])?,
        plain: first(&["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])?,
        direct: ["NO_PROXY", "no_proxy"].iter().find_map(|name| value(environment, name)).unwrap_or_default(),
    })
}

/// Returns the value of a variable, if it has one.
fn value(environment: &Environment, name: &str) -> Option<String> {
    let value = environment.variable(name)?.to_string_lossy().trim().to_owned();
    Some(value).filter(|value| !value.is_empty())
}
