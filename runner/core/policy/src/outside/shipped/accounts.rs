//! Users and groups.
//!
//! `-o`, by which an account takes the number of another one, is bound to numbers from 1000 on: a group with the number of
//! `disk` or `shadow` has their rights.

use crate::outside::kinds::Kind;
use crate::outside::shipped::section::{Effect, Section, ShippedRules};

const ACCOUNT: &str = "-u <id>|-u <high-id> -o|-o -u <high-id>|-g <users>|-G <users>|-G ''|-c <text>|-c ''|-d <home>|-s <path>\
    |-e <date>|-e ''|-f <n>|-f -1|-p <hash>|-m";

/// `manage-users`.
pub const ACCOUNTS: ShippedRules = ShippedRules {
    sections: &[
        Section {
            effect: Effect::Change,
            rules: "
                useradd {@ACC|-M|-N|-n|-l|-r|-k /etc/skel|-K UMASK=<n>|-K UID_MIN=<id>|-K UID_MAX=<id>} <user>
                usermod {@ACC|-a|-L|-U|-l <user>} <user>
                userdel {-f|-r} <user>
                groupadd {-g <id>|-g <high-id> -o|-o -g <high-id>|-r} <user>
                groupmod {-g <id>|-g <high-id> -o|-o -g <high-id>|-n <user>} <user>
                groupdel <user>
                gpasswd (-a|-d) <user> <user>
                passwd (-l|-u) <user>
                chage {-M <n>|-M -1|-m <n>|-m -1|-W <n>|-W -1|-I <n>|-I -1|-E <date>|-E -1} <user>
            ",
        },
        Section {
            effect: Effect::Query,
            rules: "
                useradd,usermod --help
                passwd -S <user>
                chage -l <user>
            ",
        },
    ],
    lists: &[("ACC", ACCOUNT)],
    kinds: &[Kind::User],
    by_input: &[],
};
