// Package gossamer is Gossamer's collectives, messages, synchronizers and gossip for Go. README.md begins with a program.
//
// A collective or message is a value, Operation. Run waits for it and takes slices or Buffers. Start and Plan take Buffers alone,
// memory of the library, because Go's own may move or vanish while C uses it. A Buffer is not to be touched until Wait has returned.
package gossamer

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"gossamer/abi"
)

// Error is a failed call.
type Error struct {
	Status abi.Status
	// Rank is the rank that is to blame, counted in the communicator of the call (where it had none, in the one that New made), or -1.
	Rank int
	// Text says who, what, and what to do next.
	Text string
	// cause is why a context ended the call.
	cause error
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the context's error, where a context ended the call.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an *Error with the same status, such as ErrTimeout.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Status == e.Status
}

// For errors.Is; gossamer.h says what each means.
var (
	ErrInvalidArgument = &Error{Status: abi.ErrInvalidArgument, Rank: -1, Text: "invalid argument"}
	ErrUnsupported     = &Error{Status: abi.ErrUnsupported, Rank: -1, Text: "unsupported"}
	ErrMismatch        = &Error{Status: abi.ErrMismatch, Rank: -1, Text: "mismatch"}
	ErrTimeout         = &Error{Status: abi.ErrTimeout, Rank: -1, Text: "timeout"}
	ErrPeerLost        = &Error{Status: abi.ErrPeerLost, Rank: -1, Text: "peer lost"}
	ErrAborted         = &Error{Status: abi.ErrAborted, Rank: -1, Text: "aborted"}
	ErrProtocol        = &Error{Status: abi.ErrProtocol, Rank: -1, Text: "protocol"}
	ErrResource        = &Error{Status: abi.ErrResource, Rank: -1, Text: "resource"}
	ErrBootstrap       = &Error{Status: abi.ErrBootstrap, Rank: -1, Text: "bootstrap"}
	ErrTruncated       = &Error{Status: abi.ErrTruncated, Rank: -1, Text: "truncated"}
)

// Exit prints the error, if it is not nil, and ends the process with status 1, else with status 0. A program that
// mpirun starts should end by Exit: a return from Go's main skips the exit handlers of C, which mpirun takes for a
// crash.
func Exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		abi.Exit(1)
	}
	abi.Exit(0)
}

func invalid(format string, arguments ...any) error {
	return &Error{Status: abi.ErrInvalidArgument, Rank: -1, Text: fmt.Sprintf("gossamer: "+format, arguments...)}
}

// narrow refuses what C's numbers cannot hold.
func narrow(name string, values ...int) error {
	for _, value := range values {
		if int(int32(value)) != value {
			return invalid("%s with %d; ranks, tags and their like have 32 bits", name, value)
		}
	}
	return nil
}

// call runs f and reads its error on one thread, because the library keeps the text per thread. comm may be nil.
func call(comm abi.Comm, f func() abi.Status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return check(comm, f())
}

func check(comm abi.Comm, status abi.Status) error {
	if status == abi.Success {
		return nil
	}
	text, rank := abi.Text(abi.LastError()), int32(-1)
	abi.LastErrorRank(comm, &rank)
	return &Error{Status: status, Rank: int(rank), Text: text}
}

// because says that a context ended a call, where it did.
func because(ctx context.Context, err error) error {
	failure, ok := err.(*Error)
	if !ok || ctx == nil {
		return err
	}
	if failure.Status == abi.ErrTimeout {
		if _, has := ctx.Deadline(); has {
			failure.cause = context.DeadlineExceeded
		}
	} else if failure.Status == abi.ErrAborted {
		failure.cause = ctx.Err()
	}
	return failure
}

// takeText copies what the library has allocated, and frees it.
func takeText(f func(text *unsafe.Pointer) abi.Status) (string, error) {
	var text unsafe.Pointer
	if err := call(nil, func() abi.Status { return f(&text) }); err != nil {
		return "", err
	}
	defer abi.Free(text)
	return abi.Text(text), nil
}

func takeBytes(f func(bytes *unsafe.Pointer, count *uintptr) abi.Status) ([]byte, error) {
	var bytes unsafe.Pointer
	var count uintptr
	if err := call(nil, func() abi.Status { return f(&bytes, &count) }); err != nil {
		return nil, err
	}
	defer abi.Free(bytes)
	return append([]byte{}, unsafe.Slice((*byte)(bytes), int(count))...), nil
}

// pointerTo is the address of the first byte; nil for none.
func pointerTo(bytes []byte) unsafe.Pointer {
	if len(bytes) == 0 {
		return nil
	}
	return unsafe.Pointer(&bytes[0])
}

// texts are C strings for one call.
type texts []unsafe.Pointer

// of is nil, the default, for "".
func (t *texts) of(text string) unsafe.Pointer {
	if text == "" {
		return nil
	}
	made := abi.NewText(text)
	*t = append(*t, made)
	return made
}

func (t *texts) release() {
	for _, text := range *t {
		abi.Release(text)
	}
}
