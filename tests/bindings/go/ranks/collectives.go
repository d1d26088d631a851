package main

import "gossamer"

// element is number i of a rank's vector.
func element(rank, i int) int64 { return int64(rank*100 + i) }

func vector(rank, count int) []int64 { return elements(rank, 0, count) }

func elements(rank, from, to int) (made []int64) {
	for i := from; i < to; i++ {
		made = append(made, element(rank, i))
	}
	return made
}

// sums are of the elements from..to of some ranks.
func sums(ranks, from, to int) []int64 {
	made := make([]int64, to-from)
	for rank := 0; rank < ranks; rank++ {
		for i := range made {
			made[i] += element(rank, from+i)
		}
	}
	return made
}

// collected is f of every rank, one behind the other.
func collected(ranks int, f func(rank int) []int64) (made []int64) {
	for rank := 0; rank < ranks; rank++ {
		made = append(made, f(rank)...)
	}
	return made
}

func collectives(r ranks) {
	reductions(r)
	gathers(r)
	unequal(r)
	types(r)
}

func reductions(r ranks) {
	send, recv := vector(r.rank, 7), make([]int64, 7)
	run(r, gossamer.AllReduce(send, recv, gossamer.Sum))
	equal(recv, sums(r.size, 0, 7))
	both := vector(r.rank, 7)
	run(r, gossamer.AllReduce(both, both, gossamer.Sum))
	equal(both, recv)
	root, atRoot := r.size-1, repeated(int64(-1), 7)
	run(r, gossamer.Reduce(send, atRoot, gossamer.Max, root))
	if r.rank == root {
		equal(atRoot, vector(root, 7))
	} else {
		equal(atRoot, repeated(int64(-1), 7))
	}
	run(r, gossamer.Scan(send, recv, gossamer.Sum))
	equal(recv, sums(r.rank+1, 0, 7))
	before := repeated(int64(-5), 7)
	run(r, gossamer.Exscan(send, before, gossamer.Sum))
	if r.rank > 0 {
		equal(before, sums(r.rank, 0, 7))
	} else {
		equal(before, repeated(int64(-5), 7))
	}
	run(r, gossamer.Broadcast(send, root))
	equal(send, vector(root, 7))
	block := make([]int64, 2)
	run(r, gossamer.ReduceScatter(vector(r.rank, 2*r.size), block, gossamer.Sum))
	equal(block, sums(r.size, 2*r.rank, 2*r.rank+2))
}

func gathers(r ranks) {
	everything := collected(r.size, func(rank int) []int64 { return vector(rank, 3) })
	recv := make([]int64, 3*r.size)
	run(r, gossamer.AllGather(vector(r.rank, 3), recv))
	equal(recv, everything)
	own := make([]int64, 3*r.size)
	part := own[3*r.rank : 3*r.rank+3]
	copy(part, vector(r.rank, 3))
	run(r, gossamer.AllGather(part, own))
	equal(own, everything)
	var atRoot, parts []int64
	if r.rank == 0 {
		atRoot, parts = make([]int64, 3*r.size), everything
	}
	run(r, gossamer.Gather(vector(r.rank, 3), atRoot, 0))
	equal(atRoot, parts)
	block := make([]int64, 3)
	run(r, gossamer.Scatter(parts, block, 0))
	equal(block, vector(r.rank, 3))
	run(r, gossamer.AllToAll(vector(r.rank, r.size), recv[:r.size]))
	equal(recv[:r.size], collected(r.size, func(rank int) []int64 { return elements(rank, r.rank, r.rank+1) }))
	run(r, gossamer.Barrier())
}

// unequal: rank r brings r + 1 elements.
func unequal(r ranks) {
	var counts, displs []int
	total := r.size * (r.size + 1) / 2
	for rank := 0; rank < r.size; rank++ {
		counts, displs = append(counts, rank+1), append(displs, total-(rank+1)*(rank+2)/2)
	}
	mine := vector(r.rank, r.rank+1)
	recv := make([]int64, total)
	run(r, gossamer.AllGatherV(mine, recv, gossamer.Blocks{Counts: counts}))
	equal(recv, collected(r.size, func(rank int) []int64 { return vector(rank, rank+1) }))
	run(r, gossamer.AllGatherV(mine, recv, gossamer.Blocks{Counts: counts, Displs: displs}))
	equal(recv, collected(r.size, func(rank int) []int64 { return vector(r.size-1-rank, r.size-rank) }))
	first, block := r.rank*(r.rank+1)/2, make([]int64, r.rank+1)
	run(r, gossamer.ReduceScatterV(vector(r.rank, total), block, gossamer.Sum, counts))
	equal(block, sums(r.size, first, first+r.rank+1))
	fromAll := make([]int64, r.size*(r.rank+1))
	recvs := gossamer.Blocks{Counts: repeated(r.rank+1, r.size)}
	run(r, gossamer.AllToAllV(vector(r.rank, total), gossamer.Blocks{Counts: counts}, fromAll, recvs))
	equal(fromAll, collected(r.size, func(rank int) []int64 { return elements(rank, first, first+r.rank+1) }))
}

func reduces[M gossamer.Slice](r ranks, data M, op gossamer.Op, expected M) {
	run(r, gossamer.AllReduce(data, data, op))
	equal(data, expected)
}

func types(r ranks) {
	n := r.size
	odd := uint64(0)
	if n%2 == 1 {
		odd = 6
	}
	reduces(r, repeated(int8(1), 5), gossamer.Sum, repeated(int8(n), 5))
	reduces(r, repeated(uint8(2), 5), gossamer.Prod, repeated(uint8(1<<n), 5))
	reduces(r, repeated(int32(3), 5), gossamer.Avg, repeated(int32(3), 5))
	reduces(r, repeated(uint32(5), 5), gossamer.BitAnd, repeated(uint32(5), 5))
	reduces(r, repeated(uint64(6), 5), gossamer.BitXor, repeated(uint64(odd), 5))
	reduces(r, repeated(float32(1.5), 5), gossamer.Sum, repeated(float32(1.5*float32(n)), 5))
	reduces(r, repeated(1.5, 5), gossamer.Sum, repeated(float64(1.5*float64(n)), 5))
	reduces(r, repeated(gossamer.Float16(0x3c00), 5), gossamer.Avg, repeated(gossamer.Float16(0x3c00), 5))
	reduces(r, repeated(gossamer.BFloat16(0x3f80), 5), gossamer.Max, repeated(gossamer.BFloat16(0x3f80), 5))
	reduces(r, repeated(gossamer.Float8E4M3(0x38), 5), gossamer.Min, repeated(gossamer.Float8E4M3(0x38), 5))
	reduces(r, repeated(gossamer.Float8E5M2(0x3c), 5), gossamer.Avg, repeated(gossamer.Float8E5M2(0x3c), 5))
	reduces(r, repeated(gossamer.Bool(1), 5), gossamer.And, repeated(gossamer.Bool(1), 5))
	if n > 1 {
		scaled := repeated(float32(3), 5)
		run(r, gossamer.AllReduce(scaled, scaled, gossamer.PremulSum).With(gossamer.Options{Scale: 0.5}))
		equal(scaled, repeated(1.5*float32(n), 5))
	}
	ring := repeated(int32(1), 40)
	run(r, gossamer.AllReduce(ring, ring, gossamer.Sum).With(gossamer.Options{Algorithm: "ring"}))
	equal(ring, repeated(int32(n), 40))
}
