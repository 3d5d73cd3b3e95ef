//! Copying and comparing bytes, under the names that the compiler calls: `memcpy`, `memmove`, `memcmp`, `bcmp`. For static
//! builds on x86-64, in place of what their C library has; elsewhere there is nothing here.
//!
//! musl has one string instruction for a copy of any length, which takes longer to begin than most copies here take, and
//! compares byte by byte. A start copies two thousand times, twenty bytes mostly: with these it takes a tenth less, and
//! warm runs gain as much. No published library has these functions for the length that is common here; what
//! the compiler brings for machines without a C library is what musl has.
//!
//! A short copy is read whole, as its beginning and its end, which may overlap, before any of it is written: that is right
//! for bytes that overlap, too. Sixteen bytes at once every x86-64 has; to ask for more takes longer than it saves.
//!
//! It is a crate of its own for `no_builtins`: the compiler then makes no loop of it a call of what it is, and leaves it
//! out of link-time optimisation, which crashes when it meets the functions that it calls itself. Without
//! optimisation, musl's functions stay.

#![cfg(target_arch = "x86_64")]
#![cfg_attr(not(test), no_builtins, no_std)]

use core::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_storeu_si128};
use core::cmp::Ordering;
use core::ffi::c_int;

/// Bytes that are read or written at once.
const VECTOR: usize = size_of::<__m128i>();

/// What a round of a long copy moves.
const ROUND: usize = 4 * VECTOR;

/// What [`_mm_movemask_epi8`] returns for two that are the same.
const SAME: c_int = 0xffff;

/// Copies bytes that do not overlap. C's function of that name.
///
/// # Safety
///
/// `from` can be read and `to` be written for `length` bytes.
#[cfg_attr(all(target_env = "musl", not(test), not(debug_assertions)), unsafe(no_mangle))]
#[expect(unsafe_code, reason = "memory")]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: the same is asked for.
    unsafe { copy(to, from, length) }
}

/// Copies bytes, which may overlap. C's function of that name.
///
/// # Safety
///
/// `from` can be read and `to` be written for `length` bytes.
#[cfg_attr(all(target_env = "musl", not(test), not(debug_assertions)), unsafe(no_mangle))]
#[expect(unsafe_code, reason = "memory")]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: the same is asked for.
    unsafe { copy(to, from, length) }
}

/// Compares bytes: less than zero, zero or more. C's function of that name.
///
/// # Safety
///
/// Both can be read for `length` bytes.
#[cfg_attr(all(target_env = "musl", not(test), not(debug_assertions)), unsafe(no_mangle))]
#[expect(unsafe_code, reason = "memory")]
pub unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, length: usize) -> c_int {
    // SAFETY: the same is asked for.
    unsafe { compare(one, other, length) }
}

/// Returns zero for bytes that are the same, and something else for others. C's function of that name.
///
/// # Safety
///
/// Both can be read for `length` bytes.
#[cfg_attr(all(target_env = "musl", not(test), not(debug_assertions)), unsafe(no_mangle))]
#[expect(unsafe_code, reason = "memory")]
pub unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, length: usize) -> c_int {
    // SAFETY: the same is asked for.
    unsafe { compare(one, other, length) }
}

/// # Safety
///
/// As for [`memmove`].
#[inline(always)]
#[expect(unsafe_code, reason = "memory")]
unsafe fn copy(to: *mut u8, from: *const u8, length: usize) -> *mut u8 {
    // SAFETY: each arm has so many bytes as it is for, and reads and writes within them.
    unsafe {
        match length {
            0 => {}
            1 => to.write(from.read()),
            2..4 => ends::<u16>(to, from, length),
            4..8 => ends::<u32>(to, from, length),
            8..16 => ends::<u64>(to, from, length),
            16..=32 => ends::<__m128i>(to, from, length),
            33..=64 => {
                let (begin, end) = (from, from.add(length - 2 * VECTOR));
                let parts = [load(begin), load(begin.add(VECTOR)), load(end), load(end.add(VECTOR))];
                let (begin, end) = (to, to.add(length - 2 * VECTOR));
                store(begin, parts[0]);
                store(begin.add(VECTOR), parts[1]);
                store(end, parts[2]);
                store(end.add(VECTOR), parts[3]);
            }
            // Before `from`, or behind the end of it, when the difference wraps around.
            _ if to.addr().wrapping_sub(from.addr()) >= length => forwards(to, from, length),
            _ => backwards(to, from, length),
        }
    }
    to
}

