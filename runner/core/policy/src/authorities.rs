//! Lists every authority of a policy, for ceilings to judge. No field of a policy can be forgotten here.

use crate::grant_set::Policy;
use crate::min_confinement::DEFAULT_LEAST;
use crate::trust::Authority;

impl Policy {
    /// Returns every authority of a run. `is_observed`: the run is observed and not confined.
    ///
    /// The pattern names each field, so that a new one has to be decided about here.
    pub(crate) fn authorities(&self, is_observed: bool) -> Vec<Authority<'_>> {
        let Self {
            paths,
            env,
            own,
            net,
            listen,
            run,
            outside,
            everything,
            python_modules_by,
            least_confinement,
            designated: _,
            designated_by_results: _,
            designates: _,
            check: _,
            python: _,
            python_modules: _,
            audit: _,
            missing: _,
            waypoints: _,
            single_files: _,
            user: _,
            trust: _,
        } = self;
        if let Some(source) = everything {
            return vec![Authority::Everything(source)];
        }
        let lower = least_confinement.iter().filter(|least| least.level < DEFAULT_LEAST).map(Authority::Confinement);
        let observation = is_observed.then_some(Authority::Observation(python_modules_by.as_str()));
        let places = paths.iter().map(Authority::Path).chain(own.iter().map(Authority::Owner));
        let others = env.iter().map(Authority::Variable).chain(net.iter().map(Authority::Destination));
        let others = others.chain(outside.iter().map(Authority::OutsideCommand));
        let others = others.chain(listen.iter().map(Authority::Address)).chain(run.iter().map(Authority::Command));
        observation.into_iter().chain(lower).chain(places).chain(others).collect()
    }
}
