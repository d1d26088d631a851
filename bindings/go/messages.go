package gossamer

import (
	"context"

	"gossamer/abi"
)

// SendRecv sends to dest and receives from source at the same time.
func SendRecv[M Slice](ctx context.Context, comm *Comm, send M, dest int, recv M, source, tag int) (Message, error) {
	options, err := optionsOf(ctx, Options{}, 0)
	if err != nil {
		return Message{}, err
	}
	defer options.release()
	if err := narrow("SendRecv", dest, source, tag); err != nil {
		return Message{}, err
	}
	from, to, message := spanOf(send), spanOf(recv), abi.Message{}
	err = comm.use(func(raw abi.Comm) error {
		defer comm.watch(ctx, false)()
		return call(raw, func() abi.Status {
			return abi.Sendrecv(raw, from.address, uintptr(from.count), int32(dest), to.address, uintptr(to.count), int32(source),
				from.dtype, int32(tag), options.raw, &message)
		})
	})
	return messageOf(message), because(ctx, err)
}

// Probe waits for a message that Recv would receive, and leaves it there.
func (c *Comm) Probe(ctx context.Context, source, tag int) (Message, error) {
	options, err := optionsOf(ctx, Options{}, 0)
	if err != nil {
		return Message{}, err
	}
	defer options.release()
	if err := narrow("Probe", source, tag); err != nil {
		return Message{}, err
	}
	var message abi.Message
	err = c.use(func(raw abi.Comm) error {
		defer c.watch(ctx, false)()
		return call(raw, func() abi.Status { return abi.Probe(raw, int32(source), int32(tag), options.raw, &message) })
	})
	return messageOf(message), because(ctx, err)
}

// Iprobe is Probe without waiting.
func (c *Comm) Iprobe(source, tag int) (found bool, message Message, err error) {
	if err := narrow("Iprobe", source, tag); err != nil {
		return false, Message{}, err
	}
	var is int32
	var raw abi.Message
	err = c.call(func(comm abi.Comm) abi.Status { return abi.Iprobe(comm, int32(source), int32(tag), &is, &raw) })
	return is != 0, messageOf(raw), err
}