/// Copies the first and the last `T`, which overlap unless there are just two.
///
/// # Safety
///
/// As for [`memmove`], with one to two times the bytes of a `T`.
#[inline(always)]
#[expect(unsafe_code, reason = "memory")]
unsafe fn ends<T: Copy>(to: *mut u8, from: *const u8, length: usize) {
    let last = length - size_of::<T>();
    // SAFETY: both lie within the bytes; nothing is asked of how they are aligned.
    unsafe {
        let (first, end) = (from.cast::<T>().read_unaligned(), from.add(last).cast::<T>().read_unaligned());
        to.cast::<T>().write_unaligned(first);
        to.add(last).cast::<T>().write_unaligned(end);
    }
}

/// Copies from the beginning on. The last round is read first, since it may be written over before its turn.
///
/// # Safety
///
/// As for [`memmove`], with more than a [`ROUND`], and `to` is not within what is still to be read.
#[inline(always)]
#[expect(unsafe_code, reason = "memory")]
unsafe fn forwards(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: there is more than a round, so the last one lies within, and each other one begins before it.
    unsafe {
        let last = round(from.add(length - ROUND));
        let mut done = 0;
        while done < length - ROUND {
            put(to.add(done), round(from.add(done)));
            done += ROUND;
        }
        put(to.add(length - ROUND), last);
    }
}

/// Copies from the end on. The first round is read first.
///
/// # Safety
///
/// As for [`memmove`], with more than a [`ROUND`], and `to` is behind `from`.
#[inline(always)]
#[expect(unsafe_code, reason = "memory")]
unsafe fn backwards(to: *mut u8, from: *const u8, length: usize) {
    // SAFETY: there is more than a round, so the first one lies within, and each other one ends behind it.
    unsafe {
        let first = round(from);
        let mut left = length;
        while left > ROUND {
            left -= ROUND;
            put(to.add(left), round(from.add(left)));
        }
        put(to, first);
    }
}

/// # Safety
///
/// As for [`memcmp`].
#[inline(always)]
#[expect(unsafe_code, reason = "memory")]
unsafe fn compare(one: *const u8, other: *const u8, length: usize) -> c_int {
    let mut at = 0;
    // SAFETY: each is read where there are so many bytes left.
    unsafe {
        while at + VECTOR <= length {
            let (a, b) = (one.add(at), other.add(at));
            let same = _mm_movemask_epi8(_mm_cmpeq_epi8(load(a), load(b)));
            if same != SAME {
                let first = (!same).trailing_zeros() as usize;
                return c_int::from(a.add(first).read()) - c_int::from(b.add(first).read());
            }
            at += VECTOR;
        }
        if at + size_of::<u64>() <= length {
            let [a, b] = [one, other].map(|side| side.add(at).cast::<u64>().read_unaligned());
            if a != b {
                // As text: the first byte counts most.
                return if a.swap_bytes().cmp(&b.swap_bytes()) == Ordering::Less { -1 } else { 1 };
            }
            at += size_of::<u64>();
        }
        while at < length {
            let [a, b] = [one, other].map(|side| c_int::from(side.add(at).read()));
            if a != b {
                return a - b;
            }
            at += 1;
        }
    }
    0
}

/// Reads a round.
///
/// # Safety
///
/// There are so many bytes to be read.
#[inline(always)]
#[expect(unsafe_code, reason = "memory")]
unsafe fn round(from: *const u8) -> [__m128i; 4] {
    // SAFETY: the caller's.
    unsafe { [load(from), load(from.add(VECTOR)), load(from.add(2 * VECTOR)), load(from.add(3 * VECTOR))] }
}

