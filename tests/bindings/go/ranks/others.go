package main

import (
	"errors"
	"math"
	"os"
	"strings"

	"gossamer"
	"gossamer/abi"
)

func neighbors(r ranks) {
	topology := value(gossamer.NewTopology("full", r.size))
	must(topology.Require(gossamer.DoublyStochastic))
	equal(value(topology.Period()), uint64(1))
	weight := value(topology.Weight(0, 0, r.size-1))
	is(math.Abs(weight*float64(r.size)-1) < 1e-12, "%v", weight)
	is(strings.Contains(value(topology.Describe()), `"spec"`) && strings.Contains(value(topology.Draw(-1)), "<svg"), "no texts")
	_, err := gossamer.NewTopology("nonsense", 4)
	is(errors.Is(err, gossamer.ErrInvalidArgument), "%v", err)

	near := value(topology.Neighbors(0, r.rank))
	equal(len(near.Sources), r.size-1)
	mean := repeated(float32(r.rank), 6)
	run(r, gossamer.NeighborAllReduce(mean, mean, near))
	is(math.Abs(float64(mean[5])-float64(r.size-1)/2) < 1e-5, "%v", mean)
	twice, toEach, fromEach := []int32{}, []int32{}, []int32{}
	for _, source := range near.Sources {
		twice = append(twice, repeated(int32(source.Rank), 2)...)
		fromEach = append(fromEach, repeated(int32(10*source.Rank+r.rank), 2)...)
	}
	for _, destination := range near.Destinations {
		toEach = append(toEach, repeated(int32(10*r.rank+destination.Rank), 2)...)
	}
	blocks, own := gossamer.Blocks{Counts: repeated(2, r.size-1)}, repeated(int32(r.rank), 2)
	check := func(expected []int32, operation func(recv []int32) gossamer.Operation[[]int32]) {
		recv := make([]int32, len(expected))
		run(r, operation(recv))
		equal(recv, expected)
	}
	check(twice, func(recv []int32) gossamer.Operation[[]int32] { return gossamer.NeighborAllGather(own, recv, near) })
	check(twice, func(recv []int32) gossamer.Operation[[]int32] {
		return gossamer.NeighborAllGatherV(own, recv, near, blocks)
	})
	check(fromEach, func(recv []int32) gossamer.Operation[[]int32] { return gossamer.NeighborAllToAll(toEach, recv, near) })
	check(fromEach, func(recv []int32) gossamer.Operation[[]int32] {
		return gossamer.NeighborAllToAllV(toEach, blocks, recv, blocks, near)
	})
}

func others(r ranks) {
	communicators(r)
	compressed(r)
	planning()
	synchronizers(r)
	if r.size > 1 {
		is(strings.Contains(value(r.comm.MeasureLinks(r.ctx)), "link"), "no links")
	}
}

func communicators(r ranks) {
	half := value(r.comm.Split(r.rank%2, -r.rank))
	equal(half.Size(), (r.size+1-r.rank%2)/2)
	gathered := make([]int32, half.Size())
	must(gossamer.Run(r.ctx, half, gossamer.AllGather([]int32{int32(r.rank)}, gathered)))
	for i := 1; i < len(gathered); i++ {
		equal(gathered[i], gathered[i-1]-2)
	}
	must(half.Close())
	color := -1
	if r.rank == 0 {
		color = 0
	}
	alone := value(r.comm.Split(color, 0))
	equal(alone != nil, r.rank == 0)
	if alone != nil {
		must(alone.Close())
	}
	equal(value(r.comm.Transport(r.rank)), "self")
	if wanted := os.Getenv("GOSS_TRANSPORT"); wanted != "" && r.size > 1 {
		equal(value(r.comm.Transport((r.rank+1)%r.size)), wanted)
	}
	is(value(r.comm.EventFd()) >= 0 && value(r.comm.Counters()).Operations > 0, "no counters")
	apart := value(r.comm.Dup())
	again := value(apart.Shrink(r.ctx))
	equal([]int{again.Rank(), again.Size()}, []int{r.rank, r.size})
	must(again.Close())
	must(apart.Close())

	config := value(gossamer.NewConfig())
	id := value(gossamer.NewUniqueID())
	config.Join(id, 0, 1)
	config.Text(&config.Raw.LogLevel, "error")
	must(config.Check())
	must(value(gossamer.NewWith(config)).Close())
	config.Text(&config.Raw.Transport, "pigeon")
	is(strings.Contains(config.Check().Error(), "pigeon"), "no such transport")
	config.Release()
	must(value(gossamer.NewUniqueID()).Destroy())
	equal(int(abi.Version()) > 0 && abi.Functions > 100, true)
}

