package gossamer

import (
	"context"
	"runtime"
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
	options    Options
	// count is the element count that C takes, or -1 where the lengths do not fit.
	count  func(comm *Comm, send, recv int) int
	launch func(d *description, comm abi.Comm, count uintptr, options *abi.Options, request *abi.Request) abi.Status
}

// Operation is a collective or message that has not started.
type Operation[M Memory] struct{ description }

// With is the operation with other options.
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
	for _, one := range []span{d.send, d.recv} {
		if one.block != nil && !comm.holds(one.block) {
			return invalid("%s on rank %d: a Buffer is free already", d.name, comm.rank)
		}
	}
	count := d.count(comm, d.send.count, d.recv.count)
	if count < 0 {
		return invalid("%s on rank %d of %d: %d elements to send and %d to receive do not fit together, nor the counts", d.name,
			comm.rank, comm.size, d.send.count, d.recv.count)
	}
	err := check(d.launch(d, comm.raw, uintptr(count), options, request))
	runtime.KeepAlive(d)
	return err
}

// holds tells whether the memory is not freed yet; it may be of another communicator of the world.
func (c *Comm) holds(memory *block) bool {
	owner := memory.comm
	owner.mutex.Lock()
	defer owner.mutex.Unlock()
	return owner.blocks[memory]
}

// lend counts an operation that uses the memory, or with -1 one that does not any more.
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
		defer comm.watch(ctx)()
		return d.start(comm, options.raw, nil)
	}))
}

// Group starts all operations, then waits for all, and returns the first failure. Sends and receives in it cannot deadlock.
func Group(ctx context.Context, comm *Comm, members ...Member) error {
	return comm.use(func(raw abi.Comm) error {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer comm.watch(ctx)()
		if err := check(abi.GroupBegin()); err != nil {
			return err
		}
		var first error
		for _, member := range members {
			d := member.operation
			options, err := optionsOf(ctx, d.options, 0)
			if err == nil {
				d.lend(1)
				defer d.lend(-1)
				err = d.start(comm, options.raw, nil)
				options.release()
			}
			if err != nil {
				first = err
				break
			}
		}
		if err := check(abi.GroupEnd()); first == nil {
			first = err
		}
		runtime.KeepAlive(members)
		return because(ctx, first)
	})
}

// Request is an operation under way.
type Request struct {
	comm      *Comm
	raw       abi.Request
	operation description
	ctx       context.Context
	stop      func()
	isPlan    bool
	isActive  bool
}

// Start starts an operation of the library's memory. The context holds until Wait or a Test that reports the end.
func Start[M Lasting](ctx context.Context, comm *Comm, operation Operation[M]) (*Request, error) {
	request := &Request{comm: comm, operation: operation.description, ctx: ctx}
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

func (r *Request) begin(ctx context.Context) {
	r.operation.lend(1)
	r.comm.mutex.Lock()
	r.comm.requests[r] = true
	r.comm.mutex.Unlock()
	r.isActive = true
	r.ctx, r.stop = ctx, r.comm.watch(ctx)
}

func (r *Request) end() {
	r.stop()
	r.comm.mutex.Lock()
	delete(r.comm.requests, r)
	r.comm.mutex.Unlock()
	r.isActive = false
	r.operation.lend(-1)
}

// Start starts a plan again.
func (r *Request) Start(ctx context.Context) error {
	if !r.isPlan || r.isActive {
		return invalid("Start of a request that is no plan, or is under way; wait for it first")
	}
	if err := r.comm.call(func(abi.Comm) abi.Status { return abi.Start(r.raw) }); err != nil {
		return err
	}
	r.begin(ctx)
	return nil
}

// Wait waits, and tells what a receive got. A plan may be started again then; any other request has ended.
func (r *Request) Wait() (Message, error) {
	if !r.isActive {
		return Message{}, invalid("Wait for a request that is not under way")
	}
	raw, message := r.raw, abi.Message{}
	err := r.comm.call(func(abi.Comm) abi.Status { return abi.Wait(&raw, &message) })
	r.raw = raw
	r.end()
	return messageOf(message), because(r.ctx, err)
}

// Test is Wait where the operation has completed; else false, at once.
func (r *Request) Test() (done bool, message Message, err error) {
	if !r.isActive {
		return false, Message{}, invalid("Test of a request that is not under way")
	}
	var is int32
	request, raw := r.raw, abi.Message{}
	err = r.comm.call(func(abi.Comm) abi.Status { return abi.Test(&request, &is, &raw) })
	r.raw = request
	if is == 0 {
		return false, Message{}, err
	}
	r.end()
	return true, messageOf(raw), because(r.ctx, err)
}

// Err is how the operation has failed, before it is waited for.
func (r *Request) Err() error {
	return r.comm.use(func(abi.Comm) error {
		var status abi.Status
		var text unsafe.Pointer
		if err := call(func() abi.Status { return abi.RequestError(r.raw, &status, &text) }); err != nil || status == abi.Success {
			return err
		}
		return newError(status, abi.Text(text))
	})
}

// Free ends a plan that is not under way.
func (r *Request) Free() error {
	if !r.isPlan || r.isActive {
		return invalid("Free of a request that is no plan, or is under way; wait for it first")
	}
	raw := r.raw
	err := r.comm.call(func(abi.Comm) abi.Status { return abi.RequestFree(&raw) })
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
	for i, request := range requests {
		if request.isActive {
			raw[i], comm = request.raw, request.comm
		}
	}
	if comm == nil {
		return -1, Message{}, nil
	}
	index, message := uintptr(len(raw)), abi.Message{}
	err := comm.call(func(abi.Comm) abi.Status { return abi.WaitAny(&raw[0], uintptr(len(raw)), &index, &message) })
	if index >= uintptr(len(raw)) {
		return -1, Message{}, err
	}
	requests[index].raw = raw[index]
	requests[index].end()
	return int(index), messageOf(message), because(requests[index].ctx, err)
}
