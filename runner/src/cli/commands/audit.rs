//! `modbox audit`: shows the runs of audit logs.

use std::io::{self, BufWriter, Write};
use std::time::SystemTime;

use anstream::{AutoStream, ColorChoice};

use crate::cli::args::AuditArgs;
use crate::cli::audit_view::entry::AuditEntry;
use crate::cli::audit_view::filter::AuditFilter;
use crate::cli::audit_view::page::AuditPage;
use crate::cli::audit_view::source::AuditSource;
use crate::cli::audit_view::table::AuditTable;
use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::printing::output;

/// Shows the runs that fit the filters.
pub(crate) fn run(args: &AuditArgs) -> Result<ExitStatus, Failure> {
    let source = AuditSource::open(&args.files, &mut note).or_unavailable()?;
    let filter = AuditFilter {
        since: args.since.map(|since| since.resolve(SystemTime::now())),
        denied: args.denied,
        failed: args.failed,
        module: args.module.clone(),
        host: args.host.clone(),
    };
    let coloured = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
    let out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    if args.html {
        let mut page = AuditPage::default();
        for_each(source, &filter, |entry| {
            page.push(entry);
            Ok(())
        })?;
        output::written(page.write(out)).or_internal()?;
    } else if args.json {
        print_lines(source, &filter, out)?;
    } else {
        let mut table = AuditTable::new(out, coloured, args.verbose);
        for_each(source, &filter, |entry| table.push(entry))?;
        output::written(table.finish()).or_internal()?;
    }
    Ok(ExitStatus::Success)
}

/// Prints the lines as they are in the log. On a terminal they are cleaned, since not every writer escapes as modbox
/// does.
fn print_lines(source: AuditSource, filter: &AuditFilter, mut out: impl Write) -> Result<(), Failure> {
    let terminal = io::IsTerminal::is_terminal(&io::stdout());
    for_each(source, filter, |entry| {
        match terminal {
            true => out.write_all(output::clean_line(&String::from_utf8_lossy(entry.line())).as_bytes())?,
            false => out.write_all(entry.line())?,
        }
        out.write_all(b"\n")
    })?;
    output::written(out.flush()).or_internal()
}

fn for_each(
    mut source: AuditSource,
    filter: &AuditFilter,
    mut show: impl FnMut(&AuditEntry) -> io::Result<()>,
) -> Result<(), Failure> {
    while let Some(entry) = source.next_entry(&mut note).or_unavailable()? {
        if filter.matches(&entry) {
            output::written(show(&entry)).or_internal()?;
        }
    }
    Ok(())
}

fn note(text: String) {
    output::print_note(&text);
}
