//! Python's generator of random numbers, the Mersenne Twister, for results that depend only on a seed.

use sha2::{Digest, Sha512};

const SIZE: usize = 624;
const SHIFT: usize = 397;

/// A generator.
#[derive(Debug, Clone)]
pub struct Twister {
    state: Vec<u32>,
    at: usize,
}

impl Twister {
    /// Returns the generator that `random.Random(text)` is.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let mut bytes = text.as_bytes().to_vec();
        bytes.extend(Sha512::digest(text.as_bytes()));
        bytes.reverse();
        let words =
            bytes.chunks(4).map(|chunk| chunk.iter().rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte)));
        Self::from_words(words.collect())
    }

    /// Returns the generator that `random.Random(number)` is; its sign does not count.
    pub(super) fn from_number(number: u128) -> Self {
        let word = |at: u32| u32::try_from(number >> (32 * at) & 0xffff_ffff).unwrap_or(0);
        Self::from_words((0..4).map(word).collect())
    }

    /// Returns the generator of a key, the lowest word first.
    fn from_words(mut key: Vec<u32>) -> Self {
        while key.len() > 1 && key.last() == Some(&0) {
            key.pop();
        }
        let mut state = initial(19_650_218);
        let (mut at, mut in_key) = (1, 0);
        for _ in 0..SIZE.max(key.len()) {
            let mixed = (state[at - 1] ^ state[at - 1] >> 30).wrapping_mul(1_664_525);
            let index = u32::try_from(in_key).unwrap_or(0);
            state[at] = (state[at] ^ mixed).wrapping_add(key[in_key]).wrapping_add(index);
            in_key = (in_key + 1) % key.len();
            at = next(&mut state, at);
        }
        for _ in 0..SIZE - 1 {
            let mixed = (state[at - 1] ^ state[at - 1] >> 30).wrapping_mul(1_566_083_941);
            state[at] = (state[at] ^ mixed).wrapping_sub(u32::try_from(at).unwrap_or(0));
            at = next(&mut state, at);
        }
        state[0] = 0x8000_0000;
        Self { state, at: SIZE }
    }

    fn word(&mut self) -> u32 {
        if self.at == SIZE {
            for at in 0..SIZE {
                let joined = self.state[at] & 0x8000_0000 | self.state[(at + 1) % SIZE] & 0x7fff_ffff;
                let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
                self.state[at] = self.state[(at + SHIFT) % SIZE] ^ joined >> 1 ^ odd;
            }
            self.at = 0;
        }
        let mut word = self.state[self.at];
        self.at += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// Returns a number below a limit, which is not zero.
    pub fn below(&mut self, limit: u128) -> u128 {
        let bits = 128 - limit.leading_zeros();
        loop {
            let (mut number, mut done) = (0u128, 0);
            while done < bits {
                let take = (bits - done).min(32);
                number |= u128::from(self.word() >> (32 - take)) << done;
                done += take;
            }
            if number < limit {
                return number;
            }
        }
    }
}

fn initial(seed: u32) -> Vec<u32> {
    let mut state = vec![seed; SIZE];
    for at in 1..SIZE {
        let mixed = (state[at - 1] ^ state[at - 1] >> 30).wrapping_mul(1_812_433_253);
        state[at] = mixed.wrapping_add(u32::try_from(at).unwrap_or(0));
    }
    state
}

fn next(state: &mut [u32], at: usize) -> usize {
    if at + 1 < SIZE {
        return at + 1;
    }
    state[0] = state[SIZE - 1];
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_python_s() {
        let mut twister = Twister::from_number(42);
        assert_eq!([(); 4].map(|()| twister.below(100)), [81, 14, 3, 94]);
        let mut twister = Twister::from_text("host");
        assert_eq!([(); 3].map(|()| twister.below(60)), PYTHON_HOST);
    }

    /// `r = random.Random("host"); [r.randrange(60) for _ in range(3)]`
    const PYTHON_HOST: [u128; 3] = [5, 20, 50];
}
