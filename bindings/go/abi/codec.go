package abi

/*
#include <gossamer/abi.h>
extern size_t gossGoMaxBytes(void*, size_t);
extern size_t gossGoEncode(void*, float*, size_t, void*);
extern int gossGoDecode(void*, void*, size_t, size_t, float*);
*/
import "C"
import (
	"runtime/cgo"
	"unsafe"
)

// Coder is what a codec of one's own does; goss_codec_functions says how.
type Coder interface {
	MaxBytes(count int) int
	Encode(values []float32, payload []byte) int
	Decode(payload []byte, values []float32) bool
}

// RegisterCoder is goss_codec_register of a Coder, which lives as long as the program.
func RegisterCoder(comm Comm, name unsafe.Pointer, block int, coder Coder) Status {
	context := NewMemory(unsafe.Sizeof(cgo.Handle(0)))
	*(*cgo.Handle)(context) = cgo.NewHandle(coder)
	functions := CodecFunctions{
		Size: unsafe.Sizeof(CodecFunctions{}), Context: context, Block: uintptr(block),
		MaxBytes: unsafe.Pointer(C.gossGoMaxBytes), Encode: unsafe.Pointer(C.gossGoEncode), Decode: unsafe.Pointer(C.gossGoDecode),
	}
	status := CodecRegister(comm, name, &functions)
	if status != Success {
		(*(*cgo.Handle)(context)).Delete()
		Release(context)
	}
	return status
}

func coderOf(context unsafe.Pointer) Coder {
	return (*(*cgo.Handle)(context)).Value().(Coder)
}

//export gossGoMaxBytes
func gossGoMaxBytes(context unsafe.Pointer, count C.size_t) C.size_t {
	return C.size_t(coderOf(context).MaxBytes(int(count)))
}

//export gossGoEncode
func gossGoEncode(context unsafe.Pointer, values *C.float, count C.size_t, payload unsafe.Pointer) C.size_t {
	coder := coderOf(context)
	room := coder.MaxBytes(int(count))
	return C.size_t(coder.Encode(unsafe.Slice((*float32)(values), int(count)), unsafe.Slice((*byte)(payload), room)))
}

//export gossGoDecode
func gossGoDecode(context unsafe.Pointer, payload unsafe.Pointer, bytes C.size_t, count C.size_t, values *C.float) C.int {
	if coderOf(context).Decode(unsafe.Slice((*byte)(payload), int(bytes)), unsafe.Slice((*float32)(values), int(count))) {
		return 0
	}
	return 1
}
