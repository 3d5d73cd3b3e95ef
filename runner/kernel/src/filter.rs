//! The instructions of a filter: numbers of calls looked up by halves, and tests of their arguments behind that.
//!
//! The kernel takes a filter apart for every call there is when it is installed, and walks through it for many calls
//! afterwards, so it matters how far it is to an answer: seccompiler puts calls one after the other, each rule with the
//! number asked for again, and takes as long to write that as the kernel to read it. It knows nothing of what is refused,
//! and why.

use seccompiler::{BpfProgram, sock_filter};

/// The name of this architecture in a filter.
#[cfg(target_arch = "x86_64")]
pub(super) const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const AUDIT_ARCH: u32 = 0xc000_00b7;
/// One for which there is no filter, see `seccomp::compile`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) const AUDIT_ARCH: u32 = 0;

/// From here on, calls are of x32, or of nothing.
pub(super) const X32: u32 = 0x4000_0000;

/// More than any call has for a number; what comes after the last one that is named is allowed.
const CALLS: usize = 512;

/// What the number of a call says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is made.
    Allow,
    /// It fails with this error.
    Fail(i32),
    /// It fails with the error of the first of the rules at this index that holds, and is made otherwise.
    When(usize),
}

/// What all numbers say, each in its place: a filter is made at every start, and a map of them took longer than the rest.
#[derive(Debug)]
pub(super) struct Verdicts([Verdict; CALLS]);

impl Verdicts {
    /// Allows all of them.
    pub(super) fn new() -> Self {
        Self([Verdict::Allow; CALLS])
    }

    /// Says something else about one.
    ///
    /// # Errors
    ///
    /// A number that no call has.
    pub(super) fn set(&mut self, number: i64, verdict: Verdict) -> Result<(), String> {
        let place = usize::try_from(number).ok().and_then(|number| self.0.get_mut(number));
        *place.ok_or_else(|| format!("seccomp: no call has the number {number}"))? = verdict;
        Ok(())
    }
}

/// What is asked of an argument. The kernel takes all of these but pointers as 32 bits wide: comparing 64 could be
/// evaded with bits that it does not see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    /// It has one of these bits.
    HasAny(u32),
    /// It has none of these bits.
    HasNone(u32),
    /// It is this.
    Is(u32),
    /// It is not this.
    IsNot(u32),
    /// These bits of it are this.
    Masked(u32, u32),
    /// All 64 bits: it is no null pointer.
    NotNull,
}

/// What is asked of which argument, from zero.
pub(super) type Condition = (u8, Test);

/// Refuses a call when all of the conditions hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) conditions: Vec<Condition>,
    /// What the call fails with.
    pub(super) errno: i32,
}

/// Makes a filter: calls of other architectures and numberings fail with `EPERM`, those of `verdicts` as it says, all
/// others are made.
pub(super) fn program(verdicts: &Verdicts, rules: &[Vec<Rule>]) -> BpfProgram {
    let mut writer = Backwards::default();
    let blocks: Vec<Place> = rules.iter().map(|rules| writer.block(rules)).collect();
    // It ends with its first question, so that what is put before it goes on there.
    writer.search(&ranges(verdicts), &blocks);
    let known = writer.put(LOAD, NUMBER);
    let refused = writer.fail(libc::EPERM);
    writer.branch(JUMP_EQUAL, AUDIT_ARCH, known, refused);
    writer.put(LOAD, ARCHITECTURE);
    writer.reversed.reverse();
    writer.reversed
}

/// Calls from a number up to the next range's.
type Range = (u32, Verdict);

/// Gathers calls whose numbers follow each other.
fn ranges(verdicts: &Verdicts) -> Vec<Range> {
    let mut ranges: Vec<Range> = Vec::with_capacity(CALLS / 4);
    for (number, verdict) in (0..).zip(&verdicts.0) {
        if ranges.last().is_none_or(|(_, last)| last != verdict) {
            ranges.push((number, *verdict));
        }
    }
    ranges.push((X32, Verdict::Fail(libc::EPERM)));
    ranges
}

