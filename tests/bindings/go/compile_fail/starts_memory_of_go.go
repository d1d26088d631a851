// wrong: \[\]float32 does not implement gossamer\.Lasting

// Package program starts an operation of memory that Go may free or move while it is under way.
package program

import (
	"context"
	"gossamer"
)

func Use(ctx context.Context, comm *gossamer.Comm, slice []float32, buffer gossamer.Buffer[float32]) {
	gossamer.Run(ctx, comm, gossamer.AllReduce(slice, slice, gossamer.Sum))
	gossamer.Start(ctx, comm, gossamer.AllReduce(buffer, buffer, gossamer.Sum))
	// wrong> gossamer.Start(ctx, comm, gossamer.AllReduce(slice, slice, gossamer.Sum))
}
