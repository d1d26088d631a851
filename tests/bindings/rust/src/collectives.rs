//! Every collective, blocking with slices, started, persistent, grouped.
use gossamer::*;

/// Element i of rank r's vector.
fn value(rank: usize, i: usize) -> i64 {
    (rank * 100 + i) as i64
}

fn vector(rank: usize, count: usize) -> Vec<i64> {
    (0..count).map(|i| value(rank, i)).collect()
}

fn sum(ranks: std::ops::Range<usize>, i: usize) -> i64 {
    ranks.map(|rank| value(rank, i)).sum()
}

pub fn all(comm: &Comm) {
    reductions(comm);
    gathers(comm);
    unequal(comm);
    types(comm);
    started(comm);
    persistent(comm);
    wrong_lengths(comm);
}

fn reductions(comm: &Comm) {
    let (rank, size) = (comm.rank() as usize, comm.size() as usize);
    let send = vector(rank, 7);
    let expected: Vec<i64> = (0..7).map(|i| sum(0..size, i)).collect();
    let mut recv = vec![0; 7];
    all_reduce(&send, &mut recv, Op::Sum).run(comm).unwrap();
    assert_eq!(recv, expected);
    let mut both = send.clone();
    all_reduce(in_place(), &mut both, Op::Sum).run(comm).unwrap();
    assert_eq!(both, expected);
    let root = (size - 1) as i32;
    let mut at_root = vec![-1; 7];
    reduce(&send, &mut at_root, Op::Max, root).run(comm).unwrap();
    let largest = vector(size - 1, 7);
    assert_eq!(at_root, if comm.rank() == root { largest.clone() } else { vec![-1; 7] });
    scan(&send, &mut recv, Op::Sum).run(comm).unwrap();
    assert_eq!(recv, (0..7).map(|i| sum(0..rank + 1, i)).collect::<Vec<_>>());
    let mut before = vec![-5; 7];
    exscan(&send, &mut before, Op::Sum).run(comm).unwrap();
    assert_eq!(before, (0..7).map(|i| if rank == 0 { -5 } else { sum(0..rank, i) }).collect::<Vec<_>>());
    let mut data = send.clone();
    broadcast(&mut data, root).run(comm).unwrap();
    assert_eq!(data, largest);
    let mut block = vec![0; 2];
    reduce_scatter(&vector(rank, 2 * size), &mut block, Op::Sum).run(comm).unwrap();
    assert_eq!(block, (2 * rank..2 * rank + 2).map(|i| sum(0..size, i)).collect::<Vec<_>>());
}

fn gathers(comm: &Comm) {
    let (rank, size) = (comm.rank() as usize, comm.size() as usize);
    let everything: Vec<i64> = (0..size).flat_map(|from| vector(from, 3)).collect();
    let mut recv = vec![0; 3 * size];
    all_gather(&vector(rank, 3), &mut recv).run(comm).unwrap();
    assert_eq!(recv, everything);
    let mut own = vec![0; 3 * size];
    own[3 * rank..3 * rank + 3].copy_from_slice(&vector(rank, 3));
    all_gather(in_place(), &mut own).run(comm).unwrap();
    assert_eq!(own, everything);
    let mut at_root = vec![0; if rank == 0 { 3 * size } else { 0 }];
    gather(&vector(rank, 3), &mut at_root, 0).run(comm).unwrap();
    assert!(rank != 0 || at_root == everything);
    let mut block = vec![0; 3];
    let parts = if rank == 0 { everything } else { Vec::new() };
    scatter(&parts, &mut block, 0).run(comm).unwrap();
    assert_eq!(block, vector(rank, 3));
    all_to_all(&vector(rank, size), &mut recv[..size]).run(comm).unwrap();
    assert_eq!(recv[..size], (0..size).map(|from| value(from, rank)).collect::<Vec<_>>()[..]);
    barrier().run(comm).unwrap();
}

/// Rank r brings r + 1 elements.
fn unequal(comm: &Comm) {
    let (rank, size) = (comm.rank() as usize, comm.size() as usize);
    let counts: Vec<usize> = (1..=size).collect();
    let total = counts.iter().sum();
    let packed: Vec<i64> = (0..size).flat_map(|from| vector(from, from + 1)).collect();
    let mut recv = vec![0; total];
    all_gather_v(&vector(rank, rank + 1), &mut recv, Blocks::packed(&counts)).run(comm).unwrap();
    assert_eq!(recv, packed);
    let displs = Some((0..size).map(|from| total - (from + 1) * (from + 2) / 2).collect());
    let mut backwards = vec![0; total];
    all_gather_v(&vector(rank, rank + 1), &mut backwards, Blocks { counts: counts.clone(), displs }).run(comm).unwrap();
    assert_eq!(backwards, (0..size).rev().flat_map(|from| vector(from, from + 1)).collect::<Vec<_>>());
    let mut block = vec![0; rank + 1];
    reduce_scatter_v(&vector(rank, total), &mut block, Op::Sum, Blocks::packed(&counts)).run(comm).unwrap();
    let first = rank * (rank + 1) / 2;
    assert_eq!(block, (first..first + rank + 1).map(|i| sum(0..size, i)).collect::<Vec<_>>());
    let mut from_all = vec![0; size * (rank + 1)];
    let recvs = Blocks::packed(&vec![rank + 1; size]);
    all_to_all_v(&vector(rank, total), &mut from_all, Blocks::packed(&counts), recvs).run(comm).unwrap();
    let expected: Vec<i64> =
        (0..size).flat_map(|from| (first..first + rank + 1).map(move |i| value(from, i))).collect();
    assert_eq!(from_all, expected);
}

