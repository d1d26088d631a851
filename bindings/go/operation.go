package gossamer

import (
	"context"
	"runtime"
	"sync"
	"unsafe"

	"gossamer/abi"
)

// Op is a reduction.
type Op = abi.Op

// Reductions; gossamer.h says what each does.
const (
	Sum       = abi.Sum
	Prod      = abi.Prod
	Min       = abi.Min
	Max       = abi.Max
	Avg       = abi.Avg
	PremulSum = abi.PremulSum
	BitAnd    = abi.Band
	BitOr     = abi.Bor
	BitXor    = abi.Bxor
	And       = abi.Land
	Or        = abi.Lor
	Xor       = abi.Lxor
)

// Wildcards of receives and probes.
const (
	AnySource = int(abi.AnySource)
	AnyTag    = int(abi.AnyTag)
)

// Message is what a completed receive got.
type Message struct {
	Source, Tag, Bytes int
}

func messageOf(raw abi.Message) Message {
	return Message{int(raw.Source), int(raw.Tag), int(raw.Bytes)}
}

// description is an operation without the type of its memory.
type description struct {
	name       string
	send, recv span
	numbers    []int // ranks and tags
	options    Options
	// count is the element count that C takes, or -1 where the lengths do not fit.
	count  func(comm *Comm, send, recv int) int
	launch func(d *description, comm abi.Comm, count uintptr, options *abi.Options, request *abi.Request) abi.Status
}

// Operation is a collective or message that has not started.
type Operation[M Memory] struct{ description }

func (o Operation[M]) naming(numbers ...int) Operation[M] {
	o.numbers = numbers
	return o
}

// With returns the operation with other options.
func (o Operation[M]) With(options Options) Operation[M] {
	o.options = options
	return o
}

// Member is an operation of a group.
type Member struct{ operation *description }

// In makes an operation of the library's memory a member of a group.
func In[M Lasting](operation Operation[M]) Member { return Member{&operation.description} }

// start calls C on this thread, which the caller has locked, and keeps the memory alive.
func (d *description) start(comm *Comm, options *abi.Options, request *abi.Request) error {
	if d.count == nil {
		return invalid("an Operation on rank %d that no function has made; take AllReduce or another", comm.rank)
	}
	if err := narrow(d.name, d.numbers...); err != nil {
		return err
	}
	if err := d.live(d.name, comm); err != nil {
		return err
	}
	count := d.count(comm, d.send.count, d.recv.count)
	if count < 0 {
		return invalid("%s on rank %d of %d: %d elements to send and %d to receive do not fit together, nor the counts", d.name,
			comm.rank, comm.size, d.send.count, d.recv.count)
	}
	err := check(comm.raw, d.launch(d, comm.raw, uintptr(count), options, request))
	runtime.KeepAlive(d)
	return err
}

// live refuses memory that is freed.
func (d *description) live(name string, comm *Comm) error {
	for _, one := range []span{d.send, d.recv} {
		if one.block != nil && !comm.holds(one.block) {
			return invalid("%s on rank %d: a Buffer is free already", name, comm.rank)
		}
	}
	return nil
}

// holds tells whether the memory is not freed yet; it may be of another communicator of the world.
func (c *Comm) holds(memory *block) bool {
	owner := memory.comm
	owner.mutex.Lock()
	defer owner.mutex.Unlock()
	return owner.blocks[memory]
}

// lend adds 1 or -1 to the number of operations that use the memory.
func (d *description) lend(by int) {
	for _, one := range []span{d.send, d.recv} {
		if one.block != nil {
			one.block.comm.mutex.Lock()
			one.block.users += by
			one.block.comm.mutex.Unlock()
		}
	}
}

// Run runs an operation and waits. When the context ends, so does the operation; when it is cancelled, the communicator is aborted.
func Run[M Memory](ctx context.Context, comm *Comm, operation Operation[M]) error {
	d := &operation.description
	options, err := optionsOf(ctx, d.options, 0)
	if err != nil {
		return err
	}
	defer options.release()
	d.lend(1)
	defer d.lend(-1)
	return because(ctx, comm.use(func(abi.Comm) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer comm.watch(ctx, false)()
		return d.start(comm, options.raw, nil)
	}))
}

