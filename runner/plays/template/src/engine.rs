//! The engine: what the rest of modbox calls.

use std::fmt;
use std::sync::Arc;

use minijinja::Value;
use modbox_jinja::{Host, NoHost, PluginKind};
use modbox_yaml::Source;

use crate::cache::Cache;
use crate::check::{Finding, check, check_file};
use crate::compile::Form;
use crate::error::{Kind, TemplateError};
use crate::evaluation::Evaluation;
use crate::files::{Files, TemplateFiles};
use crate::globals::globals;
use crate::lookup::{Lookups, NoLookups};
use crate::lookups::meaning;
use crate::machine::Machine;
use crate::named_files::{NamedFile, named_files, of_file};
use crate::omit::Omit;
use crate::options::TemplateOptions;
use crate::origin::Provenance;
use crate::python_plugins::{NoPythonPlugins, PythonPlugins};
use crate::result::{finalized, run};
use crate::run::Rendering;
use crate::scope::Scope;
use crate::vault::{Decrypter, NoPasswords};
use crate::{plugins, python, text};

/// What an engine needs of its caller.
pub struct Config {
    /// Lookups that act.
    pub lookups: Arc<dyn Lookups>,
    /// The clock, chance and files, as far as templates may see them.
    pub host: Arc<dyn Host>,
    /// Filters and tests that are Python plugins.
    pub plugins: Arc<dyn PythonPlugins>,
    /// What decrypts `!vault` values.
    pub vault: Arc<dyn Decrypter>,
}

impl Default for Config {
    /// No lookups that act, a host that answers nothing, no Python plugins, and no passwords.
    fn default() -> Self {
        Self {
            lookups: Arc::new(NoLookups),
            host: Arc::new(NoHost),
            plugins: Arc::new(NoPythonPlugins),
            vault: Arc::new(NoPasswords),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config").finish_non_exhaustive()
    }
}

/// A result, and what it was made of.
#[derive(Debug, Clone)]
pub struct Evaluated<T = Value> {
    /// The result. It is plain data.
    pub value: T,
    /// The origins of all variables that were read.
    pub provenance: Provenance,
}

/// Evaluates templates, expressions and conditions. Cloning is cheap; clones share compiled texts.
#[derive(Debug, Clone)]
pub struct Engine {
    machine: Arc<Machine>,
}

impl Engine {
    /// Says why an encrypted text cannot be decrypted; `None` if it can.
    #[must_use]
    pub fn undecryptable(&self, text: &str) -> Option<String> {
        self.machine.vault.decrypt(text).err()
    }

    /// Says whether there is a filter, a test or a lookup of a name, modbox's own or a Python plugin.
    #[must_use]
    pub fn has_plugin(&self, kind: PluginKind, name: &str) -> bool {
        match kind {
            PluginKind::Filter => self.machine.filter(name).is_some(),
            PluginKind::Test => self.machine.test(name).is_some(),
            PluginKind::Lookup => meaning(&self.machine, name).is_some(),
        }
    }

    /// Makes an engine.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let (filters, tests) = (plugins::filters(&config.host), plugins::tests(&config.host));
        let machine = Machine {
            environment: plugins::environment(&filters, &tests),
            filters,
            tests,
            globals: globals(),
            python: config.plugins,
            python_plugin: python::plugin,
            vault: config.vault,
            lookups: config.lookups,
            host: config.host,
            cache: Cache::default(),
        };
        Self { machine: Arc::new(machine) }
    }

    /// Renders all templates in a node, and returns its data. A text that is one template keeps the type of its value.
    /// Entries of dicts and items of lists that are `omit` are left out.
    ///
    /// # Errors
    ///
    /// A template fails, or the value as a whole is `omit`.
    pub fn evaluate(&self, source: &Source, scope: &Scope) -> Result<Evaluated, TemplateError> {
        let found = self.evaluate_omittable(source, scope)?;
        let omitted = || TemplateError::Omitted { kind: Kind::Template, at: source.position().clone() };
        Ok(Evaluated { value: found.value.ok_or_else(omitted)?, provenance: found.provenance })
    }

    /// Evaluates like [`Engine::evaluate`]. The value is `None` if it is `omit`.
    ///
    /// # Errors
    ///
    /// A template fails.
    pub fn evaluate_omittable(
        &self,
        source: &Source,
        scope: &Scope,
    ) -> Result<Evaluated<Option<Value>>, TemplateError> {
        let found = self.within(scope, None, |evaluation| {
            finalized(evaluation, source, Ok(evaluation.source_value(source)), Kind::Template)
        })?;
        let value = Some(found.value).filter(|value| !Omit::is(value));
        Ok(Evaluated { value, provenance: found.provenance })
    }

    /// Returns the origins of what the evaluation of a node reads, also of one that fails.
    #[must_use]
    pub fn origins(&self, source: &Source, scope: &Scope) -> Provenance {
        let evaluation = Evaluation::new(self.machine.clone(), scope.clone(), None);
        drop(finalized(&evaluation, source, Ok(evaluation.source_value(source)), Kind::Template));
        evaluation.finish()
    }

