//! What `native/root.py` tells: its attempts to reach, as root, what no grant covers.

use serde_json::Value;

/// Least number of attempts. A script that ends early has fewer.
const ATTEMPTS: usize = 118;

/// Asserts that what is granted works, and that all else is refused.
#[track_caller]
pub(crate) fn assert_confined(tried: &Value) {
    let tried = tried.as_object().unwrap();
    assert!(tried.len() >= ATTEMPTS, "{} attempts", tried.len());
    for (what, outcome) in tried {
        let outcome = outcome.as_str().unwrap();
        let is_error = outcome.starts_with('E') && outcome.bytes().all(|byte| byte.is_ascii_uppercase());
        assert_eq!(outcome == "ok", what.starts_with("granted: "), "{what}: {outcome}");
        assert!(outcome == "ok" || is_error, "{what}: {outcome}");
        // A call on the machine is refused before the kernel looks at its arguments.
        assert!(!what.starts_with("call ") || ["EPERM", "ENOSYS"].contains(&outcome), "{what}: {outcome}");
    }
}
