// Computes while the gradients of the layer before are averaged: mpirun -n 4 overlap
package main

import (
	"context"
	"fmt"
	"time"

	"gossamer"
)

// backward stands for the backward pass of a layer.
func backward(layer, rank int, gradient []float32) {
	for i := range gradient {
		gradient[i] = float32(layer + rank)
	}
}

func run() error {
	comm, err := gossamer.New()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var gradients [4]gossamer.Buffer[float32]
	var underWay [4]*gossamer.Request
	for layer := range gradients {
		if gradients[layer], err = gossamer.Alloc[float32](comm, 1<<16); err != nil {
			return err
		}
		backward(layer, comm.Rank(), gradients[layer].Slice())
		average := gossamer.AllReduce(gradients[layer], gradients[layer], gossamer.Avg)
		if underWay[layer], err = gossamer.Start(ctx, comm, average); err != nil {
			return err
		}
	}
	for layer, request := range underWay {
		if _, err := request.Wait(); err != nil {
			return err
		}
		expected := float32(layer) + float32(comm.Size()-1)/2
		for _, value := range gradients[layer].Slice() {
			if value != expected {
				return fmt.Errorf("layer %d: %v is not %v", layer, value, expected)
			}
		}
		if err := gradients[layer].Free(); err != nil {
			return err
		}
	}
	fmt.Printf("rank %d of %d: overlapped\n", comm.Rank(), comm.Size())
	return comm.Close()
}

func main() {
	gossamer.Exit(run())
}
