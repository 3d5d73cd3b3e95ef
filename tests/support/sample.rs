//! Long tables of cases: an ordinary run takes a sample of them, whose seed it prints, so that it can be repeated.
//!
//! `MODBOX_SEED=N` chooses another sample, and `MODBOX_WHOLE=1` takes all cases.

use std::env;

/// Random numbers, the same on every machine: xorshift.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Starts the numbers of one test, which `stream` distinguishes from others. Prints the seed.
    #[expect(clippy::print_stdout, reason = "a test that fails shows what it has printed")]
    pub fn new(stream: u64) -> Self {
        let seed = seed();
        println!("repeat this with MODBOX_SEED={seed}");
        Self::quiet(seed, stream)
    }

    /// Starts the numbers of one of many streams of a seed, which the caller has printed.
    #[must_use]
    pub fn quiet(seed: u64, stream: u64) -> Self {
        Self((stream ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1)
    }

    /// Returns a number below a bound, or zero if the bound is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).expect("it is below a usize")
    }

    /// Returns one of the items.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Returns the seed of all samples.
pub fn seed() -> u64 {
    let number = |text: String| text.parse().unwrap_or_else(|_| panic!("MODBOX_SEED is not a number: {text}"));
    env::var("MODBOX_SEED").map_or(0, number)
}

/// Returns the number of cases to make: `sample`, or `whole` if all are wanted.
pub fn cases(sample: usize, whole: usize) -> usize {
    if env::var_os("MODBOX_WHOLE").is_some() { whole } else { sample }
}

/// Returns the first of the items and a sample of the others, `count` items in their order; or all, if all are wanted.
pub fn sample<T>(items: Vec<T>, count: usize) -> Vec<T> {
    let (mut wanted, mut left, mut random) = (cases(count, items.len()), items.len(), Random::new(0x5a3b));
    let mut is_first = true;
    items
        .into_iter()
        .filter(|_| {
            let is_taken = std::mem::take(&mut is_first) || random.below(left) < wanted;
            (left, wanted) = (left - 1, wanted - usize::from(is_taken && wanted > 0));
            is_taken
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_the_first_and_as_many_as_wanted() {
        let taken = sample((0..1000).collect(), 30);
        assert_eq!((taken[0], taken.len()), (0, 30));
        assert!(taken.is_sorted() && taken[29] > 500, "{taken:?}");
        assert_eq!(sample(vec![1, 2], 30), [1, 2]);
    }
}