// bytes in place of floats.
type bytes struct{}

func (bytes) MaxBytes(count int) int { return count }
func (bytes) Encode(values []float32, payload []byte) int {
	for i, value := range values {
		payload[i] = byte(value)
	}
	return len(values)
}
func (bytes) Decode(payload []byte, values []float32) bool {
	for i := 0; i < len(values) && i < len(payload); i++ {
		values[i] = float32(payload[i])
	}
	return len(payload) == len(values)
}

func compressed(r ranks) {
	must(r.comm.RegisterCodec("gobytes", 1, bytes{}))
	is(errors.Is(r.comm.RegisterCodec("gobytes", 1, bytes{}), gossamer.ErrInvalidArgument), "a codec was registered twice")
	whole := repeated(float32(3), 4096)
	run(r, gossamer.AllReduce(whole, whole, gossamer.Sum).With(gossamer.Options{Codec: "gobytes"}))
	equal(whole, repeated(float32(3*r.size), 4096))
	lossy := repeated(float32(0.3), 4096)
	run(r, gossamer.AllReduce(lossy, lossy, gossamer.Avg).With(gossamer.Options{Codec: "int8:block=256+ef", Tensor: 7}))
	is(math.Abs(float64(lossy[9])-0.3) < 0.01, "%v", lossy[9])
	must(r.comm.ImportCodecState(value(r.comm.ExportCodecState())))
	must(r.comm.ResetCodecState(0))
	lost := repeated(float32(1), 4)
	must(r.comm.ReadCodecState(7, lost))
	equal(lost, make([]float32, 4))
	is(errors.Is(r.comm.ImportCodecState([]byte("nonsense")), gossamer.ErrProtocol), "nonsense is a state")
}

func planning() {
	is(strings.Contains(value(gossamer.Codecs()), "int8"), "no codecs")
	is(strings.Contains(value(gossamer.SynchronizerMethods()), "diloco"), "no synchronizers")
	is(strings.Contains(value(gossamer.Explain("allreduce", 8, 1<<20, "")), "ring"), "no plan")
	is(strings.HasPrefix(value(gossamer.ExplainCodec("allreduce", 8, 1<<20, "int8", "")), "{"), "no plan")
	_, err := gossamer.Explain("nonsense", 8, 1, "")
	is(errors.Is(err, gossamer.ErrInvalidArgument), "%v", err)
}

func synchronizers(r ranks) {
	weights, gradients := filled(r, r.comm, float32(1), 9), filled(r, r.comm, float32(r.rank), 9)
	made := func() *gossamer.Synchronizer {
		sync := value(gossamer.NewSynchronizer(r.comm, "ddp"))
		equal(value(sync.Register("weights", weights, gradients, -1)), 0)
		return sync
	}
	sync := made()
	is(weights.Free() != nil, "a parameter of a synchronizer was freed")
	must(sync.Start())
	must(sync.SetLr(0.5))
	equal(value(sync.Computes()), true)
	must(sync.GradientReady(0))
	must(sync.Gradients())
	equal(gradients.Slice(), repeated(float32(r.size-1)/2, 9))
	must(sync.Step())
	saved := value(sync.Export())
	must(sync.Finish())
	equal(value(sync.Info()).Gradients, 1)
	equal(value(sync.Counters()).Steps, uint64(1))
	must(sync.Close())
	is(sync.Start() != nil, "a closed synchronizer starts")
	resumed := made()
	must(resumed.Import(saved))
	must(resumed.Start())
	must(resumed.Close())
	elsewhere := made()
	value(elsewhere.ImportAll([][]byte{saved}))
	run(r, gossamer.Barrier())
	must(elsewhere.Abort("enough"))
	must(elsewhere.Close())
	late, gone := value(gossamer.NewSynchronizer(r.comm, "ddp")), filled(r, r.comm, float32(0), 9)
	must(gone.Free())
	_, err := late.Register("gone", gone, gradients, -1)
	is(errors.Is(err, gossamer.ErrInvalidArgument), "%v", err)
	must(late.Close())
	_, err = gossamer.NewSynchronizer(r.comm, "nonsense")
	is(errors.Is(err, gossamer.ErrInvalidArgument), "%v", err)
	must(weights.Free())
	must(gradients.Free())
}
