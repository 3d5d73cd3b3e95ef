//! Tables of cron. Without `-u`, `crontab` means the caller's, whose name has to be a permitted one.

use crate::outside::kinds::Kind;
use crate::outside::shipped::section::{Effect, Section, ShippedRules};

/// `manage-cron`.
pub const CRON: ShippedRules = ShippedRules {
    sections: &[
        Section {
            effect: Effect::Change,
            rules: "
                crontab {-u <user>} <input>
                crontab {-u <user>} -r
            ",
        },
        Section { effect: Effect::Query, rules: "crontab {-u <user>} -l" },
    ],
    lists: &[],
    kinds: &[Kind::User],
    by_input: &[],
};
