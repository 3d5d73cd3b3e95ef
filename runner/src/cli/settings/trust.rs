//! The sections `trust` of policy files: reads the keys that they name, verifies the signature of a module, and finds the
//! rules that fit it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use modbox_closure::Closure;
use modbox_policy::{Located, ModuleSignature, NamePattern, Place, Subject, TrustRule, TrustRules, TrustStanding};
use modbox_registry::digest::Digest;
use modbox_registry::module_store::ModuleStore;
use modbox_run::Module;
use modbox_trust::allowed_signers::AllowedSigners;
use modbox_trust::revocations::Revocations;
use modbox_trust::signature_file::SignatureFile;
use modbox_trust::verification::{CheckedFile, Keyring, VerificationError, VerifiedStatement};

use crate::cli::identity::Identity;
use crate::cli::module_store::module_store;
use crate::cli::process::environment::Environment;
use crate::cli::settings::core_statements::{CoreStatements, CountedCores};
use crate::cli::settings::files;
use crate::cli::settings::signature_files::read_signature;
use crate::cli::settings::trust_file::{TrustFile, names, resolve};

/// A module, as the policy files and its signature know it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ModuleIdentity<'a> {
    /// The name on the command line.
    pub(crate) name: &'a str,
    /// All that a run of it takes.
    pub(crate) identity: &'a Identity,
    /// Its file, beside which its signature lies.
    pub(crate) path: &'a Path,
    /// The text of the signature file that came with it, in place of the one beside it.
    pub(crate) signature: Option<&'a str>,
}

impl<'a> ModuleIdentity<'a> {
    /// Returns the identity of a module whose signature lies beside it.
    pub(crate) fn of(name: &'a str, module: &'a Module, identity: &'a Identity) -> Self {
        Self { name, identity, path: module.path(), signature: None }
    }

    /// Returns all that a run of it takes.
    pub(crate) fn closure(&self) -> &'a Closure {
        &self.identity.closure
    }

    /// Returns the digest by which rules name it, if its parts are known.
    pub(crate) fn digest(&self) -> Option<&'a str> {
        self.identity.unresolved.is_none().then(|| self.identity.closure.digest())
    }
}

/// Where the signature file of a module can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SignaturePlace {
    /// It came with the task.
    Sent,
    /// Beside the module.
    Beside,
    /// In the folders that policy files name, by the digest of the module or of its file.
    Folders,
    /// It came from a registry.
    Store,
}

impl SignaturePlace {
    /// Returns the places of a module, in order.
    fn of(module: ModuleIdentity<'_>) -> &'static [Self] {
        // A name by a digest is one of the store, where nothing lies beside a module.
        let is_stored = module.path.parent().is_some_and(|folder| folder.ends_with("blobs/sha256"));
        match (module.signature.is_some(), is_stored) {
            (true, _) => &[Self::Sent],
            (false, true) => &[Self::Folders, Self::Store],
            (false, false) => &[Self::Beside, Self::Folders, Self::Store],
        }
    }
}

/// The trust rules of all policy files.
#[derive(Debug, Default)]
pub(crate) struct Trust {
    files: Vec<TrustFile>,
    revocations: Revocations,
    /// Folders of signatures.
    folders: Vec<PathBuf>,
    /// Modules from registries.
    store: Option<ModuleStore>,
    /// The signature file that was checked last, since the jobs of a batch have mostly one module.
    checked: Mutex<Option<(Vec<u8>, CheckedFile)>>,
    /// Statements about releases of ansible-core.
    cores: CoreStatements,
}

impl Trust {
    /// Adds the trust rules of a policy file.
    ///
    /// # Errors
    ///
    /// A file that it names is missing, wrong, or can be changed by another user; or a grant in `at-most` is wrong.
    pub(crate) fn add(&mut self, environment: &Environment, path: &Path, rules: &TrustRules) -> anyhow::Result<()> {
        if *rules == TrustRules::default() {
            return Ok(());
        }
        let signers = match &rules.signers {
            Some(file) => Self::signers(Path::new(&file.value))?,
            // A file without signers of its own judges by those of the files before it.
            None => self.files.last().map(|file| file.signers.clone()).unwrap_or_default(),
        };
        let ansible_core = match &rules.ansible_core {
            Some(signer) => Some(signer.value.clone()),
            None if rules.signers.is_none() => self.files.last().and_then(|file| file.ansible_core.clone()),
            None => None,
        };
        if let Some(file) = &rules.revoked {
            self.revocations.extend(Self::revocations(Path::new(&file.value))?);
        }
        for folder in rules.signatures.iter().map(|folder| PathBuf::from(&folder.value)) {
            self.cores.add_folder(folder.clone());
            self.folders.push(folder);
        }
        let most = rules.rules.iter().map(|rule| {
            let at_most = rule.value.at_most.as_ref();
            at_most.map(|at_most| resolve(environment, path, rule, at_most)).transpose()
        });
        self.files.push(TrustFile {
            path: path.to_owned(),
            signers,
            require_signature: rules.require_signature == Some(true),
            ansible_core,
            most: most.collect::<anyhow::Result<_>>()?,
            rules: rules.rules.clone(),
        });
        Ok(())
    }

