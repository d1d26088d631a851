//! Collectives; gossamer.h says what each computes.
pub use crate::launch::Blocks;
use crate::launch::{Kind, Op};
use crate::memory::{Nothing, Read, Write};
use crate::operation::Operation;

macro_rules! collectives {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) = $kind:expr;)*) => { $(
        $(#[$doc])*
        pub fn $name<S: Read, R: Write<Item = S::Item>>(send: S, recv: R $(, $argument: $type)*) -> Operation<S, R> {
            Operation::new($kind, send, recv)
        }
    )* };
}

collectives! {
    /// recv\[i\] = op over all ranks of send\[i\].
    all_reduce(op: Op) = Kind::AllReduce(op);
    /// As `all_reduce`, but only `root` receives.
    reduce(op: Op, root: i32) = Kind::Reduce(op, root);
    /// recv = concatenation over ranks of send.
    all_gather() = Kind::AllGather;
    /// As `all_gather`, of blocks of unequal lengths.
    all_gather_v(blocks: Blocks) = Kind::AllGatherV(blocks);
    /// recv = this rank's block of the reduction of send.
    reduce_scatter(op: Op) = Kind::ReduceScatter(op);
    /// As `reduce_scatter`, of packed blocks of unequal lengths.
    reduce_scatter_v(op: Op, blocks: Blocks) = Kind::ReduceScatterV(op, blocks);
    /// Block j of send goes to rank j.
    all_to_all() = Kind::AllToAll;
    /// As `all_to_all`, of blocks of unequal lengths.
    all_to_all_v(sends: Blocks, recvs: Blocks) = Kind::AllToAllV(sends, recvs);
    /// recv of `root` = concatenation over ranks of send.
    gather(root: i32) = Kind::Gather(root);
    /// recv = this rank's block of send of `root`.
    scatter(root: i32) = Kind::Scatter(root);
    /// recv\[i\] = op over the ranks up to this one of send\[i\].
    scan(op: Op) = Kind::Scan(op);
    /// As `scan` without this rank; rank 0's recv stays as it was.
    exscan(op: Op) = Kind::Exscan(op);
}

/// Every rank gets the elements of `root`.
pub fn broadcast<R: Write>(data: R, root: i32) -> Operation<Nothing<R::Item>, R> {
    Operation::new(Kind::Broadcast(root), Nothing::default(), data)
}

/// Completes when all ranks have called it.
pub fn barrier() -> Operation<Nothing<u8>, Nothing<u8>> {
    Operation::new(Kind::Barrier, Nothing::default(), Nothing::default())
}
