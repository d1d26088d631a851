//! Fits y = 2 x, each rank on its own data, by gradients that the synchronizer averages: mpirun -n 4 synchronizer ddp
use gossamer::{Buffer, Comm, Result, Synchronizer};

fn main() -> Result<()> {
    let spec = std::env::args().nth(1).unwrap_or_else(|| "diloco:h=4".to_string());
    let comm = Comm::from_environment()?;
    let mut sync = Synchronizer::new(&comm, &spec)?;
    let weight = sync.register("weight", Buffer::from(&[comm.rank() as f32][..]), -1)?;
    sync.start()?;
    let (x, lr) = (1.0 + comm.rank() as f32 / 8.0, 0.1);
    for _ in 0..200 {
        let error = sync.parameter(weight)?[0] * x - 2.0 * x;
        sync.gradient(weight)?[0] = error * x;
        sync.gradient_ready(weight)?;
        sync.gradients()?;
        let direction = sync.gradient(weight)?[0];
        sync.parameter(weight)?[0] -= lr * direction;
        sync.step()?;
    }
    sync.finish()?;
    let fitted = sync.parameter(weight)?[0];
    assert!((fitted - 2.0).abs() < 0.05, "the weight is {}, not 2", fitted);
    println!("rank {} of {}: fitted by {}", comm.rank(), comm.size(), sync.info()?.spec);
    Ok(())
}
