//! How an operation's description becomes a call of the C ABI.
use crate::comm::Inner;
use crate::error::{c_text, check, Error, Result};
use crate::gossip::Neighborhood;
use crate::sys;
use std::ffi::CString;
use std::os::raw::{c_int, c_void};
use std::ptr::null_mut;
use std::time::Duration;

/// Reductions; gossamer.h says what each does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Op {
    Sum = sys::GOSS_SUM,
    Prod = sys::GOSS_PROD,
    Min = sys::GOSS_MIN,
    Max = sys::GOSS_MAX,
    Avg = sys::GOSS_AVG,
    PremulSum = sys::GOSS_PREMUL_SUM,
    BitAnd = sys::GOSS_BAND,
    BitOr = sys::GOSS_BOR,
    BitXor = sys::GOSS_BXOR,
    And = sys::GOSS_LAND,
    Or = sys::GOSS_LOR,
    Xor = sys::GOSS_LXOR,
}

/// Options of one operation; a field that is not set has its default. goss_options documents the fields.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub timeout: Option<Duration>,
    pub algorithm: Option<String>,
    /// Factor of [`Op::PremulSum`]; none: 1.
    pub scale: Option<f64>,
    pub codec: Option<String>,
    pub return_codec: Option<String>,
    pub tensor: u64,
}

/// goss_options and the strings that it points to.
pub(crate) struct RawOptions {
    pub raw: sys::goss_options,
    _texts: Vec<CString>,
}

/// A part of a millisecond counts as one.
pub(crate) fn milliseconds(time: Duration) -> i64 {
    ((time.as_nanos() + 999_999) / 1_000_000).min(i64::MAX as u128) as i64
}

impl Options {
    pub(crate) fn raw(&self) -> Result<RawOptions> {
        // SAFETY: a struct of numbers and pointers; goss_options_init writes it.
        let mut raw: sys::goss_options = unsafe { std::mem::zeroed() };
        check(unsafe { sys::goss_options_init(&mut raw, std::mem::size_of_val(&raw)) })?;
        raw.timeout_ms = self.timeout.map_or(0, |time| milliseconds(time).max(1));
        raw.scale = self.scale.unwrap_or(1.0);
        raw.tensor = self.tensor;
        let mut texts = Vec::new();
        let fields = [
            (&self.algorithm, &mut raw.algorithm),
            (&self.codec, &mut raw.codec),
            (&self.return_codec, &mut raw.return_codec),
        ];
        for (text, field) in fields {
            if let Some(text) = text {
                texts.push(c_text(text)?);
                *field = texts[texts.len() - 1].as_ptr() as *mut _;
            }
        }
        Ok(RawOptions { raw, _texts: texts })
    }
}

/// Blocks of unequal lengths: `counts[k]` elements at `displs[k]`; without displacements they are packed.
#[derive(Clone, Debug)]
pub struct Blocks {
    pub counts: Vec<usize>,
    pub displs: Option<Vec<usize>>,
}

impl Blocks {
    pub fn packed(counts: &[usize]) -> Blocks {
        Blocks { counts: counts.to_vec(), displs: None }
    }

    fn displs(&self) -> *mut usize {
        self.displs.as_ref().map_or(null_mut(), |displs| displs.as_ptr() as *mut usize)
    }

    fn counts(&self) -> *mut usize {
        self.counts.as_ptr() as *mut usize
    }

    /// Whether there are `blocks` of them, all within `len` elements.
    fn fit(&self, blocks: usize, len: usize) -> bool {
        let ends = |displs: &Vec<usize>| {
            displs.len() == blocks
                && displs
                    .iter()
                    .zip(&self.counts)
                    .all(|(at, count)| at.checked_add(*count).map_or(false, |end| end <= len))
        };
        let packed = || {
            self.counts.iter().try_fold(0usize, |sum, count| sum.checked_add(*count)).map_or(false, |sum| sum <= len)
        };
        self.counts.len() == blocks && self.displs.as_ref().map_or_else(packed, ends)
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    AllReduce(Op),
    Reduce(Op, i32),
    Broadcast(i32),
    AllGather,
    AllGatherV(Blocks),
    ReduceScatter(Op),
    ReduceScatterV(Op, Blocks),
    AllToAll,
    AllToAllV(Blocks, Blocks),
    Gather(i32),
    Scatter(i32),
    Scan(Op),
    Exscan(Op),
    Barrier,
    Send(i32, i32),
    Recv(i32, i32),
    NeighborAllReduce(Neighborhood),
    NeighborAllGather(Neighborhood),
    NeighborAllGatherV(Neighborhood, Blocks),
    NeighborAllToAll(Neighborhood),
    NeighborAllToAllV(Neighborhood, Blocks, Blocks),
}

/// A started operation's arguments.
pub(crate) struct Launch<'a> {
    pub kind: &'a Kind,
    pub send: (*mut c_void, usize),
    pub recv: (*mut c_void, usize),
    pub is_in_place: bool,
    pub dtype: c_int,
    pub element_bytes: usize,
}

