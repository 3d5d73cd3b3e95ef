//! The first memory of a process: blocks one after another, and those that were given back, by their size.
//!
//! A run of a millisecond takes two thousand small blocks. To find the best place for each costs more than the memory: here
//! it is that of the last block of this size that was given back, or else the next one. What costs is pages: they
//! come from the kernel many at a time. One thread has this, the first that asks, so nobody waits and nothing is locked;
//! what other threads give back of it is lost. What is large, what comes later and what other threads want is
//! for the heaps.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of it: what a run with everything cached takes in small blocks, and half as much again.
const SIZE: usize = 384 << 10;

/// The largest block: larger ones are few.
pub(super) const LARGEST: usize = 1 << 10;

/// Sizes are multiples of it: what all blocks are aligned to at least. It has room for an address.
const GRAIN: usize = size_of::<usize>();

/// How many sizes there are, from none on.
const SIZES: usize = LARGEST / GRAIN + 1;

/// How many bytes come from the kernel at once.
const STEP: usize = 64 << 10;

/// Where the next block begins before the first one was asked for.
const UNUSED: usize = 0;

/// The same of a thread that has no such memory; with it, everything is beyond the end.
const NONE: usize = 1;

/// One thread's view of it. Addresses, for [`with_exposed_provenance_mut`](ptr::with_exposed_provenance_mut).
#[derive(Debug)]
pub(super) struct Start {
    /// Where the next block begins.
    next: Cell<usize>,
    /// Up to where there are pages.
    ready: Cell<usize>,
    /// Zero for a thread that has no such memory.
    end: Cell<usize>,
    /// For each size the block that was given back last, which begins with the address of the one before. Zero is none.
    free: [Cell<usize>; SIZES],
}

impl Start {
    /// Has no memory yet.
    pub(super) const fn new() -> Self {
        let free = [const { Cell::new(0) }; SIZES];
        Self { next: Cell::new(UNUSED), ready: Cell::new(0), end: Cell::new(0), free }
    }

    /// Returns a block, if there is room for it; `owned` says whether a thread has had the memory already. What is in the
    /// block is not known.
    #[inline]
    pub(super) fn take(&self, size: usize, align: usize, owned: &AtomicBool) -> Option<*mut u8> {
        if size > LARGEST {
            return None;
        }
        if self.next.get() == UNUSED {
            self.begin(owned);
        }
        let size = size.next_multiple_of(GRAIN);
        if let Some(again) = self.take_again(size, align) {
            return Some(again);
        }
        let at = self.next.get().next_multiple_of(align);
        self.reach(at + size).then(|| {
            self.next.set(at + size);
            ptr::with_exposed_provenance_mut(at)
        })
    }

    /// Returns the block of this size that was given back last, if it is aligned so.
    #[inline]
    #[expect(unsafe_code, reason = "memory")]
    fn take_again(&self, size: usize, align: usize) -> Option<*mut u8> {
        let free = &self.free[size / GRAIN];
        let found = free.get();
        if found == 0 || !found.is_multiple_of(align) {
            return None;
        }
        let block: *mut u8 = ptr::with_exposed_provenance_mut(found);
        // SAFETY: `give` wrote the address there, into a block that nobody has had since.
        free.set(unsafe { block.cast::<usize>().read() });
        Some(block)
    }

    /// Makes a block larger or smaller where it is, if it is the last one and there is room.
    pub(super) fn resize(&self, block: *mut u8, old: usize, new: usize) -> bool {
        let at = block.addr();
        let [old, new] = [old, new].map(|size| size.next_multiple_of(GRAIN));
        let fits = at + old == self.next.get() && new <= LARGEST && self.reach(at + new);
        if fits {
            self.next.set(at + new);
        }
        fits
    }

    /// Takes a block back.
    ///
    /// # Safety
    ///
    /// [`Start::take`] returned it, of whichever thread, with at least this size, and nobody uses it any more.
    #[inline]
    #[expect(unsafe_code, reason = "memory")]
    pub(super) unsafe fn give(&self, block: *mut u8, size: usize) {
        let size = size.next_multiple_of(GRAIN);
        if block.addr() + size == self.next.get() {
            self.next.set(block.addr());
        } else if self.end.get() != 0 {
            let free = &self.free[size / GRAIN];
            // SAFETY: nobody uses it any more, and it is aligned and large enough for an address: no size is zero.
            unsafe { block.cast::<usize>().write(free.get()) };
            free.set(block.addr());
        }
    }

