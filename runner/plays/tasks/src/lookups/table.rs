//! The table of lookups that act, and the door to it for the template engine.

use modbox_template::{LookupCall, LookupError, Lookups, Value};

use super::call::Call;
use super::host::SharedHost;
use super::options::Options;
use super::{
    commands, config, csvfile, env, file, fileglob, first_found, ini, inventory_hostnames, password, template, url,
};

/// What gives the results of a lookup.
type Function = fn(&Call<'_>, &LookupCall<'_>) -> Result<Vec<Value>, LookupError>;

/// A lookup that acts.
#[derive(Debug, Clone, Copy)]
pub struct ActingLookup {
    /// The name in `ansible.builtin`.
    pub name: &'static str,
    /// What it gives.
    pub doc: &'static str,
    run: Function,
}

const fn lookup(name: &'static str, doc: &'static str, run: Function) -> ActingLookup {
    ActingLookup { name, doc, run }
}

/// All lookups that act, in alphabetical order.
pub static ALL: &[ActingLookup] = &[
    lookup("config", "settings of Ansible", |call, _| config::run(call)),
    lookup("csvfile", "values of files with columns", |call, _| csvfile::run(call)),
    lookup("env", "variables of the environment", |call, _| env::run(call)),
    lookup("file", "contents of files", |call, _| file::run(call)),
    lookup("fileglob", "files that match a pattern", |call, _| fileglob::run(call)),
    lookup("first_found", "the first file that exists", |call, _| first_found::run(call)),
    lookup("ini", "values of INI files", |call, _| ini::run(call)),
    lookup("inventory_hostnames", "hosts that patterns mean", |call, _| inventory_hostnames::run(call)),
    lookup("lines", "lines of the output of commands", |call, _| commands::lines(call)),
    lookup("password", "random passwords, kept in files", |call, _| password::run(call)),
    lookup("pipe", "the output of commands", |call, _| commands::pipe(call)),
    lookup("template", "rendered template files", template::run),
    lookup("unvault", "contents of files as they are", |call, _| file::unvault(call)),
    lookup("url", "refused; use the module `uri`", |call, _| url::run(call)),
];

/// The lookups that act, over a host.
pub struct ActingLookups {
    host: SharedHost,
}

impl std::fmt::Debug for ActingLookups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActingLookups").finish_non_exhaustive()
    }
}

impl ActingLookups {
    /// Returns the lookups over a host.
    #[must_use]
    pub fn new(host: SharedHost) -> Self {
        Self { host }
    }
}

