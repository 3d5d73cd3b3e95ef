//! Filters on POSIX paths: Python's `posixpath`.

use minijinja::Value;

use crate::call::{Call, str_argument};
use crate::failure::{Outcome, failure};
use crate::values::{View, items, type_name, view};

fn path_text(value: &Value) -> Outcome<String> {
    match view(value) {
        View::Str(path) => Ok(path.to_owned()),
        View::Surrogates(_) => str_argument("a path", value).map(std::borrow::Cow::into_owned),
        _ => Err(failure(format!("expected str, bytes or os.PathLike object, not {}", type_name(value)))),
    }
}

fn input(call: &Call<'_, '_, '_>) -> Outcome<String> {
    let ([path], []) = call.bind(["path"], [])?;
    path_text(&path)
}

/// Returns the last part of a path.
pub(super) fn basename(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([path], []) = call.bind(["p"], [])?;
    let path = path_text(&path)?;
    Ok(Value::from(path.rsplit('/').next().unwrap_or_default()))
}

/// Returns a path without its last part.
pub(super) fn dirname(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([path], []) = call.bind(["p"], [])?;
    let path = path_text(&path)?;
    let head = path.rfind('/').map_or("", |at| &path[..=at]);
    let trimmed = head.trim_end_matches('/');
    Ok(Value::from(if trimmed.is_empty() { head } else { trimmed }))
}

/// Splits a path before its extension.
pub(super) fn splitext(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([path], []) = call.bind(["p"], [])?;
    let path = path_text(&path)?;
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let leading = path[name..].bytes().take_while(|byte| *byte == b'.').count();
    let dot = path[name + leading..].rfind('.').map_or(path.len(), |at| name + leading + at);
    Ok(Value::from((&path[..dot], &path[dot..])))
}

/// Removes `.`, `..` and double slashes.
pub(super) fn normpath(call: &mut Call<'_, '_, '_>) -> Outcome {
    input(call).map(|path| Value::from(normal(&path)))
}