/// Where an instruction is, counted from the end of the program.
type Place = usize;

/// A program that is written from its end to its start: jumps only go forward, so that whatever one leads to is there
/// already, and an answer needs to be there once for all that come to it from near.
#[derive(Debug, Default)]
struct Backwards {
    reversed: BpfProgram,
    /// The answers that were written, the nearest last.
    answers: Vec<(u32, Place)>,
}

impl Backwards {
    /// Writes an instruction before all others.
    fn put(&mut self, code: u16, k: u32) -> Place {
        self.jump(code, k, 0, 0)
    }

    fn jump(&mut self, code: u16, k: u32, jt: u8, jf: u8) -> Place {
        self.reversed.push(sock_filter { code, jt, jf, k });
        self.reversed.len() - 1
    }

    /// How many instructions lie between the next one and a place.
    fn distance(&self, to: Place) -> usize {
        self.reversed.len() - to - 1
    }

    /// Goes to one place or to the other.
    fn branch(&mut self, code: u16, k: u32, yes: Place, no: Place) -> Place {
        let (yes, no) = (self.near(yes), self.near(no));
        let (yes, no) = (self.distance(yes), self.distance(no));
        // Both are near, so that neither is cut off; the kernel refuses a filter whose jumps leave it.
        self.jump(code, k, u8::try_from(yes).unwrap_or(u8::MAX), u8::try_from(no).unwrap_or(u8::MAX))
    }

    /// Returns a place that leads to this one, and that a branch reaches even when one more instruction comes between.
    fn near(&mut self, to: Place) -> Place {
        match u32::try_from(self.distance(to)) {
            Ok(distance) if distance >= u32::from(u8::MAX) => self.put(JUMP, distance),
            _ => to,
        }
    }

    /// Ends with an answer.
    fn answer(&mut self, answer: u32) -> Place {
        let near = self.answers.iter().rev().find(|(written, _)| *written == answer).map(|(_, place)| *place);
        match near.filter(|place| self.distance(*place) < usize::from(u8::MAX)) {
            Some(place) => place,
            None => {
                let place = self.put(RETURN, answer);
                self.answers.push((answer, place));
                place
            }
        }
    }

    fn allow(&mut self) -> Place {
        self.answer(libc::SECCOMP_RET_ALLOW)
    }

    fn fail(&mut self, errno: i32) -> Place {
        self.answer(libc::SECCOMP_RET_ERRNO | errno.cast_unsigned())
    }

    /// Looks a number up by halves.
    fn search(&mut self, ranges: &[Range], blocks: &[Place]) -> Place {
        match ranges {
            [] | [(_, Verdict::Allow)] => self.allow(),
            [(_, Verdict::Fail(errno))] => self.fail(*errno),
            [(_, Verdict::When(rules))] => blocks[*rules],
            ranges => {
                let (low, high) = ranges.split_at(ranges.len() / 2);
                let above = self.search(high, blocks);
                let below = self.search(low, blocks);
                self.branch(JUMP_GREATER_OR_EQUAL, high[0].0, above, below)
            }
        }
    }

    /// Refuses when one of the rules holds.
    fn block(&mut self, rules: &[Rule]) -> Place {
        let mut next = self.allow();
        for rule in rules.iter().rev() {
            let mut holds = self.fail(rule.errno);
            for (argument, test) in rule.conditions.iter().rev() {
                holds = self.test(ARGUMENTS + 8 * u32::from(*argument), *test, holds, next);
            }
            next = holds;
        }
        next
    }

