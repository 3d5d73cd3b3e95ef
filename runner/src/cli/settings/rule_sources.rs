//! The rules that a run has: those of policy files, of a controller's policy, and of the switches. Each keeps its place, so that
//! mistakes and grants name it; `merged_rules.rs` makes one policy of them.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use modbox_policy::{Designated, ModuleKey, Rules, TaskKey, ToolRules, merge};
use sha2::{Digest as _, Sha256};

use crate::cli::args::{GrantArgs, LimitArgs};
use crate::cli::exit::error_words;
use crate::cli::identity::Identity;
use crate::cli::process::environment::Environment;
use crate::cli::settings::asks::Asking;
use crate::cli::settings::audience::Audience;
use crate::cli::settings::files::{self, FileChoice, MAX_POLICY, source};
use crate::cli::settings::keyed_rules::KeyedRules;
use crate::cli::settings::offline::OfflineRule;
use crate::cli::settings::sent_policy::SentPolicy;
use crate::cli::settings::trust::{ModuleIdentity, Trust, key_files};
use crate::cli::settings::{policy_folder, switches, written_paths};

/// The rules for all modules and for single ones, from policy files and the command line.
pub(crate) struct Settings {
    pub(super) environment: Environment,
    /// The policy files, in order, and whether each exists.
    pub(crate) files: Vec<(PathBuf, bool)>,
    /// The texts of those that exist, in order.
    texts: Sha256,
    pub(super) general: Vec<Rules>,
    pub(super) modules: Vec<KeyedRules<ModuleKey>>,
    pub(super) tasks: Vec<KeyedRules<TaskKey>>,
    /// The policy that a controller sent with the task.
    pub(super) sent: Option<SentPolicy>,
    /// What a person may be asked to grant, and has granted in this process.
    pub(crate) asking: Asking,
    pub(super) trust: Trust,
    /// The first rule that no registry is asked.
    pub(crate) offline: Option<OfflineRule>,
    pub(super) switches: Rules,
    /// Whether no run gets the network.
    pub(super) withholds_network: bool,
    /// The person or the agent that the settings are for.
    pub(crate) audience: Audience,
    /// The tools of each file that has any.
    pub(crate) tools: Vec<(PathBuf, ToolRules)>,
    /// Files and folders that the trust rules name.
    pub(crate) key_files: Vec<PathBuf>,
    /// The paths that policy files grant or let a person be asked for, with links.
    pub(crate) written_paths: Vec<PathBuf>,
}

impl Settings {
    /// Says whether a rule for some modules or tasks may grant more than every module has.
    pub(crate) fn has_rules_for_some(&self) -> bool {
        !self.modules.is_empty() || !self.tasks.is_empty()
    }

    /// Reads the policy files, and resolves the grants to every module in them and in the switches.
    ///
    /// # Errors
    ///
    /// A policy file or grant is wrong, or names something that does not exist. Another user can change a policy file that
    /// the caller did not name.
    pub(crate) fn load(environment: &Environment, grants: &GrantArgs, limits: &LimitArgs) -> anyhow::Result<Self> {
        Self::load_for(Audience::Person, environment, grants, limits)
    }

    /// Does the same for a person or an agent, with the same errors.
    pub(crate) fn load_for(
        audience: Audience,
        environment: &Environment,
        grants: &GrantArgs,
        limits: &LimitArgs,
    ) -> anyhow::Result<Self> {
        let mut settings = Self {
            environment: environment.clone(),
            files: Vec::new(),
            texts: Sha256::new(),
            general: Vec::new(),
            modules: Vec::new(),
            tasks: Vec::new(),
            sent: None,
            asking: Asking::new(&grants.answered, audience != Audience::Person),
            trust: Trust::default(),
            offline: None,
            switches: Rules::default(),
            withholds_network: false,
            audience,
            tools: Vec::new(),
            key_files: Vec::new(),
            written_paths: Vec::new(),
        };
        for path in policy_folder::implied(environment)? {
            settings.add_file(&path, FileChoice::Implied)?;
        }
        for path in &grants.policy {
            if !settings.add_file(path, FileChoice::Named)? {
                anyhow::bail!("failed to find the policy file `{}`", path.display());
            }
        }
        settings.trust = std::mem::take(&mut settings.trust).with_store(environment);
        settings.switches = audience.switches(switches::rules(environment, grants, limits)?);
        // Report contradictions before a module is looked up.
        settings.for_every_module()?;
        Ok(settings)
    }