    /// Returns the items of a loop that a lookup gives: those of `with_items` and the like, by the name of the lookup.
    ///
    /// # Errors
    ///
    /// A term cannot be rendered, the lookup is unknown, or it fails.
    pub fn loop_items(
        &self,
        lookup: &str,
        terms: &Source,
        scope: &Scope,
    ) -> Result<Evaluated<Vec<Value>>, TemplateError> {
        self.within(scope, None, |evaluation| crate::loop_items::of(evaluation, lookup, terms))
    }

    /// Evaluates an expression without delimiters, such as `item.name | lower`.
    ///
    /// # Errors
    ///
    /// The text cannot be parsed, the expression fails, or its value is `omit`.
    pub fn expression(&self, source: &Source, scope: &Scope) -> Result<Evaluated, TemplateError> {
        let found = self.within(scope, None, |evaluation| {
            finalized(evaluation, source, run(evaluation, source, Form::Expression), Kind::Expression)
        })?;
        if Omit::is(&found.value) {
            return Err(TemplateError::Omitted { kind: Kind::Expression, at: source.position().clone() });
        }
        Ok(found)
    }

    /// Evaluates a condition, as that of `when`. It must be a boolean, or an expression whose value is one. A template that
    /// is nothing but a variable stands for the expression in that variable.
    ///
    /// # Errors
    ///
    /// The condition cannot be parsed, fails, or is not a boolean.
    pub fn condition(&self, source: &Source, scope: &Scope) -> Result<Evaluated<bool>, TemplateError> {
        self.within(scope, None, |evaluation| crate::condition::holds(evaluation, source))
    }

    /// Returns the node of a play that a template stands for, when it is nothing but a variable, or a part of one. Texts in
    /// it are as they are written.
    ///
    /// # Errors
    ///
    /// The template cannot be parsed.
    pub fn written(&self, source: &Source, scope: &Scope) -> Result<Evaluated<Option<Source>>, TemplateError> {
        self.within(scope, None, |evaluation| crate::condition::written(evaluation, source))
    }

    /// Returns the text of a play that a template stands for, when it is nothing but a variable that holds such a text.
    ///
    /// # Errors
    ///
    /// The template cannot be parsed.
    pub fn named_text(&self, template: &Source, scope: &Scope) -> Result<Option<Source>, TemplateError> {
        let found = self.within(scope, None, |evaluation| crate::condition::named_text(evaluation, template));
        found.map(|found| found.value)
    }

    /// Renders a template file. Unlike [`Engine::evaluate`], it may include, import and extend others.
    ///
    /// # Errors
    ///
    /// The template cannot be parsed, or fails.
    pub fn render_file(
        &self,
        template: &Source,
        scope: &Scope,
        options: &TemplateOptions,
        files: Arc<dyn TemplateFiles>,
    ) -> Result<Evaluated, TemplateError> {
        let files = Files { files, options: TemplateOptions { process_escapes: true, ..options.clone() } };
        self.within(scope, Some(files), |evaluation| {
            let rendering = Rendering { form: Form::Template, options, keeps_line_ends: true };
            finalized(evaluation, template, evaluation.run(template, &rendering), Kind::Template)
        })
    }

    /// Returns the problems of all texts in a node: of templates in it, or of expressions or conditions. Nothing is
    /// evaluated.
    #[must_use]
    pub fn check_syntax(&self, source: &Source, kind: Kind) -> Vec<Finding> {
        let mut found = Vec::new();
        check(&self.machine, source, kind, &mut found);
        found
    }

    /// Returns the problems of a template file with Ansible's usual options. Nothing is evaluated.
    #[must_use]
    pub fn check_file(&self, file: &Source) -> Vec<Finding> {
        let mut found = Vec::new();
        check_file(&self.machine, file, &mut found);
        found
    }

    /// Returns the files that the texts in a node name literally: those of lookups, and templates. Nothing is evaluated.
    #[must_use]
    pub fn named_files(&self, source: &Source, kind: Kind) -> Vec<NamedFile> {
        let mut found = Vec::new();
        named_files(&self.machine, source, kind, &mut found);
        found
    }

    /// Returns the files that a template file names literally, as [`Engine::named_files`].
    #[must_use]
    pub fn named_files_of_file(&self, file: &Source) -> Vec<NamedFile> {
        of_file(&self.machine, file)
    }

    /// Makes an evaluation that a test of this crate looks into.
    #[cfg(test)]
    pub(crate) fn evaluation(&self, scope: Scope) -> Arc<Evaluation> {
        Evaluation::new(self.machine.clone(), scope, None)
    }

    fn within<T>(
        &self,
        scope: &Scope,
        files: Option<Files>,
        evaluate: impl FnOnce(&Arc<Evaluation>) -> Result<T, TemplateError>,
    ) -> Result<Evaluated<T>, TemplateError> {
        let evaluation = Evaluation::new(self.machine.clone(), scope.clone(), files);
        let result = evaluate(&evaluation);
        let provenance = evaluation.finish();
        result.map(|value| Evaluated { value, provenance })
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self::new(Config::default())
    }
}

/// Says whether a node has template syntax in it, valid or not.
#[must_use]
pub fn is_template(source: &Source) -> bool {
    text::has_template(source)
}
