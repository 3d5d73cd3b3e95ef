//! The sessions in README and the book that use ansible-core: commands print what the page shows.

use crate::support::sessions::{Surroundings, check_sessions};

#[test]
fn commands_beside_ansible_do_what_is_shown() {
    check_sessions(Surroundings::Ansible);
}
