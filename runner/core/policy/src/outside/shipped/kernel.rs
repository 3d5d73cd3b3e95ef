//! Parameters and modules of the kernel.

use crate::outside::kinds::Kind;
use crate::outside::shipped::section::{Effect, Section, ShippedRules};

/// `manage-kernel`.
pub const KERNEL: ShippedRules = ShippedRules {
    sections: &[
        Section {
            effect: Effect::Change,
            rules: "
                sysctl {-e|-q} -w <setting>
                sysctl {-e} -p <settings>
                modprobe {-r|-n|--first-time} <module>
            ",
        },
        Section { effect: Effect::Query, rules: "sysctl {-e} -n <key>" },
    ],
    lists: &[],
    kinds: &[Kind::Key, Kind::Module],
    by_input: &[],
};
