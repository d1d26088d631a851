package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"gossamer"
)

func filled[T gossamer.Element](r ranks, comm *gossamer.Comm, one T, count int) gossamer.Buffer[T] {
	buffer := value(gossamer.Alloc[T](comm, count))
	copy(buffer.Slice(), repeated(one, count))
	return buffer
}

func requests(r ranks) {
	started(r)
	planned(r)
	refused(r)
	plannedOnClosed(r)
	closed(r)
}

func started(r ranks) {
	first, second := filled(r, r.comm, int64(2), 1000), filled(r, r.comm, int64(3), 10)
	one := value(gossamer.Start(r.ctx, r.comm, gossamer.AllReduce(first, first, gossamer.Sum)))
	other := value(gossamer.Start(r.ctx, r.comm, gossamer.AllReduce(second, second, gossamer.Sum)))
	barrier := value(gossamer.Start(r.ctx, r.comm, gossamer.Barrier()))
	is(errors.Is(first.Free(), gossamer.ErrInvalidArgument), "a Buffer in use was freed")
	index, _, err := gossamer.WaitAny(one, other)
	must(err)
	must(gossamer.WaitAll([]*gossamer.Request{other, one}[index], barrier))
	equal(first.Slice(), repeated(int64(2*r.size), 1000))
	equal(second.Part(3, 5).Slice(), repeated(int64(3*r.size), 2))
	copy(second.Slice(), repeated(int64(1), 10))
	left, right := second.Part(0, 5), second.Part(5, 10)
	must(gossamer.Group(r.ctx, r.comm, gossamer.In(gossamer.AllReduce(left, left, gossamer.Sum)),
		gossamer.In(gossamer.AllReduce(right, right, gossamer.Max))))
	equal(second.Slice(), append(repeated(int64(r.size), 5), repeated(int64(1), 5)...))
	must(first.Free())
	must(second.Free())
}

func planned(r ranks) {
	send, recv := filled(r, r.comm, int32(0), 33), filled(r, r.comm, int32(0), 33)
	plan := value(gossamer.Plan(r.comm, gossamer.AllReduce(send, recv, gossamer.Sum)))
	for round := 1; round < 4; round++ {
		copy(send.Slice(), repeated(int32(round), 33))
		must(plan.Start(r.ctx))
		must(plan.Err())
		for {
			done, _, err := plan.Test()
			must(err)
			if done {
				break
			}
		}
		equal(recv.Slice(), repeated(int32(round*r.size), 33))
	}
	ended, end := context.WithCancel(r.ctx)
	end()
	is(plan.Start(ended) == context.Canceled, "a context that has ended starts a plan")
	must(plan.Free())
	must(plan.Err())
	is(plan.Free() != nil, "a plan was freed twice")
	must(send.Free())
	must(recv.Free())
}

func refused(r ranks) {
	err := gossamer.Run(r.ctx, r.comm, gossamer.AllReduce(make([]int32, 3), make([]int32, 2), gossamer.Sum))
	is(errors.Is(err, gossamer.ErrInvalidArgument) && strings.Contains(err.Error(), "3 elements to send and 2"), "%v", err)
	gone := filled(r, r.comm, int32(0), 3)
	must(gone.Free())
	err = gossamer.Run(r.ctx, r.comm, gossamer.AllReduce(gone, gone, gossamer.Sum))
	is(err != nil && strings.Contains(err.Error(), "free already"), "%v", err)
	is(gone.Free() != nil, "a Buffer was freed twice")
	err = gossamer.Run(r.ctx, r.comm, gossamer.Send([]int32{1}, r.rank+1<<32, 0))
	is(errors.Is(err, gossamer.ErrInvalidArgument) && strings.Contains(err.Error(), "32 bits"), "%v", err)
	err = gossamer.Group(r.ctx, r.comm, gossamer.Member{})
	is(errors.Is(err, gossamer.ErrInvalidArgument), "%v", err)
	err = gossamer.Group(r.ctx, r.comm, gossamer.In(gossamer.Operation[gossamer.Buffer[int32]]{}))
	is(errors.Is(err, gossamer.ErrInvalidArgument), "%v", err)
}

// plannedOnClosed: a plan may end after its communicator, and gives back the Buffer of another one.
func plannedOnClosed(r ranks) {
	first, second := value(r.comm.Dup()), value(r.comm.Dup())
	buffer := filled(r, first, int32(0), 3)
	plan := value(gossamer.Plan(second, gossamer.AllReduce(buffer, buffer, gossamer.Sum)))
	must(second.Close())
	must(plan.Free())
	must(buffer.Free())
	must(first.Close())
}