    /// Returns a digest (SHA-256) of the texts of the policy files, which differs when one of them does.
    pub(crate) fn digest(&self) -> [u8; 32] {
        self.texts.clone().finalize().into()
    }

    fn add_file(&mut self, path: &Path, choice: FileChoice) -> anyhow::Result<bool> {
        let file = files::load(path, choice)?;
        let found = file.is_some();
        self.files.push((path.to_owned(), found));
        if let Some((file, text)) = file {
            self.texts.update((text.len() as u64).to_le_bytes());
            self.texts.update(text);
            let (mut file, narrows) = self.audience.sees(file);
            self.tools.extend(file.tools.take().map(|tools| (path.to_owned(), tools)));
            self.written_paths.extend(written_paths::of(&self.environment, &file));
            let rules = files::resolve_all(&self.environment, path, &file.rules, &source(path))?;
            self.general.push(Rules { narrows, ..rules });
            self.asking.add(&self.environment, path, &file, narrows)?;
            self.trust.add(&self.environment, path, &file.trust)?;
            self.key_files.extend(key_files(&file.trust));
            self.offline = self.offline.take().or_else(|| OfflineRule::in_file(path, &file));
            let of_module = |(key, rules)| KeyedRules { file: path.to_owned(), key, rules, narrows };
            self.modules.extend(file.modules.into_iter().map(of_module));
            let of_task = |(key, rules)| KeyedRules { file: path.to_owned(), key, rules, narrows };
            self.tasks.extend(file.tasks.into_iter().map(of_task));
        }
        Ok(found)
    }

    /// Adds the policy that a controller sent with a task, as far as the policy files of this host accept it.
    ///
    /// # Errors
    ///
    /// The text is not a policy file, names something that does not exist, or is not accepted.
    pub(crate) fn add_sent(&mut self, text: &str) -> anyhow::Result<()> {
        anyhow::ensure!(text.len() as u64 <= MAX_POLICY, "the policy of the task is longer than {MAX_POLICY} bytes");
        let accepted = merge(&self.general).context("the grants contradict each other")?.accept_policy;
        self.sent = Some(SentPolicy::resolve(&self.environment, text, accepted)?);
        Ok(())
    }

    /// Returns why the trust rules do not let a module run, whatever it is granted. `identify` is called where there are such rules.
    pub(crate) fn refusals(&self, path: &Path, identify: impl FnOnce() -> anyhow::Result<Identity>) -> Vec<String> {
        if self.trust.is_empty() {
            return Vec::new();
        }
        match identify() {
            Ok(identity) => {
                let module = ModuleIdentity { name: "", identity: &identity, path, signature: None };
                self.trust.standing(Some(module)).refusals
            }
            Err(error) => vec![error_words(&error)],
        }
    }

    /// Reads the trust rules of the policy files, and of these.
    ///
    /// # Errors
    ///
    /// As [`Self::load`].
    pub(crate) fn trust_of(environment: &Environment, policy: &[PathBuf]) -> anyhow::Result<Trust> {
        let grants = GrantArgs { policy: policy.to_vec(), ..GrantArgs::default() };
        Ok(Self::load(environment, &grants, &LimitArgs::default())?.trust)
    }

    /// Makes paths grant nothing that a play makes from results of modules.
    pub(crate) fn restrict_results(&mut self) {
        self.switches.designated_by_results = Some(Designated::None);
    }

    /// Makes every run one without the network, whatever is granted.
    pub(crate) fn withhold_network(&mut self) {
        self.withholds_network = true;
    }

