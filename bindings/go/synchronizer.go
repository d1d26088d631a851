package gossamer

import (
	"sync"
	"unsafe"

	"gossamer/abi"
)

// Synchronizer keeps the replicas of a model together; sync.h says how a training loop uses one. One goroutine at a time uses it,
// except for Abort.
type Synchronizer struct {
	comm    *Comm
	mutex   sync.Mutex // between Abort and Close
	raw     abi.Sync
	tensors []description
}

// Info describes a synchronizer; goss_sync_info says what the fields mean.
type Info struct {
	Spec          string
	Gradients     int
	LocalSteps    bool
	GradientSize  int
	DynamicPeriod int64
}

// SynchronizerMethods describes all methods of synchronizers, as JSON.
func SynchronizerMethods() (string, error) { return takeText(abi.SyncMethods) }

// NewSynchronizer makes a synchronizer by a spec such as "diloco:h=50"; docs/synchronizers.md lists them. Collective.
func NewSynchronizer(comm *Comm, spec string) (*Synchronizer, error) {
	text := abi.NewText(spec)
	defer abi.Release(text)
	var made abi.Sync
	if err := comm.call(func(raw abi.Comm) abi.Status { return abi.SyncCreate(raw, text, &made) }); err != nil {
		return nil, err
	}
	return &Synchronizer{comm: comm, raw: made}, nil
}

func (s *Synchronizer) call(f func() abi.Status) error {
	return s.comm.call(s.open(f))
}

// open is f, refused where the synchronizer is closed.
func (s *Synchronizer) open(f func() abi.Status) func(abi.Comm) abi.Status {
	return func(abi.Comm) abi.Status {
		if s.raw == nil {
			text := abi.NewText("gossamer: the synchronizer is closed")
			defer abi.Release(text)
			return abi.SetLastError(abi.ErrInvalidArgument, text)
		}
		return f()
	}
}

// Register adds a tensor of the model, before Start, and returns its number. Parameter and gradient, of one length, are lent until Close.
// A tensor with a layer of -1 is a layer of its own.
func (s *Synchronizer) Register(name string, parameter, gradient Buffer[float32], layer int) (int, error) {
	if gradient.count != parameter.count {
		return 0, invalid("Register of %q with %d parameters and %d gradients; give as many", name, parameter.count, gradient.count)
	}
	if err := narrow("Register", layer); err != nil {
		return 0, err
	}
	text := abi.NewText(name)
	defer abi.Release(text)
	var index int32
	tensor := abi.SyncTensor{
		Size: unsafe.Sizeof(abi.SyncTensor{}), Name: text, Parameter: unsafe.Pointer(parameter.address),
		Gradient: unsafe.Pointer(gradient.address), Count: uintptr(parameter.count), Dtype: abi.Float32, Layer: int32(layer),
	}
	lent := description{send: parameter.span(), recv: gradient.span()}
	lent.lend(1)
	err := lent.live("Register", s.comm)
	if err == nil {
		err = s.call(func() abi.Status { return abi.SyncRegister(s.raw, &tensor, &index) })
	}
	if err != nil {
		lent.lend(-1)
		return 0, err
	}
	s.tensors = append(s.tensors, lent)
	return int(index), nil
}

// Start gives all ranks rank 0's parameters. Collective, once.
func (s *Synchronizer) Start() error {
	return s.call(func() abi.Status { return abi.SyncStart(s.raw) })
}

// SetLr sets the learning rate of the steps to come.
func (s *Synchronizer) SetLr(lr float64) error {
	return s.call(func() abi.Status { return abi.SyncSetLr(s.raw, lr) })
}

// Computes reports whether this rank computes the coming step.
func (s *Synchronizer) Computes() (bool, error) {
	var computes int32
	err := s.call(func() abi.Status { return abi.SyncComputes(s.raw, &computes) })
	return computes != 0, err
}

// StepTime tells the synchronizer, during a step, how many seconds this rank computes in it.
func (s *Synchronizer) StepTime(seconds float64) error {
	return s.call(func() abi.Status { return abi.SyncStepTime(s.raw, seconds) })
}

