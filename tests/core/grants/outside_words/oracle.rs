//! The forms of words by hand-made automata, for the test of random words.

use modbox_policy::outside::Kind;

/// What the oracle has read of a word.
struct Read<'w> {
    rest: &'w [char],
}

impl Read<'_> {
    fn one(&mut self, is: impl Fn(char) -> bool) -> bool {
        match self.rest.split_first() {
            Some((first, rest)) if is(*first) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn many(&mut self, is: impl Fn(char) -> bool) -> usize {
        let mut count = 0;
        while self.one(&is) {
            count += 1;
        }
        count
    }

    fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }
}

fn letter(character: char) -> bool {
    character.is_ascii_alphabetic()
}

fn digit(character: char) -> bool {
    character.is_ascii_digit()
}

fn plain(character: char) -> bool {
    letter(character) || digit(character)
}

/// Whether the word is of the kind, by the table of the design.
pub(crate) fn is_of_kind(kind: Kind, word: &str) -> bool {
    let characters: Vec<char> = word.chars().collect();
    let printable = characters.iter().all(|character| {
        let number = u32::from(*character);
        number >= 0x20 && !(0x7f..=0x9f).contains(&number) && !(0x2028..=0x202e).contains(&number)
    });
    if characters.first().is_none_or(|first| *first == '-') || !printable {
        return false;
    }
    let mut read = Read { rest: &characters };
    let read = &mut read;
    let short = |most: usize| word.len() <= most;
    match kind {
        Kind::Text => short(4096),
        Kind::Unit => {
            read.many(|it| plain(it) || matches!(it, ':' | '_' | '.' | '\\' | '@' | '-'));
            read.is_at_end() && word != "." && word != ".." && short(255)
        }
        Kind::Package => package(&characters) && short(255),
        Kind::User => user(read) && read.is_at_end() && short(32),
        Kind::Users => loop {
            let before = read.rest.len();
            if !user(read) || before - read.rest.len() > 32 {
                break false;
            }
            if read.is_at_end() {
                break short(4096);
            }
            if !read.one(|it| it == ',') {
                break false;
            }
        },
        Kind::Key => key(read) && read.is_at_end() && short(255),
        Kind::Setting => {
            let is_key = key(read) && read.one(|it| it == '=');
            is_key
                && read.many(|it| plain(it) || matches!(it, ' ' | '.' | '_' | ':' | ',' | '/' | '+' | '-')) > 0
                && read.is_at_end()
                && short(4096)
        }
        Kind::Module => {
            read.one(|it| plain(it) || it == '_') && {
                read.many(|it| plain(it) || it == '_' || it == '-');
                read.is_at_end() && short(64)
            }
        }
        Kind::Chain => {
            read.one(|it| plain(it) || it == '_') && {
                read.many(|it| plain(it) || matches!(it, '_' | '.' | '-'));
                read.is_at_end() && short(28)
            }
        }
        Kind::Path => path(read) && short(4095),
        Kind::Home => {
            let system = [
                "bin",
                "boot",
                "dev",
                "efi",
                "etc",
                "lib",
                "lib32",
                "lib64",
                "libx32",
                "proc",
                "root",
                "run",
                "sbin",
                "sys",
                "tmp",
                "usr",
                "var/backups",
                "var/cache",
                "var/lib/apt",
                "var/lib/dpkg",
                "var/lib/polkit-1",
                "var/lib/rpm",
                "var/lib/systemd",
                "var/lock",
                "var/log",
                "var/run",
                "var/spool",
                "var/tmp",
            ];
            let whole = format!("{word}/");
            let top = ["/home/", "/media/", "/mnt/", "/opt/", "/srv/", "/var/", "/var/lib/"].contains(&whole.as_str());
            let within = system.iter().any(|folder| whole.starts_with(&format!("/{folder}/")));
            path(read) && short(4095) && !top && !within && !characters.contains(&':')
        }
        Kind::Input | Kind::Settings => {
            let whole =
                ["/dev", "/proc", "/sys"].iter().any(|it| word.starts_with(it) && word[it.len()..].starts_with('/'));
            path(read) && short(4095) && !whole
        }
        Kind::Id | Kind::HighId => number(word, if kind == Kind::Id { 1 } else { 1000 }, 4_294_967_294),
        Kind::Number => read.many(digit) <= 10 && read.is_at_end(),
        Kind::Date => date(&characters),
        Kind::Hash => {
            read.many(|it| plain(it) || matches!(it, '.' | '/' | '$' | '!' | '*' | '=' | ',' | '_' | '+' | '-'));
            read.is_at_end() && short(1024)
        }
        Kind::Zone => {
            let mut parts = 0;
            loop {
                if !read.one(plain) {
                    break false;
                }
                read.many(|it| plain(it) || matches!(it, '_' | '+' | '-'));
                parts += 1;
                if read.is_at_end() {
                    break parts <= 3 && short(64);
                }
                if !read.one(|it| it == '/') {
                    break false;
                }
            }
        }
        Kind::Name => {
            let dots = characters.windows(2).any(|pair| pair == ['.', '.']);
            read.one(|it| plain(it) || it == '_') && !dots && {
                read.many(|it| plain(it) || "_.,:+~@-".contains(it));
                read.is_at_end() && short(255)
            }
        }
        Kind::Address => address(word),
        Kind::Ports => ports(word),
    }
}

