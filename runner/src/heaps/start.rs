//! The first memory of a process: blocks one after another, of which only the last one is ever used again.
//!
//! A run of a millisecond takes two thousand small blocks and gives most of them back when it ends, where it makes no
//! difference any more. To find a good place for each costs more than the memory: here it is the next one. The pages come
//! from the kernel many at a time. What is large, and what comes later, is for the heaps.

use std::ptr;

/// Bytes of it: what a run with everything cached takes in small blocks, and half as much again.
const SIZE: usize = 384 << 10;

/// The largest block: larger ones are few.
pub(super) const LARGEST: usize = 1 << 10;

/// How many bytes come from the kernel at once.
const STEP: usize = 64 << 10;

/// Addresses, for [`with_exposed_provenance_mut`](ptr::with_exposed_provenance_mut).
#[derive(Debug)]
pub(super) struct Start {
    /// Where the next block begins; zero before the first one.
    next: usize,
    /// Up to where there are pages.
    ready: usize,
    end: usize,
}

impl Start {
    /// Has no memory yet, and gets it with the first block.
    pub(super) const fn new() -> Self {
        Self { next: 0, ready: 0, end: 0 }
    }

    /// Has no memory and gets none.
    pub(super) const fn without() -> Self {
        Self { next: 1, ready: 0, end: 0 }
    }

    /// Returns a block, if there is room for it. What is in it is not known.
    pub(super) fn take(&mut self, size: usize, align: usize) -> Option<*mut u8> {
        if size > LARGEST {
            return None;
        }
        if self.next == 0 {
            self.map();
        }
        let at = self.next.next_multiple_of(align);
        self.reach(at + size).then(|| {
            self.next = at + size;
            ptr::with_exposed_provenance_mut(at)
        })
    }

    /// Makes a block larger or smaller where it is, if it is the last one and there is room.
    pub(super) fn resize(&mut self, block: *mut u8, old: usize, new: usize) -> bool {
        let at = block.addr();
        let fits = at + old == self.next && new <= LARGEST && self.reach(at + new);
        if fits {
            self.next = at + new;
        }
        fits
    }

    /// Takes a block back, if it is the last one.
    pub(super) fn give(&mut self, block: *mut u8, size: usize) {
        if block.addr() + size == self.next {
            self.next = block.addr();
        }
    }

    /// Gets pages up to there, unless it is too far.
    fn reach(&mut self, to: usize) -> bool {
        if to > self.end {
            return false;
        }
        if to > self.ready {
            self.ready = (self.ready + STEP).min(self.end);
            populate(self.ready - STEP, STEP);
        }
        true
    }

    #[expect(unsafe_code, reason = "memory")]
    fn map(&mut self) {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no other.
        let memory =
            unsafe { libc::mmap(ptr::null_mut(), SIZE, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
        if memory == libc::MAP_FAILED {
            *self = Self::without();
            return;
        }
        let begin = memory.expose_provenance();
        *self = Self { next: begin, ready: begin, end: begin + SIZE };
    }
}

/// Gets pages. A kernel before 5.14 gives each when it is first used.
#[expect(unsafe_code, reason = "memory")]
fn populate(at: usize, size: usize) {
    // SAFETY: it changes nothing of what can be seen in memory that is mapped for reading and writing, as this is.
    unsafe { libc::madvise(ptr::with_exposed_provenance_mut(at), size, libc::MADV_POPULATE_WRITE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_one_another_and_the_last_one_can_be_resized_and_given_back() {
        let mut start = Start::new();
        let first = start.take(10, 8).unwrap();
        let second = start.take(100, 16).unwrap();
        assert!(second.addr() >= first.addr() + 10 && second.addr().is_multiple_of(16));
        assert!(!start.resize(first, 10, 11), "another follows");
        assert!(start.resize(second, 100, 200) && start.resize(second, 200, 50));
        assert!(!start.resize(second, 50, LARGEST + 1));
        start.give(first, 10);
        let third = start.take(8, 8).unwrap();
        assert!(third.addr() >= second.addr() + 50);
        start.give(third, 8);
        assert_eq!(start.take(8, 8), Some(third));
    }

    #[test]
    fn all_of_it_can_be_used_and_no_more() {
        let mut start = Start::new();
        let mut blocks = Vec::new();
        while let Some(block) = start.take(LARGEST, 1) {
            // SAFETY: it has that many bytes, and nobody else knows it.
            #[expect(unsafe_code, reason = "memory")]
            unsafe {
                block.write_bytes(7, LARGEST);
            }
            blocks.push(block);
        }
        assert_eq!(blocks.len(), SIZE / LARGEST);
        assert_eq!(start.take(1, 1), None);
        assert_eq!(Start::without().take(1, 1), None);
        assert_eq!(Start::new().take(LARGEST + 1, 1), None);
    }
}
