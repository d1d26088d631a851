package gossamer

import (
	"unsafe"

	"gossamer/abi"
)

// UniqueID lets ranks find each other; the application passes the bytes around.
type UniqueID [128]byte

// NewUniqueID opens the socket that others will call: the caller becomes rank 0.
func NewUniqueID() (UniqueID, error) {
	var raw abi.UniqueId
	err := call(nil, func() abi.Status { return abi.UniqueIdCreate(&raw) })
	return UniqueID(raw.Bytes), err
}

// Destroy closes the socket of an id that no communicator has taken.
func (id UniqueID) Destroy() error {
	raw := abi.UniqueId{Bytes: id}
	return call(nil, func() abi.Status { return abi.UniqueIdDestroy(&raw) })
}

// Config holds the settings of a new world of ranks.
type Config struct {
	// Raw begins with the environment's values; goss_config says what the fields mean. Text sets those that are strings.
	Raw   *abi.Config
	texts texts
}

// NewConfig returns the settings of the environment. Release frees their strings.
func NewConfig() (*Config, error) {
	config := &Config{Raw: &abi.Config{}}
	err := call(nil, func() abi.Status { return abi.ConfigInitSized(config.Raw, unsafe.Sizeof(*config.Raw)) })
	return config, err
}

// Text sets a field of Raw that is a string, such as &config.Raw.Transport.
func (c *Config) Text(field *unsafe.Pointer, text string) {
	*field = c.texts.of(text)
}

// Join sets the world, and this process's place in it.
func (c *Config) Join(id UniqueID, rank, ranks int) {
	c.Raw.Rank, c.Raw.Ranks = int32(rank), int32(ranks)
	memory := abi.NewMemory(unsafe.Sizeof(id))
	*(*UniqueID)(memory) = id
	c.texts = append(c.texts, memory)
	c.Raw.UniqueId = (*abi.UniqueId)(memory)
}

// Check returns an error unless the settings are well-formed.
func (c *Config) Check() error {
	return call(nil, func() abi.Status { return abi.ConfigCheck(c.Raw) })
}

// Release frees the strings of the config, which is not to be used afterwards.
func (c *Config) Release() { c.texts.release() }

// NewWith meets the ranks that the config names.
func NewWith(config *Config) (*Comm, error) {
	return newComm(nil, func(comm *abi.Comm) abi.Status { return abi.CommCreate(config.Raw, comm) })
}
