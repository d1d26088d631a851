package gossamer

import "gossamer/abi"

// Blocks are Counts[k] elements at Displs[k]; without Displs they are packed.
type Blocks struct {
	Counts, Displs []int
}

// fit reports whether there are n blocks, each within a buffer of that many elements.
func (b Blocks) fit(n, elements int) bool {
	end := 0
	for k, count := range b.Counts {
		if b.Displs != nil && k < len(b.Displs) {
			end = b.Displs[k]
		}
		if count < 0 || end < 0 || end > elements || count > elements-end {
			return false
		}
		end += count
	}
	return len(b.Counts) == n && (b.Displs == nil || len(b.Displs) == n)
}

// sizes is the array that C reads; nil for none.
func sizes(from []int) *uintptr {
	if len(from) == 0 {
		return nil
	}
	made := make([]uintptr, len(from))
	for i, one := range from {
		made[i] = uintptr(one)
	}
	return &made[0]
}

func when(fits bool, count int) int {
	if fits {
		return count
	}
	return -1
}

func sameLength(_ *Comm, send, recv int) int { return when(send == recv, send) }
func received(_ *Comm, _, recv int) int      { return recv }

// empty is the memory of operations that read or write none.
func empty[M Memory]() M { return *new(M) }

func operation[M Memory](name string, send, recv M, count func(comm *Comm, send, recv int) int,
	launch func(d *description, comm abi.Comm, n uintptr, options *abi.Options, request *abi.Request) abi.Status) Operation[M] {
	return Operation[M]{description{name: name, send: spanOf(send), recv: spanOf(recv), count: count, launch: launch}}
}

// AllReduce : recv[i] = op over all ranks of send[i]. In place: the same memory.
func AllReduce[M Memory](send, recv M, op Op) Operation[M] {
	return operation("AllReduce", send, recv, sameLength, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.AllReduce(c, d.send.address, d.recv.address, n, d.send.dtype, op, o, r)
	})
}

// Reduce is AllReduce of which only the root receives.
func Reduce[M Memory](send, recv M, op Op, root int) Operation[M] {
	count := func(c *Comm, send, recv int) int { return when(c.rank != root || send == recv, send) }
	return operation("Reduce", send, recv, count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.Reduce(c, d.send.address, d.recv.address, n, d.send.dtype, op, int32(root), o, r)
	}).naming(root)
}

// Broadcast gives every rank the root's elements.
func Broadcast[M Memory](data M, root int) Operation[M] {
	return operation("Broadcast", data, data, received, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.Broadcast(c, d.send.address, d.recv.address, n, d.send.dtype, int32(root), o, r)
	}).naming(root)
}

// AllGather : recv = concatenation over ranks of send.
func AllGather[M Memory](send, recv M) Operation[M] {
	count := func(c *Comm, send, recv int) int { return when(recv == send*c.size, send) }
	return operation("AllGather", send, recv, count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.AllGather(c, d.send.address, d.recv.address, n, d.send.dtype, o, r)
	})
}

// AllGatherV is AllGather of blocks of unequal lengths.
func AllGatherV[M Memory](send, recv M, blocks Blocks) Operation[M] {
	count := func(c *Comm, send, recv int) int {
		return when(blocks.fit(c.size, recv) && blocks.Counts[c.rank] == send, 0)
	}
	return operation("AllGatherV", send, recv, count, func(d *description, c abi.Comm, _ uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.AllGatherv(c, d.send.address, d.recv.address, sizes(blocks.Counts), sizes(blocks.Displs), d.send.dtype, o, r)
	})
}

// ReduceScatter : recv = this rank's block of the reduction of send.
func ReduceScatter[M Memory](send, recv M, op Op) Operation[M] {
	count := func(c *Comm, send, recv int) int { return when(send == recv*c.size, recv) }
	return operation("ReduceScatter", send, recv, count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.ReduceScatter(c, d.send.address, d.recv.address, n, d.send.dtype, op, o, r)
	})
}

