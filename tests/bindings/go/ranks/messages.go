package main

import (
	"errors"

	"gossamer"
)

// messages go round a ring.
func messages(r ranks) {
	next, previous := (r.rank+1)%r.size, (r.rank+r.size-1)%r.size
	got := make([]int32, 4)
	message := value(gossamer.SendRecv(r.ctx, r.comm, repeated(int32(r.rank), 3), next, got, previous, 5))
	equal(message, gossamer.Message{Source: previous, Tag: 5, Bytes: 12})
	equal(got, append(repeated(int32(previous), 3), 0))

	send, recv := filled(r, r.comm, float64(r.rank), 2), filled(r, r.comm, -1.0, 5)
	sending := value(gossamer.Start(r.ctx, r.comm, gossamer.Send(send, next, 9)))
	seen := value(r.comm.Probe(r.ctx, gossamer.AnySource, gossamer.AnyTag))
	equal(seen, gossamer.Message{Source: previous, Tag: 9, Bytes: 16})
	found, again, err := r.comm.Iprobe(previous, 9)
	must(err)
	is(found && again == seen, "%v, %v", found, again)
	found, _, err = r.comm.Iprobe(previous, 10)
	must(err)
	is(!found, "a message with a tag that nobody sent")
	equal(value(value(gossamer.Start(r.ctx, r.comm, gossamer.Recv(recv, gossamer.AnySource, 9))).Wait()), seen)
	equal(recv.Slice(), append(repeated(float64(previous), 2), -1, -1, -1))
	must(gossamer.WaitAll(sending))

	must(gossamer.Group(r.ctx, r.comm, gossamer.In(gossamer.Send(send, next, 1)), gossamer.In(gossamer.Recv(recv, previous, 1))))
	tooLong := value(gossamer.Start(r.ctx, r.comm, gossamer.Send(send, next, 2)))
	err = gossamer.Run(r.ctx, r.comm, gossamer.Recv(make([]float64, 1), previous, 2))
	is(errors.Is(err, gossamer.ErrTruncated), "%v", err)
	must(gossamer.WaitAll(tooLong))
	must(r.comm.Err())
	must(send.Free())
	must(recv.Free())
}
