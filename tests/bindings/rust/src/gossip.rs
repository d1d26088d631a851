//! Topologies, and collectives among the neighbours of a ring.
use gossamer::*;

pub fn all(comm: &Comm) {
    let (rank, size) = (comm.rank(), comm.size());
    let topology = Topology::new("full", size).unwrap();
    topology.require(Property::DoublyStochastic).unwrap();
    assert_eq!(topology.period().unwrap(), 1);
    let weight = topology.weight(0, 0, size - 1).unwrap();
    assert!((weight * f64::from(size) - 1.0).abs() < 1e-12, "{}", weight);
    assert!(topology.describe().unwrap().contains("\"spec\"") && topology.draw(None).unwrap().contains("<svg"));
    assert_eq!(Topology::new("nonsense", 4).err().unwrap().status, Status::InvalidArgument);

    let near = topology.neighbors(0, rank).unwrap();
    assert_eq!(near.sources.len(), (size - 1) as usize);
    let mut mean = [rank as f32; 6];
    neighbor_all_reduce(in_place(), &mut mean, near.clone()).run(comm).unwrap();
    assert!(mean.iter().all(|value| (value - (size - 1) as f32 / 2.0).abs() < 1e-5), "{:?}", mean);

    let others: Vec<i32> = near.sources.iter().map(|source| source.0).collect();
    let twice: Vec<i32> = others.iter().flat_map(|from| [*from; 2]).collect();
    let mut recv = vec![-1; 2 * others.len()];
    neighbor_all_gather(&[rank; 2], &mut recv, near.clone()).run(comm).unwrap();
    assert_eq!(recv, twice);
    recv.fill(-1);
    let equal = Blocks::packed(&vec![2; others.len()]);
    neighbor_all_gather_v(&[rank; 2], &mut recv, near.clone(), equal.clone()).run(comm).unwrap();
    assert_eq!(recv, twice);
    let to_each: Vec<i32> = near.destinations.iter().flat_map(|to| [10 * rank + to.0; 2]).collect();
    let from_each: Vec<i32> = others.iter().flat_map(|from| [10 * from + rank; 2]).collect();
    neighbor_all_to_all(&to_each, &mut recv, near.clone()).run(comm).unwrap();
    assert_eq!(recv, from_each);
    recv.fill(-1);
    neighbor_all_to_all_v(&to_each, &mut recv, near, equal.clone(), equal).run(comm).unwrap();
    assert_eq!(recv, from_each);
}