// ReduceScatterV is ReduceScatter of packed blocks of unequal lengths.
func ReduceScatterV[M Memory](send, recv M, op Op, counts []int) Operation[M] {
	count := func(c *Comm, send, recv int) int {
		return when(Blocks{Counts: counts}.fit(c.size, send) && counts[c.rank] == recv, 0)
	}
	return operation("ReduceScatterV", send, recv, count, func(d *description, c abi.Comm, _ uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.ReduceScatterv(c, d.send.address, d.recv.address, sizes(counts), d.send.dtype, op, o, r)
	})
}

// AllToAll : block j of send goes to rank j.
func AllToAll[M Memory](send, recv M) Operation[M] {
	count := func(c *Comm, send, recv int) int { return when(send == recv && send%c.size == 0, send/c.size) }
	return operation("AllToAll", send, recv, count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.AllToAll(c, d.send.address, d.recv.address, n, d.send.dtype, o, r)
	})
}

// AllToAllV is AllToAll of blocks of unequal lengths.
func AllToAllV[M Memory](send M, sends Blocks, recv M, recvs Blocks) Operation[M] {
	count := func(c *Comm, send, recv int) int { return when(sends.fit(c.size, send) && recvs.fit(c.size, recv), 0) }
	return operation("AllToAllV", send, recv, count, func(d *description, c abi.Comm, _ uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.AllToAllv(c, d.send.address, sizes(sends.Counts), sizes(sends.Displs), d.recv.address, sizes(recvs.Counts),
			sizes(recvs.Displs), d.send.dtype, o, r)
	})
}

// Gather : recv of the root = concatenation over ranks of send.
func Gather[M Memory](send, recv M, root int) Operation[M] {
	count := func(c *Comm, send, recv int) int { return when(c.rank != root || recv == send*c.size, send) }
	return operation("Gather", send, recv, count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.Gather(c, d.send.address, d.recv.address, n, d.send.dtype, int32(root), o, r)
	}).naming(root)
}

// Scatter : recv = this rank's block of the root's send.
func Scatter[M Memory](send, recv M, root int) Operation[M] {
	count := func(c *Comm, send, recv int) int { return when(c.rank != root || send == recv*c.size, recv) }
	return operation("Scatter", send, recv, count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.Scatter(c, d.send.address, d.recv.address, n, d.send.dtype, int32(root), o, r)
	}).naming(root)
}

// Scan : recv[i] = op over the ranks up to this one of send[i].
func Scan[M Memory](send, recv M, op Op) Operation[M] {
	return operation("Scan", send, recv, sameLength, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.Scan(c, d.send.address, d.recv.address, n, d.send.dtype, op, o, r)
	})
}

// Exscan is Scan without this rank; rank 0's recv stays as it was.
func Exscan[M Memory](send, recv M, op Op) Operation[M] {
	return operation("Exscan", send, recv, sameLength, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.Exscan(c, d.send.address, d.recv.address, n, d.send.dtype, op, o, r)
	})
}

// Barrier completes when all ranks have called it.
func Barrier() Operation[Buffer[uint8]] {
	none := empty[Buffer[uint8]]()
	return operation("Barrier", none, none, received, func(_ *description, c abi.Comm, _ uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.Barrier(c, o, r)
	})
}

// Send sends to a rank.
func Send[M Memory](data M, peer, tag int) Operation[M] {
	count := func(_ *Comm, send, _ int) int { return send }
	return operation("Send", data, empty[M](), count, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.Send(c, d.send.address, n, d.send.dtype, int32(peer), int32(tag), o, r)
	}).naming(peer, tag)
}

// Recv receives up to the memory's length, from a rank or AnySource, with a tag or AnyTag.
func Recv[M Memory](data M, peer, tag int) Operation[M] {
	return operation("Recv", empty[M](), data, received, func(d *description, c abi.Comm, n uintptr, o *abi.Options, r *abi.Request) abi.Status {
		return abi.Recv(c, d.recv.address, n, d.recv.dtype, int32(peer), int32(tag), o, r)
	}).naming(peer, tag)
}
