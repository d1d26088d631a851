package gossamer

import (
	"unsafe"

	"gossamer/abi"
)

// Coder is a codec of one's own: its methods are called on any thread, must not call Gossamer, and are pure.
type Coder = abi.Coder

// RegisterCodec makes a codec that Options.Codec may name; all ranks register the same. Chunks of a vector begin at multiples of
// block elements. It lives as long as the program.
func (c *Comm) RegisterCodec(name string, block int, coder Coder) error {
	if block < 0 {
		return invalid("RegisterCodec with a block of %d elements; give one from 0", block)
	}
	text := abi.NewText(name)
	defer abi.Release(text)
	return c.call(func(raw abi.Comm) abi.Status { return abi.RegisterCoder(raw, text, block, coder) })
}

// ExportCodecState returns what codecs keep between operations, for checkpoints.
func (c *Comm) ExportCodecState() (state []byte, err error) {
	err = c.use(func(raw abi.Comm) error {
		state, err = takeBytes(func(bytes *unsafe.Pointer, count *uintptr) abi.Status { return abi.CodecStateExport(raw, bytes, count) })
		return err
	})
	return state, err
}

// ImportCodecState replaces what codecs keep by what ExportCodecState returned.
func (c *Comm) ImportCodecState(state []byte) error {
	return c.call(func(raw abi.Comm) abi.Status { return abi.CodecStateImport(raw, pointerTo(state), uintptr(len(state))) })
}

// ReadCodecState reads what error feedback keeps of the first elements of a tensor.
func (c *Comm) ReadCodecState(tensor uint64, values []float32) error {
	if len(values) == 0 {
		return nil
	}
	return c.call(func(raw abi.Comm) abi.Status {
		return abi.CodecStateRead(raw, tensor, &values[0], uintptr(len(values)))
	})
}

// ResetCodecState forgets what is kept of a tensor; 0: of all.
func (c *Comm) ResetCodecState(tensor uint64) error {
	return c.call(func(raw abi.Comm) abi.Status { return abi.CodecStateReset(raw, tensor) })
}

// Codecs describes what built-in codec specs are made of, as JSON.
func Codecs() (string, error) { return takeText(abi.Codecs) }

// Explain prices every algorithm for a collective, as JSON; links is the text of a link file, or "".
func Explain(collective string, ranks, bytes int, links string) (string, error) {
	if err := narrow("Explain", ranks); err != nil {
		return "", err
	}
	var made texts
	defer made.release()
	name, file := abi.NewText(collective), made.of(links)
	defer abi.Release(name)
	return takeText(func(json *unsafe.Pointer) abi.Status {
		return abi.Explain(name, int32(ranks), uintptr(bytes), file, json)
	})
}

// ExplainCodec is Explain for a vector compressed by a built-in codec.
func ExplainCodec(collective string, ranks, bytes int, codec, links string) (string, error) {
	if err := narrow("ExplainCodec", ranks); err != nil {
		return "", err
	}
	var made texts
	defer made.release()
	name, spec, file := abi.NewText(collective), abi.NewText(codec), made.of(links)
	defer abi.Release(name)
	defer abi.Release(spec)
	return takeText(func(json *unsafe.Pointer) abi.Status {
		return abi.ExplainCodec(name, int32(ranks), uintptr(bytes), spec, file, json)
	})
}
