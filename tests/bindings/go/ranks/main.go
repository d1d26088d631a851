// What the package gossamer computes, on all ranks that mpirun starts; each rank exits non-zero where a value is wrong.
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"runtime/debug"

	"gossamer"
)

// ranks is what the checks share.
type ranks struct {
	comm       *gossamer.Comm
	rank, size int
	ctx        context.Context
}

// fail ends the process, so that the others do not wait for it.
func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n%s", append(arguments, debug.Stack())...)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func value[T any](it T, err error) T {
	must(err)
	return it
}

func equal(got, expected any) {
	if !reflect.DeepEqual(got, expected) {
		fail("%v is not %v", got, expected)
	}
}

func is(condition bool, format string, arguments ...any) {
	if !condition {
		fail(format, arguments...)
	}
}

// repeated is a slice of one value.
func repeated[T any](one T, count int) []T {
	made := make([]T, count)
	for i := range made {
		made[i] = one
	}
	return made
}

func run[M gossamer.Memory](r ranks, operation gossamer.Operation[M]) {
	must(gossamer.Run(r.ctx, r.comm, operation))
}

func main() {
	comm := value(gossamer.New())
	r := ranks{comm, comm.Rank(), comm.Size(), context.Background()}
	collectives(r)
	messages(r)
	neighbors(r)
	requests(r)
	contexts(r)
	others(r)
	run(r, gossamer.Barrier())
	must(comm.Close())
	fmt.Printf("rank %d of %d: passed\n", r.rank, r.size)
	gossamer.Exit(nil)
}
