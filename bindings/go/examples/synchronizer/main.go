// Fits y = 2 x, each rank on its own data, by a synchronizer: mpirun -n 4 synchronizer diloco:h=4
package main

import (
	"fmt"
	"math"
	"os"

	"gossamer"
)

// step is one of training: y = weight * x has to become 2 x.
func step(sync *gossamer.Synchronizer, x float32, weight, gradient []float32) error {
	gradient[0] = (weight[0]*x - 2*x) * x
	if err := sync.GradientReady(0); err != nil {
		return err
	}
	if err := sync.Gradients(); err != nil {
		return err
	}
	weight[0] -= 0.1 * gradient[0]
	return sync.Step()
}

func train(comm *gossamer.Comm, sync *gossamer.Synchronizer, tensors []gossamer.Buffer[float32]) error {
	weight, gradient := tensors[0].Slice(), tensors[1].Slice()
	weight[0] = float32(comm.Rank())
	if _, err := sync.Register("weight", tensors[0], tensors[1], -1); err != nil {
		return err
	}
	if err := sync.Start(); err != nil {
		return err
	}
	for i := 0; i < 200; i++ {
		if err := step(sync, 1+float32(comm.Rank())/8, weight, gradient); err != nil {
			return err
		}
	}
	if err := sync.Finish(); err != nil {
		return err
	}
	if math.Abs(float64(weight[0])-2) > 0.05 {
		return fmt.Errorf("the weight is %v, not 2", weight[0])
	}
	info, err := sync.Info()
	fmt.Printf("rank %d of %d: fitted by %s\n", comm.Rank(), comm.Size(), info.Spec)
	return err
}

func run(spec string) error {
	comm, err := gossamer.New()
	if err != nil {
		return err
	}
	tensors := make([]gossamer.Buffer[float32], 2)
	for i := range tensors {
		if tensors[i], err = gossamer.Alloc[float32](comm, 1); err != nil {
			return err
		}
	}
	sync, err := gossamer.NewSynchronizer(comm, spec)
	if err != nil {
		return err
	}
	if err := train(comm, sync, tensors); err != nil {
		return err
	}
	if err := sync.Close(); err != nil {
		return err
	}
	for _, tensor := range tensors {
		if err := tensor.Free(); err != nil {
			return err
		}
	}
	return comm.Close() // Else the other ranks would take this one for lost when it ends.
}

func main() {
	spec := "ddp"
	if len(os.Args) > 1 {
		spec = os.Args[1]
	}
	gossamer.Exit(run(spec))
}
