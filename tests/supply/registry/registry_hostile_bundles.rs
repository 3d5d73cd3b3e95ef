//! Bundles that are damaged or hostile: nothing is kept that has another digest, and nothing is written elsewhere.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode};

use crate::supply::registry::registry_bundles::{away, load, pulled, python, run_offline, save};
use crate::supply::registry::registry_place::Place;

/// Writes changed copies of a bundle to a folder: one for each kind of damage.
const DAMAGE: &str = r#"
import copy, io, json, sys, tarfile
bundle, folder, layer = sys.argv[1:]
members = [(m.name, tarfile.open(bundle).extractfile(m).read()) for m in tarfile.open(bundle)]
blobs = [name for name, _ in members if name.startswith('blobs/')]
wanted = 'blobs/sha256/' + layer

def info(name, kind=tarfile.REGTYPE, size=0, link=''):
    made = tarfile.TarInfo(name)
    made.type, made.size, made.linkname = kind, size, link
    return made

def write(name, changed, extra=lambda tar: None):
    with tarfile.open(f'{folder}/{name}.tar', 'w', format=tarfile.GNU_FORMAT) as tar:
        for member in changed:
            tar.addfile(info(member[0], size=len(member[1])), io.BytesIO(member[1]))
        extra(tar)

def without(name):
    return [member for member in members if member[0] != name]

def flip(data):
    return data[:-1] + bytes([data[-1] ^ 1])

for number, blob in enumerate(blobs):
    write(f'bad-flipped-{number}', [(n, flip(d) if n == blob else d) for n, d in members])
    write(f'bad-missing-{number}', without(blob))
    write(f'bad-short-{number}', [(n, d[:-1] if n == blob else d) for n, d in members])
    write(f'bad-long-{number}', [(n, d + b'x' if n == blob else d) for n, d in members])
kinds = dict(link=tarfile.SYMTYPE, hard=tarfile.LNKTYPE, char=tarfile.CHRTYPE, block=tarfile.BLKTYPE,
             fifo=tarfile.FIFOTYPE, folder=tarfile.DIRTYPE)
for name, kind in kinds.items():
    write(f'bad-{name}', without(wanted), lambda tar: tar.addfile(info(wanted, kind, 0, '/etc/passwd')))
    write(f'good-{name}', members, lambda tar: tar.addfile(info('outside', kind, 0, '/etc/passwd')))
data = dict(members)[wanted]
for name, path in [('climbs', '../' * 9 + wanted), ('absolute', '/' + wanted), ('deep', 'x/../' + wanted)]:
    write(f'bad-{name}', [(path if n == wanted else n, d) for n, d in members])
names = [('climbs', '../outside'), ('absolute', f'{folder}/outside'), ('blobs', 'blobs/sha256/../../outside')]
for name, path in names:
    write(f'good-{name}', members + [(path, b'x')])
write('good-twice', members + members)
write('bad-other-first', [(wanted, b'\0asm other')] + members)
write('bad-no-index', without('index.json'))
write('bad-no-layout', without('oci-layout'))
write('bad-layout', [(n, b'{"imageLayoutVersion": "2.0.0"}' if n == 'oci-layout' else d) for n, d in members])
index = json.loads(dict(members)['index.json'])
def indexed(name, change):
    changed = copy.deepcopy(index)
    change(changed)
    write(name, [(n, json.dumps(changed).encode() if n == 'index.json' else d) for n, d in members])
indexed('bad-size', lambda index: index['manifests'][0].update(size=2**63 - 1))
indexed('bad-small', lambda index: index['manifests'][0].update(size=10))
indexed('bad-digest', lambda index: index['manifests'][0].update(digest='sha256:../../../outside'))
indexed('bad-other', lambda index: index['manifests'][0].update(digest='sha256:' + '0' * 64))
indexed('bad-version', lambda index: index.update(schemaVersion=3))
write('bad-index', [(n, b'{' if n == 'index.json' else d) for n, d in members])
write('bad-large-index', [(n, b' ' * (5 << 20) if n == 'index.json' else d) for n, d in members])
write('bad-many', members, lambda tar: [tar.addfile(info(str(at))) for at in range(100001 - len(members))])

def huge(name, size):
    with open(f'{folder}/{name}.tar', 'wb') as tar:
        for member in members:
            made = info(member[0], size=size if member[0] == wanted else len(member[1]))
            tar.write(made.tobuf(tarfile.GNU_FORMAT) + member[1] + b'\0' * (-len(member[1]) % 512))
