//! One run: a module's file and its arguments go in, a report comes out.
//!
//! A run is a pipeline of values: [`Module`] (load) → [`AdmittedRun`] (`grant`) → `PreparedInvocation` (`prepare`) → `Execution`
//! (`execute`) → [`Report`] (`judge`). Every run ends with a report that has a well-formed result, whatever
//! the module does, and also when it cannot start.

#![deny(missing_docs)]

mod admission;
pub mod batch;
mod execution;
mod grants;
mod home;
pub mod jobs;
mod layered;
mod module_digest;
mod modules;
mod plugins;
mod programs;
mod provider;
mod python;
mod python_place;
mod reports;
mod request;
mod run;
mod runner;
mod single_run;
mod trial;
mod warm_guest;

pub use self::admission::{Admission, AdmittedRun};
pub use self::execution::closure_search::ClosureRequest;
pub use self::grants::grant::PathOption;
pub use self::grants::managed::{ManagedNeed, ManagedNeeds};
pub use self::grants::outside_programs::{granted_programs, outside_of_profile, programs_outside};
pub use self::grants::requests::{RequestComparison, compare};
pub use self::grants::way::{End as WayEnd, Way, resolve as resolve_way};
pub use self::layered::{
    AppliedChanges, CommitChoices, HiddenContent, LayeredMode, LayeredRun, PlayChanges, PlayLayers, SavePlace,
    WarmLayers, apply_saved, in_one_line, reaches_out, recover_transactions, show_saved, withhold_outside,
};
pub use self::module_digest::{digest, module_digest, wasm_bytes};
pub use self::modules::ansible_documentation::ansible_documentation;
pub use self::modules::closure::{CoreFiles, CoreFilesError};
pub use self::modules::description::{DescribedSpec, Description};
pub use self::modules::locate::ModuleFile;
pub use self::modules::metadata::{MetadataError, WasmInfo};
pub use self::modules::module::Module;
pub use self::modules::module::NOWHERE;
pub use self::modules::provider_section::detect_file;
pub use self::modules::summary::{ModuleSummary, package_version};
pub use self::modules::{library, locate};
pub use self::plugins::{
    CollectionFolder, PluginError, PluginPlace, PluginProcess, PluginRights, SandboxPlace, ShownPath,
    linked_collections,
};
pub use self::programs::{needed_by_commands, needed_by_interpreter};
pub use self::provider::{
    Answer, Catalogue, Managed, Provider, ProviderProblem, ResourceRequest, Unmanaged, Update, attribute_message,
    clear_descriptions, lens_grants, provider_files, selection_message,
};
pub use self::python::{
    CollectionPaths, ControllerPackages, InstalledInterpreter, InterpreterCollection, InterpreterContents,
    InterpreterFacts, Interpreters, KnownPackages, PLUGINS, PayloadForm, PluginsFacts, Probes, PythonConfig,
    PythonError, PythonSurvey, Routings, clear_cache as clear_python_cache, controller_packages, find_collection,
    installed_core, usual_python,
};
pub use self::reports::error::layered_error::LayeredError;
pub use self::reports::error::provider_error::ProviderError;
pub use self::reports::error::trial_error::TrialError;
pub use self::reports::error::{RunError, Shortfall};
pub use self::reports::live_secrets::{
    exact_play_redactor, mask as mask_live_secrets, play_redactor, remember_hidden, remember_plain,
    remember_play_secret, remember_told,
};
pub use self::reports::parts::effect_report::{
    CheckReport, Claim, CommitReport, CommitState, Effect, EffectReport, LineCounts, OutsideEffect, OutsideKind,
    Remark, ShownChange, ShownContent, ShownEntry, ShownKind, ShownType,
};
pub use self::reports::parts::provider_run::ProviderRun;
pub use self::reports::parts::python_run::PythonRun;
pub use self::reports::report::{ADVICE_PREFIX, CENSORED, ModuleFacts, Report, RunUser, Status};
pub use self::reports::secrets::TaskSecrets;
pub use self::reports::{audit, spelling, suggestion};
pub use self::request::argument_origin::{ArgumentOrigin, Distrust};
pub use self::request::run_request::{Arguments, RunRequest};
pub use self::request::scrutiny::Scrutiny;
pub use self::runner::Runner;
pub use self::runner::config::RunnerConfig;
pub use self::runner::python_guest::PythonGuest;
pub use self::runner::run_form::RunForm;
pub use self::trial::RealEffects;
pub use self::warm_guest::{GuestTask, WarmSetup, check_confinement};
