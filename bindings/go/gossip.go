package gossamer

import (
	"runtime"
	"unsafe"

	"gossamer/abi"
)

// Neighbor is a rank and the factor of what comes from it, or goes to it.
type Neighbor struct {
	Rank   int
	Weight float64
}

// Neighborhood is the neighbours of one rank in one round.
type Neighborhood struct {
	SelfWeight            float64
	Sources, Destinations []Neighbor
}

// ranks is all that it names.
func (n Neighborhood) ranks() (named []int) {
	for _, one := range append(append([]Neighbor{}, n.Sources...), n.Destinations...) {
		named = append(named, one.Rank)
	}
	return named
}

// with hands it to C.
func (n Neighborhood) with(f func(raw *abi.Neighborhood) abi.Status) abi.Status {
	list := func(from []Neighbor) *abi.Neighbor {
		memory := abi.NewMemory(uintptr(len(from)) * unsafe.Sizeof(abi.Neighbor{}))
		for k, one := range from {
			unsafe.Slice((*abi.Neighbor)(memory), len(from))[k] = abi.Neighbor{Rank: int32(one.Rank), Weight: one.Weight}
		}
		return (*abi.Neighbor)(memory)
	}
	raw := abi.Neighborhood{
		Size: unsafe.Sizeof(abi.Neighborhood{}), SelfWeight: n.SelfWeight,
		Sources: list(n.Sources), SourceCount: uintptr(len(n.Sources)),
		Destinations: list(n.Destinations), DestinationCount: uintptr(len(n.Destinations)),
	}
	defer abi.Release(unsafe.Pointer(raw.Sources))
	defer abi.Release(unsafe.Pointer(raw.Destinations))
	return f(&raw)
}

// What every round's matrix of a topology may have, for Require.
const (
	RowStochastic    = abi.TopologyRowStochastic
	ColumnStochastic = abi.TopologyColumnStochastic
	DoublyStochastic = abi.TopologyDoublyStochastic
	Symmetric        = abi.TopologySymmetric
	Constant         = abi.TopologyConstant
)

// Topology defines which ranks send to which in every round, and with what weights.
type Topology struct{ raw abi.Topology }

// NewTopology makes a topology by a spec such as "ring" or "torus:4x4"; gossip.h lists them.
func NewTopology(spec string, ranks int) (*Topology, error) {
	if err := narrow("NewTopology", ranks); err != nil {
		return nil, err
	}
	text := abi.NewText(spec)
	defer abi.Release(text)
	var raw abi.Topology
	if err := call(nil, func() abi.Status { return abi.TopologyCreate(text, int32(ranks), &raw) }); err != nil {
		return nil, err
	}
	topology := &Topology{raw}
	runtime.SetFinalizer(topology, func(t *Topology) { abi.TopologyDestroy(t.raw) })
	return topology, nil
}

func (t *Topology) call(f func() abi.Status) error {
	defer runtime.KeepAlive(t)
	return call(nil, f)
}

// Period returns the number of rounds after which the topology repeats.
func (t *Topology) Period() (period uint64, err error) {
	err = t.call(func() abi.Status { return abi.TopologyPeriod(t.raw, &period) })
	return period, err
}

// Weight returns the factor with which a rank takes what another sends.
func (t *Topology) Weight(round uint64, to, from int) (weight float64, err error) {
	if err := narrow("Weight", to, from); err != nil {
		return 0, err
	}
	err = t.call(func() abi.Status { return abi.TopologyWeight(t.raw, round, int32(to), int32(from), &weight) })
	return weight, err
}

// Neighbors returns the neighbours of a rank in a round.
func (t *Topology) Neighbors(round uint64, rank int) (Neighborhood, error) {
	if err := narrow("Neighbors", rank); err != nil {
		return Neighborhood{}, err
	}
	var raw abi.Neighborhood
	abi.NeighborhoodInit(&raw, unsafe.Sizeof(raw))
	if err := t.call(func() abi.Status { return abi.TopologyNeighbors(t.raw, round, int32(rank), &raw) }); err != nil {
		return Neighborhood{}, err
	}
	list := func(from *abi.Neighbor, count uintptr) (made []Neighbor) {
		for _, one := range unsafe.Slice(from, int(count)) {
			made = append(made, Neighbor{int(one.Rank), one.Weight})
		}
		return made
	}
	defer runtime.KeepAlive(t)
	return Neighborhood{raw.SelfWeight, list(raw.Sources, raw.SourceCount), list(raw.Destinations, raw.DestinationCount)}, nil
}

