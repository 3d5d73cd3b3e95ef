//! Rules of the firewall. Names bind the chains of `iptables`; `ufw` has none, so a profile with names does not have it.

use crate::outside::kinds::Kind;
use crate::outside::shipped::section::{Effect, Section, ShippedRules};

const UFW: &str = "in|out|on <name>|log|log-all|from <addr>|to <addr>|port <ports>|proto tcp|proto udp|app <name>\
    |comment <text>|<ports>";

const TABLE: &str = "-t filter|-t nat|-t mangle|-w|-w <n>";

/// Options that say which packets a rule is for, and its target; also those of Ansible's module (ansible-core 2.21, `construct_rule`).
const MATCH: &str = "-p <name>|--ctstate <name>|--state <name>|-s <addr>|-d <addr>|-i <name>|-o <name>|-j <name>|-g <chain>|-m <name>\
    |--dport <ports>|--sport <ports>|--dports <ports>|--to-ports <ports>|--destination-port <ports>|--source-port <ports>\
    |--to-destination <name>|--to-source <name>|--src-range <name>|--dst-range <name>|--uid-owner <name>|--gid-owner <name>\
    |--icmp-type <name>|--icmpv6-type <name>|--tcp-flags <name> <name>|--syn|-f|--reject-with <name>|--log-prefix <text>\
    |--log-level <name>|--comment <text>|--limit <text>|--limit-burst <n>|-w|-w <n>|!|ACCEPT|DROP";

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
                iptables,ip6tables {@TABLE} (-A|-I|-D|-N|-X|-F|-P) <chain> {@MATCH}
                iptables,ip6tables {@TABLE} -I <chain> <n> {@MATCH}
            ",
        },
        Section {
            effect: Effect::Query,
            rules: "
                iptables,ip6tables {@TABLE} (-C|-L) <chain> {@MATCH}
                iptables,ip6tables (--version|-V)
                ufw (status|status verbose|--version)
            ",
        },
    ],
    lists: &[("UFW", UFW), ("TABLE", TABLE), ("MATCH", MATCH)],
    kinds: &[Kind::Chain],
    by_input: &[],
};
