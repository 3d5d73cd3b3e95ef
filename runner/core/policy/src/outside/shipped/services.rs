//! Services of systemd and of System V.

use crate::outside::kinds::Kind;
use crate::outside::shipped::section::{Effect, Section, ShippedRules};

/// `manage-services`.
pub const SERVICES: ShippedRules = ShippedRules {
    sections: &[
        Section {
            effect: Effect::Change,
            rules: "
                systemctl {--no-block|--force|--now} (start|stop|restart|reload|enable|disable|mask|unmask) <unit>…
                systemctl (daemon-reload|daemon-reexec)
                service <unit> (start|stop|restart|reload)
                /etc/init.d/<unit> (start|stop|restart|reload)
                invoke-rc.d <unit> (start|stop|restart|reload)
                update-rc.d <unit> (defaults|enable|disable|remove)
            ",
        },
        Section {
            effect: Effect::Query,
            rules: "
                systemctl {list-units|list-unit-files|--no-pager|--all|--plain|--type service}
                systemctl (show|status|is-active|is-enabled|is-failed) {-l} <unit>… {-l}
                systemctl list-unit-files (<unit>|<unit>'*')
                service <unit> status
                /etc/init.d/<unit> status
                service --status-all
            ",
        },
    ],
    lists: &[],
    kinds: &[Kind::Unit],
    by_input: &[],
};
