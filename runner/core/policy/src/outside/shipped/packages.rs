//! Packages of Debian and of Fedora and its relatives.

use crate::outside::kinds::Kind;
use crate::outside::shipped::section::{Effect, Section, ShippedRules};

/// The options of `apt-get` that change no more than the packages named. Not `-o` with another setting: several run programs.
const APT: &str = "-y|-q|-qq|-o Dpkg::Options::=--force-confdef|-o Dpkg::Options::=--force-confold\
    |-o DPkg::Lock::Timeout=<n>|-o APT::Install-Recommends=no|-o APT::Install-Recommends=yes|--no-install-recommends\
    |--only-upgrade|--fix-broken|--auto-remove|--no-remove|--purge|--simulate|-t <name>";

const DNF: &str = "-y|-q|--best|--allowerasing|--setopt=install_weak_deps=False|--enablerepo=<name>|--disablerepo=<name>\
    |--exclude=<name>";

const LISTS: &[(&str, &str)] = &[("APT", APT), ("DNF", DNF)];

/// `manage-packages`.
pub const PACKAGES: ShippedRules = ShippedRules {
    sections: &[
        Section {
            effect: Effect::Change,
            rules: "
                apt-get {@APT} (install|remove|purge|build-dep) {@APT|--allow-downgrades|--allow-change-held-packages} <pkg>… {@APT}
                apt-get {@APT} (update|autoclean|clean) {@APT}
                apt-mark (manual|auto|hold|unhold|unmarkauto) <pkg>…
                dpkg --set-selections
                dpkg --configure -a
                debconf-set-selections {-u}
                dnf,yum {@DNF} (install|remove|upgrade|reinstall|downgrade) {@DNF} <pkg>… {@DNF}
                dnf,yum {@DNF} (makecache|clean all) {@DNF}
            ",
        },
        Section {
            effect: Effect::Whole,
            rules: "
                apt-get {@APT} (upgrade|upgrade --with-new-pkgs|dist-upgrade|autoremove) {@APT}
                dnf,yum {@DNF} (upgrade|autoremove) {@DNF}
            ",
        },
        Section {
            effect: Effect::Query,
            rules: "
                dpkg (-l|-s|-L|--get-selections) <pkg>…
                dpkg (--print-architecture|--print-foreign-architectures)
                dpkg-query {-W|-f=<text>} <pkg>…
                apt-mark (showhold|showmanual)
                apt-cache (policy|show|madison) <pkg>…
                debconf-show <pkg>
                rpm (-q|-V|-ql|-qi) <pkg>…
                rpm -qa
            ",
        },
    ],
    lists: LISTS,
    kinds: &[Kind::Package],
    by_input: &["dpkg --set-selections", "debconf-set-selections"],
};

/// `update-packages`.
pub const UPDATES: ShippedRules = ShippedRules {
    sections: &[Section {
        effect: Effect::Change,
        rules: "
            apt-get {@APT} update {@APT}
            dnf,yum {@DNF} makecache {@DNF}
        ",
    }],
    lists: LISTS,
    kinds: &[],
    by_input: &[],
};