// Group starts all operations, then waits for all, and returns the first failure. Sends and receives in it cannot deadlock.
func Group(ctx context.Context, comm *Comm, members ...Member) error {
	for _, member := range members {
		if member.operation == nil {
			return invalid("Group on rank %d with a Member of no operation; make it with In", comm.rank)
		}
	}
	return comm.use(func(raw abi.Comm) (err error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer comm.watch(ctx, false)()
		for _, member := range members {
			member.operation.lend(1)
			defer member.operation.lend(-1)
		}
		if err := check(raw, abi.GroupBegin()); err != nil {
			return err
		}
		defer func() { // also when a launch panics: the library's group is the thread's
			if ended := check(raw, abi.GroupEnd()); err == nil {
				err = ended
			}
			err = because(ctx, err)
		}()
		for _, member := range members {
			if err := member.join(ctx, comm); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m Member) join(ctx context.Context, comm *Comm) error {
	options, err := optionsOf(ctx, m.operation.options, 0)
	if err != nil {
		return err
	}
	defer options.release()
	return m.operation.start(comm, options.raw, nil)
}

// Request is an operation under way. One goroutine at a time may wait for it or start it; others are refused.
type Request struct {
	comm      *Comm
	operation description

	mutex    sync.Mutex // guards what follows, but is not held while C waits
	raw      abi.Request
	ctx      context.Context
	stop     func()
	isPlan   bool
	isActive bool
	isTaken  bool // by a call that may free raw
}

// Start starts an operation of the library's memory. The context holds until Wait or a Test that reports the end.
func Start[M Lasting](ctx context.Context, comm *Comm, operation Operation[M]) (*Request, error) {
	request := &Request{comm: comm, operation: operation.description}
	request.operation.lend(1) // until begin() does it
	defer request.operation.lend(-1)
	if err := request.launch(ctx, 0); err != nil {
		return nil, err
	}
	request.begin(ctx)
	return request, nil
}

// Plan plans an operation, to be started any number of times. Its deadline is that of the options, from each start.
func Plan[M Lasting](comm *Comm, operation Operation[M]) (*Request, error) {
	request := &Request{comm: comm, operation: operation.description, isPlan: true}
	request.operation.lend(1)
	if err := request.launch(nil, abi.Persistent); err != nil {
		request.operation.lend(-1)
		return nil, err
	}
	return request, nil
}

func (r *Request) launch(ctx context.Context, flags uint32) error {
	options, err := optionsOf(ctx, r.operation.options, flags)
	if err != nil {
		return err
	}
	defer options.release()
	return r.comm.use(func(raw abi.Comm) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		var request abi.Request
		err := r.operation.start(r.comm, options.raw, &request)
		r.raw = request
		return err
	})
}

// take reserves the request for the call `name`; give ends the reservation. It fails if another goroutine has reserved
// the request, or if the request is not active (isActive), or not an inactive plan (!isActive).
func (r *Request) take(name string, isActive bool) (abi.Request, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.isTaken {
		return nil, invalid("%s of a request that another goroutine waits for or starts", name)
	}
	if isActive && !r.isActive {
		return nil, invalid("%s of a request that is not under way", name)
	}
	if !isActive && (!r.isPlan || r.isActive) {
		return nil, invalid("%s of a request that is no plan, or is under way; wait for it first", name)
	}
	r.isTaken = true
	return r.raw, nil
}

func (r *Request) give(raw abi.Request) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.raw, r.isTaken = raw, false
}

func (r *Request) begin(ctx context.Context) {
	r.operation.lend(1)
	r.comm.mutex.Lock()
	r.comm.requests[r] = true
	r.comm.mutex.Unlock()
	stop := r.comm.watch(ctx, r.isPlan)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.isActive, r.ctx, r.stop = true, ctx, stop
}

// end is give of what has completed; the error is what Wait returns.
func (r *Request) end(raw abi.Request, err error) error {
	r.stop()
	r.comm.mutex.Lock()
	delete(r.comm.requests, r)
	r.comm.mutex.Unlock()
	r.operation.lend(-1)
	err = because(r.ctx, err)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.raw, r.isActive, r.isTaken = raw, false, false
	return err
}

// Start starts a plan again. When the context ends before a Wait or a Test that reports the end, the communicator is aborted.
func (r *Request) Start(ctx context.Context) error {
	if ctx != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	raw, err := r.take("Start", false)
	if err != nil {
		return err
	}
	defer r.give(raw)
	if err := r.comm.call(func(abi.Comm) abi.Status { return abi.Start(raw) }); err != nil {
		return err
	}
	r.begin(ctx)
	return nil
}

// Wait waits, and tells what a receive got. A plan may be started again then; any other request has ended.
func (r *Request) Wait() (Message, error) {
	raw, err := r.take("Wait", true)
	if err != nil {
		return Message{}, err
	}
	var message abi.Message
	err = r.comm.call(func(abi.Comm) abi.Status { return abi.Wait(&raw, &message) })
	return messageOf(message), r.end(raw, err)
}

// Test is Wait where the operation has completed; else false, at once.
func (r *Request) Test() (done bool, message Message, err error) {
	request, err := r.take("Test", true)
	if err != nil {
		return false, Message{}, err
	}
	var is int32
	var raw abi.Message
	err = r.comm.call(func(abi.Comm) abi.Status { return abi.Test(&request, &is, &raw) })
	if is == 0 {
		r.give(request)
		return false, Message{}, err
	}
	return true, messageOf(raw), r.end(request, err)
}

// Err returns how the operation has failed, before it is waited for. It is nil while another goroutine waits, which gets the failure. It
// blames no rank by number, as Wait's does.
func (r *Request) Err() error {
	return r.comm.use(func(raw abi.Comm) error {
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if r.isTaken {
			return nil
		}
		var status abi.Status
		var text unsafe.Pointer
		if err := call(raw, func() abi.Status { return abi.RequestError(r.raw, &status, &text) }); err != nil || status == abi.Success {
			return err
		}
		return &Error{Status: status, Rank: -1, Text: abi.Text(text)}
	})
}

// Free ends a plan that is not under way; Close of its communicator has ended it already.
func (r *Request) Free() error {
	raw, err := r.take("Free", false)
	if err != nil {
		return err
	}
	err = r.comm.call(func(abi.Comm) abi.Status { return abi.RequestFree(&raw) })
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.raw, r.isTaken = raw, false
	if r.comm.isClosed() {
		err = nil
	}
	if err == nil {
		r.isPlan = false
		r.operation.lend(-1)
	}
	return err
}

// WaitAll waits for all, and returns the first failure in their order.
func WaitAll(requests ...*Request) error {
	var first error
	for _, request := range requests {
		if _, err := request.Wait(); first == nil {
			first = err
		}
	}
	return first
}

// WaitAny waits for one of the requests under way, which are of one communicator, and tells which; -1 if none is.
func WaitAny(requests ...*Request) (int, Message, error) {
	raw, comm := make([]abi.Request, len(requests)), (*Comm)(nil)
	index, message := uintptr(len(raw)), abi.Message{}
	taken := make([]bool, len(requests))
	defer func() {
		for i, request := range requests {
			if taken[i] && uintptr(i) != index {
				request.give(raw[i])
			}
		}
	}()
	for i, request := range requests {
		request.mutex.Lock()
		isActive := request.isActive
		request.mutex.Unlock()
		if !isActive {
			continue
		}
		one, err := request.take("WaitAny", true)
		if err != nil {
			return -1, Message{}, err
		}
		raw[i], comm, taken[i] = one, request.comm, true
	}
	if comm == nil {
		return -1, Message{}, nil
	}
	err := comm.use(func(held abi.Comm) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		status := abi.WaitAny(&raw[0], uintptr(len(raw)), &index, &message)
		if index < uintptr(len(raw)) && requests[index].comm != comm {
			return requests[index].comm.check(status)
		}
		return check(held, status)
	})
	if index >= uintptr(len(raw)) {
		return -1, Message{}, err
	}
	return int(index), messageOf(message), requests[index].end(raw[index], err)
}
