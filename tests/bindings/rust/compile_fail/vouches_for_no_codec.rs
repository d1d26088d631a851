//! wrong: E0200
//! Who writes a codec vouches for it: the library trusts its sizes.
use gossamer::*;

struct Ones;

macro_rules! ones {
    ($($implement:tt)*) => {
        $($implement)* Codec for Ones {
            fn max_bytes(&self, _count: usize) -> usize {
                0
            }
            fn encode(&self, _values: &[f32], _payload: &mut [u8]) -> usize {
                0
            }
            fn decode(&self, payload: &[u8], values: &mut [f32]) -> bool {
                values.fill(1.0);
                payload.is_empty()
            }
        }
    };
}

#[cfg(wrong)]
ones!(impl);
#[cfg(not(wrong))]
ones!(unsafe impl);

fn main() -> Result<()> {
    Comm::from_environment()?.register_codec("ones", Ones)
}
