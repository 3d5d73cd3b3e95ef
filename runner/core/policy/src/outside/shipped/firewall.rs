//! Rules of the firewall. Names bind the chains of `iptables`; `ufw` has none, so a profile with names does not have it.

use crate::outside::kinds::Kind;
use crate::outside::shipped::section::{Effect, Section, ShippedRules};

const UFW: &str = "in|out|on <name>|log|log-all|from <addr>|to <addr>|port <ports>|proto tcp|proto udp|app <name>\
    |comment <text>|<ports>";

const TABLE: &str = "-t filter|-t nat|-t mangle|-w|-w <n>";

const MATCH: &str = "-p <name>|--ctstate <name>|-s <addr>|-d <addr>|-i <name>|-o <name>|-j <name>|-m <name>\
    |--dport <ports>|--sport <ports>|--dports <ports>|--to-ports <ports>|--comment <text>|--limit <text>|!|ACCEPT|DROP";

/// `manage-firewall`.
pub const FIREWALL: ShippedRules = ShippedRules {
    sections: &[
        Section {
            effect: Effect::Whole,
            rules: "
                ufw {--dry-run|-f} (enable|disable|reload|reset)
                ufw {--dry-run} default (allow|deny|reject) {incoming|outgoing|routed}
                ufw {--dry-run} logging (on|off|low|medium|high|full)
                ufw {--dry-run|route|delete|insert <n>} (allow|deny|reject|limit) {@UFW}
            ",
        },
        Section {
            effect: Effect::Change,
            rules: "
                iptables,ip6tables {@TABLE} (-A|-I|-D|-N|-F|-P) <chain> {@MATCH}
                iptables,ip6tables {@TABLE} -I <chain> <n> {@MATCH}
            ",
        },
        Section {
            effect: Effect::Query,
            rules: "
                iptables,ip6tables {@TABLE} (-C|-L) <chain> {@MATCH}
                ufw (status|status verbose|--version)
            ",
        },
    ],
    lists: &[("UFW", UFW), ("TABLE", TABLE), ("MATCH", MATCH)],
    kinds: &[Kind::Chain],
    by_input: &[],
};
