//! wrong: E0382
//! The memory of a persistent operation is the caller's only while it is not under way.
use gossamer::*;

fn main() -> Result<()> {
    let comm = Comm::from_environment()?;
    let mut plan = broadcast(Buffer::<u8>::zeroed(4), 0).persistent(&comm)?;
    plan.recv()[0] = 1;
    let started = plan.start()?;
    #[cfg(wrong)]
    plan.recv().fill(2);
    plan = started.wait()?;
    plan.recv()[0] = 3;
    Ok(())
}