    /// Returns trust in the keys of a file, or in those of one signer, without a ceiling. `cores` are statements about releases of
    /// ansible-core; any of the keys may have signed them.
    ///
    /// # Errors
    ///
    /// A file is missing, wrong, or can be changed by another user.
    pub(crate) fn of_keys(
        signers: &Path,
        signer: Option<&str>,
        revoked: Option<&Path>,
        cores: Vec<PathBuf>,
    ) -> anyhow::Result<Self> {
        let rule = |signer| {
            let (signer, modules) = (NamePattern::new(signer), Vec::new());
            let subject = Subject::Signed { signer, modules, versions: None, signatures: 1 };
            Located { value: TrustRule { subject, at_most: None }, place: Place::default() }
        };
        let file = TrustFile {
            path: signers.to_owned(),
            signers: Self::signers(signers)?,
            require_signature: signer.is_some(),
            ansible_core: Some(NamePattern::new("*")),
            rules: signer.into_iter().map(rule).collect(),
            most: signer.into_iter().map(|_| None).collect(),
        };
        let revocations = revoked.map(Self::revocations).transpose()?.unwrap_or_default();
        Ok(Self { files: vec![file], revocations, cores: CoreStatements::of_files(cores), ..Self::default() })
    }

    /// Reads a file of signers.
    ///
    /// # Errors
    ///
    /// It is missing, wrong, or can be changed by another user.
    pub(crate) fn signers(path: &Path) -> anyhow::Result<AllowedSigners> {
        let text = key_file(path)?;
        AllowedSigners::parse(&text, &TimeZone::system())
            .with_context(|| format!("the file of signers `{}`", path.display()))
    }

    /// Reads a file of revocations.
    ///
    /// # Errors
    ///
    /// It is missing, wrong, or can be changed by another user.
    pub(crate) fn revocations(path: &Path) -> anyhow::Result<Revocations> {
        let text = key_file(path)?;
        Revocations::parse(&text).with_context(|| format!("the file of revocations `{}`", path.display()))
    }

    /// Also finds the signatures that came from registries.
    pub(crate) fn with_store(self, environment: &Environment) -> Self {
        // A user without a home has pulled nothing.
        Self { store: module_store(environment).ok(), ..self }
    }

    /// Returns whether a signature counts for a policy file, whatever its rules say of the module.
    pub(crate) fn counts(&self, file: &SignatureFile, signature: &str) -> bool {
        let (text, now) = (file.statement.to_string(), Timestamp::now());
        self.files.iter().any(|rules| self.keyring(rules).counts(signature, &text, now))
    }

    fn keyring(&self, rules: &TrustFile) -> Keyring {
        Keyring { signers: rules.signers.clone(), revocations: self.revocations.clone() }
    }

    /// Returns whether no policy file has trust rules.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns what the rules say of a module, or of one that is unknown. A module from a registry can have several signature
    /// files, since each signer may say something else: the first that counts is taken.
    pub(crate) fn standing(&self, module: Option<ModuleIdentity<'_>>) -> TrustStanding {
        if self.is_empty() {
            return TrustStanding::default();
        }
        let Some(module) = module else {
            return self.standing_by(None, Err("only the file of a module has one".to_owned()));
        };
        let counts = |standing: &TrustStanding| standing.signature.as_ref().is_some_and(|signature| signature.verified);
        let is_good = |standing: &TrustStanding| standing.refusals.is_empty() && counts(standing);
        let (mut best, mut missing) = (None, "no signature of it came with it from its registry".to_owned());
        for place in SignaturePlace::of(module) {
            let files = match self.signature_files(*place, module) {
                Ok(files) => files,
                Err(reason) => {
                    missing = reason;
                    continue;
                }
            };
            for bytes in files {
                let standing = self.standing_by(Some(module), self.checked(bytes));
                if is_good(&standing) {
                    return standing;
                }
                // A file that does not count hides none that does.
                if best.as_ref().is_none_or(|best| counts(&standing) && !counts(best)) {
                    best = Some(standing);
                }
            }
        }
        best.unwrap_or_else(|| self.standing_by(Some(module), Err(missing)))
    }

