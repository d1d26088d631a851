//! Gossip: who averages with whom, and collectives among neighbours.
use crate::collectives::Blocks;
use crate::error::{c_text, check, take_text, Result};
use crate::launch::Kind;
use crate::memory::{Read, Write};
use crate::operation::Operation;
use crate::sys;
use std::ptr::null_mut;

/// The neighbours of one rank in one round: (rank, weight).
#[derive(Clone, Debug, PartialEq)]
pub struct Neighborhood {
    pub self_weight: f64,
    pub sources: Vec<(i32, f64)>,
    pub destinations: Vec<(i32, f64)>,
}

impl Neighborhood {
    pub(crate) fn with<T>(&self, call: impl FnOnce(*mut sys::goss_neighborhood) -> T) -> T {
        let list = |of: &[(i32, f64)]| -> Vec<sys::goss_neighbor> {
            of.iter().map(|&(rank, weight)| sys::goss_neighbor { rank, reserved: 0, weight }).collect()
        };
        let (mut sources, mut destinations) = (list(&self.sources), list(&self.destinations));
        call(&mut sys::goss_neighborhood {
            size: std::mem::size_of::<sys::goss_neighborhood>(),
            self_weight: self.self_weight,
            sources: sources.as_mut_ptr(),
            source_count: sources.len(),
            destinations: destinations.as_mut_ptr(),
            destination_count: destinations.len(),
        })
    }
}

/// What every round's matrix may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Property {
    RowStochastic = sys::GOSS_TOPOLOGY_ROW_STOCHASTIC,
    ColumnStochastic = sys::GOSS_TOPOLOGY_COLUMN_STOCHASTIC,
    DoublyStochastic = sys::GOSS_TOPOLOGY_DOUBLY_STOCHASTIC,
    Symmetric = sys::GOSS_TOPOLOGY_SYMMETRIC,
    Constant = sys::GOSS_TOPOLOGY_CONSTANT,
}

/// Which ranks send to which in every round, and with what weights.
pub struct Topology(sys::goss_topology_t);

// SAFETY: immutable, for any number of threads at a time.
unsafe impl Send for Topology {}
unsafe impl Sync for Topology {}

impl Topology {
    /// By a spec such as "ring" or "torus:4x4"; gossip.h lists them.
    pub fn new(spec: &str, ranks: i32) -> Result<Topology> {
        let mut raw = null_mut();
        check(unsafe { sys::goss_topology_create(c_text(spec)?.as_ptr() as *mut _, ranks, &mut raw) })?;
        Ok(Topology(raw))
    }

    pub fn period(&self) -> Result<u64> {
        let mut period = 0;
        check(unsafe { sys::goss_topology_period(self.0, &mut period) })?;
        Ok(period)
    }

    pub fn weight(&self, round: u64, to: i32, from: i32) -> Result<f64> {
        let mut weight = 0.0;
        check(unsafe { sys::goss_topology_weight(self.0, round, to, from, &mut weight) })?;
        Ok(weight)
    }

    pub fn neighbors(&self, round: u64, rank: i32) -> Result<Neighborhood> {
        // SAFETY: a struct of numbers and pointers, which goss_neighborhood_init fills; the lists live as long as the topology.
        unsafe {
            let mut raw: sys::goss_neighborhood = std::mem::zeroed();
            check(sys::goss_neighborhood_init(&mut raw, std::mem::size_of_val(&raw)))?;
            check(sys::goss_topology_neighbors(self.0, round, rank, &mut raw))?;
            let list = |from: *mut sys::goss_neighbor, count: usize| {
                (0..count).map(|k| ((*from.add(k)).rank, (*from.add(k)).weight)).collect::<Vec<_>>()
            };
            let sources = list(raw.sources, raw.source_count);
            let destinations = list(raw.destinations, raw.destination_count);
            Ok(Neighborhood { self_weight: raw.self_weight, sources, destinations })
        }
    }

    /// Succeeds if every round has the property.
    pub fn require(&self, property: Property) -> Result<()> {
        check(unsafe { sys::goss_topology_require(self.0, property as i32) })
    }

    /// Its properties as JSON.
    pub fn describe(&self) -> Result<String> {
        let mut json = null_mut();
        check(unsafe { sys::goss_topology_describe(self.0, &mut json) })?;
        Ok(unsafe { take_text(json) })
    }

    /// The graph of a round as SVG; none: of all rounds.
    pub fn draw(&self, round: Option<u32>) -> Result<String> {
        let mut svg = null_mut();
        check(unsafe { sys::goss_topology_draw(self.0, round.map_or(-1, i64::from), &mut svg) })?;
        Ok(unsafe { take_text(svg) })
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        unsafe { sys::goss_topology_destroy(self.0) };
    }
}

macro_rules! among_neighbors {
    ($($(#[$doc:meta])* $name:ident($($argument:ident),*) = $kind:ident;)*) => { $(
        $(#[$doc])*
        pub fn $name<S: Read, R: Write<Item = S::Item>>(
            send: S, recv: R, neighborhood: Neighborhood $(, $argument: Blocks)*
        ) -> Operation<S, R> {
            Operation::new(Kind::$kind(neighborhood $(, $argument)*), send, recv)
        }
    )* };
}

among_neighbors! {
    /// recv = self_weight * send + the weighted sum of what the sources send.
    neighbor_all_reduce() = NeighborAllReduce;
    /// Block k of recv = what source k sends.
    neighbor_all_gather() = NeighborAllGather;
    /// As `neighbor_all_gather`, of blocks of unequal lengths.
    neighbor_all_gather_v(recvs) = NeighborAllGatherV;
    /// Block k of send goes to destination k, block k of recv comes from source k.
    neighbor_all_to_all() = NeighborAllToAll;
    /// As `neighbor_all_to_all`, of blocks of unequal lengths.
    neighbor_all_to_all_v(sends, recvs) = NeighborAllToAllV;
}