fn user(read: &mut Read<'_>) -> bool {
    read.one(|it| letter(it) || it == '_') && {
        read.many(|it| plain(it) || matches!(it, '_' | '.' | '-'));
        true
    }
}

fn key(read: &mut Read<'_>) -> bool {
    let mut parts = 0;
    loop {
        if !read.one(|it| plain(it) || it == '_') {
            return false;
        }
        read.many(|it| plain(it) || it == '_' || it == '-');
        parts += 1;
        if !read.one(|it| it == '.') {
            return parts > 1;
        }
    }
}

fn path(read: &mut Read<'_>) -> bool {
    loop {
        if !read.one(|it| it == '/') {
            return false;
        }
        let part: String = read.rest.iter().take_while(|it| **it != '/').collect();
        if part.is_empty() || part == "." || part == ".." {
            return false;
        }
        read.many(|it| it != '/');
        if read.is_at_end() {
            return true;
        }
    }
}

/// Reads a package from its end to its begin, as `apt-get` looks at ends first.
fn package(characters: &[char]) -> bool {
    let equals = characters.iter().position(|it| *it == '=');
    let (front, version) = match equals {
        Some(at) => (&characters[..at], Some(&characters[at + 1..])),
        None => (characters, None),
    };
    let colon = front.iter().position(|it| *it == ':');
    let (name, architecture) = match colon {
        Some(at) => (&front[..at], Some(&front[at + 1..])),
        None => (front, None),
    };
    let between = |part: &[char], others: &str| match part {
        [] => false,
        [only] => plain(*only),
        [first, middle @ .., last] => {
            plain(*first) && plain(*last) && middle.iter().all(|it| plain(*it) || others.contains(*it))
        }
    };
    let text: String = name.iter().collect::<String>().to_lowercase();
    let is_file = ["deb", "rpm", "udeb", "ddeb", "drpm", "dsc", "changes"]
        .iter()
        .any(|end| text.rsplit_once('.').is_some_and(|(_, last)| last == *end));
    let stem = match name {
        [stem @ .., '+', '+'] => stem,
        all => all,
    };
    between(stem, ".+_-")
        && !is_file
        && architecture.is_none_or(|part| between(part, "-"))
        && version.is_none_or(|part| between(part, ".+~:-"))
}

/// Whether a text is a number in decimal digits without leading zeros.
fn number(word: &str, least: u64, most: u64) -> bool {
    let mut value: u64 = 0;
    for character in word.chars() {
        let Some(digit) = character.to_digit(10) else { return false };
        if value == 0 && digit == 0 {
            return false;
        }
        value = value.saturating_mul(10).saturating_add(u64::from(digit));
    }
    (least..=most).contains(&value)
}

fn date(characters: &[char]) -> bool {
    let value = |digits: &[char]| digits.iter().try_fold(0, |sum, it| Some(sum * 10 + it.to_digit(10)?));
    match characters {
        [y1, y2, y3, y4, '-', m1, m2, '-', d1, d2] => {
            value(&[*y1, *y2, *y3, *y4]).is_some()
                && value(&[*m1, *m2]).is_some_and(|month| (1..=12).contains(&month))
                && value(&[*d1, *d2]).is_some_and(|day| (1..=31).contains(&day))
        }
        days => days.len() <= 6 && value(days).is_some(),
    }
}

/// Whether `getaddrinfo` of another library than the one under test would take it: digits and dots are counted here.
fn address(word: &str) -> bool {
    if word == "any" {
        return true;
    }
    let (host, bits) = word.split_once('/').map_or((word, None), |(host, bits)| (host, Some(bits)));
    let quads: Vec<&str> = host.split('.').collect();
    let is_v4 = quads.len() == 4 && quads.iter().all(|quad| *quad == "0" || number(quad, 1, 255));
    let is_v6 = host.parse::<std::net::Ipv6Addr>().is_ok();
    let most = if is_v4 { 32 } else { 128 };
    (is_v4 || is_v6) && bits.is_none_or(|bits| bits == "0" || number(bits, 1, most))
}

fn ports(word: &str) -> bool {
    let word = word.strip_suffix("/tcp").or_else(|| word.strip_suffix("/udp")).unwrap_or(word);
    let mut count = 0;
    for item in word.split(',') {
        count += 1;
        let ends: Vec<&str> = item.split([':', '-']).collect();
        let is_port =
            |text: &&str| text.len() <= 5 && number(text.trim_start_matches('0'), 1, 65535) && text.chars().all(digit);
        if ends.len() > 2 || !ends.iter().all(is_port) {
            return false;
        }
    }
    count <= 15
}
