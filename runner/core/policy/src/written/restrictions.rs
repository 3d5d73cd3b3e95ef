//! The restrictions and settings of a policy: what arguments designate, and where Python modules run, what check mode and
//! `modbox-python` do.
//!
//! They grant nothing by themselves; see `grant_set`.

use crate::access::Access;
use crate::designated::Designated;
use crate::grant_set::Policy;
use crate::rules::check_rule::CheckRule;
use crate::rules::python_place::PythonPlace;
use crate::rules::python_rule::PythonRule;

impl Policy {
    /// Returns the access that naming a path in an argument grants.
    #[must_use]
    pub fn designated(&self) -> Designated {
        self.designated
    }

    /// Sets the access that naming a path in an argument grants.
    pub fn set_designated(&mut self, designated: Designated) {
        self.designated = designated;
    }

    /// Returns the access that an argument grants that a play made from results of modules.
    #[must_use]
    pub fn designated_by_results(&self) -> Designated {
        self.designated_by_results
    }

    /// Sets the access that an argument grants that a play made from results of modules.
    pub fn set_designated_by_results(&mut self, designated: Designated) {
        self.designated_by_results = designated;
    }

    /// Declares that an option names paths, and the highest access that this grants. The last declaration for an option
    /// holds.
    pub fn designate_option(&mut self, option: &str, access: Access) {
        self.designates.retain(|(other, _)| other != option);
        self.designates.push((option.to_owned(), access));
    }

    /// Returns the options that an operator declared to name paths.
    #[must_use]
    pub fn designates(&self) -> &[(String, Access)] {
        &self.designates
    }

    /// Sets what a run in check mode does.
    pub fn set_check_rule(&mut self, rule: CheckRule) {
        self.check = rule;
    }

    /// Returns what a run in check mode does.
    #[must_use]
    pub fn check_rule(&self) -> CheckRule {
        self.check
    }

    /// Sets where Python modules run.
    pub fn set_python_place(&mut self, place: PythonPlace) {
        self.python = place;
    }

    /// Returns where Python modules run.
    #[must_use]
    pub fn python_place(&self) -> PythonPlace {
        self.python
    }

    /// Sets what `modbox-python` does with modules, and the source of this rule.
    pub fn set_python_rule(&mut self, rule: PythonRule, source: String) {
        self.python_modules = rule;
        self.python_modules_by = source;
    }

    /// Returns the source of the rule for `modbox-python`.
    #[must_use]
    pub fn python_rule_by(&self) -> &str {
        &self.python_modules_by
    }

    /// Returns what `modbox-python` does with modules.
    #[must_use]
    pub fn python_rule(&self) -> PythonRule {
        self.python_modules
    }
}
