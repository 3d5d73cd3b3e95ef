//! What an update has to change, and what it changed: a resource before, the attributes that a caller sets, and what
//! the provider reports.

use crate::finding::UpdateReport;
use crate::metadata::ENSURE;
use crate::resource::{Attributes, Change, Resource, is_absent};
use crate::text::Text;
use crate::value::AttributeValue;

/// What an update has changed, and the resource after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateResult {
    /// The resource afterwards.
    pub resource: Resource,
    /// The changes: those that the provider named, then derived ones by their attributes.
    pub changes: Vec<Change>,
}

/// Returns the attributes that differ from those of the resource. A missing attribute differs.
#[must_use]
pub fn differing(is: Option<&Resource>, should: &Attributes) -> Attributes {
    let value = |attribute: &String| is.and_then(|is| is.attributes.get(attribute));
    should
        .iter()
        .filter(|(name, value_should)| value(name) != Some(value_should))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

/// Merges an update with what was known before.
#[must_use]
pub fn merge(name: &Text, is: Option<&Resource>, should: &Attributes, updated: UpdateReport) -> UpdateResult {
    let UpdateReport { mut changes, derive, .. } = updated;
    if derive {
        let derived = derived(is, should, &changes);
        changes.extend(derived);
    }
    UpdateResult { resource: resource_after(name, is, should, &changes), changes }
}

/// Returns the result that an update would have if each difference became a change. Nothing runs.
#[must_use]
pub fn simulate(name: &Text, is: Option<&Resource>, should: &Attributes) -> UpdateResult {
    merge(name, is, should, UpdateReport { changes: Vec::new(), derive: true, warnings: Vec::new() })
}

/// Returns the differences that the provider has not named. If the resource is to be absent, only `ensure` counts.
fn derived(is: Option<&Resource>, should: &Attributes, named: &[Change]) -> Vec<Change> {
    let only_ensure = is_absent_after(is, should);
    let differing = differing(is, should).into_iter().filter(|(attribute, _)| {
        let counts = !only_ensure || attribute == ENSURE;
        counts && !named.iter().any(|change| change.attribute == *attribute)
    });
    let was = |attribute: &str| is.and_then(|is| is.attributes.get(attribute)).cloned().unwrap_or(AttributeValue::None);
    differing.map(|(attribute, is)| Change { was: was(&attribute), attribute, is }).collect()
}

fn is_absent_after(is: Option<&Resource>, should: &Attributes) -> bool {
    let ensure = should.get(ENSURE).or_else(|| is.and_then(|is| is.attributes.get(ENSURE)));
    ensure.is_some_and(is_absent)
}

/// Returns the resource after some changes. What was set but not reported as changed keeps its old value.
fn resource_after(name: &Text, is: Option<&Resource>, should: &Attributes, changes: &[Change]) -> Resource {
    let mut resource = Resource::new(name.clone());
    if is_absent_after(is, should) {
        resource.attributes.insert(ENSURE.to_owned(), AttributeValue::text("absent"));
        return resource;
    }
    resource.attributes.extend(should.clone());
    resource.attributes.extend(is.into_iter().flat_map(|is| is.attributes.clone()));
    resource.attributes.extend(changes.iter().map(|change| (change.attribute.clone(), change.is.clone())));
    resource
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(text: &str) -> Attributes {
        let pair = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap();
            (name.to_owned(), AttributeValue::text(value))
        };
        text.split_whitespace().map(pair).collect()
    }

    fn resource(text: &str) -> Option<Resource> {
        let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
        (!text.is_empty()).then(|| Resource { name: name.into(), attributes: attributes(rest) })
    }

    fn shown(result: &UpdateResult) -> (String, String) {
        let attributes: Vec<String> =
            result.resource.attributes.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let changes: Vec<String> = result
            .changes
            .iter()
            .map(|change| format!("{}({}->{})", change.attribute, change.was, change.is))
            .collect();
        (attributes.join(" "), changes.join(" "))
    }

    #[test]
    fn only_differences_are_passed() {
        for (is, should, expect) in [
            ("n a=1 b=2", "a=1", ""),
            ("n a=1", "a=2 b=1", "a=2 b=1"),
            ("", "a=1", "a=1"),
            ("n ensure=absent", "ensure=absent s=1", "s=1"),
        ] {
            assert_eq!(differing(resource(is).as_ref(), &attributes(should)), attributes(expect), "{is} {should}");
        }
        let mut is = resource("n").unwrap();
        is.attributes.insert("b".to_owned(), AttributeValue::Boolean(true));
        let should = [("b".to_owned(), AttributeValue::Boolean(true))].into();
        assert!(differing(Some(&is), &should).is_empty(), "types are compared, too");
    }

    #[track_caller]
    fn check(is: &str, should: &str, named: &str, derive: bool, expect: (&str, &str)) {
        let changes = named.split_whitespace().map(|one| {
            let (attribute, values) = one.split_once(':').unwrap();
            let (was, is) = values.split_once('>').unwrap();
            Change { attribute: attribute.to_owned(), is: AttributeValue::text(is), was: AttributeValue::text(was) }
        });
        let updated = UpdateReport { changes: changes.collect(), derive, warnings: Vec::new() };
        let result = merge(&"n".into(), resource(is).as_ref(), &attributes(should), updated);
        assert_eq!(shown(&result), (expect.0.to_owned(), expect.1.to_owned()), "{is} {should} {named}");
    }

    #[test]
    fn changes_are_named_or_derived() {
        check("n a=1 b=1", "a=2 b=2", "", true, ("a=2 b=2", "a(1->2) b(1->2)"));
        check("n a=1 b=1", "a=2 b=2", "b:1>2", true, ("a=2 b=2", "b(1->2) a(1->2)"));
        check("n a=1", "a=2 c=3", "", true, ("a=2 c=3", "a(1->2) c((none)->3)"));
        check("", "a=2", "", true, ("a=2", "a((none)->2)"));
        // A difference that is not named did not change.
        check("n a=1 b=1", "a=2 b=2", "b:1>2", false, ("a=1 b=2", "b(1->2)"));
        check("n a=1", "a=2 c=3", "", false, ("a=1 c=3", ""));
        // The provider may name what the caller did not set.
        check("n a=1", "a=2", "a:1>2 z:0>9", false, ("a=2 z=9", "a(1->2) z(0->9)"));
    }

    #[test]
    fn of_an_absent_resource_only_its_absence_counts() {
        check("n a=1 ensure=present", "ensure=absent a=2", "", true, ("ensure=absent", "ensure(present->absent)"));
        check("n ensure=absent", "a=2", "", true, ("ensure=absent", ""));
        check(
            "n ensure=absent",
            "ensure=present a=2",
            "",
            true,
            ("a=2 ensure=present", "a((none)->2) ensure(absent->present)"),
        );
        check("n a=1", "ensure=absent", "a:1>0", true, ("ensure=absent", "a(1->0) ensure((none)->absent)"));
    }

    #[test]
    fn a_simulation_takes_each_difference_for_a_change() {
        let result = simulate(&"n".into(), resource("n a=1 b=1").as_ref(), &attributes("a=2 b=1"));
        assert_eq!(shown(&result), ("a=2 b=1".to_owned(), "a(1->2)".to_owned()));
    }
}