for bits in (33, 40, 62, 63):
    huge(f'bad-huge-{bits}', 2**bits)
    with open(f'{folder}/bad-huge-end-{bits}.tar', 'wb') as tar:
        whole = open(bundle, 'rb').read().rstrip(b'\0')
        tar.write(whole + b'\0' * (-len(whole) % 512) + info('more', size=2**bits).tobuf(tarfile.GNU_FORMAT))
with open(f'{folder}/bad-text.tar', 'w') as text:
    text.write('not a tar ' * 100)
open(f'{folder}/bad-empty.tar', 'w').close()
"#;

/// Asserts that a load fails and names the bundle, and that the store is whole.
#[track_caller]
fn refuses(place: &Place, bundle: &Path) {
    let refused = load(place, bundle).exits_with(3).says(bundle.to_str().unwrap());
    assert_eq!((refused.stdout_text().as_str(), place.lock().as_str()), ("", ""), "{}", bundle.display());
    place.assert_store_whole();
}

#[test]
fn damaged_and_hostile_bundles_are_refused_and_write_nothing_outside() {
    let home = Place::new();
    pulled(&home, &["one"]);
    let layer = home.layer("one", "1").trim_start_matches("sha256:").to_owned();
    let folder = home.dir.mkdir("bundles");
    python(DAMAGE, &[&save(&home), &folder, Path::new(&layer)]);
    let mut bundles: Vec<_> = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path()).collect();
    bundles.sort();
    assert!(bundles.len() > 50, "{bundles:?}");
    let count = bundles.len();
    for bundle in bundles {
        let away = away();
        if bundle.file_name().unwrap().to_str().unwrap().starts_with("good-") {
            load(&away, &bundle).exits_with(0);
            assert_eq!(run_offline(&away, &home.reference("one:1")).run().exits_with(0).json()["word"], "one");
            assert_eq!(away.assert_store_whole().len(), 2);
            fs::remove_file(away.dir.join("modbox.lock")).unwrap();
        } else {
            refuses(&away, &bundle);
        }
        let mut left: Vec<_> =
            fs::read_dir(away.dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["home", "tmp"], "{}", bundle.display());
        away.dir.assert_nothing_left();
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), count, "nothing is written beside the bundles");
}

#[test]
fn a_bundle_that_is_cut_off_is_refused() {
    let (home, away) = (Place::new(), away());
    pulled(&home, &["one"]);
    let bytes = fs::read(save(&home)).unwrap();
    let content = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    for end in (0..content).step_by(700).chain([1, 511, 512, 513, content]) {
        refuses(&away, &away.dir.write("cut.tar", &bytes[..end]));
    }
    load(&away, &away.dir.write("whole.tar", &bytes)).exits_with(0);
    away.assert_store_whole();
}

#[test]
fn only_a_regular_file_is_a_bundle() {
    let place = Place::new();
    place.dir.mkdir("folder");
    let fifo = place.dir.join("fifo");
    rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    symlink("nothing", place.dir.join("link")).unwrap();
    for bundle in ["folder", "fifo", "missing", "link"].map(|name| place.dir.join(name)) {
        refuses(&place, &bundle);
    }
    for device in ["/dev/zero", "/dev/null"] {
        refuses(&place, Path::new(device));
    }
}

#[test]
fn a_name_in_a_bundle_that_names_nothing_is_told_and_not_locked() {
    const RENAME: &str = "import sys; data = open(sys.argv[1], 'rb').read(); old = sys.argv[3].encode();\n\
        new = b'\\\\u001b[31m/x'.ljust(len(old), b'.'); assert old in data\n\
        open(sys.argv[2], 'wb').write(data.replace(old, new))";
    let (home, away) = (Place::new(), away());
    let digests = pulled(&home, &["one"]);
    let named = home.reference("one:1");
    let bundle = away.dir.join("named.tar");
    python(RENAME, &[&save(&home), &bundle, Path::new(named.trim_start_matches("oci://"))]);
    let loaded = load(&away, &bundle).exits_with(0).says("is kept, and is not the name of a module in a registry");
    assert!(!loaded.stderr_text().contains('\u{1b}') && loaded.stdout_text().is_empty(), "{loaded}");
    assert_eq!(away.lock(), "");
    let fixed = home.reference(&format!("one@{}", digests[0]));
    assert_eq!(run_offline(&away, &fixed).run().exits_with(0).json()["word"], "one");
}