// Require returns nil if every round has the property.
func (t *Topology) Require(property abi.TopologyProperty) error {
	return t.call(func() abi.Status { return abi.TopologyRequire(t.raw, int32(property)) })
}

// Describe returns the topology's properties as JSON.
func (t *Topology) Describe() (string, error) {
	defer runtime.KeepAlive(t)
	return takeText(func(text *unsafe.Pointer) abi.Status { return abi.TopologyDescribe(t.raw, text) })
}

// Draw returns the graph of a round as SVG; -1: of all rounds.
func (t *Topology) Draw(round int64) (string, error) {
	defer runtime.KeepAlive(t)
	return takeText(func(text *unsafe.Pointer) abi.Status { return abi.TopologyDraw(t.raw, round, text) })
}

// NeighborAllReduce : recv = SelfWeight * send + the weighted sum of what the sources send.
func NeighborAllReduce[M Memory](send, recv M, near Neighborhood) Operation[M] {
	return operation("NeighborAllReduce", send, recv, sameLength, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return near.with(func(raw *abi.Neighborhood) abi.Status {
			return abi.NeighborAllReduce(c, d.send.address, d.recv.address, n, d.send.dtype, raw, o, r)
		})
	}).naming(near.ranks()...)
}

// NeighborAllGather : block k of recv = what source k sends.
func NeighborAllGather[M Memory](send, recv M, near Neighborhood) Operation[M] {
	count := func(_ *Comm, send, recv int) int { return when(recv == send*len(near.Sources), send) }
	return operation("NeighborAllGather", send, recv, count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return near.with(func(raw *abi.Neighborhood) abi.Status {
			return abi.NeighborAllGather(c, d.send.address, d.recv.address, n, d.send.dtype, raw, o, r)
		})
	}).naming(near.ranks()...)
}

// NeighborAllGatherV is NeighborAllGather of blocks of unequal lengths.
func NeighborAllGatherV[M Memory](send, recv M, near Neighborhood, recvs Blocks) Operation[M] {
	count := func(_ *Comm, send, recv int) int { return when(recvs.fit(len(near.Sources), recv), send) }
	return operation("NeighborAllGatherV", send, recv, count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return near.with(func(raw *abi.Neighborhood) abi.Status {
			return abi.NeighborAllGatherv(c, d.send.address, n, d.recv.address, sizes(recvs.Counts), sizes(recvs.Displs), d.send.dtype, raw, o, r)
		})
	}).naming(near.ranks()...)
}

// NeighborAllToAll : block k of send goes to destination k, block k of recv comes from source k.
func NeighborAllToAll[M Memory](send, recv M, near Neighborhood) Operation[M] {
	count := func(_ *Comm, send, recv int) int {
		to, from, n := len(near.Destinations), len(near.Sources), 0
		if to > 0 {
			n = send / to
		} else if from > 0 {
			n = recv / from
		}
		return when(n*to == send && n*from == recv, n)
	}
	return operation("NeighborAllToAll", send, recv, count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return near.with(func(raw *abi.Neighborhood) abi.Status {
			return abi.NeighborAllToAll(c, d.send.address, d.recv.address, n, d.send.dtype, raw, o, r)
		})
	}).naming(near.ranks()...)
}

// NeighborAllToAllV is NeighborAllToAll of blocks of unequal lengths.
func NeighborAllToAllV[M Memory](send M, sends Blocks, recv M, recvs Blocks, near Neighborhood) Operation[M] {
	count := func(_ *Comm, send, recv int) int {
		return when(sends.fit(len(near.Destinations), send) && recvs.fit(len(near.Sources), recv), 0)
	}
	return operation("NeighborAllToAllV", send, recv, count, func(d *description, c abi.Comm, _ uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return near.with(func(raw *abi.Neighborhood) abi.Status {
			return abi.NeighborAllToAllv(c, d.send.address, sizes(sends.Counts), sizes(sends.Displs), d.recv.address,
				sizes(recvs.Counts), sizes(recvs.Displs), d.send.dtype, raw, o, r)
		})
	}).naming(near.ranks()...)
}
