//! `modbox run MODULE KEY=VALUE…` without any switch, read without clap: describing the switches that are not there takes
//! longer than a short module runs. What comes out is what clap would make of it; everything else is left to clap.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::cli::args::RunArgs;
use crate::cli::commands::run::ArgumentSource;

/// Reads a command line, if it is `run`, a module, and pairs; with the order of its arguments.
pub(crate) fn read(argv: &[OsString]) -> Option<(RunArgs, Vec<ArgumentSource>)> {
    let [_, run, module, pairs @ ..] = argv else { return None };
    let is_switch = |word: &OsString| word.as_bytes().starts_with(b"-");
    if run != "run" || module.is_empty() || is_switch(module) || pairs.iter().any(is_switch) {
        return None;
    }
    let order = (0..pairs.len()).map(ArgumentSource::Pair).collect();
    Some((RunArgs { module: module.into(), pairs: pairs.to_vec(), ..RunArgs::default() }, order))
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use clap::{CommandFactory, FromArgMatches};
    use proptest::prelude::*;

    use super::*;
    use crate::cli::args::{Cli, Command, LogArgs};
    use crate::cli::commands::run::argument_order;

    /// What clap makes of a command line, as text; nothing, when it refuses it or it is another command.
    fn by_clap(argv: &[OsString]) -> Option<String> {
        let matches = Cli::command().try_get_matches_from(argv).ok()?;
        let order = argument_order(matches.subcommand_matches("run")?);
        let cli = Cli::from_arg_matches(&matches).unwrap();
        let Command::Run(args) = cli.command else { return None };
        Some(format!("{:?}", (cli.log, &*args, order)))
    }

    fn by_us(argv: &[OsString]) -> Option<String> {
        read(argv).map(|(args, order)| format!("{:?}", (LogArgs::default(), &args, order)))
    }

    fn words(words: &[&[u8]]) -> Vec<OsString> {
        words.iter().map(|word| OsString::from_vec(word.to_vec())).collect()
    }

    #[test]
    fn a_line_without_switches_says_what_it_says_to_clap() {
        for rest in [
            &[b"ping" as &[u8]][..],
            &[b"./ping.wasm", b"data=hello", b"data=again"],
            &[b"@file", b"@file", b"@"],
            &[b"=", b"=", b"", b" "],
            &[b"help", b"help", b"version", b"run", b"batch"],
            &[b"p\xff.wasm", b"\xff=\xfe", b"a=\x1b[0m\n"],
            &[b"a", b"x=-", b"x=--check", b"+C", b"/C", b"\xe2\x80\x93check"],
            &[b"{}", b"[]", b"a,b", b"a;b", b"a\\-b", b"'-a'", b"1", b"*"],
        ] {
            let argv = words(&[&[b"modbox" as &[u8], b"run"], rest].concat());
            let read = by_us(&argv);
            assert!(read.is_some(), "{argv:?}");
            assert_eq!(read, by_clap(&argv), "{argv:?}");
        }
    }

    #[test]
    fn everything_else_is_left_to_clap() {
        for argv in [
            &[b"modbox" as &[u8]][..],
            &[b"modbox", b"run"],
            &[b"modbox", b"run", b""],
            &[b"modbox", b"run", b"", b"a=1"],
            &[b"modbox", b"ru", b"ping"],
            &[b"modbox", b"RUN", b"ping"],
            &[b"modbox", b"validate", b"ping"],
            &[b"modbox", b"--log=info", b"run", b"ping"],
            &[b"modbox", b"run", b"-", b"a=1"],
            &[b"modbox", b"run", b"--", b"ping"],
            &[b"modbox", b"run", b"ping", b"--", b"a=1"],
            &[b"modbox", b"run", b"ping", b"-C"],
            &[b"modbox", b"run", b"ping", b"a=1", b"--help"],
            &[b"modbox", b"run", b"ping", b"-1"],
        ] {
            assert_eq!(by_us(&words(argv)), None);
        }
    }

    fn any_word() -> impl Strategy<Value = OsString> {
        let bytes = prop::sample::select(b"--=@a, \n\xc3\xff".to_vec());
        prop::collection::vec(bytes, 0..5).prop_map(OsString::from_vec)
    }

    proptest! {
        #[test]
        fn whatever_is_read_is_what_clap_reads(rest in prop::collection::vec(any_word(), 0..5)) {
            let argv: Vec<OsString> = words(&[b"modbox" as &[u8], b"run"]).into_iter().chain(rest).collect();
            if let Some(read) = by_us(&argv) {
                prop_assert_eq!(Some(read), by_clap(&argv));
            }
        }
    }
}