impl Lookups for ActingLookups {
    fn lookup(&self, call: &LookupCall<'_>) -> Result<Vec<Value>, LookupError> {
        let lookup = ALL.iter().find(|lookup| lookup.name == call.name);
        let lookup = lookup.ok_or_else(|| LookupError::Unknown(call.name.to_owned()))?;
        let own = Call {
            terms: &call.terms,
            options: Options::new(&call.options),
            scope: call.scope,
            host: &self.host,
            files: self.host.files(),
        };
        (lookup.run)(&own, call)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use modbox_template::{Config, Engine, Layer, Origin, Scope, Slot, known_lookups};
    use modbox_yaml::{load_play_file, template_file};

    use super::*;
    use crate::lookups::memory_host::MemoryHost;
    use crate::memory_files::MemoryFiles;
    use crate::vars::layer;

    const FILES: &[(&str, &[u8])] = &[
        ("/p/files/a.txt", b" one {{ 1 + 1 }}\n\n"),
        ("/p/files/b.txt", b"b"),
        ("/p/files/.hidden.txt", b"h"),
        ("/p/files/bytes", b"\xff\n"),
        ("/p/files/vault", b"$ANSIBLE_VAULT;1.1;AES256\n00\n"),
        ("/p/files/x.csv", b"Li,3,\"6,94\"\r\nHe,2,4\n"),
        ("/p/files/latin.csv", b"k\xe9y\tv\xe9\n"),
        ("/p/files/x.ini", b"[DEFAULT]\nroot=/srv\n[a]\nuser=me\nhome=%(root)s/%(user)s\n[b]\nUser=other\n"),
        ("/p/files/x.properties", b"user.name=me\nuser.home=/srv\n"),
        ("/p/templates/t.j2", b"{{ x }} {{ template_path }} {{ ansible_managed }} {% include 'part.j2' %}\n"),
        ("/p/templates/part.j2", b"{{ template_host }}"),
        ("/p/templates/undefined.j2", b"{{ nope }}"),
        ("/p/templates/list.j2", b"{{ [1, 2] }}"),
        ("/p/templates/square.j2", b"#jinja2: lstrip_blocks: True\n[[ x ]]{{ x }}"),
        ("/p/templates/loop.j2", b"{{ lookup('template', 'loop.j2') }}"),
        ("/p/vars/main.yml", b""),
        ("/p/r/files/in_role.txt", b"role"),
        ("/p/secrets/old", b"known salt=abc\n"),
        ("/denied/file", b"secret"),
    ];

    fn engine() -> (Engine, Arc<MemoryHost>) {
        let host = Arc::new(MemoryHost::new(MemoryFiles::of_bytes(FILES)));
        let lookups = Arc::new(ActingLookups::new(host.clone()));
        (Engine::new(Config { lookups, ..Config::default() }), host)
    }

    fn scope(extra: &[(&str, &str)]) -> Scope {
        let vars = "{x: '{{ y }}', y: why, playbook_dir: /p, ansible_search_path: [/p/r, /p], \
                    groups: {all: [a, b], web: [a], ungrouped: []}}";
        let mut layer = Layer::of_source(&load_play_file(vars, "vars").unwrap().root).unwrap();
        for (name, value) in extra {
            layer.insert(*name, Slot::value(Value::from(*value), Origin::Magic));
        }
        [Arc::new(layer)].into_iter().collect()
    }

    /// Checks the result of an expression as JSON, or a part of its error after `!`.
    #[track_caller]
    fn check(expression: &str, expect: &str) {
        check_in(&scope(&[]), expression, expect);
    }

    #[track_caller]
    fn check_in(scope: &Scope, expression: &str, expect: &str) {
        let found = engine().0.expression(&template_file(expression, "test"), scope);
        match (found, expect.strip_prefix('!')) {
            (Ok(found), None) => {
                assert_eq!(modbox_python_json::encode(&layer::to_json(&found.value)), expect, "{expression}");
                assert!(found.provenance.has_results(), "{expression}");
            }
            (Err(error), Some(part)) => assert!(error.message().contains(part), "{expression}: {}", error.message()),
            (found, _) => panic!("{expression}: {found:?}"),
        }
    }

    #[test]
    fn the_table_is_sorted_and_is_what_the_engine_leaves_to_it() {
        assert!(ALL.is_sorted_by_key(|lookup| lookup.name));
        let names: Vec<&str> = ALL.iter().map(|lookup| lookup.name).collect();
        let left: Vec<&str> = known_lookups().filter(|lookup| lookup.acts).map(|lookup| lookup.name).collect();
        assert_eq!(names, left);
    }

    #[test]
    fn env_reads_what_the_policy_allows() {
        check("lookup('env', 'HOME')", r#""/h/me""#);
        check("lookup('env', 'GIVEN')", r#""{{ 1 + 1 }}""#);
        check("lookup('env', 'UNSET')", r#""""#);
        check("lookup('env', 'UNSET', default=[1])", "[1]");
        check("lookup('env', 'UNSET', default=undef())", "!The environment variable 'UNSET' is not set.");
        check("lookup('env', 'UNSET', default=undef()) | default('d')", r#""d""#);
        check("lookup('env', 'TOKEN')", "!--allow-env TOKEN");
        check("query('env', 'HOME', 'UNSET')", r#"["/h/me", ""]"#);
    }

    #[test]
    fn file_finds_files_in_the_folders_of_the_task() {
        check("lookup('file', 'a.txt')", r#"" one {{ 1 + 1 }}""#);
        check("lookup('file', 'a.txt', lstrip=true, rstrip='no')", r#""one {{ 1 + 1 }}\n\n""#);
        check("lookup('file', 'files/b.txt')", r#""b""#);
        check("lookup('file', '/p/files/b.txt')", r#""b""#);
        check("lookup('file', 'in_role.txt', 'b.txt')", r#""role,b""#);
        check("lookup('file', 'bytes')", r#""\udcff\n""#);
        check("lookup('file', 'none')", "!Unable to access the file 'none'.");
        check("lookup('file', 'vault')", "!encrypted");
        check("lookup('file', '/denied/file')", "!--allow-read /denied/file");
        check("lookup('file', 'none', errors='ignore')", "null");
        check("lookup('unvault', 'b.txt')", r#""b""#);
        check("lookup('unvault', 'vault')", "!encrypted");
    }

    #[test]
    fn fileglob_matches_names() {
        check("query('fileglob', '*.txt')", r#"["/p/r/files/in_role.txt"]"#);
        check("query('fileglob', '/p/files/*.txt')", r#"["/p/files/a.txt", "/p/files/b.txt"]"#);
        check("query('fileglob', '/p/files/.*.txt')", r#"["/p/files/.hidden.txt"]"#);
        check("query('fileglob', 'files/[ab].t?t')", "[]");
        check("query('fileglob', '*.none')", "[]");
        check("query('fileglob', 'none/*')", "[]");
        check("query('fileglob', '/denied/*')", "!--allow-read");
    }

    #[test]
    fn first_found_takes_all_forms() {
        check("lookup('first_found', ['none', 'files/b.txt'])", r#""/p/files/b.txt""#);
        check("lookup('first_found', 'none', '/p/files/a.txt')", r#""/p/files/a.txt""#);
        check("lookup('first_found', {'files': ['b.txt'], 'paths': ['none', 'files']})", r#""/p/files/b.txt""#);
        check("lookup('first_found', files=['b.txt'], paths='none,files')", r#""/p/files/b.txt""#);
        check("lookup('first_found', ['none'])", "!No file was found when using first_found.");
        check("query('first_found', ['none'], skip=true)", "[]");
        check("lookup('first_found', ['b.txt'])", r#""/p/files/b.txt""#);
        check("lookup('first_found', ['t.j2'])", "!No file was found");
        check("lookup('first_found', files=nope)", "!'nope' is undefined");
        check("lookup('first_found', nope, '/p/files/a.txt')", "!'nope' is undefined");
        check("lookup('first_found', 3)", "!A string, dict or list is required");
        check("lookup('first_found', ['/denied/x'])", "!--allow-read /denied/x");
        let action = |name| {
            let mut scope = scope(&[]);
            scope.set_action(name);
            scope
        };
        check_in(&action("ansible.builtin.copy"), "lookup('first_found', 'b.txt')", r#""/p/files/b.txt""#);
        check_in(&action("template"), "lookup('first_found', 't.j2')", r#""/p/templates/t.j2""#);
        check_in(&action("include_vars"), "lookup('first_found', 'main.yml')", r#""/p/vars/main.yml""#);
    }

    #[test]
    fn commands_run_in_the_folder_of_the_play() {
        check("lookup('pipe', 'say hi')", r#""hi\nin /p""#);
        check("query('lines', 'say hi', 'say you')", r#"["hi", "in /p", " ", "you", "in /p", " "]"#);
        check("lookup('pipe', 'say fail')", "!lookup_plugin.pipe(say fail) returned 3");
        check("lookup('lines', 'say fail')", "!lookup_plugin.lines(say fail) returned 3");
        check("lookup('pipe', 'rm')", "!--allow-run rm");
    }

    #[test]
    fn csvfile_finds_rows() {
        check("lookup('csvfile', 'Li file=x.csv delimiter=,')", r#""3""#);
        check("lookup('csvfile', 'Li', file='x.csv', delimiter=',', col=2)", r#""6,94""#);
        check("lookup('csvfile', '2', file='x.csv', delimiter=',', keycol=1, col=0)", r#""He""#);
        check("lookup('csvfile', 'kéy', file='latin.csv', encoding='latin-1')", r#""v\u00e9""#);
        check("lookup('csvfile', 'kéy', file='latin.csv')", "!codec can't decode");
        check("query('csvfile', 'No', file='x.csv', delimiter=',')", "[]");
        check("lookup('csvfile', 'No', file='x.csv', delimiter=',', default='d')", r#""d""#);
        check("lookup('csvfile', 'Li', file='x.csv', delimiter=',', col=9)", "!list index out of range");
        check("lookup('csvfile', 'Li', file='x.csv', delimiter='ab')", "!1-character string");
        check("lookup('csvfile', 'Li nope=1', file='x.csv')", "!'nope' is not a valid option");
        check("lookup('csvfile')", "!Search key is required but was not found");
        check("lookup('csvfile', 'Li', file='none.csv')", "!none.csv");
    }

    #[test]
    fn ini_finds_values() {
        check("lookup('ini', 'user', section='a', file='x.ini')", r#""me""#);
        check("lookup('ini', 'home section=a file=x.ini')", r#""/srv/me""#);
        check("lookup('ini', 'home', section='a', file='x.ini', interpolation=false)", r#""%(root)s/%(user)s""#);
        check("lookup('ini', 'user', section='b', file='x.ini')", r#""other""#);
        check("lookup('ini', 'user', section='b', file='x.ini', case_sensitive=true)", r#""""#);
        check("lookup('ini', 'none', section='a', file='x.ini', default='d')", r#""d""#);
        check("query('ini', '.*', section='a', file='x.ini', re=true)", r#"["/srv", "me", "/srv/me"]"#);
        check("lookup('ini', 'user.name', type='properties', file='x.properties')", r#""me""#);
        check("lookup('ini', 'user', section='none', file='x.ini')", "!No section 'none' in 'x.ini'.");
    }

    #[test]
    fn templates_are_rendered_with_the_call_s_variables() {
        check("lookup('template', 't.j2')", r#""why t.j2 Ansible managed machine\n""#);
        check(
            "lookup('template', 't.j2', template_vars={'x': '{{ y }}'})",
            r#""{{ y }} t.j2 Ansible managed machine\n""#,
        );
        check("lookup('template', 'list.j2')", "[1, 2]");
        check("lookup('template', 'undefined.j2')", "!'nope' is undefined");
        check("lookup('template', 'undefined.j2') | default('d')", r#""d""#);
        let square = "lookup('template', 'square.j2', variable_start_string='[[', variable_end_string=']]')";
        check(square, r#""why{{ x }}""#);
        check("lookup('template', 'none.j2')", "!the template file none.j2 could not be found for the lookup");
        check("lookup('template', 'loop.j2')", "!Recursive loop detected in template");
    }

    #[test]
    fn passwords_are_kept_in_files() {
        check("lookup('password', '/p/secrets/old')", r#""known""#);
        check("lookup('password', '/dev/null seed=host length=8 chars=digits')", r#""15920904""#);
        check("lookup('password', '/dev/null', seed='host', length=5)", r#""lPvae""#);
        check("lookup('password', '/dev/null', length=3, chars=['ab'])", r#""bbb""#);
        check("lookup('password', 'elsewhere')", "!--allow-write /p/elsewhere");
        check("lookup('password', '/denied/x')", "!--allow-read /denied/x");
        let hashed = "$6$rounds=656000$5555555555555555$rHqzj7mdTkyoUxG34SOKRIp8VX5aUBY96SR.05PO9JD8V65CwjvCTakL2RamKXvr5Y3XnfH/\
                      orcsvTNHNzmIe0";
        check("lookup('password', '/dev/null', encrypt='sha512_crypt')", &format!("\"{hashed}\""));
        check("lookup('password', '/dev/null', chars=[])", "!Cannot choose from an empty sequence");
        let (engine, host) = engine();
        let call = template_file("lookup('password', 'secrets/new', length=2, chars=['ab'])", "test");
        engine.expression(&call, &scope(&[])).unwrap();
        let written = host.written.lock().unwrap();
        assert_eq!(*written, [("/p/secrets/new".to_owned(), "bb\n".to_owned(), 0o600)]);
    }

    #[test]
    fn settings_have_their_defaults() {
        check("lookup('config', 'DEFAULT_BECOME_USER')", r#""root""#);
        check("lookup('config', 'DEFAULT_ROLES_PATH')[0]", r#""/h/me/.ansible/roles""#);
        check("query('config', 'DEFAULT_FORKS', 'NOPE', on_missing='skip')", "[5]");
        check("query('config', 'DEFAULT_FORKS', show_origin=true)", r#"[[5, "default"]]"#);
        check("lookup('config', 'NOPE')", "!No config definition exists for 'NOPE'.");
        check("lookup('config', 'remote_user', plugin_type='connection', plugin_name='ssh')", "!has no plugins");
        check("lookup('config', 'x', plugin_type='connection')", "!cannot use one without the other");
    }

    #[test]
    fn other_lookups_answer() {
        check("query('inventory_hostnames', 'all:!web')", r#"["b"]"#);
        check("query('inventory_hostnames', 'web')", r#"["a"]"#);
        check("lookup('url', 'http://x')", "!use the module `uri`");
    }
}
