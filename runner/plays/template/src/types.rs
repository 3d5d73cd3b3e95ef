//! Names of types, as messages and `type_debug` have them.

use minijinja::Value;
use modbox_jinja::values::{self, Range, RangeItems};

use crate::lazy::LazyDict;
use crate::marker::{Cause, Marker};
use crate::objects::{Cycler, Function, Joiner, LoopContext, Macro, Method, Module, Namespace, SelfReference};
use crate::omit::Omit;

/// Returns Python's name of the type of a value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    if let Some(marker) = value.downcast_object_ref::<Marker>() {
        return if marker.cause == Cause::Undefined { "UndefinedMarker" } else { "CapturedExceptionMarker" };
    }
    let is = [
        (Omit::is(value), "_OmitType"),
        (value.downcast_object_ref::<LazyDict>().is_some_and(LazyDict::is_of_hosts), "HostVars"),
        (is::<Range>(value) || is::<RangeItems>(value), "range"),
        (is::<Method>(value), "builtin_function_or_method"),
        (is::<Function>(value), "function"),
        (is::<Macro>(value), "Macro"),
        (is::<LoopContext>(value), "LoopContext"),
        (is::<Namespace>(value), "Namespace"),
        (is::<Module>(value), "TemplateModule"),
        (is::<SelfReference>(value), "TemplateReference"),
        (is::<Cycler>(value), "Cycler"),
        (is::<Joiner>(value), "Joiner"),
    ];
    is.into_iter().find(|(found, _)| *found).map_or_else(|| values::type_name(value), |(_, name)| name)
}

fn is<T: 'static>(value: &Value) -> bool {
    value.downcast_object_ref::<T>().is_some()
}
