//! Values that minijinja lacks: integers beyond 128 bits, and text with lone surrogates.
//!
//! They pass through a template unchanged, compare, and print. minijinja's operators refuse them.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use minijinja::value::{DynObject, Object, ObjectRepr};
use modbox_python_json::{BigInt, Surrogates, Value as Json, repr};

/// An integer that does not fit in 128 bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongInteger(pub BigInt);

impl Object for LongInteger {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        let other = other.downcast_ref::<Self>()?;
        Some(super::decimal::compare_decimals(self.0.as_str(), other.0.as_str()))
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.as_str())
    }
}

/// Text with a lone surrogate: Python's form of bytes that are not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurrogateText(pub Surrogates);

impl Object for SurrogateText {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    fn custom_cmp(self: &Arc<Self>, other: &DynObject) -> Option<Ordering> {
        let other = other.downcast_ref::<Self>()?;
        Some(self.0.units().cmp(other.0.units()))
    }

    fn render(self: &Arc<Self>, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `Debug` of a list of values ends here, too, where only the escaped form is right.
        if out.alternate() {
            return out.write_str(&repr(&Json::Surrogates(self.0.clone())));
        }
        out.write_str(&self.0.to_string_lossy())
    }
}