    /// Returns whether any module has specific rules, or rules by its signature.
    pub(crate) fn has_module_rules(&self) -> bool {
        !self.modules.is_empty() || !self.trust.is_empty()
    }

    /// Returns the keys of tasks with specific rules, in the order of the files.
    pub(crate) fn task_keys(&self) -> Vec<String> {
        self.tasks.iter().map(|rules| rules.key.value.to_string()).collect()
    }

    /// Returns the names and digests of the modules with specific rules, in the order of the files.
    pub(crate) fn module_keys(&self) -> Vec<String> {
        self.modules.iter().map(|rules| rules.key.value.to_string()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use modbox_policy::MergedPolicy;

    use super::*;

    fn environment(dir: &Path) -> Environment {
        Environment {
            policy_files: vec![dir.join("system.yaml"), dir.join("user.yaml")],
            variables: vec![("STAGE".into(), "test".into())],
            ..Environment::empty(dir)
        }
    }

    fn load(dir: &Path, grants: &GrantArgs, limits: &LimitArgs) -> anyhow::Result<Settings> {
        Settings::load(&environment(dir), grants, limits)
    }

    fn subjects(effective: &MergedPolicy) -> Vec<String> {
        effective.policy.grants().into_iter().map(|grant| format!("{} {}", grant.capability, grant.subject)).collect()
    }

    fn identity(bytes: &str) -> Identity {
        Identity::of_file("module", &modbox_run::digest(bytes.as_bytes()))
    }

    fn named<'a>(name: &'a str, identity: &'a Identity) -> ModuleIdentity<'a> {
        ModuleIdentity { name, identity, path: Path::new("module"), signature: None }
    }

    fn read(specs: &[&str]) -> GrantArgs {
        GrantArgs { allow_read: specs.iter().map(Into::into).collect(), ..GrantArgs::default() }
    }

    #[test]
    fn only_rules_for_a_plugin_grant_it_anything() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        let known = identity("text");
        let digest = known.closure.digest();
        let file = format!(
            "allow: {{read: [{0}]}}\nmodules:\n  a.b.c: {{allow: {{env: [HOME=/h]}}}}\n  sha256:{digest}: {{allow: {{write: [{0}]}}}}\n",
            cwd.display()
        );
        fs::write(cwd.join("user.yaml"), file).unwrap();
        let settings = load(&cwd, &GrantArgs::default(), &LimitArgs::default()).unwrap();
        let other = identity("other");
        assert!(settings.for_plugin(named("a.b.other", &other)).unwrap().is_none());
        let by_name = settings.for_plugin(named("a.b.c", &other)).unwrap().unwrap();
        assert_eq!((by_name.env().len(), by_name.paths().len()), (1, 0));
        let by_digest = settings.for_plugin(named("", &known)).unwrap().unwrap();
        assert_eq!((by_digest.env().len(), by_digest.paths().len()), (0, 1));
    }

    #[test]
    fn files_and_switches_add_up() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        fs::create_dir(cwd.join("data")).unwrap();
        fs::write(cwd.join("system.yaml"), "designated: read\nlimits: {timeout: 2s, files: 5}\n").unwrap();
        fs::write(
            cwd.join("user.yaml"),
            "allow: {read: [data::/data], env: [STAGE, NOT_SET]}\nlimits: {timeout: 3s}\n",
        )
        .unwrap();
        let grants = GrantArgs {
            allow_write: vec!["data/../data::/out".into()],
            designated: Some(Designated::Write),
            ..GrantArgs::default()
        };
        let limits = LimitArgs { max_disk: Some(7), ..LimitArgs::default() };
        let effective = load(&cwd, &grants, &limits).unwrap().for_every_module().unwrap();
        let data = cwd.join("data").display().to_string();
        assert_eq!(
            subjects(&effective),
            [format!("read {data}::/data"), format!("write {data}::/out"), "env STAGE".to_owned()]
        );
        let limits = effective.limits;
        assert_eq!((limits.timeout.as_secs(), limits.max_files, limits.max_disk), (3, 5, 7));
        assert_eq!(effective.policy.designated(), Designated::Read, "the strictest setting wins");
        assert_eq!(effective.designated_by, format!("policy file {}", cwd.join("system.yaml").display()));
    }

