//! The instructions of a filter: numbers of calls looked up by halves, and tests of their arguments behind that.
//!
//! The kernel takes a filter apart for every call there is when it is installed, and walks through it for many calls
//! afterwards, so it matters how far it is to an answer: seccompiler puts calls one after the other, each rule with the
//! number asked for again, and takes as long to write that as the kernel to read it. It knows nothing of what is refused,
//! and why.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, sock_filter};

/// The name of this architecture in a filter.
#[cfg(target_arch = "x86_64")]
pub(super) const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const AUDIT_ARCH: u32 = 0xc000_00b7;
/// One for which there is no filter, see `seccomp::compile`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) const AUDIT_ARCH: u32 = 0;

/// From here on, calls are of x32.
pub(super) const X32: u32 = 0x4000_0000;

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
pub(super) fn program(verdicts: &BTreeMap<u32, Verdict>, rules: &[Vec<Rule>]) -> BpfProgram {
    let mut program = vec![
        load(ARCHITECTURE),
        jump(JUMP_EQUAL, AUDIT_ARCH, 1, 0),
        fail(libc::EPERM),
        load(NUMBER),
        jump(JUMP_GREATER_OR_EQUAL, X32, 0, 1),
        fail(libc::EPERM),
    ];
    let search = halves(&ranges(verdicts));
    let blocks: Vec<BpfProgram> = rules.iter().map(|rules| block(rules)).collect();
    let starts: Vec<usize> =
        blocks.iter().scan(search.len(), |next, block| Some(std::mem::replace(next, *next + block.len()))).collect();
    program.extend(search.into_iter().enumerate().map(|(at, instruction)| match instruction.code {
        JUMP => step(JUMP, offset(starts[instruction.k as usize] - at - 1)),
        _ => instruction,
    }));
    program.extend(blocks.into_iter().flatten());
    program
}

/// Calls from a number up to the next range's.
type Range = (u32, Verdict);

/// Gathers calls whose numbers follow each other. What nobody names is allowed.
fn ranges(verdicts: &BTreeMap<u32, Verdict>) -> Vec<Range> {
    let mut ranges: Vec<Range> = vec![(0, Verdict::Allow)];
    let mut add = |start, verdict| {
        if ranges.last().is_some_and(|(last, _)| *last == start) {
            ranges.pop();
        }
        if ranges.last().is_none_or(|(_, last)| *last != verdict) {
            ranges.push((start, verdict));
        }
    };
    for (number, verdict) in verdicts {
        add(*number, *verdict);
        add(number + 1, Verdict::Allow);
    }
    ranges
}

/// Looks a number up by halves. A jump names a block of rules, and is told its distance later.
fn halves(ranges: &[Range]) -> BpfProgram {
    match ranges {
        [] => Vec::new(),
        [(_, Verdict::Allow)] => vec![allow()],
        [(_, Verdict::Fail(errno))] => vec![fail(*errno)],
        [(_, Verdict::When(rules))] => vec![step(JUMP, offset(*rules))],
        ranges => {
            let (low, high) = ranges.split_at(ranges.len() / 2);
            let (below, above) = (halves(low), halves(high));
            let mut program = vec![jump(JUMP_GREATER_OR_EQUAL, high[0].0, short(below.len()), 0)];
            program.extend(below);
            program.extend(above);
            program
        }
    }
}

/// Refuses when one of the rules holds.
fn block(rules: &[Rule]) -> BpfProgram {
    let mut program = Vec::new();
    for rule in rules {
        program.extend(tests(&rule.conditions));
        program.push(fail(rule.errno));
    }
    program.push(allow());
    program
}

/// Goes on behind itself when all conditions hold, and one instruction further when one does not.
fn tests(conditions: &[Condition]) -> BpfProgram {
    let Some(((argument, test), rest)) = conditions.split_first() else { return Vec::new() };
    let rest = tests(rest);
    // Behind the rest there is the refusal, and behind that what comes when this does not hold.
    let away = short(rest.len() + 1);
    let (low, high) = (load(ARGUMENTS + 8 * u32::from(*argument)), load(ARGUMENTS + 8 * u32::from(*argument) + 4));
    let mut program = match *test {
        Test::HasAny(bits) => vec![low, jump(JUMP_BITS, bits, 0, away)],
        Test::HasNone(bits) => vec![low, jump(JUMP_BITS, bits, away, 0)],
        Test::Is(value) => vec![low, jump(JUMP_EQUAL, value, 0, away)],
        Test::IsNot(value) => vec![low, jump(JUMP_EQUAL, value, away, 0)],
        Test::Masked(bits, value) => vec![low, step(AND, bits), jump(JUMP_EQUAL, value, 0, away)],
        Test::NotNull => vec![low, jump(JUMP_EQUAL, 0, 0, 2), high, jump(JUMP_EQUAL, 0, away, 0)],
    };
    program.extend(rest);
    program
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

fn load(from: u32) -> sock_filter {
    step(LOAD, from)
}

fn allow() -> sock_filter {
    step(RETURN, libc::SECCOMP_RET_ALLOW)
}

fn fail(errno: i32) -> sock_filter {
    step(RETURN, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned())
}

fn step(code: u16, k: u32) -> sock_filter {
    jump(code, k, 0, 0)
}

fn jump(code: u16, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

/// How far a conditional jump goes. The tests of the table hold that it is never too far; the kernel refuses a filter
/// whose jumps leave it.
fn short(distance: usize) -> u8 {
    u8::try_from(distance).unwrap_or(u8::MAX)
}

fn offset(distance: usize) -> u32 {
    u32::try_from(distance).unwrap_or(u32::MAX)
}

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
            let verdicts = BTreeMap::from([(7, Verdict::When(0))]);
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
}
