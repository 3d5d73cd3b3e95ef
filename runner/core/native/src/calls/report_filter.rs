//! The part of a seccomp filter that chooses which calls are reported: by their numbers, and by tests of their arguments.
//!
//! It writes the kernel's instructions. Which calls and tests there are is in `reported_calls`.

use seccompiler::sock_filter;

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_SET: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Offset of a call's number in what the kernel shows to filters (`struct seccomp_data`).
const NUMBER: u32 = 0;

/// Whether a call is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The kernel reports it, and holds it.
    Report,
    /// It goes on.
    Allow,
}

/// Half of an argument. The kernel's instructions work on 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Half {
    /// The lower half of the argument with this index, which is all of an `int`.
    Lower(usize),
    /// The upper half.
    Upper(usize),
}

/// What a test asks of half an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// It is this number.
    Is(u32),
    /// It has one of these bits.
    AnyOf(u32),
    /// It has all of these bits.
    AllOf(u32),
}

/// A test that gives a call a verdict if it holds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Test {
    pub(crate) half: Half,
    pub(crate) asks: Asks,
    pub(crate) verdict: Verdict,
}

/// How the verdict on a call is found: by the first of the tests that holds.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) tests: Vec<Test>,
    /// The verdict if no test holds.
    pub(crate) otherwise: Verdict,
}

/// Returns the part of a filter for some calls, by their numbers. All others are allowed.
pub(crate) fn filter(calls: impl IntoIterator<Item = (u32, Choice)>) -> Vec<sock_filter> {
    let mut program = vec![step(LOAD, NUMBER)];
    for (number, choice) in calls {
        let block = block(&choice);
        program.push(sock_filter { jf: distance(block.len()), ..step(JUMP_EQUAL, number) });
        program.extend(block);
    }
    program.push(returning(Verdict::Allow));
    program
}

/// Returns the instructions for one call. Each way through them ends at a return.
fn block(choice: &Choice) -> Vec<sock_filter> {
    // The jumps of the tests, with their places and verdicts. They lead to one of the two returns at the end.
    let (mut block, mut jumps) = (Vec::new(), Vec::new());
    let mut loaded = None;
    for Test { half, asks, verdict } in &choice.tests {
        if loaded != Some(*half) {
            block.push(step(LOAD, half.offset()));
            loaded = Some(*half);
        }
        let jump = match *asks {
            Asks::Is(number) => step(JUMP_EQUAL, number),
            Asks::AnyOf(bits) => step(JUMP_SET, bits),
            Asks::AllOf(bits) => {
                block.push(step(AND, bits));
                loaded = None;
                step(JUMP_EQUAL, bits)
            }
        };
        jumps.push((block.len(), *verdict));
        block.push(jump);
    }
    let end = block.len();
    for (at, verdict) in &jumps {
        let target = end + usize::from(*verdict != choice.otherwise);
        block[*at].jt = distance(target - at - 1);
    }
    block.push(returning(choice.otherwise));
    if jumps.iter().any(|(_, verdict)| *verdict != choice.otherwise) {
        block.push(returning(choice.otherwise.other()));
    }
    block
}

impl Verdict {
    fn other(self) -> Self {
        match self {
            Self::Report => Self::Allow,
            Self::Allow => Self::Report,
        }
    }
}

impl Half {
    /// Returns its offset in what the kernel shows to filters, on machines whose lower half comes first.
    fn offset(self) -> u32 {
        const ARGUMENTS: usize = 16;
        let offset = match self {
            Self::Lower(index) => ARGUMENTS + 8 * index,
            Self::Upper(index) => ARGUMENTS + 8 * index + 4,
        };
        u32::try_from(offset).expect("a call has six arguments")
    }
}

/// Returns an instruction that jumps nowhere.
fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

fn returning(verdict: Verdict) -> sock_filter {
    step(
        RETURN,
        match verdict {
            Verdict::Report => libc::SECCOMP_RET_USER_NOTIF,
            Verdict::Allow => libc::SECCOMP_RET_ALLOW,
        },
    )
}

/// Returns the number of instructions that a jump leaves out.
fn distance(steps: usize) -> u8 {
    u8::try_from(steps).expect("a call has few tests")
}

/// Does what the kernel does with a filter, for a call with these arguments.
#[cfg(test)]
pub(super) fn verdict(program: &[sock_filter], number: u32, arguments: [u64; 6]) -> Verdict {
    let half = |offset: u32| match offset {
        NUMBER => number,
        offset => {
            let argument = arguments[(offset as usize - 16) / 8].to_le_bytes();
            let half = if offset % 8 == 0 { &argument[..4] } else { &argument[4..] };
            u32::from_le_bytes(half.try_into().unwrap())
        }
    };
    let (mut at, mut accumulator) = (0, 0);
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        at += 1;
        match code {
            LOAD => accumulator = half(k),
            AND => accumulator &= k,
            JUMP_EQUAL => at += usize::from(if accumulator == k { jt } else { jf }),
            JUMP_SET => at += usize::from(if accumulator & k != 0 { jt } else { jf }),
            RETURN if k == libc::SECCOMP_RET_USER_NOTIF => return Verdict::Report,
            RETURN if k == libc::SECCOMP_RET_ALLOW => return Verdict::Allow,
            other => panic!("instruction {other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_test_that_holds_decides() {
        let test = |half, asks, verdict| Test { half, asks, verdict };
        let tests = vec![
            test(Half::Lower(1), Asks::AllOf(6), Verdict::Report),
            test(Half::Lower(1), Asks::AnyOf(1), Verdict::Allow),
            test(Half::Upper(0), Asks::Is(9), Verdict::Report),
        ];
        for otherwise in [Verdict::Allow, Verdict::Report] {
            let choice = Choice { tests: tests.clone(), otherwise };
            let program = filter([(4, Choice { tests: Vec::new(), otherwise: Verdict::Report }), (5, choice)]);
            let of = |first: u64, second: u64| verdict(&program, 5, [first, second, 0, 0, 0, 0]);
            assert_eq!(of(0, 6), Verdict::Report);
            assert_eq!(of(0, 7), Verdict::Report);
            assert_eq!(of(9 << 32, 3), Verdict::Allow);
            assert_eq!(of(9 << 32, 2), Verdict::Report);
            assert_eq!(of(9, 2), otherwise);
            assert_eq!(verdict(&program, 4, [0; 6]), Verdict::Report);
            assert_eq!(verdict(&program, 6, [0; 6]), Verdict::Allow);
        }
    }
}
