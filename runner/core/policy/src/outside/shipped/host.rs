//! The name, the clock, the languages and the alternatives of a machine.

use crate::outside::shipped::section::{Effect, Section, ShippedRules};

/// `manage-host`.
pub const HOST: ShippedRules = ShippedRules {
    sections: &[
        Section {
            effect: Effect::Change,
            rules: "
                hostname <name>
                hostnamectl {--static|--transient|--pretty} set-hostname <name>
                timedatectl set-timezone <zone>
                timedatectl set-ntp (true|false)
                ln -sf /usr/share/zoneinfo/<zone> /etc/localtime
                dpkg-reconfigure --frontend noninteractive (tzdata|locales)
                locale-gen
                update-alternatives --set <name> <path>
                update-alternatives --auto <name>
            ",
        },
        Section {
            effect: Effect::Query,
            rules: "
                hostname
                timedatectl
                update-alternatives --display <name>
            ",
        },
    ],
    lists: &[],
    kinds: &[],
    by_input: &[],
};
