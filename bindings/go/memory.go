package gossamer

import (
	"reflect"
	"unsafe"

	"gossamer/abi"
)

// Types of which Go has none, as bits. Bool: 0 is false, anything else is true.
type (
	Float16    uint16
	BFloat16   uint16
	Float8E4M3 uint8
	Float8E5M2 uint8
	Bool       uint8
)

// Element is what travels.
type Element interface {
	int8 | uint8 | int32 | uint32 | int64 | uint64 | float32 | float64 | Float16 | BFloat16 | Float8E4M3 | Float8E5M2 | Bool
}

// Slice is memory of Go, for operations that are waited for at once.
type Slice interface {
	[]int8 | []uint8 | []int32 | []uint32 | []int64 | []uint64 | []float32 | []float64 | []Float16 | []BFloat16 |
		[]Float8E4M3 | []Float8E5M2 | []Bool
}

// Lasting is memory of the library, which may be in use by an operation under way.
type Lasting interface {
	Buffer[int8] | Buffer[uint8] | Buffer[int32] | Buffer[uint32] | Buffer[int64] | Buffer[uint64] | Buffer[float32] |
		Buffer[float64] | Buffer[Float16] | Buffer[BFloat16] | Buffer[Float8E4M3] | Buffer[Float8E5M2] | Buffer[Bool]
}

// Memory is what an operation reads and writes: slices, or Buffers.
type Memory interface{ Slice | Lasting }

var dtypes = map[reflect.Type]abi.Dtype{
	reflect.TypeOf(int8(0)): abi.Int8, reflect.TypeOf(uint8(0)): abi.Uint8, reflect.TypeOf(int32(0)): abi.Int32,
	reflect.TypeOf(uint32(0)): abi.Uint32, reflect.TypeOf(int64(0)): abi.Int64, reflect.TypeOf(uint64(0)): abi.Uint64,
	reflect.TypeOf(float32(0)): abi.Float32, reflect.TypeOf(float64(0)): abi.Float64, reflect.TypeOf(Float16(0)): abi.Float16,
	reflect.TypeOf(BFloat16(0)): abi.Bfloat16, reflect.TypeOf(Float8E4M3(0)): abi.Float8E4m3,
	reflect.TypeOf(Float8E5M2(0)): abi.Float8E5m2, reflect.TypeOf(Bool(0)): abi.Bool,
}

// block is an allocation of the library.
type block struct {
	comm    *Comm
	address unsafe.Pointer
	users   int // operations under way; the communicator's mutex guards it
}

// Buffer is elements in memory of the library. The zero value has none.
type Buffer[T Element] struct {
	block   *block
	address *T
	count   int
}

// Alloc returns memory of zeros that the ranks of this host map. Free gives it back; until then the communicator cannot be closed.
func Alloc[T Element](comm *Comm, count int) (Buffer[T], error) {
	var one T
	if count < 0 || uintptr(count) > (1<<62)/unsafe.Sizeof(one) {
		return Buffer[T]{}, invalid("Alloc of %d elements; give a count from 0", count)
	}
	made := &block{comm: comm}
	bytes := uintptr(count)*unsafe.Sizeof(one) + 1
	err := comm.use(func(raw abi.Comm) error {
		var memory unsafe.Pointer
		if err := call(raw, func() abi.Status { return abi.MemAlloc(raw, bytes, &memory) }); err != nil {
			return err
		}
		made.address = memory
		comm.mutex.Lock()
		defer comm.mutex.Unlock()
		comm.blocks[made] = true
		return nil
	})
	if err != nil {
		return Buffer[T]{}, err
	}
	buffer := Buffer[T]{made, (*T)(made.address), count}
	var zero T
	for i := range buffer.Slice() {
		buffer.Slice()[i] = zero
	}
	return buffer, nil
}

// Slice returns the elements, until Free. They are not to be touched while an operation with them is under way.
func (b Buffer[T]) Slice() []T { return unsafe.Slice(b.address, b.count) }

// Part returns the elements from one index up to before another.
func (b Buffer[T]) Part(from, to int) Buffer[T] {
	part := b.Slice()[from:to]
	if len(part) == 0 {
		return Buffer[T]{block: b.block}
	}
	return Buffer[T]{b.block, &part[0], len(part)}
}

// Free gives the memory back, with all parts of it. It is refused while an operation with it is under way.
func (b Buffer[T]) Free() error {
	if b.block == nil {
		return nil
	}
	comm := b.block.comm
	comm.mutex.Lock()
	defer comm.mutex.Unlock()
	if !comm.blocks[b.block] {
		return invalid("Free of a Buffer that is free already")
	}
	if b.block.users > 0 {
		return invalid("Free of a Buffer that %d operations use; wait for them first", b.block.users)
	}
	err := call(comm.raw, func() abi.Status { return abi.MemFree(comm.raw, b.block.address) })
	if err == nil {
		delete(comm.blocks, b.block)
	}
	return err
}

// span is memory as C sees it.
type span struct {
	address unsafe.Pointer
	count   int
	dtype   abi.Dtype
	block   *block
}

func (b Buffer[T]) span() span {
	return span{unsafe.Pointer(b.address), b.count, dtypes[reflect.TypeOf(*new(T))], b.block}
}

func spanOf[M Memory](memory M) span {
	if lasting, ok := any(memory).(interface{ span() span }); ok {
		return lasting.span()
	}
	slice := reflect.ValueOf(memory)
	return span{slice.UnsafePointer(), slice.Len(), dtypes[slice.Type().Elem()], nil}
}