/// Writes a round.
///
/// # Safety
///
/// There are so many bytes to be written.
#[inline(always)]
#[expect(unsafe_code, reason = "memory")]
unsafe fn put(to: *mut u8, round: [__m128i; 4]) {
    // SAFETY: the caller's.
    unsafe {
        store(to, round[0]);
        store(to.add(VECTOR), round[1]);
        store(to.add(2 * VECTOR), round[2]);
        store(to.add(3 * VECTOR), round[3]);
    }
}

/// # Safety
///
/// There are so many bytes to be read.
#[inline(always)]
#[expect(unsafe_code, reason = "memory")]
unsafe fn load(from: *const u8) -> __m128i {
    // SAFETY: it may be aligned in any way.
    unsafe { _mm_loadu_si128(from.cast()) }
}

/// # Safety
///
/// There are so many bytes to be written.
#[inline(always)]
#[expect(unsafe_code, reason = "memory")]
unsafe fn store(to: *mut u8, bytes: __m128i) {
    // SAFETY: it may be aligned in any way.
    unsafe { _mm_storeu_si128(to.cast(), bytes) }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "memory")]
mod tests {
    use super::*;

    /// More than a few rounds.
    const LENGTHS: std::ops::Range<usize> = 0..300;

    /// Bytes of which no two near each other are the same.
    fn bytes(count: usize) -> Vec<u8> {
        (0..=250).cycle().take(count).collect()
    }

    #[test]
    fn every_length_is_copied_and_nothing_beside_it() {
        for length in LENGTHS.chain([4095, 70_001]) {
            for (to, from) in [(0, 0), (1, 0), (3, 5), (16, 7)] {
                let source = bytes(length + 32);
                let mut found = vec![255; length + 32];
                let mut expected = found.clone();
                expected[to..to + length].copy_from_slice(&source[from..from + length]);
                // SAFETY: both have that many bytes from there on.
                let returned = unsafe { memcpy(found[to..].as_mut_ptr(), source[from..].as_ptr(), length) };
                assert_eq!(returned, found[to..].as_mut_ptr());
                assert!(found == expected, "{length} from {from} to {to}");
            }
        }
    }

    #[test]
    fn bytes_that_overlap_are_moved_up_and_down() {
        for length in LENGTHS.chain([4095]) {
            for distance in (0..80).chain([length.saturating_sub(1), length, length + 1]) {
                for (to, from) in [(distance, 0), (0, distance)] {
                    let mut found = bytes(length + distance);
                    let mut expected = found.clone();
                    expected.copy_within(from..from + length, to);
                    let start = found.as_mut_ptr();
                    // SAFETY: both lie within.
                    unsafe { memmove(start.add(to), start.add(from), length) };
                    assert!(found == expected, "{length} from {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn bytes_are_compared_up_to_the_first_that_differ() {
        for length in LENGTHS {
            let one = bytes(length + 1);
            // SAFETY: both have that many bytes, and one more that does not count.
            let compared = |other: &[u8]| unsafe { memcmp(one.as_ptr(), other.as_ptr(), length) };
            let mut other = one.clone();
            other[length] ^= 0xff;
            assert_eq!(compared(&other), 0, "{length}");
            for at in 0..length {
                for change in [1_u8, 0x80, 0xff] {
                    let mut other = one.clone();
                    other[at] ^= change;
                    // Later ones say nothing.
                    other[length - 1] ^= 0x55;
                    let (expected, found) = (one[..length].cmp(&other[..length]) as c_int, compared(&other));
                    assert_eq!(found.signum(), expected, "{length} at {at}");
                    // SAFETY: the same.
                    assert_eq!(unsafe { bcmp(one.as_ptr(), other.as_ptr(), length) } == 0, expected == 0);
                }
            }
        }
    }
}
