package gossamer

import (
	"context"
	"sync"
	"time"
	"unsafe"

	"gossamer/abi"
)

// Comm is a group of ranks. Any goroutine may call anything at any time, but goroutines that start collectives on one communicator
// must agree on their order.
type Comm struct {
	rank, size int

	// calls is held for reading by every call, and for writing by Close, which waits for them. Aborts hold life instead, which Close
	// takes when no call is left: so they reach the calls that it waits for.
	calls, life sync.RWMutex
	raw         abi.Comm

	mutex    sync.Mutex
	blocks   map[*block]bool
	requests map[*Request]bool
}

// newComm wraps the communicator that make_ creates, from parent, or if that is nil, from the environment or a Config.
func newComm(parent abi.Comm, make_ func(comm *abi.Comm) abi.Status) (*Comm, error) {
	var raw abi.Comm // C may be given only pointers to memory of Go that holds none, here and wherever a result has a variable of its own
	if err := call(parent, func() abi.Status { return make_(&raw) }); err != nil || raw == nil {
		return nil, err
	}
	comm := &Comm{raw: raw, blocks: map[*block]bool{}, requests: map[*Request]bool{}}
	var rank, size int32
	abi.CommRank(comm.raw, &rank)
	abi.CommSize(comm.raw, &size)
	comm.rank, comm.size = int(rank), int(size)
	return comm, nil
}

// New meets the ranks that the environment names (mpirun, torchrun's variables); alone it is 1 rank of 1.
func New() (*Comm, error) {
	return newComm(nil, func(comm *abi.Comm) abi.Status { return abi.CommCreate(nil, comm) })
}

// Rank returns the caller's rank.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Comm) Size() int { return c.size }

// use keeps the communicator open during f.
func (c *Comm) use(f func(raw abi.Comm) error) error {
	c.calls.RLock()
	defer c.calls.RUnlock()
	if c.raw == nil {
		return invalid("the communicator is closed")
	}
	return f(c.raw)
}

func (c *Comm) call(f func(raw abi.Comm) abi.Status) error {
	return c.use(func(raw abi.Comm) error { return call(raw, func() abi.Status { return f(raw) }) })
}

// interrupt is call for what must not wait behind Close.
func (c *Comm) interrupt(f func(raw abi.Comm) abi.Status) error {
	c.life.RLock()
	defer c.life.RUnlock()
	if c.raw == nil {
		return invalid("the communicator is closed")
	}
	return call(c.raw, func() abi.Status { return f(c.raw) })
}

func (c *Comm) isClosed() bool {
	c.life.RLock()
	defer c.life.RUnlock()
	return c.raw == nil
}

// check returns the error of a call that this locked OS thread has made, and works after Close, too.
func (c *Comm) check(status abi.Status) error {
	c.life.RLock()
	defer c.life.RUnlock()
	return check(c.raw, status)
}

// Close ends the communicator. Requests under way fail, and it waits for what other goroutines run. It is refused while a Buffer is
// not freed.
func (c *Comm) Close() error {
	pending, err := c.closable()
	if err != nil {
		return err
	}
	if pending > 0 {
		if err := c.Abort("closed with operations under way"); err != nil {
			return err
		}
	}
	c.calls.Lock()
	defer c.calls.Unlock()
	if c.raw == nil {
		return nil
	}
	if _, err := c.closable(); err != nil { // another goroutine may have called Alloc meanwhile
		return err
	}
	c.life.Lock()
	defer c.life.Unlock()
	err = call(nil, func() abi.Status { return abi.CommDestroy(c.raw) })
	c.raw = nil
	return err
}

// closable is the number of requests under way, or why Close is refused.
func (c *Comm) closable() (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.blocks) > 0 {
		return 0, invalid("Close of a communicator with %d Buffers; free them first", len(c.blocks))
	}
	return len(c.requests), nil
}

func (c *Comm) made(f func(raw abi.Comm, comm *abi.Comm) abi.Status) (made *Comm, err error) {
	err = c.use(func(raw abi.Comm) error {
		made, err = newComm(raw, func(comm *abi.Comm) abi.Status { return f(raw, comm) })
		return err
	})
	return made, err
}

// Split makes communicators of the ranks of one color, ordered by key; nil for a negative color. Collective.
func (c *Comm) Split(color, key int) (*Comm, error) {
	if err := narrow("Split", color, key); err != nil {
		return nil, err
	}
	return c.made(func(raw abi.Comm, comm *abi.Comm) abi.Status {
		return abi.CommSplit(raw, int32(color), int32(key), comm)
	})
}

// Dup makes a communicator of the same ranks. Collective.
func (c *Comm) Dup() (*Comm, error) { return c.made(abi.CommDup) }