    /// Gets pages up to there, unless it is too far.
    #[inline]
    fn reach(&self, to: usize) -> bool {
        if to > self.ready.get() && to <= self.end.get() {
            self.populate();
        }
        to <= self.end.get()
    }

    /// Gets pages for the next step. A kernel before 5.14 gives each when it is first used.
    #[cold]
    #[expect(unsafe_code, reason = "memory")]
    fn populate(&self) {
        let step = ptr::with_exposed_provenance_mut(self.ready.get());
        // SAFETY: it changes nothing of what can be seen in memory that is mapped for reading and writing, as this is: the
        // size is so many steps.
        unsafe { libc::madvise(step, STEP, libc::MADV_POPULATE_WRITE) };
        self.ready.set(self.ready.get() + STEP);
    }

    #[cold]
    #[expect(unsafe_code, reason = "memory")]
    fn begin(&self, owned: &AtomicBool) {
        self.next.set(NONE);
        if owned.swap(true, Ordering::Relaxed) {
            return;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice touches no other.
        let memory =
            unsafe { libc::mmap(ptr::null_mut(), SIZE, protection, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0) };
        if memory != libc::MAP_FAILED {
            let begin = memory.expose_provenance();
            self.next.set(begin);
            self.ready.set(begin);
            self.end.set(begin + SIZE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_follow_one_another_and_the_last_one_can_be_resized_and_given_back() {
        let (start, owned) = (Start::new(), AtomicBool::new(false));
        let take = |size, align| start.take(size, align, &owned);
        // SAFETY: blocks of that size, which nobody uses.
        #[expect(unsafe_code, reason = "memory")]
        let give = |block, size| unsafe { start.give(block, size) };
        let first = take(10, 8).unwrap();
        let second = take(100, 16).unwrap();
        assert!(second.addr() >= first.addr() + 10 && second.addr().is_multiple_of(16));
        assert!(!start.resize(first, 10, 20), "another follows");
        assert!(start.resize(second, 100, 200) && start.resize(second, 200, 50));
        assert!(!start.resize(second, 50, LARGEST + 1));
        let third = take(24, 8).unwrap();
        assert!(third.addr() >= second.addr() + 50);
        give(third, 24);
        assert_eq!(take(24, 8), Some(third));
    }

    #[test]
    #[expect(unsafe_code, reason = "memory")]
    fn blocks_that_were_given_back_come_again_the_last_one_first() {
        let (start, owned) = (Start::new(), AtomicBool::new(false));
        let take = |size, align| start.take(size, align, &owned).unwrap();
        // SAFETY: blocks of that size, which nobody uses.
        let give = |block, size| unsafe { start.give(block, size) };
        let [one, other, larger, last] = [take(17, 8), take(24, 8), take(40, 8), take(8, 8)];
        for block in [one, other] {
            give(block, 20);
        }
        give(larger, 40);
        assert_eq!([take(22, 8), take(24, 8), take(33, 8)], [other, one, larger]);
        assert!(take(24, 8).addr() > last.addr(), "all are in use");
        let odd = [one, other].into_iter().find(|block| !block.addr().is_multiple_of(16)).unwrap();
        give(odd, 24);
        assert!(take(24, 16).addr().is_multiple_of(16));
        assert_eq!(take(24, 8), odd);
    }

    #[test]
    fn all_of_it_can_be_used_and_no_more_and_by_nobody_else() {
        let (start, owned) = (Start::new(), AtomicBool::new(false));
        let mut blocks = Vec::new();
        assert_eq!(start.take(LARGEST + 1, 1, &owned), None);
        while let Some(block) = start.take(LARGEST, 1, &owned) {
            // SAFETY: it has that many bytes, and nobody else knows it.
            #[expect(unsafe_code, reason = "memory")]
            unsafe {
                block.write_bytes(7, LARGEST);
            }
            blocks.push(block);
        }
        assert_eq!(blocks.len(), SIZE / LARGEST);
        assert_eq!(start.take(1, 1, &owned), None);
        assert_eq!(Start::new().take(1, 1, &owned), None);
    }
}
