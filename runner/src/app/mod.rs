//! One run: a module's file and its arguments go in, a report comes out.
//!
//! A run is a pipeline of values: [`Module`] (load) → [`AdmittedRun`] (`grant`) → `PreparedInvocation` (`prepare`) → `Execution`
//! (`execute`) → [`Report`] (`judge`). Every run ends with a report that has a well-formed result, whatever
//! the module does, and also when it cannot start.

mod admission;
mod advice;
mod ansible_documentation;
mod argument_origin;
pub mod audit;
mod cached_module;
mod closure;
mod commands;
mod config;
mod confine;
mod declared_options;
mod description;
mod designation;
mod documentation;
mod engines;
mod error;
mod execute;
mod execute_guest;
mod execute_native;
mod file_errors;
mod grant;
mod judge;
mod layered;
pub mod library;
mod live_secrets;
pub mod locate;
mod masked_report;
mod metadata;
mod missing_grant;
mod module;
mod module_digest;
mod native;
mod observed_variables;
mod outward_links;
mod own_tmp;
mod path_uses;
mod powershell;
mod prepare;
mod program;
mod provider;
mod python;
mod python_place;
mod real_run;
mod replaced_paths;
mod report;
mod request;
mod requests;
mod resident_module;
mod run;
mod run_form;
mod run_user;
mod runner;
mod scrutiny;
mod secrets;
mod shown_path;
pub(crate) mod spelling;
mod stopped;
pub mod suggestion;
mod summary;
mod trial;
mod unfinished;
mod unseen;
mod url_passwords;
mod warm_guest;
mod way;

pub use self::admission::{Admission, AdmittedRun};
pub use self::ansible_documentation::ansible_documentation;
pub use self::argument_origin::{ArgumentOrigin, Distrust};
pub use self::closure::{ClosureRequest, CoreFiles, CoreFilesError};
pub use self::config::RunnerConfig;
pub use self::description::{DescribedSpec, Description};
pub use self::error::{RunError, Shortfall};
pub use self::grant::PathOption;
pub use self::layered::{
    AppliedChanges, CheckReport, Claim, CommitChoices, CommitReport, CommitState, Effect, EffectReport, HiddenContent,
    LayeredError, LayeredMode, LayeredRun, LineCounts, OutsideEffect, PlayChanges, PlayLayers, Remark, ShownChange,
    ShownEntry, WarmLayers, apply_saved, in_one_line, reaches_out, recover_transactions, withhold_outside,
};
pub use self::live_secrets::{mask as mask_live_secrets, remember_hidden, remember_told, told_redactor};
pub use self::locate::ModuleFile;
pub use self::metadata::{MetadataError, WasmInfo};
pub use self::module::Module;
pub(crate) use self::module::NOWHERE;
pub use self::module_digest::{digest, module_digest, wasm_bytes};
pub use self::program::{needed_by_commands, needed_by_interpreter};
pub use self::provider::{
    Answer, Catalogue, Managed, Provider, ProviderError, ProviderProblem, ProviderRun, ResourceRequest, Unmanaged,
    Update, attribute_message, clear_descriptions, detect_file, lens_grants, provider_files, selection_message,
};
pub use self::python::{
    CollectionPaths, InstalledInterpreter, InterpreterCollection, InterpreterContents, InterpreterFacts, Interpreters,
    PayloadForm, PythonConfig, PythonError, PythonSurvey, clear_cache as clear_python_cache, find_collection,
    usual_python,
};
pub use self::python_place::guest::PythonGuest;
pub use self::python_place::run::PythonRun;
pub use self::report::{ADVICE_PREFIX, CENSORED, ModuleFacts, Report, RunUser, Status};
pub use self::request::{Arguments, RunRequest};
pub use self::requests::{RequestComparison, compare};
pub use self::run_form::RunForm;
pub use self::runner::Runner;
pub use self::scrutiny::Scrutiny;
pub use self::secrets::TaskSecrets;
pub use self::summary::{ModuleSummary, package_version};
pub use self::trial::{RealEffects, TrialError};
pub use self::warm_guest::{GuestTask, WarmSetup, check_confinement};
pub(crate) use self::way::{End as WayEnd, resolve as resolve_way};