fn reduces<T: Element + PartialEq + std::fmt::Debug>(comm: &Comm, each: T, op: Op, expected: T) {
    let mut data = [each; 5];
    all_reduce(in_place(), &mut data, op).run(comm).unwrap();
    assert_eq!(data, [expected; 5]);
}

fn types(comm: &Comm) {
    let n = comm.size();
    reduces(comm, 1i8, Op::Sum, n as i8);
    reduces(comm, 2u8, Op::Prod, 1 << n);
    reduces(comm, 3i32, Op::Avg, 3);
    reduces(comm, 5u32, Op::BitAnd, 5);
    reduces(comm, 6u64, Op::BitXor, if n % 2 == 1 { 6 } else { 0 });
    reduces(comm, 1.5f32, Op::Sum, 1.5 * n as f32);
    reduces(comm, 1.5f64, Op::Sum, 1.5 * f64::from(n));
    reduces(comm, F16(0x3c00), Op::Avg, F16(0x3c00));
    reduces(comm, Bf16(0x3f80), Op::Max, Bf16(0x3f80));
    reduces(comm, F8E4m3(0x38), Op::Min, F8E4m3(0x38));
    reduces(comm, F8E5m2(0x3c), Op::Avg, F8E5m2(0x3c));
    reduces(comm, Bool(1), Op::And, Bool(1));
    let mut scaled = [3.0f32; 4];
    let half = Options { scale: Some(0.5), ..Options::default() };
    all_reduce(in_place(), &mut scaled, Op::PremulSum).with(half).run(comm).unwrap();
    assert_eq!(scaled, if n == 1 { scaled } else { [1.5 * n as f32; 4] });
    let named = Options { algorithm: Some("ring".into()), ..Options::default() };
    let mut ring = [1i32; 40];
    all_reduce(in_place(), &mut ring, Op::Sum).with(named).run(comm).unwrap();
    assert_eq!(ring, [n; 40]);
}

/// Several at a time, with memory of both kinds, waited for out of order.
fn started(comm: &Comm) {
    let n = i64::from(comm.size());
    let mut own = comm.alloc::<i64>(1000).unwrap();
    own.fill(2);
    let mut first = all_reduce(in_place(), own, Op::Sum).start(comm).unwrap();
    let mut second = all_reduce(Buffer::from(&[3i64; 10][..]), Buffer::zeroed(10), Op::Sum).start(comm).unwrap();
    let mut third = barrier().start(comm).unwrap();
    while let Some(index) = wait_any(&mut [&mut first, &mut second]).unwrap() {
        assert!(index < 2);
    }
    wait_all(&mut [&mut first, &mut second, &mut third]).unwrap();
    assert!(first.is_done().unwrap() && first.error().is_none());
    assert!(first.wait().unwrap().1.iter().all(|value| *value == 2 * n));
    let (sent, received) = second.wait().unwrap();
    assert_eq!((&sent[..], &received[..]), (&[3i64; 10][..], &[3 * n; 10][..]));
    let (mut a, mut b) = ([1i32; 3], [0i32; 3]);
    let mut one = all_reduce(in_place(), &mut a, Op::Sum);
    let send = [7i32; 3];
    let mut other = all_reduce(&send, &mut b, Op::Max);
    comm.group(&mut [&mut one, &mut other]).unwrap();
    assert_eq!((a, b), ([comm.size(); 3], [7; 3]));
}

fn persistent(comm: &Comm) {
    let mut plan = all_reduce(Buffer::<i32>::zeroed(33), Buffer::zeroed(33), Op::Sum).persistent(comm).unwrap();
    for round in 1..4 {
        plan.send().fill(round);
        let mut started = plan.start().unwrap();
        while !started.is_done().unwrap() {
            std::thread::yield_now();
        }
        plan = started.wait().unwrap();
        assert_eq!(plan.recv(), &[round * comm.size(); 33][..]);
    }
    assert_eq!(plan.into_memory().0[0], 3);
}

/// Refused here, before anything is sent.
fn wrong_lengths(comm: &Comm) {
    let mut short = [0i32; 2];
    let error = all_reduce(&[1i32; 3], &mut short, Op::Sum).run(comm).unwrap_err();
    assert_eq!(error.status, Status::InvalidArgument);
    let text = format!("AllReduce(Sum) has 3 elements to send and 2 to receive on rank {}", comm.rank());
    assert!(error.text.contains(&text), "{}", error);
    let error =
        all_to_all(in_place(), &mut [0i32; 0]).with(Options { codec: Some("a\0b".into()), ..Options::default() });
    assert!(error.run(comm).unwrap_err().text.contains("zero byte"));
}