// GradientReady declares a gradient final for this step. The gradient is not to be touched until Gradients has returned.
func (s *Synchronizer) GradientReady(index int) error {
	if err := narrow("GradientReady", index); err != nil {
		return err
	}
	return s.call(func() abi.Status { return abi.SyncGradientReady(s.raw, int32(index)) })
}

// Gradients returns when all gradients are exchanged. Collective.
func (s *Synchronizer) Gradients() error {
	return s.call(func() abi.Status { return abi.SyncGradients(s.raw) })
}

// Step tells the synchronizer that the optimizer has changed the parameters. Collective.
func (s *Synchronizer) Step() error { return s.call(func() abi.Status { return abi.SyncStep(s.raw) }) }

// Finish applies what is in flight: all ranks hold the same parameters then. Collective.
func (s *Synchronizer) Finish() error {
	return s.call(func() abi.Status { return abi.SyncFinish(s.raw) })
}

// Export returns the state that is needed beside the parameters to go on with the same bits.
func (s *Synchronizer) Export() (state []byte, err error) {
	if s.raw == nil {
		return nil, invalid("the synchronizer is closed")
	}
	err = s.comm.use(func(abi.Comm) error {
		state, err = takeBytes(func(bytes *unsafe.Pointer, count *uintptr) abi.Status { return abi.SyncExport(s.raw, bytes, count) })
		return err
	})
	return state, err
}

// Import restores a state that Export returned, before Start.
func (s *Synchronizer) Import(state []byte) error {
	return s.call(func() abi.Status { return abi.SyncImport(s.raw, pointerTo(state), uintptr(len(state))) })
}

// ImportAll restores the states of all ranks of a run on another number of ranks; it returns true when something is left behind.
func (s *Synchronizer) ImportAll(states [][]byte) (bool, error) {
	if len(states) == 0 {
		return false, invalid("ImportAll of no states; give those of all ranks")
	}
	var copies texts
	defer copies.release()
	counts := make([]uintptr, len(states))
	list := abi.NewMemory(uintptr(len(states)) * unsafe.Sizeof(s.raw))
	defer abi.Release(list)
	for i, state := range states {
		memory := abi.NewMemory(uintptr(len(state)))
		copies = append(copies, memory)
		copy(unsafe.Slice((*byte)(memory), len(state)), state)
		unsafe.Slice((*unsafe.Pointer)(list), len(states))[i] = memory
		counts[i] = uintptr(len(state))
	}
	var dropped int32
	err := s.call(func() abi.Status {
		return abi.SyncImportAll(s.raw, (*unsafe.Pointer)(list), &counts[0], uintptr(len(states)), &dropped)
	})
	return dropped != 0, err
}

// Info describes what the synchronizer does.
func (s *Synchronizer) Info() (Info, error) {
	var raw abi.SyncInfo
	abi.SyncInfoInit(&raw, unsafe.Sizeof(raw))
	if err := s.call(func() abi.Status { return abi.SyncGetInfo(s.raw, &raw) }); err != nil {
		return Info{}, err
	}
	return Info{abi.Text(raw.Spec), int(raw.Gradients), raw.LocalSteps != 0, int(raw.GradientSize), raw.DynamicPeriod}, nil
}

// Counters returns the synchronizer's running totals on this rank.
func (s *Synchronizer) Counters() (abi.SyncCounters, error) {
	var counters abi.SyncCounters
	abi.SyncCountersInit(&counters, unsafe.Sizeof(counters))
	err := s.call(func() abi.Status { return abi.SyncGetCounters(s.raw, &counters) })
	return counters, err
}

// Abort fails pending and later calls of all ranks with the reason. From any goroutine.
func (s *Synchronizer) Abort(reason string) error {
	text := abi.NewText(reason)
	defer abi.Release(text)
	return s.comm.interrupt(func(comm abi.Comm) abi.Status {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.open(func() abi.Status { return abi.SyncAbort(s.raw, text) })(comm)
	})
}

// Close ends the synchronizer; parameters and gradients are the caller's again.
func (s *Synchronizer) Close() error {
	err := s.call(func() abi.Status {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		status := abi.SyncDestroy(s.raw)
		if status == abi.Success {
			s.raw = nil
		}
		return status
	})
	if err == nil {
		for i := range s.tensors {
			s.tensors[i].lend(-1)
		}
		s.tensors = nil
	}
	return err
}
