//! wrong: E0502
//! Memory that is written is read by nobody else.
use gossamer::*;

fn main() -> Result<()> {
    let comm = Comm::from_environment()?;
    let mut both = [1u8; 4];
    #[cfg(wrong)]
    all_reduce(&both, &mut both, Op::Max).run(&comm)?;
    all_reduce(in_place(), &mut both, Op::Max).run(&comm)
}
