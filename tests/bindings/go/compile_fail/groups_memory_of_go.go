// wrong: \[\]float32 does not implement gossamer\.Lasting

// Package program puts memory of Go into a group.
package program

import (
	"context"
	"gossamer"
)

func Use(ctx context.Context, comm *gossamer.Comm, slice []float32, buffer gossamer.Buffer[float32]) {
	gossamer.Group(ctx, comm, gossamer.In(gossamer.Send(buffer, 0, 0)))
	// wrong> gossamer.Group(ctx, comm, gossamer.In(gossamer.Send(slice, 0, 0)))
}