    #[test]
    fn rules_for_one_module_hold_for_that_module() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path().canonicalize().unwrap();
        let digest = modbox_run::digest(b"the module");
        let text = format!(
            "limits: {{files: 1}}\nmodules:\n  \"sha256:{digest}\": {{allow: {{write: [.::/own]}}, limits: {{files: 9}}}}\n  \
             copy: {{designated: none, allow: {{env: [STAGE]}}}}\n  other: {{allow: {{net: [':']}}}}\n  \
             gone: {{allow: {{read: [missing/missing], write: [missing/missing], own: [no-such-user]}}}}\n"
        );
        fs::write(cwd.join("user.yaml"), text).unwrap();
        let settings = load(&cwd, &GrantArgs::default(), &LimitArgs::default()).unwrap();
        for (name, bytes, files, expect, designated) in [
            ("x", "another module", 1, vec![], Designated::Write),
            ("x", "the module", 9, vec![format!("write {}::/own", cwd.display())], Designated::Write),
            ("copy", "another module", 1, vec!["env STAGE".to_owned()], Designated::None),
        ] {
            let effective = settings.for_module(named(name, &identity(bytes))).unwrap();
            assert_eq!(subjects(&effective), expect, "{name} {bytes}");
            assert_eq!((effective.limits.max_files, effective.policy.designated()), (files, designated));
        }
        let wrong = format!("{:#}", settings.for_module(named("other", &identity(""))).unwrap_err());
        assert!(wrong.contains("invalid grant `:` at line 5, column 25"), "{wrong}");
        let gone = settings.for_module(named("gone", &identity(""))).unwrap();
        assert_eq!((subjects(&gone), gone.policy.own().len()), (Vec::new(), 0), "what is not there grants nothing");
    }

    #[test]
    fn mistakes_name_the_switch_and_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        for (spec, expect) in [
            ("nowhere/nowhere", "failed to access"),
            ("", "the path is empty"),
            ("a\0b", "NUL"),
            (".::data", "must be absolute"),
            (".::/tmp", "reserved in every guest"),
        ] {
            let text = format!("{:#}", load(dir.path(), &read(&[spec]), &LimitArgs::default()).err().unwrap());
            assert!(text.contains(expect) && text.contains("--allow-read"), "{spec}: {text}");
        }
    }

    #[test]
    fn a_wrong_policy_file_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for (text, expect) in [
            (
                "allow: {raed: []}\n",
                "unknown key `raed`, expected one of read, write, own, env, net, listen, run at line 1, column 9",
            ),
            ("allow: {read: ['~/x']}\n", "`~` is not expanded in policy files; write "),
            ("allow: {write: ['~other/x::/y']}\n", "`~` is not expanded in policy files; write the whole path"),
            ("allow: {env: [=x]}\n", "invalid grant `=x` at line 1, column 15: expected NAME or NAME=VALUE"),
        ] {
            fs::write(dir.path().join("system.yaml"), text).unwrap();
            let error = load(dir.path(), &GrantArgs::default(), &LimitArgs::default()).err().unwrap();
            let text = format!("{error:#}");
            assert!(text.contains("system.yaml") && text.contains(expect), "{text}");
        }
    }

    #[test]
    fn only_regular_policy_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("system.yaml");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let error = load(dir.path(), &GrantArgs::default(), &LimitArgs::default()).err().unwrap();
        assert!(error.to_string().contains("is not a regular file"), "{error:#}");
        fs::remove_file(&fifo).unwrap();
        fs::write(&fifo, vec![b'#'; (1 << 20) + 1]).unwrap();
        let error = load(dir.path(), &GrantArgs::default(), &LimitArgs::default()).err().unwrap();
        assert!(format!("{error:#}").contains("longer than the limit"), "{error:#}");
    }
}
