//! Judges modules of the store by the trust rules, before anything else knows of them.

use modbox_argument_spec::Request;
use modbox_policy::TrustStanding;
use modbox_registry::digest::Digest;
use modbox_registry::kept_signatures::{CountsFn, LeftOut};
use modbox_registry::lock_file::LockedModule;
use modbox_registry::manifest::Descriptor;
use modbox_registry::module_store::ModuleStore;
use modbox_registry::pull::{Pull, PullError, PulledModule};
use modbox_registry::reference::Reference;
use modbox_registry::session::Session;
use modbox_run::WasmInfo;
use modbox_run::locate::MAX_MODULE;
use modbox_trust::signature_file::SignatureFile;

use crate::cli::exit::{ExitStatus, Failure, OrExit};
use crate::cli::identity::Identity;
use crate::cli::printing::output::{clean_line, print_note};
use crate::cli::registry::access::RegistryAccess;
use crate::cli::registry::progress::TransferBar;
use crate::cli::settings::{ModuleIdentity, Trust};

/// Judges modules of a store.
pub(crate) struct ModuleJudge<'a> {
    pub(crate) store: &'a ModuleStore,
    pub(crate) trust: &'a Trust,
}

/// A module of the store that the trust rules do not refuse.
#[derive(Debug)]
pub(crate) struct JudgedModule {
    /// The reference, with the digest of the manifest.
    pub(crate) reference: Reference,
    pub(crate) content: Descriptor,
    /// The entry for the lock file.
    pub(crate) locked: LockedModule,
}

impl ModuleJudge<'_> {
    /// Pulls a module, and judges it.
    ///
    /// # Errors
    ///
    /// The registry fails, or the trust rules refuse the module.
    pub(crate) fn pull(&self, access: &RegistryAccess<'_>, reference: &Reference) -> Result<JudgedModule, Failure> {
        let mut session = access.open(&reference.repository).or_unavailable()?;
        let bar = TransferBar::new(&reference.to_string());
        let pulled = pull(self.store, self.trust, reference, &mut session, &bar).or_unavailable()?;
        drop(bar);
        say_left_out(pulled.left_out, &reference.to_string());
        self.judge(reference, pulled.manifest, pulled.module)
    }

    /// Judges a module with this manifest and content.
    ///
    /// # Errors
    ///
    /// The trust rules refuse it, or it cannot be read.
    pub(crate) fn judge(
        &self,
        reference: &Reference,
        manifest: Digest,
        content: Descriptor,
    ) -> Result<JudgedModule, Failure> {
        let standing = self.standing(reference, &content.digest);
        if !standing.refusals.is_empty() {
            let error = anyhow::anyhow!("the trust rules refuse `{reference}`: {}", standing.refusals.join("; "));
            return Err(Failure { status: ExitStatus::Denied, error });
        }
        let bytes = self.store.layout().read(&content.digest, content.size).or_unavailable()?;
        let metadata = WasmInfo::parse(&bytes).and_then(|info| info.metadata()).or_unavailable()?;
        let asked = |request: &Request| format!("{} {}", request.capability, request.subject);
        let mut requests: Vec<String> =
            metadata.iter().flat_map(|metadata| metadata.requests.iter().map(asked)).collect();
        requests.sort();
        let mut signature = standing.signature.filter(|signature| signature.verified).unwrap_or_default();
        for names in [&mut signature.signers, &mut signature.keys] {
            names.sort();
            names.dedup();
        }
        let locked = LockedModule {
            manifest: manifest.clone(),
            module: content.digest.clone(),
            version: metadata.map(|metadata| metadata.version).filter(|version| !version.is_empty()),
            signers: signature.signers,
            keys: signature.keys,
            requests,
        };
        Ok(JudgedModule { reference: reference.with_digest(manifest), content, locked })
    }

    fn standing(&self, reference: &Reference, digest: &Digest) -> TrustStanding {
        let path = self.store.layout().path(digest);
        let name = reference.repository.to_string();
        // A registry has components, which have no parts.
        let identity = Identity::of_file(&name, digest.hex());
        self.trust.standing(Some(ModuleIdentity { name: &name, identity: &identity, path: &path, signature: None }))
    }
}

/// Pulls a module. Its signatures that count are kept first.
///
/// # Errors
///
/// The registry or the store fails.
pub(super) fn pull(
    store: &ModuleStore,
    trust: &Trust,
    reference: &Reference,
    session: &mut Session,
    bar: &TransferBar,
) -> Result<PulledModule, PullError> {
    let counts = |file: &SignatureFile, signature: &str| trust.counts(file, signature);
    let counts: Option<&CountsFn<'_>> = if trust.is_empty() { None } else { Some(&counts) };
    let pull = Pull { store, reference, max_module: MAX_MODULE, counts };
    pull.run(session, &mut |done, all| bar.show(done, all))
}

/// Tells people which signatures of a module there was no room for.
pub(crate) fn say_left_out(LeftOut { statements, signatures }: LeftOut, of: &str) {
    if statements + signatures > 0 {
        print_note(&format!(
            "left out {statements} statements and {signatures} signatures of `{}`: more came than are kept of a module, and those \
             that count are kept first",
            clean_line(of)
        ));
    }
}

impl JudgedModule {
    /// Returns the line that commands print: the reference, and who signed the module.
    pub(crate) fn line(&self) -> String {
        match self.locked.signers.is_empty() {
            true => self.reference.to_string(),
            false => format!("{} signed by {}", self.reference, clean_line(&self.locked.signers.join(", "))),
        }
    }
}