// Shrink makes a communicator of the ranks that are left. Collective over these; this one fails. The context's deadline ends it, but not
// its cancelling: a communicator that has failed cannot be aborted.
func (c *Comm) Shrink(ctx context.Context) (*Comm, error) {
	options, err := optionsOf(ctx, Options{}, 0)
	if err != nil {
		return nil, err
	}
	defer options.release()
	made, err := c.made(func(raw abi.Comm, comm *abi.Comm) abi.Status { return abi.CommShrink(raw, options.raw, comm) })
	return made, because(ctx, err)
}

// Transport returns the name of the transport that reaches a rank.
func (c *Comm) Transport(peer int) (string, error) {
	if err := narrow("Transport", peer); err != nil {
		return "", err
	}
	var name unsafe.Pointer
	err := c.call(func(raw abi.Comm) abi.Status { return abi.CommTransport(raw, int32(peer), &name) })
	return abi.Text(name), err
}

// Err returns the first failure, after which the communicator refuses operations.
func (c *Comm) Err() error {
	return c.use(func(raw abi.Comm) error {
		var status abi.Status
		var text unsafe.Pointer
		if err := call(raw, func() abi.Status { return abi.CommError(raw, &status, &text) }); err != nil {
			return err
		}
		if status == abi.Success {
			return nil
		}
		rank := int32(-1)
		if err := call(raw, func() abi.Status { return abi.CommErrorRank(raw, &rank) }); err != nil {
			return err
		}
		return &Error{Status: status, Rank: int(rank), Text: abi.Text(text)}
	})
}

// EventFd returns a descriptor that polls readable while a request is complete and not collected. Close closes it.
func (c *Comm) EventFd() (int, error) {
	var fd int32
	err := c.call(func(raw abi.Comm) abi.Status { return abi.CommEventFd(raw, &fd) })
	return int(fd), err
}

// Abort fails every pending operation of all ranks with the reason.
func (c *Comm) Abort(reason string) error {
	text := abi.NewText(reason)
	defer abi.Release(text)
	return c.interrupt(func(raw abi.Comm) abi.Status { return abi.CommAbort(raw, text) })
}

// Counters returns running totals of this rank.
func (c *Comm) Counters() (abi.Counters, error) {
	var counters abi.Counters
	abi.CountersInit(&counters, unsafe.Sizeof(counters))
	err := c.call(func(raw abi.Comm) abi.Status { return abi.CommCounters(raw, &counters) })
	return counters, err
}

// MeasureLinks measures all links and returns the text of a link file. Collective.
func (c *Comm) MeasureLinks(ctx context.Context) (string, error) {
	options, err := optionsOf(ctx, Options{}, 0)
	if err != nil {
		return "", err
	}
	defer options.release()
	var links string
	err = c.use(func(raw abi.Comm) error {
		defer c.watch(ctx, false)()
		links, err = takeText(func(text *unsafe.Pointer) abi.Status { return abi.CommMeasureLinks(raw, options.raw, text) })
		return err
	})
	return links, because(ctx, err)
}

// Options holds the options of one operation; zero values are defaults. goss_options documents the fields.
type Options struct {
	Timeout     time.Duration
	Algorithm   string
	Scale       float64 // of PremulSum; 0: 1
	Codec       string
	ReturnCodec string
	Tensor      uint64
}

type rawOptions struct {
	raw *abi.Options
	texts
}

// optionsOf takes the nearer one of the options' and the context's deadline.
func optionsOf(ctx context.Context, from Options, flags uint32) (*rawOptions, error) {
	options := &rawOptions{raw: &abi.Options{}}
	abi.OptionsInit(options.raw, unsafe.Sizeof(*options.raw))
	timeout := from.Timeout
	if ctx != nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if deadline, has := ctx.Deadline(); has {
			if left := time.Until(deadline); timeout == 0 || left < timeout {
				timeout = left
			}
			if timeout <= 0 {
				return nil, context.DeadlineExceeded
			}
		}
	}
	if timeout > 0 {
		options.raw.TimeoutMs = int64((timeout + time.Millisecond - 1) / time.Millisecond)
	}
	options.raw.Flags, options.raw.Tensor = flags, from.Tensor
	if from.Scale != 0 {
		options.raw.Scale = from.Scale
	}
	options.raw.Algorithm, options.raw.Codec = options.of(from.Algorithm), options.of(from.Codec)
	options.raw.ReturnCodec = options.of(from.ReturnCodec)
	return options, nil
}

// watch aborts the communicator when the context is cancelled, or with deadlines ends in any way, before the function that it returns
// is called. Operations that have the context's deadline end by themselves then.
func (c *Comm) watch(ctx context.Context, deadlines bool) func() {
	if ctx == nil || ctx.Done() == nil {
		return func() {}
	}
	finished := make(chan struct{})
	go func() {
		select {
		case <-finished:
			return
		case <-ctx.Done():
		}
		select {
		case <-finished:
		default:
			if ctx.Err() == context.Canceled {
				c.Abort("the context was cancelled")
			} else if deadlines {
				c.Abort("the context's deadline passed")
			}
		}
	}()
	return func() { close(finished) }
}
