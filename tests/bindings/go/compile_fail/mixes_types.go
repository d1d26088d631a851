// wrong: type \[\]int32 of .* does not match inferred type \[\]float32

// Package program receives another type than it sends.
package program

import "gossamer"

func Use(send, recv []float32, numbers []int32) {
	gossamer.AllReduce(send, recv, gossamer.Sum)
	// wrong> gossamer.AllReduce(send, numbers, gossamer.Sum)
}
