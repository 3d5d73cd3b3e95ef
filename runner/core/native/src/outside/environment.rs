//! The environment of a command outside: the same for all commands of a run, but for language and time zone.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::outside::stub::LANGUAGE_VARIABLES;

/// Where programs look for others.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Longest value of a variable that the module sets.
const MAX_VALUE: usize = 64;

/// Returns the variables that the module does not choose. `granted` has those that the policy grants, with the operator's values.
pub(crate) fn fixed(user: &str, home: &Path, granted: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let own = [
        ("PATH", OsStr::new(PATH)),
        ("HOME", home.as_os_str()),
        ("USER", OsStr::new(user)),
        ("LOGNAME", OsStr::new(user)),
        ("DEBIAN_FRONTEND", OsStr::new("noninteractive")),
    ];
    let others = granted.iter().filter(|(name, _)| own.iter().all(|(other, _)| name != other)).cloned();
    others.chain(own.map(|(name, value)| (name.into(), value.to_owned()))).collect()
}

/// Returns the variables of language and time zone among those that the module sends, as far as their values name no files and
/// have nothing that a program formats.
pub(crate) fn languages(sent: &[Vec<u8>]) -> Vec<(OsString, OsString)> {
    let one = |variable: &Vec<u8>| {
        let (name, value) = str::from_utf8(variable).ok()?.split_once('=')?;
        let is_category = name.strip_prefix("LC_").is_some_and(|rest| {
            !rest.is_empty() && rest.len() <= 16 && rest.bytes().all(|byte| byte.is_ascii_uppercase())
        });
        let is_plain = value.len() <= MAX_VALUE
            && !value.contains("..")
            && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.@:,+-".contains(&byte));
        ((is_category || LANGUAGE_VARIABLES.contains(&name)) && is_plain).then(|| (name.into(), value.into()))
    };
    sent.iter().filter_map(one).collect()
}

/// Returns whether a text is one that `execve` takes as a variable.
pub(crate) fn is_variable((name, value): &(OsString, OsString)) -> bool {
    !name.is_empty()
        && !name.as_bytes().contains(&b'=')
        && ![name, value].iter().any(|text| text.as_bytes().contains(&0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_chooses_languages_alone() {
        let sent = [
            "LANG=C.UTF-8",
            "LC_ALL=de_DE@euro",
            "LANGUAGE=en:de",
            "TZ=UTC-1",
            "PATH=/tmp",
            "LD_PRELOAD=x",
            "LC_=x",
            "LC_x=y",
            "LC_ALL=/tmp/x",
            "TZ=:/etc/passwd",
            "LANG=%n",
            "LANG=..",
            "TZ=../x",
            "LANG",
            "",
            "LANG=a\nb",
        ]
        .map(|text| text.as_bytes().to_vec());
        let expect = [("LANG", "C.UTF-8"), ("LC_ALL", "de_DE@euro"), ("LANGUAGE", "en:de"), ("TZ", "UTC-1")];
        assert_eq!(languages(&sent), expect.map(|(name, value)| (name.into(), value.into())));
        assert!(languages(&[format!("LANG={}", "x".repeat(65)).into_bytes(), vec![b'L', 0xff]]).is_empty());
    }

    #[test]
    fn a_granted_variable_does_not_replace_a_fixed_one() {
        let granted = [("HOME", "/x"), ("http_proxy", "http://proxy")].map(|(name, value)| (name.into(), value.into()));
        let all = fixed("app", Path::new("/srv/app"), &granted);
        let value =
            |name: &str| all.iter().filter(|(own, _)| own == name).map(|(_, value)| value.clone()).collect::<Vec<_>>();
        assert_eq!((value("HOME"), value("http_proxy")), (vec!["/srv/app".into()], vec!["http://proxy".into()]));
        assert_eq!((value("USER"), value("PATH")), (vec!["app".into()], vec![PATH.into()]));
    }
}
