//! The memory of the static build: several heaps, so that threads do not wait for one another.
//!
//! A short run has one thread that matters, and what it costs is the pages that it touches: it wants one small heap. A
//! compiler with a thread for each processor spends half of its time waiting for the lock of such a heap. So every thread
//! begins with the first heap, and one that finds its heap taken moves to another one, for good.
//!
//! The word before a block says which heap it is from, whoever frees it. Each heap is dlmalloc, with a lock of its own. What
//! the first thread takes when it starts is from no heap, see [`start`].

mod start;

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dlmalloc::Dlmalloc;

use self::start::Start;

/// As many as the compiler has threads at most.
const HEAPS: usize = 16;

/// In the place of the number of a heap: a block of a [`Start`].
const START: usize = HEAPS;

/// Room for the number of a heap.
const WORD: usize = size_of::<usize>();

thread_local! {
    /// The heap that this thread takes memory from. Without a destructor, so that it needs no memory itself.
    static CHOSEN: Cell<usize> = const { Cell::new(0) };

    /// What this thread takes first, if no other one has it.
    static FIRST: Start = const { Start::new() };
}

type Heap = Mutex<Dlmalloc>;

/// All memory of a program.
pub(crate) struct Heaps {
    heaps: [Heap; HEAPS],
    /// Whether a thread has what is taken first.
    started: AtomicBool,
}

impl Heaps {
    /// Makes them, empty.
    pub(crate) const fn new() -> Self {
        Self { heaps: [const { Mutex::new(Dlmalloc::new()) }; HEAPS], started: AtomicBool::new(false) }
    }

    /// Returns memory of what this thread takes first, if it has that and there is enough of it.
    #[inline]
    fn first(&self, size: usize, align: usize) -> Option<*mut u8> {
        FIRST.with(|start| start.take(size, align, &self.started))
    }

    /// Returns the heap of this thread, and its number.
    fn own(&self) -> (usize, MutexGuard<'_, Dlmalloc>) {
        // Nothing is left of the thread-local memory of a thread that has ended.
        let chosen = CHOSEN.try_with(Cell::get).unwrap_or(0);
        if let Ok(heap) = self.heaps[chosen].try_lock() {
            return (chosen, heap);
        }
        for number in (chosen + 1..HEAPS).chain(0..chosen) {
            if let Ok(heap) = self.heaps[number].try_lock() {
                let _ = CHOSEN.try_with(|cell| cell.set(number));
                return (number, heap);
            }
        }
        (chosen, self.of(chosen))
    }