    /// Tests an argument that starts there.
    fn test(&mut self, argument: u32, test: Test, yes: Place, no: Place) -> Place {
        match test {
            Test::HasAny(bits) => self.branch(JUMP_BITS, bits, yes, no),
            Test::HasNone(bits) => self.branch(JUMP_BITS, bits, no, yes),
            Test::Is(value) => self.branch(JUMP_EQUAL, value, yes, no),
            Test::IsNot(value) => self.branch(JUMP_EQUAL, value, no, yes),
            Test::Masked(bits, value) => {
                self.branch(JUMP_EQUAL, value, yes, no);
                self.put(AND, bits)
            }
            Test::NotNull => {
                self.branch(JUMP_EQUAL, 0, no, yes);
                let high = self.put(LOAD, argument + 4);
                self.branch(JUMP_EQUAL, 0, high, yes)
            }
        };
        self.put(LOAD, argument)
    }
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_GREATER_OR_EQUAL: u16 = 0x35;
const JUMP_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Where the data of a call has its number, its architecture and its arguments, whose low half comes first.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Runs a filter as the kernel does, on a call that is not made.
    pub(crate) fn answer(program: &[sock_filter], architecture: u32, number: i64, arguments: [u64; 4]) -> u32 {
        let mut data = vec![u32::try_from(number).unwrap(), architecture, 0, 0];
        for argument in arguments {
            data.extend([argument & 0xffff_ffff, argument >> 32].map(|half| u32::try_from(half).unwrap()));
        }
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            let jump = |taken: bool| usize::from(if taken { jt } else { jf });
            at += 1 + match code {
                LOAD => {
                    accumulator = data[k as usize / 4];
                    0
                }
                AND => {
                    accumulator &= k;
                    0
                }
                JUMP => k as usize,
                JUMP_EQUAL => jump(accumulator == k),
                JUMP_GREATER_OR_EQUAL => jump(accumulator >= k),
                JUMP_BITS => jump(accumulator & k != 0),
                RETURN => return k,
                other => panic!("instruction {other:#x}"),
            };
        }
    }

    #[test]
    fn each_test_asks_what_it_says() {
        let allowed = |test, value: u64| {
            let mut verdicts = Verdicts::new();
            verdicts.set(7, Verdict::When(0)).unwrap();
            let rules = [vec![(1, test), (0, Test::Is(1))], vec![(0, Test::Is(2))]];
            let program = program(&verdicts, &[rules.map(|conditions| Rule { conditions, errno: 1 }).to_vec()]);
            assert_eq!(answer(&program, AUDIT_ARCH, 6, [2, value, 0, 0]), libc::SECCOMP_RET_ALLOW);
            assert_eq!(answer(&program, AUDIT_ARCH, 7, [0, value, 0, 0]), libc::SECCOMP_RET_ALLOW);
            assert_ne!(answer(&program, AUDIT_ARCH, 7, [2, value, 0, 0]), libc::SECCOMP_RET_ALLOW);
            answer(&program, AUDIT_ARCH, 7, [1, value, 0, 0]) == libc::SECCOMP_RET_ALLOW
        };
        let high = 1 << 32;
        for (test, holds, fails) in [
            (Test::HasAny(6), vec![2, 4, 7, 6 | high], vec![0, 1, 8, high]),
            (Test::HasNone(6), vec![0, 1, 8, high], vec![2, 4, 7, 6 | high]),
            (Test::Is(5), vec![5, 5 | high], vec![4, 0, high]),
            (Test::IsNot(5), vec![4, 0, high], vec![5, 5 | high]),
            (Test::Masked(15, 3), vec![3, 19, 3 | high], vec![2, 7, high]),
            (Test::NotNull, vec![1, high, u64::MAX], vec![0]),
        ] {
            assert!(holds.iter().all(|value| !allowed(test, *value)), "{test:?}");
            assert!(fails.iter().all(|value| allowed(test, *value)), "{test:?}");
        }
    }

    #[test]
    fn a_number_that_no_call_has_is_not_passed_over() {
        assert!(Verdicts::new().set(-1, Verdict::Fail(libc::EPERM)).is_err());
        assert!(Verdicts::new().set(512, Verdict::Fail(libc::EPERM)).is_err());
    }
}
