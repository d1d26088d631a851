//! Computes while the gradients of the layer before are averaged: mpirun -n 4 overlap
use gossamer::{all_reduce, in_place, Buffer, Comm, Op, Result};

/// Stands for the backward pass of a layer.
fn backward(layer: usize, rank: i32) -> Buffer<f32> {
    let mut gradient = Buffer::zeroed(1 << 16);
    gradient.iter_mut().for_each(|value| *value = layer as f32 + rank as f32);
    gradient
}

fn main() -> Result<()> {
    let comm = Comm::from_environment()?;
    let mut under_way = Vec::new();
    for layer in 0..4 {
        let gradient = backward(layer, comm.rank());
        under_way.push(all_reduce(in_place(), gradient, Op::Avg).start(&comm)?);
    }
    for (layer, request) in under_way.into_iter().enumerate() {
        let (_, gradient) = request.wait()?;
        let expected = layer as f32 + (comm.size() - 1) as f32 / 2.0;
        assert!(
            gradient.iter().all(|value| *value == expected),
            "layer {}: {} is not {}",
            layer,
            gradient[0],
            expected
        );
    }
    println!("rank {} of {}: overlapped", comm.rank(), comm.size());
    Ok(())
}
