//! README and the book, where they show ansible-core: commands do what the page shows.

use crate::support::sessions::{Surroundings, check_sessions};

#[test]
fn commands_beside_ansible_do_what_is_shown() {
    check_sessions(Surroundings::Ansible);
}
