//! Variables of the host that tasks change while a play runs: facts, `include_vars`, `set_fact` and results.

use std::sync::Arc;

use modbox_jinja::values;
use modbox_python_json::{Dict, Value as Json};
use modbox_template::{Layer, Origin, Provenance, Scope, Slot};
use modbox_yaml::Source;

use crate::vars::facts::Facts;
use crate::vars::layer;

/// Variables of the host.
#[derive(Debug)]
pub struct HostVars {
    /// Variables of groups and of the host, from files, lowest first.
    pub inventory: Vec<Arc<Layer>>,
    facts: Facts,
    /// Whether facts are variables of their own names, too.
    injects_facts: bool,
    /// Whether mappings of one name become one.
    merges: bool,
    fact_layer: Arc<Layer>,
    included: Arc<Layer>,
    set: Arc<Layer>,
    generation: u64,
}

impl Default for HostVars {
    /// No variables but `ansible_facts`, which is empty until facts are gathered.
    fn default() -> Self {
        let facts = Facts::default();
        Self {
            inventory: Vec::new(),
            fact_layer: Arc::new(facts.layer(true)),
            facts,
            injects_facts: true,
            merges: false,
            included: layer::empty(),
            set: layer::empty(),
            generation: 0,
        }
    }
}

impl HostVars {
    /// Sets whether facts are variables of their own names, too, and whether mappings that several places give to one variable
    /// become one.
    pub fn set_rules(&mut self, injects_facts: bool, merges: bool) {
        self.injects_facts = injects_facts;
        self.merges = merges;
        self.fact_layer = Arc::new(self.fact_layer(&self.facts));
    }

    /// Returns the variables that facts are.
    #[must_use]
    pub fn fact_layer(&self, facts: &Facts) -> Layer {
        facts.layer(self.injects_facts)
    }

    /// Adds facts of the host.
    pub fn add_facts(&mut self, facts: &Dict) {
        self.facts.extend(facts);
        self.fact_layer = Arc::new(self.fact_layer(&self.facts));
        self.generation += 1;
    }

    /// Removes all facts.
    pub fn clear_facts(&mut self) {
        self.facts = Facts::default();
        self.fact_layer = Arc::new(self.fact_layer(&self.facts));
        self.generation += 1;
    }

    /// Returns the facts.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Sets a variable as `set_fact` and `register` do.
    pub fn set(&mut self, name: &str, value: &Json, provenance: Arc<Provenance>) {
        let slot = Slot::made(values::from_json(value), provenance);
        // The layer is copied only while the scope of a task is still in use.
        Arc::make_mut(&mut self.set).insert(name, slot);
        self.generation += 1;
    }

    /// Sets a variable as `register` does, of a result that has text of the play in it.
    pub fn set_source(&mut self, name: &str, source: Source, origin: Origin) {
        Arc::make_mut(&mut self.set).insert(name, Slot::source_from(source, origin));
        self.generation += 1;
    }

    /// Sets a variable as `include_vars` does: text of a file of the play, evaluated when it is used.
    pub fn include(&mut self, name: &str, source: Source) {
        self.include_slot(name, Slot::source(source));
    }

    /// Sets a variable as `include_vars` does, of data.
    pub fn include_data(&mut self, name: &str, value: &Json) {
        self.include_slot(name, Slot::value(values::from_json(value), Origin::Result("include_vars".into())));
    }

    fn include_slot(&mut self, name: &str, slot: Slot) {
        let known = self.included.get(name).filter(|_| self.merges);
        let slot = known.and_then(|known| slot.merged_onto(known)).unwrap_or(slot);
        Arc::make_mut(&mut self.included).insert(name, slot);
        self.generation += 1;
    }

    /// Returns the variables that tasks changed, lowest first.
    #[must_use]
    pub fn changed_layers(&self) -> Vec<Arc<Layer>> {
        [&self.fact_layer, &self.included, &self.set].map(Arc::clone).into()
    }

    /// Returns a number that changes whenever a variable does.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Adds the layers below the play's variables: inventory and facts.
    pub fn push_low(&self, layers: &mut Vec<Arc<Layer>>) {
        layers.extend(self.inventory.iter().cloned());
        layers.push(Arc::clone(&self.fact_layer));
    }

    /// Adds the layers above the task's variables: `include_vars`, then `set_fact` and results.
    pub fn push_high(&self, layers: &mut Vec<Arc<Layer>>) {
        layers.push(Arc::clone(&self.included));
        layers.push(Arc::clone(&self.set));
    }

    /// Returns the variables that `hostvars` shows of this host: those that belong to no play.
    #[must_use]
    pub fn hostvars(&self, extra: &Arc<Layer>, magic: &[Arc<Layer>]) -> Scope {
        let mut layers = Vec::new();
        self.push_low(&mut layers);
        self.push_high(&mut layers);
        layers.push(Arc::clone(extra));
        layers.extend(magic.iter().cloned());
        Scope::of_layers(layers, self.merges)
    }
}