    /// Returns what the rules say of a module by one signature file, or by the reason why there is none.
    fn standing_by(&self, module: Option<ModuleIdentity<'_>>, file: Result<CheckedFile, String>) -> TrustStanding {
        let mut standing = TrustStanding::default();
        let mut verdict: Option<Result<VerifiedStatement, String>> = None;
        let mut unfit = None;
        for rules in &self.files {
            let own = match (module, &file) {
                (Some(module), Ok(checked)) => self.judge(rules, checked, module.identity),
                (_, Err(reason)) => Err(reason.clone()),
                (None, Ok(_)) => Err("only the file of a module has one".to_owned()),
            };
            unfit = rules.judge(&own, &mut standing).or(unfit);
            if verdict.as_ref().is_none_or(|verdict| verdict.is_err() && own.is_ok()) {
                verdict = Some(own);
            }
        }
        if let Some(revoked) = module.and_then(|module| self.revocations.of_closure(module.closure())) {
            standing.refusals.push(format!("{revoked} is revoked"));
        }
        let mut signature = verdict.map(signature_of).unwrap_or_default();
        signature.reason = signature.reason.or(unfit);
        signature.rules = standing.ceilings.iter().map(|ceiling| ceiling.rule.clone()).collect();
        standing.signature = Some(signature);
        standing
    }

    /// Returns the signature files of a module in a place, or why there is none where one is expected.
    fn signature_files(&self, place: SignaturePlace, module: ModuleIdentity<'_>) -> Result<Vec<Vec<u8>>, String> {
        let closure = module.closure();
        match place {
            SignaturePlace::Sent => Ok(module.signature.iter().map(|text| text.as_bytes().to_vec()).collect()),
            SignaturePlace::Beside => read_signature(module.path).map(|file| vec![file]),
            SignaturePlace::Folders => {
                let digests = [closure.digest(), closure.file().digest.as_str()];
                let named = digests.into_iter().take(if closure.parts().is_empty() { 1 } else { digests.len() });
                let paths = named.flat_map(|digest| self.folders.iter().map(move |folder| folder.join(digest)));
                Ok(paths.filter_map(|path| read_signature(&path).ok()).collect())
            }
            SignaturePlace::Store => {
                let digest = Digest::from_hex(&closure.file().digest).ok();
                let stored = self.store.as_ref().zip(digest).map(|(store, digest)| store.signature_files(&digest));
                Ok(stored.unwrap_or_default())
            }
        }
    }

    /// Verifies the signatures of a file, unless that was done.
    fn checked(&self, bytes: Vec<u8>) -> Result<CheckedFile, String> {
        let mut last = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, checked)) = last.as_ref().filter(|(known, _)| *known == bytes) {
            return Ok(checked.clone());
        }
        let checked = CheckedFile::of(&bytes).map_err(|error| error.to_string())?;
        *last = Some((bytes, checked.clone()));
        Ok(checked)
    }

    fn judge(&self, rules: &TrustFile, file: &CheckedFile, identity: &Identity) -> Result<VerifiedStatement, String> {
        if let Some(reason) = &identity.unresolved {
            return Err(format!("its parts cannot be found: {reason}"));
        }
        let keyring = self.keyring(rules);
        let now = Timestamp::now();
        let cores = match (&rules.ansible_core, identity.closure.parts().is_empty()) {
            (Some(signer), false) => self.cores.that_count(&keyring, signer, now),
            _ => CountedCores::default(),
        };
        let verdict = keyring.judge(file, &identity.closure, &cores.counted, now);
        verdict.map_err(|error| match error {
            VerificationError::Parts(_) if !cores.refused.is_empty() => {
                format!("{error}; {}", cores.refused.join("; "))
            }
            error => error.to_string(),
        })
    }
}

/// Returns the files and folders that trust rules name.
pub(super) fn key_files(rules: &TrustRules) -> impl Iterator<Item = PathBuf> {
    let named = rules.signers.iter().chain(&rules.revoked).chain(&rules.signatures);
    named.map(|file| PathBuf::from(&file.value))
}

fn signature_of(verdict: Result<VerifiedStatement, String>) -> ModuleSignature {
    match verdict {
        Ok(verified) => ModuleSignature {
            verified: true,
            keys: verified.signers.iter().map(|signer| signer.key.clone()).collect(),
            signers: names(verified.signers.iter().collect()),
            name: verified.statement.name,
            version: verified.statement.version,
            ansible_core: verified.ansible_core,
            ..ModuleSignature::default()
        },
        Err(reason) => ModuleSignature { reason: Some(reason), ..ModuleSignature::default() },
    }
}

/// Reads a file of keys, which no other user may change.
fn key_file(path: &Path) -> anyhow::Result<String> {
    let Some(files::PolicyText { text, exposure }) = files::read_as("file of keys", path)? else {
        bail!("failed to find `{}`, which the trust rules name", path.display());
    };
    match exposure {
        Some(exposure) => bail!("failed to use `{}`, which another user can change: {exposure}", path.display()),
        None => Ok(text),
    }
}
