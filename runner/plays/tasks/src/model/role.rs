//! A role: a folder with tasks, variables and files, as one play uses it.
//!
//! The role's tasks are blocks of the play; this is what the tasks know of their role.

use std::sync::Arc;

use modbox_template::Layer;
use modbox_yaml::Source;

/// A role as a play uses it.
#[derive(Debug)]
pub struct Role {
    /// The name by which the play asked for the role, without its collection.
    pub name: String,
    /// The collection that the role is in, such as `community.general`.
    pub collection: Option<String>,
    /// The folder of the role.
    pub path: String,
    /// Identifies uses of a role that Ansible takes for the same: with the same name, path, parameters, conditions and
    /// tags. Such a role runs once, unless it allows duplicates.
    pub identity: String,
    /// Whether the role's metadata allows that the same use runs twice.
    pub allow_duplicates: bool,
    /// Whether the role's variables and defaults are visible to the whole play.
    pub public: bool,
    /// Whether a task included or imported the role.
    pub from_task: bool,
    /// Variables of `defaults`, of this role alone.
    pub defaults: Arc<Layer>,
    /// Variables of `vars`, of this role alone.
    pub vars: Arc<Layer>,
    /// Variables from the keyword `vars` where the role is used.
    pub given: Arc<Layer>,
    /// Parameters where the role is used: keys that are not keywords.
    pub parameters: Arc<Layer>,
    /// The same parameters, in the order in which they are written.
    pub parameter_sources: Vec<(Arc<str>, Source)>,
    /// Direct dependencies.
    pub dependencies: Vec<Arc<Role>>,
    /// The specification of the role's arguments for the entry point that is used.
    pub argument_spec: Option<Source>,
    /// The name of the file of tasks that is used: `main`, unless the use asks for another one.
    pub entry_point: String,
}

impl Role {
    /// Returns the name with the collection.
    #[must_use]
    pub fn full_name(&self) -> String {
        match &self.collection {
            Some(collection) => format!("{collection}.{}", self.name),
            None => self.name.clone(),
        }
    }

    /// Returns all dependencies, each after its own dependencies.
    #[must_use]
    pub fn all_dependencies(&self) -> Vec<Arc<Role>> {
        let mut all = Vec::new();
        for dependency in &self.dependencies {
            all.extend(dependency.all_dependencies());
            all.push(Arc::clone(dependency));
        }
        all
    }

    /// Appends the layers of the role's defaults and of those of its dependencies, lowest first.
    pub fn push_defaults(&self, layers: &mut Vec<Arc<Layer>>) {
        for dependency in &self.dependencies {
            dependency.push_defaults(layers);
        }
        layers.push(Arc::clone(&self.defaults));
    }

    /// Appends the layers of the variables that the role and its dependencies export, lowest first.
    pub fn push_exports(&self, layers: &mut Vec<Arc<Layer>>) {
        for dependency in &self.dependencies {
            dependency.push_exports(layers);
        }
        layers.push(Arc::clone(&self.vars));
    }
}
