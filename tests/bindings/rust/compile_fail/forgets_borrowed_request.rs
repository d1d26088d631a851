//! wrong: E0599
//! A request of borrowed memory could be forgotten, and the memory freed; so none can be started.
use gossamer::*;

fn main() -> Result<()> {
    let comm = Comm::from_environment()?;
    let mut stack = [1.0f32; 4];
    #[cfg(wrong)]
    std::mem::forget(all_reduce(in_place(), &mut stack, Op::Sum).start(&comm)?);
    all_reduce(in_place(), &mut stack, Op::Sum).run(&comm)
}
