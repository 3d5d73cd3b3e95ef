//! The matching of rules, for all addresses that proptest generates.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use proptest::prelude::*;

use super::{ListenRule, Name, NetRule, Special, Transport};

fn rule(text: &str) -> NetRule {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn allows(text: &str, address: &str) -> bool {
    rule(text).allows(Transport::Tcp, address.parse().unwrap())
}

#[test]
fn a_rule_is_shown_as_it_is_written() {
    for text in [
        "example.org",
        "example.org:443",
        "*.example.org:8000-8999",
        "192.0.2.1:80",
        "10.0.0.0/8:5432",
        "[2001:db8::1]:443",
        "[2001:db8::/32]",
        "udp:192.0.2.53:53",
        "db.internal:5432+private",
        "localhost:8080+loopback",
        "0.0.0.0/0:80+loopback+private",
        "169.254.169.254:80+metadata",
        "localhost:8443+loopback+unverified",
        "*:443+any+unverified",
    ] {
        assert_eq!(rule(text).to_string(), text);
        // A batch sends policies to its workers as JSON.
        let json = serde_json::to_string(&rule(text)).unwrap();
        assert_eq!(serde_json::from_str::<NetRule>(&json).unwrap(), rule(text));
    }
    assert_eq!(rule("tcp:EXAMPLE.org.:443-443").to_string(), "example.org:443");
    assert_eq!(rule("[::ffff:192.0.2.1]:80").to_string(), "192.0.2.1:80");
}

#[test]
fn mistakes_name_the_rule_the_cause_and_the_remedy() {
    for (text, expect) in [
        ("", "`` is not a host"),
        ("exa mple.org", "`exa mple.org` is not a host"),
        ("*.*.org", "is not a host"),
        ("a.*.org", "is not a host"),
        ("http://x", "a rule is HOST[:PORT], not a URL; write `x:80`"),
        ("https://user@x/path?a=b:c", "write `x:443`"),
        ("https://[2001:db8::1]:8443/", "write `[2001:db8::1]:8443`"),
        ("scheme://x", "write `x`"),
        ("://", "write `example.org:443`"),
        ("user@example.org", "is not a host"),
        ("example.org:", "`` is not a port from 1 to 65535"),
        ("example.org:0", "`0` is not a port"),
        ("example.org:65536", "`65536` is not a port"),
        ("example.org:+80", "unknown word `+80`"),
        ("example.org:90-80", "write the smaller port first"),
        ("example.org:80+privat", "unknown word `+privat`; expected one of `+loopback`"),
        ("udp:example.org:443+unverified", "is for connections by TCP"),
        ("2001:db8::1", "write an IPv6 address in brackets"),
        ("[2001:db8::1]443", "unexpected `443` after the host"),
        ("[192.0.2.1]:80", "is not a block of addresses"),
        ("[192.0.2.0/24]:80", "and IPv4 without"),
        ("10.1.2.3/8:80", "write `10.0.0.0/8`"),
        ("10.0.0.0/33", "is not a block of addresses"),
        ("[::ffff:10.0.0.0/104]", "as IPv4"),
        ("0.0.0.0:80", "hosts cannot have these addresses"),
        ("255.255.255.255", "hosts cannot have these addresses"),
        ("169.254.169.254:80", "write `169.254.169.254:80+metadata`"),
        ("2130706433", "is not a host"),
        ("127.1", "is not a host"),
        ("0x7f.0x1", "is not a host"),
    ] {
        let error = text.parse::<NetRule>().unwrap_err().to_string();
        assert!(error.contains(expect) && error.contains(&format!("`{text}`")), "{text}: {error}");
    }
}

#[test]
fn names_and_wildcards() {
    let name = |text: &str| Name::parse(text).unwrap();
    assert!(rule("example.org").names(&name("Example.ORG.")));
    assert!(!rule("example.org").names(&name("www.example.org")));
    assert!(rule("*.example.org").names(&name("www.example.org")));
    assert!(rule("*.example.org").names(&name("a.b.example.org")));
    for other in ["example.org", "badexample.org", "example.org.evil.net"] {
        assert!(!rule("*.example.org").names(&name(other)), "{other}");
    }
    for text in ["", ".", "a..b", "-a", "a-", "ä.org", "a b", "127.0.0.1", "1", "0x10", "a.0x1f", "a.b.3", "::1"] {
        assert!(Name::parse(text).is_none(), "{text}");
    }
    assert!(Name::parse(&"a.".repeat(128)).is_none(), "longer than DNS allows");
}

#[test]
fn a_special_address_needs_its_word_or_a_literal() {
    for (text, address, expect) in [
        ("93.184.216.34:443", "93.184.216.34:443", true),
        ("93.184.216.34:443", "93.184.216.34:80", false),
        ("0.0.0.0/0", "93.184.216.34:443", true),
        ("0.0.0.0/0", "127.0.0.1:80", false),
        ("0.0.0.0/0", "10.0.0.1:80", false),
        ("0.0.0.0/0+loopback", "127.0.0.1:80", true),
        ("0.0.0.0/0+loopback", "10.0.0.1:80", false),
        ("0.0.0.0/0+loopback+private", "0.0.0.0:80", false),
        ("127.0.0.1:80", "127.0.0.1:80", true),
        ("127.0.0.0/8", "127.9.9.9:80", true),
        ("10.0.0.0/8:5432", "10.1.2.3:5432", true),
        ("10.0.0.0/8:5432", "11.1.2.3:5432", false),
        // Larger than one special range.
        ("10.0.0.0/7", "10.1.2.3:80", false),
        ("10.0.0.0/7", "11.1.2.3:80", true),
        // Metadata services are in ranges that a rule may name.
        ("169.254.0.0/16:80", "169.254.1.1:80", true),
        ("169.254.0.0/16:80", "169.254.169.254:80", false),
        ("169.254.0.0/16:80+metadata", "169.254.169.254:80", true),
        ("[fc00::/7]:80", "[fd00:ec2::254]:80", false),
        ("[fc00::/7]:80", "[fd00::1]:80", true),
        ("100.64.0.0/10", "100.100.100.200:80", false),
        // IPv4 in IPv6.
        ("[::/0]", "[2606:4700::1111]:443", true),
        ("[::/0]", "[::1]:80", false),
        ("127.0.0.1:80", "[::ffff:127.0.0.1]:80", true),
        ("[::/0]", "[64:ff9b::7f00:1]:80", false),
        ("[::/0]", "[2002:7f00:1::]:80", false),
        ("[64:ff9b::/96]", "[64:ff9b::a00:1]:80", false),
        ("[64:ff9b::/96]", "[64:ff9b::808:808]:80", true),
    ] {
        assert_eq!(allows(text, address), expect, "{text} {address}");
    }
}

#[test]
fn a_rule_is_about_one_transport() {
    let address: SocketAddr = "192.0.2.53:53".parse().unwrap();
    assert!(rule("udp:192.0.2.53:53").allows(Transport::Udp, address));
    assert!(!rule("udp:192.0.2.53:53").allows(Transport::Tcp, address));
    assert!(!rule("192.0.2.53:53").allows(Transport::Udp, address));
}

#[test]
fn every_kind_of_special_address_is_known() {
    for (text, expect) in [
        ("127.0.0.1", Special::Loopback),
        ("::1", Special::Loopback),
        ("::ffff:127.0.0.1", Special::Loopback),
        ("::127.0.0.1", Special::Loopback),
        ("64:ff9b::127.0.0.1", Special::Loopback),
        ("2002:7f00:1::1", Special::Loopback),
        // Teredo, client 127.0.0.1.
        ("2001:0:5db8:d822::80ff:fffe", Special::Loopback),
        ("fe80::5efe:127.0.0.1", Special::LinkLocal),
        ("2600::5efe:127.0.0.1", Special::Loopback),
        ("169.254.1.1", Special::LinkLocal),
        ("fe80::1", Special::LinkLocal),
        ("10.0.0.1", Special::Private),
        ("172.31.255.255", Special::Private),
        ("192.168.0.1", Special::Private),
        ("100.64.0.1", Special::Private),
        ("fd00::1", Special::Private),
        ("169.254.169.254", Special::Metadata),
        ("::ffff:169.254.169.254", Special::Metadata),
        ("fd00:ec2::254", Special::Metadata),
        ("100.100.100.200", Special::Metadata),
        ("224.0.0.1", Special::Multicast),
        ("ff02::1", Special::Multicast),
        ("0.0.0.0", Special::Reserved),
        ("::", Special::Reserved),
        ("255.255.255.255", Special::Reserved),
    ] {
        assert_eq!(Special::of(ip(text)), Some(expect), "{text}");
    }
    for text in ["1.1.1.1", "2606:4700::1111", "172.32.0.1", "100.128.0.1", "64:ff9b::1.1.1.1"] {
        assert_eq!(Special::of(ip(text)), None, "{text}");
    }
}

#[test]
fn listen_rules_are_parsed_and_matched() {
    for text in ["127.0.0.1:8080", "[::1]:8000-8010", "0.0.0.0:0", "udp:[::]:53"] {
        assert_eq!(text.parse::<ListenRule>().unwrap().to_string(), text);
    }
    for (text, expect) in [
        ("localhost:80", "not an address"),
        ("127.0.0.1", "the port is missing"),
        ("127.0.0.0/8:80", "not an address"),
        ("127.0.0.1:99999", "is not a port from 0 to 65535"),
        ("::1", "in brackets"),
    ] {
        let error = text.parse::<ListenRule>().unwrap_err().to_string();
        assert!(error.contains(expect), "{text}: {error}");
    }
    let at = |text: &str| text.parse::<SocketAddr>().unwrap();
    let chosen: ListenRule = "127.0.0.1:0".parse().unwrap();
    assert!(chosen.allows_bind(Transport::Tcp, at("127.0.0.1:0")));
    assert!(!chosen.allows_bind(Transport::Tcp, at("127.0.0.1:80")));
    assert!(!chosen.allows_bind(Transport::Udp, at("127.0.0.1:0")));
    assert!(chosen.allows_listen(Transport::Tcp, at("127.0.0.1:43211")));
    let every: ListenRule = "0.0.0.0:80".parse().unwrap();
    assert!(every.allows_bind(Transport::Tcp, at("127.0.0.1:80")));
    assert!(!every.allows_bind(Transport::Tcp, at("[::1]:80")));
    assert!(!every.allows_listen(Transport::Tcp, at("0.0.0.0:43211")));
}

fn address() -> impl Strategy<Value = IpAddr> {
    let v4 = any::<u32>().prop_map(Ipv4Addr::from);
    let special = prop_oneof![
        Just(0x7f00_0001_u32),
        Just(0x0a00_0001),
        Just(0xa9fe_a9fe),
        Just(0xc0a8_0101),
        Just(0x6440_0001),
        Just(0)
    ];
    let inside = (special, 0..5_usize).prop_map(|(v4, form)| {
        let low = u128::from(v4);
        IpAddr::V6(Ipv6Addr::from(match form {
            0 => 0xffff_0000_0000 | low,
            1 => (0x0064_ff9b << 96) | low,
            2 => (0x2002 << 112) | (low << 80) | 1,
            3 => (0x2001_u128 << 112) | (0x0102_0304 << 64) | u128::from(!v4),
            _ => low,
        }))
    });
    prop_oneof![v4.prop_map(IpAddr::V4), any::<u128>().prop_map(|bits| IpAddr::V6(bits.into())), inside]
}

/// Generates rules whose hosts are not special, so that only a word includes a special address.
fn broad() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0.0.0.0/0".to_owned()),
        Just("[::/0]".to_owned()),
        (0..4_u8, any::<u32>()).prop_map(|(bits, address)| {
            let block = ipnet::Ipv4Net::new(address.into(), bits).unwrap().trunc();
            block.to_string()
        }),
        "[a-z]{1,9}(\\.[a-z]{1,9}){0,2}",
        "\\*\\.[a-z]{1,9}",
    ]
}