/// A member of a group: any [`crate::Operation`].
pub trait Member: sealed::Sealed {}

pub(crate) mod sealed {
    use super::*;
    pub trait Sealed {
        /// # Safety
        /// The memory is lent until the request, or the group where `request` is NULL, has completed.
        unsafe fn launch(&mut self, comm: &Inner, flags: u32, request: *mut sys::goss_request_t) -> Result<()>;
    }
}

impl Launch<'_> {
    /// The element count that the C function takes, once the lengths are found to be right.
    fn count(&self, rank: usize, size: usize) -> Result<usize> {
        let (recv, s) = (self.recv.1, self.send.1);
        let is_root = |root: i32| rank as i64 == i64::from(root);
        let (count, is_right, rule) = match self.kind {
            Kind::AllReduce(_) | Kind::Scan(_) | Kind::Exscan(_) | Kind::NeighborAllReduce(_) => {
                (recv, self.is_in_place || s == recv, "send and recv of one length")
            }
            Kind::Reduce(_, root) if self.is_in_place || is_root(*root) => {
                (recv, self.is_in_place || s == recv, "send and recv of one length")
            }
            Kind::Reduce(..) => (s, true, ""),
            Kind::Broadcast(_) | Kind::Recv(..) => (recv, true, ""),
            Kind::Barrier => (0, true, ""),
            Kind::Send(..) => (s, true, ""),
            Kind::AllGather if self.is_in_place => (recv / size, recv % size == 0, "a block of recv for each rank"),
            Kind::AllGather => (s, Some(recv) == s.checked_mul(size), "send's length in recv for each rank"),
            Kind::AllGatherV(blocks) => {
                let own = blocks.counts.get(rank).copied();
                let is_right = blocks.fit(size, recv) && (self.is_in_place || own == Some(s));
                (0, is_right, "a count of each rank, this rank's that of send, and their blocks in recv")
            }
            Kind::ReduceScatter(_) => (recv, Some(s) == recv.checked_mul(size), "recv's length in send for each rank"),
            Kind::ReduceScatterV(_, blocks) => {
                let is_right = blocks.fit(size, s) && blocks.counts[rank] == recv && blocks.displs.is_none();
                (0, is_right, "a count of each rank, this rank's that of recv, and their packed blocks in send")
            }
            Kind::AllToAll => {
                (recv / size, (self.is_in_place || s == recv) && recv % size == 0, "a block for each rank in both")
            }
            Kind::AllToAllV(sends, recvs) => (
                0,
                sends.fit(size, s) && recvs.fit(size, recv),
                "a count of each rank, and the blocks in send and recv",
            ),
            Kind::Gather(root) => (
                s,
                !is_root(*root) || Some(recv) == s.checked_mul(size),
                "send's length in the root's recv for each rank",
            ),
            Kind::Scatter(root) => (
                recv,
                !is_root(*root) || Some(s) == recv.checked_mul(size),
                "recv's length in the root's send for each rank",
            ),
            Kind::NeighborAllGather(near) => {
                (s, Some(recv) == s.checked_mul(near.sources.len()), "send's length in recv for each source")
            }
            Kind::NeighborAllGatherV(near, blocks) => {
                (s, blocks.fit(near.sources.len(), recv), "a count of each source, and their blocks in recv")
            }
            Kind::NeighborAllToAll(near) => {
                let (to, from) = (near.destinations.len(), near.sources.len());
                let count = if to > 0 { s / to } else { recv / from.max(1) };
                (count, count * to == s && count * from == recv, "equal blocks for each neighbour in both")
            }
            Kind::NeighborAllToAllV(near, sends, recvs) => {
                let is_right = sends.fit(near.destinations.len(), s) && recvs.fit(near.sources.len(), recv);
                (0, is_right, "a count of each neighbour, and the blocks in send and recv")
            }
        };
        if is_right {
            return Ok(count);
        }
        Err(Error::invalid(format!(
            "gossamer: {:?} has {} elements to send and {} to receive on rank {} of {}; it needs {}",
            self.kind, s, recv, rank, size, rule
        )))
    }

    /// The address that the operation reads.
    fn source(&self, rank: usize, count: usize) -> Result<*mut c_void> {
        if !self.is_in_place {
            return Ok(self.send.0);
        }
        let at = match self.kind {
            Kind::AllGather => rank * count,
            Kind::AllGatherV(blocks) => match &blocks.displs {
                Some(displs) => displs[rank],
                None => blocks.counts[..rank].iter().sum(),
            },
            Kind::AllReduce(_) | Kind::Reduce(..) | Kind::Scan(_) | Kind::Exscan(_) => 0,
            Kind::AllToAll | Kind::NeighborAllReduce(_) => 0,
            _ => {
                return Err(Error::invalid(format!(
                    "gossamer: {:?} does not work in place; give it memory to read",
                    self.kind
                )))
            }
        };
        Ok(self.recv.0.cast::<u8>().wrapping_add(at * self.element_bytes).cast())
    }

    /// # Safety
    /// As [`sealed::Sealed::launch`].
    pub unsafe fn call(
        &self,
        comm: &Inner,
        options: &mut sys::goss_options,
        request: *mut sys::goss_request_t,
    ) -> Result<()> {
        let n = self.count(comm.rank as usize, comm.size as usize)?;
        let (send, recv, dtype) = (self.source(comm.rank as usize, n)?, self.recv.0, self.dtype);
        let (c, o) = (comm.raw, options as *mut sys::goss_options);
        let status = match self.kind {
            Kind::AllReduce(op) => sys::goss_all_reduce(c, send, recv, n, dtype, *op as c_int, o, request),
            Kind::Reduce(op, root) => sys::goss_reduce(c, send, recv, n, dtype, *op as c_int, *root, o, request),
            Kind::Broadcast(root) => sys::goss_broadcast(c, recv, recv, n, dtype, *root, o, request),
            Kind::AllGather => sys::goss_all_gather(c, send, recv, n, dtype, o, request),
            Kind::AllGatherV(b) => sys::goss_all_gatherv(c, send, recv, b.counts(), b.displs(), dtype, o, request),
            Kind::ReduceScatter(op) => sys::goss_reduce_scatter(c, send, recv, n, dtype, *op as c_int, o, request),
            Kind::ReduceScatterV(op, b) => {
                sys::goss_reduce_scatterv(c, send, recv, b.counts(), dtype, *op as c_int, o, request)
            }
            Kind::AllToAll => sys::goss_all_to_all(c, send, recv, n, dtype, o, request),
            Kind::AllToAllV(s, r) => {
                sys::goss_all_to_allv(c, send, s.counts(), s.displs(), recv, r.counts(), r.displs(), dtype, o, request)
            }
            Kind::Gather(root) => sys::goss_gather(c, send, recv, n, dtype, *root, o, request),
            Kind::Scatter(root) => sys::goss_scatter(c, send, recv, n, dtype, *root, o, request),
            Kind::Scan(op) => sys::goss_scan(c, send, recv, n, dtype, *op as c_int, o, request),
            Kind::Exscan(op) => sys::goss_exscan(c, send, recv, n, dtype, *op as c_int, o, request),
            Kind::Barrier => sys::goss_barrier(c, o, request),
            Kind::Send(peer, tag) => sys::goss_send(c, send, n, dtype, *peer, *tag, o, request),
            Kind::Recv(peer, tag) => sys::goss_recv(c, recv, n, dtype, *peer, *tag, o, request),
            Kind::NeighborAllReduce(near) => {
                near.with(|raw| sys::goss_neighbor_all_reduce(c, send, recv, n, dtype, raw, o, request))
            }
            Kind::NeighborAllGather(near) => {
                near.with(|raw| sys::goss_neighbor_all_gather(c, send, recv, n, dtype, raw, o, request))
            }
            Kind::NeighborAllGatherV(near, b) => near.with(|raw| {
                sys::goss_neighbor_all_gatherv(c, send, n, recv, b.counts(), b.displs(), dtype, raw, o, request)
            }),
            Kind::NeighborAllToAll(near) => {
                near.with(|raw| sys::goss_neighbor_all_to_all(c, send, recv, n, dtype, raw, o, request))
            }
            Kind::NeighborAllToAllV(near, s, r) => near.with(|raw| {
                sys::goss_neighbor_all_to_allv(
                    c,
                    send,
                    s.counts(),
                    s.displs(),
                    recv,
                    r.counts(),
                    r.displs(),
                    dtype,
                    raw,
                    o,
                    request,
                )
            }),
        };
        comm.check(status)
    }
}
