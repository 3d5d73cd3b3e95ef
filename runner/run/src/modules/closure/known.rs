//! What was found of a module's parts, kept with the module so that a run takes the bytes that were hashed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use modbox_closure::Closure;

use crate::modules::closure::powershell_parts::Scripts;
use crate::python::KnownAssembly;

/// Number of closures that are kept of one module. The jobs of a batch have several where files change meanwhile.
const MAX_KEPT: usize = 8;

/// A closure, and what a run needs to take exactly its bytes.
#[derive(Debug, Clone)]
pub(crate) struct KnownClosure {
    pub(crate) closure: Arc<Closure>,
    pub(crate) content: ClosureContent,
}

/// What a run takes in place of the files that were hashed.
#[derive(Debug, Clone)]
pub(crate) enum ClosureContent {
    /// Nothing more than the module itself, with what is read once of it.
    Alone,
    /// The payload with this digest.
    Python(KnownAssembly),
    /// These scripts.
    Powershell(Arc<Scripts>),
}

impl KnownClosure {
    pub(crate) fn alone(closure: Closure) -> Self {
        Self { closure: Arc::new(closure), content: ClosureContent::Alone }
    }

    /// Returns the payload of a Python module.
    pub(crate) fn assembly(&self) -> Option<&KnownAssembly> {
        match &self.content {
            ClosureContent::Python(assembly) => Some(assembly),
            _ => None,
        }
    }

    /// Returns the scripts of a PowerShell module.
    pub(crate) fn scripts(&self) -> Option<&Scripts> {
        match &self.content {
            ClosureContent::Powershell(scripts) => Some(scripts),
            _ => None,
        }
    }
}

/// The closures of one module that were found last.
#[derive(Debug, Default)]
pub(crate) struct KnownClosures(Mutex<Vec<KnownClosure>>);

impl KnownClosures {
    pub(crate) fn keep(&self, known: &KnownClosure) {
        let mut kept = self.lock();
        kept.retain(|other| other.closure.digest() != known.closure.digest());
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        kept.push(known.clone());
    }

    pub(crate) fn with(&self, digest: &str) -> Option<KnownClosure> {
        self.lock().iter().find(|known| known.closure.digest() == digest).cloned()
    }

    /// Returns the closure that was kept last.
    pub(crate) fn last(&self) -> Option<KnownClosure> {
        self.lock().last().cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<KnownClosure>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