// closed: what is under way ends with its communicator.
func closed(r ranks) {
	apart := value(r.comm.Dup())
	buffer := filled(r, apart, int32(0), 3)
	is(errors.Is(apart.Close(), gossamer.ErrInvalidArgument), "a communicator with a Buffer was closed")
	must(buffer.Free())
	pending := value(gossamer.Start(r.ctx, apart, gossamer.Recv(gossamer.Buffer[int32]{}, r.rank, 3)))
	run(r, gossamer.Barrier())
	must(apart.Close())
	_, err := pending.Wait()
	is(err != nil && strings.Contains(err.Error(), "closed"), "%v", err)
	is(gossamer.Run(r.ctx, apart, gossamer.Barrier()) != nil, "a closed communicator works")
	must(apart.Close())
	run(r, gossamer.Barrier())
}

func contexts(r ranks) {
	previous := (r.rank + r.size - 1) % r.size
	soon, cancelSoon := context.WithTimeout(r.ctx, 50*time.Millisecond)
	defer cancelSoon()
	err := gossamer.Run(soon, r.comm, gossamer.Recv(make([]int32, 2), previous, 77))
	var failure *gossamer.Error
	is(errors.As(err, &failure) && failure.Rank == previous, "%v", err)
	is(errors.Is(err, context.DeadlineExceeded) && errors.Is(err, gossamer.ErrTimeout), "%v", err)
	must(r.comm.Err())
	<-soon.Done()
	is(gossamer.Run(soon, r.comm, gossamer.Barrier()) == context.DeadlineExceeded, "a context that has ended starts nothing")

	apart := value(r.comm.Dup())
	ctx, cancel := context.WithCancel(r.ctx)
	buffer := filled(r, apart, int32(0), 3)
	pending := value(gossamer.Start(ctx, apart, gossamer.Recv(buffer, r.rank, 3)))
	run(r, gossamer.Barrier())
	cancel()
	_, err = pending.Wait()
	is(errors.Is(err, gossamer.ErrAborted) && errors.Is(err, context.Canceled), "%v", err)
	is(errors.Is(apart.Err(), gossamer.ErrAborted), "%v", apart.Err())
	must(buffer.Free())
	must(apart.Close())
	run(r, gossamer.Barrier())
	blamed(r)
	deadlines(r)
	cancelledWhileClosing(r)
}

// blamed: the rank of an error counts in the communicator of the call, where rank 0 of the world is the last one.
func blamed(r ranks) {
	reversed := value(r.comm.Split(0, -r.rank))
	if r.rank == 0 {
		must(reversed.Abort("for the test"))
	} else {
		for _, err := range []error{gossamer.Run(r.ctx, reversed, gossamer.Barrier()), reversed.Err()} {
			var failure *gossamer.Error
			is(errors.As(err, &failure) && errors.Is(err, gossamer.ErrAborted) && failure.Rank == r.size-1, "%v", err)
		}
	}
	must(reversed.Close())
	run(r, gossamer.Barrier())
}

// deadlines: a plan's context ends it too; one goroutine alone waits for it.
func deadlines(r ranks) {
	apart := value(r.comm.Dup())
	soon, cancel := context.WithTimeout(r.ctx, 500*time.Millisecond)
	defer cancel()
	plan := value(gossamer.Plan(apart, gossamer.Recv(gossamer.Buffer[int32]{}, r.rank, 3)))
	must(plan.Start(soon))
	results := make(chan error, 2)
	for i := 0; i < 2; i++ {
		go func() {
			_, err := plan.Wait()
			results <- err
		}()
	}
	err := <-results
	is(errors.Is(err, gossamer.ErrInvalidArgument), "%v", err)
	must(plan.Err())
	err = <-results // by any rank's deadline, whichever was first
	is(errors.Is(err, gossamer.ErrAborted), "%v", err)
	must(plan.Free())
	must(apart.Close())
	run(r, gossamer.Barrier())
}

// cancelledWhileClosing: Close waits for what a context ends.
func cancelledWhileClosing(r ranks) {
	apart := value(r.comm.Dup())
	ctx, cancel := context.WithCancel(r.ctx)
	result := make(chan error)
	go func() { result <- gossamer.Run(ctx, apart, gossamer.Recv(make([]int32, 3), r.rank, 3)) }()
	time.Sleep(50 * time.Millisecond)
	time.AfterFunc(50*time.Millisecond, cancel)
	must(apart.Close())
	err := <-result
	is(errors.Is(err, gossamer.ErrAborted), "%v", err)
	run(r, gossamer.Barrier())
}
