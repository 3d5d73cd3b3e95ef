//! Calls itself until the stack is used up.

fn deeper(depth: u64) -> u64 {
    let here = std::hint::black_box([depth; 16]);
    if depth == u64::MAX { 0 } else { deeper(depth + 1).wrapping_add(here[3]) }
}

fn main() {
    test_guests::print(&serde_json::json!({"changed": false, "depth": deeper(0)}));
}
