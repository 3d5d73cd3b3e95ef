//! The texts at the end of `--help`: examples of each command, what its input means, and its exit statuses.
//!
//! They are apart from the switches, so that both can be read in one piece.

/// Of `modbox`.
pub(crate) const AFTER_HELP: &str = "\
Without a subcommand, `modbox FILE ARGSFILE` runs a module as the kernel does for a `#!` line: arguments \
come from a JSON file, grants only from policy files, and the result is one JSON line.";

/// Of `modbox run`.
pub(crate) const RUN_HELP: &str = "\
Examples:
  modbox run lineinfile path=/etc/motd line=Hello
  modbox run ./ping --args '{\"data\": \"hi\"}' --output report
  modbox run uri url=https://example.org --allow-net example.org:443

A module starts with its arguments, a private /tmp, clocks, random numbers and its standard streams. A path in an \
argument is granted, if the module's manual declares an access for the option; --designated restricts that. Everything \
else, such as a network address, is granted with --allow-* or in a policy file: /etc/modbox/policy.yaml, then \
modbox/policy.yaml in the user's config folder, the files modbox/policy.d/*.yaml beside it, then --policy.

Exit status: 0 ok, changed or skipped · 1 failed · 2 usage · 3 module not found, not built or not loaded · 4 \
denied · 5 limit reached · 6 module crashed · 8 not committed, or a preview that is incomplete · 9 committed in part · 70 \
internal error of modbox.";

/// Of `modbox batch`.
pub(crate) const BATCH_HELP: &str = "\
Examples:
  echo '{\"id\": 1, \"module\": \"ping\", \"args\": {}}' | modbox batch --jobs 4

A job is one line on standard input: {\"id\": ANY, \"module\": \"PATH or NAME\", \"args\": {…}}, with optional keys \
\"check\", \"diff\", \"verbosity\", \"no_log\", \"secrets\" (names of options), \"kind\", \"name\", \"become_user\", \"stdin_args\", \"last_json_line\", \"no_pipelining\", \
\"effect\" (\"preview\" or \"transaction\", with \"save\", \"preview_net\", \"durable\", \"keep_undo\" and \"incomplete_ok\" as the \
switches of `modbox run`), \
\"internal\" (the internal arguments of `modbox run`, such as {\"contract\": \"2.14\"}), \"policy\" and \"limits\" (as \
in a policy file, only for this job). Each line gets one report with its id. Grants and limits on the command line \
apply to every job. After the first SIGTERM or SIGINT, running jobs still finish.

Exit status: 0 every job was ok, changed or skipped · 1 some were not · 2 usage · 70 internal error of modbox.";

/// Of `modbox play`.
pub(crate) const PLAY_HELP: &str = "\
Examples:
  modbox play site.yml --check --diff
  modbox play --list-tasks site.yml
  modbox play tasks.yml -e version=1.2 --allow-write /srv/app

Plays run on this host, each module in its own sandbox. Paths in the arguments of tasks are granted as by `modbox run`; \
everything else needs --allow-* or a policy file, for the whole play. A play that has to connect to other hosts is \
skipped. What modules return, facts and files are data and never templates.

Exit status: 0 every task was ok, changed or skipped · 1 a task failed · 2 usage, or a file or keyword is wrong or \
refused · 3 module not found, not built or not loaded · 4 denied · 5 limit reached · 6 module crashed · 70 internal \
error of modbox.";

/// Of `modbox template`.
pub(crate) const TEMPLATE_HELP: &str = "\
Examples:
  modbox template 'Hello {{ name | capitalize }}' -e name=world
  modbox template --expression '[1, 2] | sum'
  modbox template @motd.j2 -e @vars.yml

Exit status: 0 done · 1 the template failed · 2 usage.";

/// Of `modbox test`.
pub(crate) const TEST_HELP: &str = "\
Examples:
  modbox test modules/ping
  modbox test target/modbox/my_module.wasm --cases cases

A case is a file cases/NAME.yaml with \"args\", \"check\", \"diff\", \"files\" (before the run), \"allow\" (grants, as in a \
policy file) and \"expect\": \"status\", keys of the \"result\", and \"files\" after the run, where null is a file that must \
not exist. Each case runs in an empty folder, without the policy file of the user.

With \"http\", no request reaches a network. It lists the expected requests: \"method\", \"url\", \"headers\", and \"json\" or \
\"body\"; each has an \"answer\": \"status\", \"headers\", and \"json\" or \"body\".

Exit status: 0 every case passed · 1 some failed · 2 usage · 3 module not built, or no cases.";

/// Of `modbox assemble`.
pub(crate) const ASSEMBLE_HELP: &str = "\
Examples:
  modbox assemble my_module.py --output assembled.py";

/// Of `modbox build`.
pub(crate) const BUILD_HELP: &str = "\
Examples:
  modbox build modules/ping
  modbox build lineinfile copy file
  modbox build --all
  modbox build . --ansible library

ansible-playbook cannot run a component that is copied into the `library` folder of a playbook: it fails with `Exec format \
error`. --ansible writes the form that works there.";

/// Of `modbox cache`.
pub(crate) const CACHE_HELP: &str = "\
Examples:
  modbox cache list
  modbox cache clear";

/// Of `modbox policy check`.
pub(crate) const CHECK_HELP: &str = "\
Examples:
  modbox policy check /etc/modbox/policy.yaml";

/// Of `modbox completions`.
pub(crate) const COMPLETIONS_HELP: &str = "\
Examples:
  modbox completions bash > /etc/bash_completion.d/modbox";

/// Of `modbox doc`.
pub(crate) const DOC_HELP: &str = "\
Examples:
  modbox doc lineinfile";

/// Of `modbox inspect`.
pub(crate) const INSPECT_HELP: &str = "\
Examples:
  modbox inspect lineinfile
  modbox inspect ./my_module.py --json";

/// Of `modbox man`.
pub(crate) const MAN_HELP: &str = "\
Examples:
  modbox man > modbox.1";

/// Of `modbox new`.
pub(crate) const NEW_HELP: &str = "\
Examples:
  modbox new my_module
  modbox new --language python my_module";

/// Of `modbox policy`.
pub(crate) const POLICY_HELP: &str = "\
Examples:
  modbox policy show lineinfile path=/etc/motd
  modbox policy check policy.yaml";

/// Of `modbox cache prune`.
pub(crate) const PRUNE_HELP: &str = "\
Examples:
  modbox cache prune --max-size 100MiB";

/// Of `modbox resource`.
pub(crate) const RESOURCE_HELP: &str = "\
Examples:
  modbox resource
  modbox resource service
  modbox resource service sshd ensure=running --check

A provider is a program DIR/providers/NAME.prov that follows libral's conventions. Directories are searched in this \
order: those of --include, those of --data-dir or else $RALSH_DATA_DIR, /usr/local/share/libral/data, \
/usr/share/libral/data. Without a TYPE, the providers are listed. A provider runs as a module does: a path in an attribute is granted, \
if the provider's metadata declares an access for it, and everything else is granted with --allow-* or in a policy file.

Exit status: 0 ok · 1 not found or failed · 2 usage · 3 provider not found or not loaded · 4 denied · 5 limit reached · \
6 provider crashed · 70 internal error of modbox. With --compat ralsh: 0 ok · 1 not found · 2 any error.";

/// Of `modbox policy show`.
pub(crate) const SHOW_HELP: &str = "\
Examples:
  modbox policy show lineinfile path=/etc/motd";
