//! Never ends and never calls the host.

fn main() {
    test_guests::say_started(&test_guests::Args::read());
    let mut state = 1_u64;
    loop {
        state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}
