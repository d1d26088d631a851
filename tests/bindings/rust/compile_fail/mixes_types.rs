//! wrong: E0271
//! What is sent and what is received have one type.
use gossamer::*;

fn main() -> Result<()> {
    let comm = Comm::from_environment()?;
    #[cfg(wrong)]
    let mut sum = [0i32; 4];
    #[cfg(not(wrong))]
    let mut sum = [0.0f32; 4];
    all_reduce(&[1.0f32; 4], &mut sum, Op::Sum).run(&comm)
}