fn normal(path: &str) -> String {
    if path.is_empty() {
        return ".".to_owned();
    }
    // POSIX gives two slashes at the start a meaning of their own.
    let slashes = match path.bytes().take_while(|byte| *byte == b'/').count() {
        2 => "//",
        0 => "",
        _ => "/",
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if slashes.is_empty() && parts.last().is_none_or(|last| *last == "..") => parts.push(part),
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    let path = format!("{slashes}{}", parts.join("/"));
    if path.is_empty() { ".".to_owned() } else { path }
}

fn joined(paths: &[String]) -> String {
    let mut out = String::new();
    for (index, path) in paths.iter().enumerate() {
        if path.starts_with('/') {
            out.clear();
        } else if index > 0 && !out.is_empty() && !out.ends_with('/') {
            out.push('/');
        }
        out.push_str(path);
    }
    out
}

/// Joins the parts of a path.
pub(super) fn path_join(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([paths], []) = call.bind(["paths"], [])?;
    match view(&paths) {
        View::Str(_) => Ok(paths),
        View::List | View::Tuple => {
            let parts = items(&paths)?.iter().map(path_text).collect::<Outcome<Vec<_>>>()?;
            if parts.is_empty() {
                return Err(failure("join() missing 1 required positional argument: 'a'"));
            }
            Ok(Value::from(joined(&parts)))
        }
        _ => Err(failure(format!("|path_join expects string or sequence, got {} instead.", type_name(&paths)))),
    }
}

/// Returns the longest path that all paths are in.
pub(super) fn commonpath(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([paths], []) = call.bind(["paths"], [])?;
    if !matches!(view(&paths), View::List | View::Tuple) {
        return Err(failure(format!("|commonpath expects sequence, got {} instead.", type_name(&paths))));
    }
    let paths = items(&paths)?.iter().map(path_text).collect::<Outcome<Vec<_>>>()?;
    let Some(first) = paths.first() else { return Err(failure("commonpath() arg is an empty sequence")) };
    let is_absolute = first.starts_with('/');
    if paths.iter().any(|path| path.starts_with('/') != is_absolute) {
        return Err(failure("Can't mix absolute and relative paths"));
    }
    let split = |path: &String| -> Vec<String> {
        path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
    };
    let all: Vec<Vec<String>> = paths.iter().map(split).collect();
    let shared = (0..).take_while(|at| {
        let part = all[0].get(*at);
        part.is_some() && all.iter().all(|parts| parts.get(*at) == part)
    });
    let common = all[0][..shared.count()].join("/");
    Ok(Value::from(if is_absolute { format!("/{common}") } else { common }))
}

/// Returns a path from a directory to another path.
pub(super) fn relpath(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([path], [start]) = call.bind(["path"], ["start"])?;
    let path = path_text(&path)?;
    if path.is_empty() {
        return Err(failure("no path specified"));
    }
    let start = start.filter(|start| !start.is_none()).as_ref().map_or(Ok(".".to_owned()), path_text)?;
    let (path, start) = (normal(&path), normal(if start.is_empty() { "." } else { &start }));
    let climbs = |path: &str| path == ".." || path.starts_with("../");
    let is_free = !path.starts_with('/') && !start.starts_with('/') && !climbs(&path) && !climbs(&start);
    let base = if path.starts_with('/') && start.starts_with('/') || is_free {
        String::new()
    } else {
        call.host.current_directory()?
    };
    let parts = |path: &str| -> Vec<String> {
        let path = normal(&joined(&["/".to_owned(), base.clone(), path.to_owned()]));
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (path, start) = (parts(&path), parts(&start));
    let shared = path.iter().zip(&start).take_while(|(left, right)| left == right).count();
    let mut out = vec!["..".to_owned(); start.len() - shared];
    out.extend_from_slice(&path[shared..]);
    Ok(Value::from(if out.is_empty() { ".".to_owned() } else { out.join("/") }))
}

/// Returns a path without symbolic links.
pub(super) fn realpath(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([path], [_strict]) = call.bind(["filename"], ["strict"])?;
    Ok(Value::from(call.host.real_path(&path_text(&path)?)?))
}

/// Returns the regular files of a pattern.
pub(super) fn fileglob(call: &mut Call<'_, '_, '_>) -> Outcome {
    let ([pattern], []) = call.bind(["pathname"], [])?;
    Ok(Value::from(call.host.glob(&path_text(&pattern)?)?))
}

/// Replaces `~` and `~user` at the start of a path.
pub(super) fn expanduser(call: &mut Call<'_, '_, '_>) -> Outcome {
    let path = input(call)?;
    let Some(rest) = path.strip_prefix('~') else { return Ok(Value::from(path)) };
    let end = rest.find('/').unwrap_or(rest.len());
    let user = Some(&rest[..end]).filter(|user| !user.is_empty());
    let Some(home) = call.host.home(user)? else { return Ok(Value::from(path)) };
    let expanded = format!("{}{}", home.trim_end_matches('/'), &rest[end..]);
    Ok(Value::from(if expanded.is_empty() { "/".to_owned() } else { expanded }))
}

/// Replaces `$name` and `${name}`. Unknown variables stay.
pub(super) fn expandvars(call: &mut Call<'_, '_, '_>) -> Outcome {
    let path = input(call)?;
    let mut out = String::new();
    let mut rest = path.as_str();
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, end) = match after.strip_prefix('{') {
            Some(braced) => braced.find('}').map_or((None, 0), |end| (Some(&braced[..end]), end + 2)),
            None => {
                let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
                (Some(&after[..end]).filter(|name| !name.is_empty()), end)
            }
        };
        let value = name.map(|name| call.host.variable(name)).transpose()?.flatten();
        match value {
            Some(value) => out.push_str(&value),
            None => out.push_str(&rest[at..=at + end]),
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    Ok(Value::from(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normal() {
        let cases = [
            ("", "."),
            ("a/../..", ".."),
            ("//a//b/", "//a/b"),
            ("///a", "/a"),
            ("/..", "/"),
            ("./a/./b", "a/b"),
            ("../a", "../a"),
            ("a/..", "."),
        ];
        for (path, expect) in cases {
            assert_eq!(normal(path), expect, "{path}");
        }
        assert_eq!(joined(&["a".into(), "b/".into(), "c".into()]), "a/b/c");
        assert_eq!(joined(&["a".into(), "/b".into()]), "/b");
    }
}
