//! wrong: E0382
//! A buffer in flight belongs to its request.
use gossamer::*;

fn main() -> Result<()> {
    let comm = Comm::from_environment()?;
    let mut buffer = Buffer::<f32>::zeroed(4);
    buffer[0] = 1.0;
    let request = all_reduce(in_place(), buffer, Op::Sum).start(&comm)?;
    #[cfg(wrong)]
    println!("{}", buffer[0]);
    let (_, buffer) = request.wait()?;
    println!("{}", buffer[0]);
    Ok(())
}