proptest! {
    #[test]
    fn no_special_address_passes_a_rule_without_its_word(text in broad(), address in address()) {
        // A block may be completely in the multicast or reserved range; then it needs no word.
        let Ok(rule) = text.parse::<NetRule>() else { return Ok(()) };
        let special = Special::of(address.to_canonical());
        prop_assume!(special.is_some() && special != Some(Special::Multicast));
        prop_assert!(!rule.admits(address), "{text} {address}");
        prop_assert!(!rule.holds(address), "{text} {address}");
    }

    #[test]
    fn a_word_admits_its_own_kind_alone(text in broad(), address in address()) {
        let Ok(rule) = format!("{text}+private").parse::<NetRule>() else { return Ok(()) };
        let expect = matches!(Special::of(address.to_canonical()), None | Some(Special::Private));
        prop_assume!(Special::of(address.to_canonical()) != Some(Special::Multicast));
        prop_assert_eq!(rule.admits(address), expect, "{} {}", text, address);
    }

    #[test]
    fn what_is_shown_is_read_back(
        prefix in prop_oneof![Just(""), Just("tcp:"), Just("udp:")],
        host in prop_oneof![
            broad(),
            any::<u32>().prop_map(|bits| Ipv4Addr::from(bits).to_string()),
            any::<u128>().prop_map(|bits| format!("[{}]", Ipv6Addr::from(bits))),
        ],
        ports in prop_oneof![
            Just(String::new()),
            (1..=65535_u16).prop_map(|port| format!(":{port}")),
            (1..=65535_u16, 1..=65535_u16).prop_map(|(a, b)| format!(":{}-{}", a.min(b), a.max(b))),
        ],
        word in prop_oneof![Just(""), Just("+loopback"), Just("+metadata+private"), Just("+link-local+link-local")],
    ) {
        let Ok(rule) = format!("{prefix}{host}{ports}{word}").parse::<NetRule>() else { return Ok(()) };
        prop_assert_eq!(rule.to_string().parse::<NetRule>().unwrap(), rule);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "\\PC{0,40}") {
        let _ = text.parse::<NetRule>();
        let _ = text.parse::<ListenRule>();
        let _ = Name::parse(&text);
    }
}