    fn of(&self, number: usize) -> MutexGuard<'_, Dlmalloc> {
        self.heaps[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes before a block: the word, and what keeps the block aligned.
const fn before(layout: Layout) -> usize {
    if layout.align() > WORD { layout.align() } else { WORD }
}

/// Makes a block of what a heap gave for it, if it gave anything.
///
/// # Safety
///
/// `given` is null, or points to at least `before` bytes that nobody else uses, aligned to `before`, which [`before`] returned.
#[expect(unsafe_code, reason = "memory")]
unsafe fn block(given: *mut u8, before: usize, number: usize) -> *mut u8 {
    if given.is_null() {
        return given;
    }
    // SAFETY: `before` is a word or a larger power of two, so a word fits in and is aligned.
    unsafe {
        let block = given.add(before);
        block.cast::<usize>().sub(1).write(number);
        block
    }
}

#[expect(unsafe_code, reason = "memory")]
// SAFETY: every block lies in one that its heap gave, behind its word, with the size and the alignment that were asked
// for; the sum cannot overflow, since a `Layout` is no larger than `isize::MAX`. A heap is used under its lock alone.
unsafe impl GlobalAlloc for Heaps {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let before = before(layout);
        let size = layout.size() + before;
        // SAFETY: the alignment is a power of two, and what is given is aligned to it.
        unsafe {
            if let Some(given) = self.first(size, before) {
                return block(given, before, START);
            }
            let (number, mut heap) = self.own();
            block(heap.malloc(size, before), before, number)
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let before = before(layout);
        let size = layout.size() + before;
        // SAFETY: as for `alloc`; a block has as many bytes as were asked for.
        unsafe {
            if let Some(given) = self.first(size, before) {
                let block = block(given, before, START);
                block.write_bytes(0, layout.size());
                return block;
            }
            let (number, mut heap) = self.own();
            block(heap.calloc(size, before), before, number)
        }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let before = before(layout);
        // SAFETY: `block` wrote the word, and moved the pointer by as much, for the same layout; what shrank where it is has
        // more than that.
        unsafe {
            match pointer.cast::<usize>().sub(1).read() {
                START => FIRST.with(|start| start.give(pointer.sub(before), layout.size() + before)),
                number => self.of(number).free(pointer.sub(before), layout.size() + before, before),
            }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let before = before(layout);
        // SAFETY: as for `dealloc`; the block stays with its heap, and its word is copied with it. A block that moves is
        // another one, as large as the caller says that a layout may be.
        unsafe {
            let number = pointer.cast::<usize>().sub(1).read();
            let (given, old, new) = (pointer.sub(before), layout.size() + before, size + before);
            if number != START {
                return block(self.of(number).realloc(given, old, before, new), before, number);
            }
            // One that shrinks may stay where it is, too.
            if FIRST.with(|start| start.resize(given, old, new)) || new <= old {
                return pointer;
            }
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                moved.copy_from_nonoverlapping(pointer, layout.size().min(size));
                self.dealloc(pointer, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "memory")]
mod tests {
    use std::sync::{Barrier, mpsc};
    use std::thread;

    use super::*;

    /// Where a block is, so that it can be given to another thread.
    type Address = usize;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    /// Takes a block and fills it with a byte.
    fn filled(heaps: &Heaps, layout: Layout, byte: u8) -> Address {
        // SAFETY: the size is not zero.
        let block = unsafe { heaps.alloc(layout) };
        assert!(!block.is_null() && block.addr().is_multiple_of(layout.align()), "{layout:?}");
        // SAFETY: it has that many bytes, and nobody else knows it.
        unsafe { block.write_bytes(byte, layout.size()) };
        block.expose_provenance()
    }

    /// Checks that a block of [`filled`] still holds that byte alone in its first bytes, and gives it back.
    fn emptied(heaps: &Heaps, address: Address, layout: Layout, byte: u8, filled: usize) {
        let block: *mut u8 = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: a live block of that layout, filled up to there, that nobody else knows.
        assert!(unsafe { std::slice::from_raw_parts(block, filled) }.iter().all(|found| *found == byte));
        // SAFETY: the same; nobody uses it any more.
        unsafe { heaps.dealloc(block, layout) };
    }

    /// The number of the heap that a block is from.
    fn heap_of(address: Address) -> usize {
        let block: *mut usize = std::ptr::with_exposed_provenance_mut(address);
        // SAFETY: the word before a live block.
        match unsafe { block.sub(1).read() } {
            START => 0,
            number => number,
        }
    }

    #[test]
    fn blocks_are_aligned_keep_what_is_in_them_and_grow() {
        let heaps = Heaps::new();
        // The first of them are from the start, the others when that is used up.
        for align in [1, 2, 8, 16, 32, 4096].into_iter().cycle().take(1000) {
            let layouts: Vec<Layout> = [1, 7, 24, 100, 5000, 300_000].map(|size| layout(size, align)).to_vec();
            let bytes = 1..;
            let blocks: Vec<_> = layouts
                .into_iter()
                .zip(bytes)
                .map(|(layout, byte)| (filled(&heaps, layout, byte), layout, byte))
                .collect();
            for (address, old, byte) in blocks {
                let new = layout(2 * old.size() + 3, align);
                let block: *mut u8 = std::ptr::with_exposed_provenance_mut(address);
                // SAFETY: a live block of that layout; the new size is not zero.
                let grown = unsafe { heaps.realloc(block, old, new.size()) };
                assert!(grown.addr().is_multiple_of(align), "{new:?}");
                emptied(&heaps, grown.expose_provenance(), new, byte, old.size());
                // SAFETY: the size is not zero.
                let zeroed = unsafe { heaps.alloc_zeroed(new) };
                assert!(zeroed.addr().is_multiple_of(align), "{new:?}");
                emptied(&heaps, zeroed.expose_provenance(), new, 0, new.size());
            }
        }
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let heaps = Heaps::new();
        let most = layout(isize::MAX as usize - 4095, 4096);
        // SAFETY: the sizes are not zero; what was refused is not used.
        unsafe {
            assert!(heaps.alloc(most).is_null());
            assert!(heaps.alloc_zeroed(most).is_null());
            let small = layout(8, 8);
            let kept = heaps.alloc_zeroed(small);
            assert!(heaps.realloc(kept, small, most.size()).is_null());
            emptied(&heaps, kept.expose_provenance(), small, 0, 8);
        }
    }

    #[test]
    fn a_thread_that_finds_its_heap_taken_moves_to_another_for_good() {
        let heaps = Heaps::new();
        let small = layout(8, 8);
        let first = filled(&heaps, small, 1);
        assert_eq!(heap_of(first), 0);
        let free = Barrier::new(2);
        thread::scope(|scope| {
            let taken = heaps.of(0);
            let other = scope.spawn(|| {
                let while_taken = filled(&heaps, small, 2);
                free.wait();
                free.wait();
                [while_taken, filled(&heaps, small, 2)]
            });
            free.wait();
            drop(taken);
            free.wait();
            for address in other.join().unwrap() {
                assert_eq!(heap_of(address), 1);
                emptied(&heaps, address, small, 2, 8);
            }
        });
        emptied(&heaps, first, small, 1, 8);
    }

    #[test]
    fn a_block_can_be_given_back_by_any_thread() {
        let heaps = Heaps::new();
        let (sender, receiver) = mpsc::channel::<(Address, Layout, u8)>();
        thread::scope(|scope| {
            for byte in 1..=4 {
                let sender = sender.clone();
                let heaps = &heaps;
                scope.spawn(move || {
                    for size in (1..2000).chain([70_000, 300_000]) {
                        let layout = layout(size, 1 << (size % 6));
                        sender.send((filled(heaps, layout, byte), layout, byte)).unwrap();
                    }
                });
            }
            drop(sender);
            for (address, layout, byte) in receiver {
                emptied(&heaps, address, layout, byte, layout.size());
            }
        });
    }
}
