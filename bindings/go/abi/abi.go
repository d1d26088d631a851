// Package abi is the C ABI of Gossamer; include/gossamer/ documents it. Package gossamer is the one to program with.
//
// scripts/abi wrote this file from include/gossamer/abi.h; do not edit it.
package abi

/*
#cgo LDFLAGS: -lgossamer
#include <gossamer/abi.h>
*/
import "C"
import "unsafe"

const LibraryVersion = "0.1.0"
const Persistent = 1
const OnHost = 2
const AnySource = -1
const AnyTag = -1

// Status is goss_status.
type Status int32

const Success Status = 0
const ErrInvalidArgument Status = -1
const ErrUnsupported Status = -2
const ErrMismatch Status = -3
const ErrTimeout Status = -4
const ErrPeerLost Status = -5
const ErrAborted Status = -6
const ErrProtocol Status = -7
const ErrResource Status = -8
const ErrBootstrap Status = -9
const ErrTruncated Status = -10
const ErrInternal Status = -11
const ErrDevice Status = -12

// Dtype is goss_dtype.
type Dtype int32

const Int8 Dtype = 0
const Uint8 Dtype = 1
const Int32 Dtype = 2
const Uint32 Dtype = 3
const Int64 Dtype = 4
const Uint64 Dtype = 5
const Float16 Dtype = 6
const Bfloat16 Dtype = 7
const Float32 Dtype = 8
const Float64 Dtype = 9
const Float8E4m3 Dtype = 10
const Float8E5m2 Dtype = 11
const Bool Dtype = 12
const DtypeCount Dtype = 13

// Op is goss_op.
type Op int32

const Sum Op = 0
const Prod Op = 1
const Min Op = 2
const Max Op = 3
const Avg Op = 4
const PremulSum Op = 5
const Band Op = 6
const Bor Op = 7
const Bxor Op = 8
const Land Op = 9
const Lor Op = 10
const Lxor Op = 11
const OpCount Op = 12

// TopologyProperty is goss_topology_property.
type TopologyProperty int32

const TopologyRowStochastic TopologyProperty = 0
const TopologyColumnStochastic TopologyProperty = 1
const TopologyDoublyStochastic TopologyProperty = 2
const TopologySymmetric TopologyProperty = 3
const TopologyConstant TopologyProperty = 4

// PipelineKind is goss_pipeline_kind.
type PipelineKind int32

const PipelineForward PipelineKind = 0
const PipelineBackward PipelineKind = 1
const PipelineBackwardInput PipelineKind = 2
const PipelineBackwardWeight PipelineKind = 3
const PipelineRecompute PipelineKind = 4
const PipelineSendForward PipelineKind = 5
const PipelineRecvForward PipelineKind = 6
const PipelineSendBackward PipelineKind = 7
const PipelineRecvBackward PipelineKind = 8
const PipelineReduce PipelineKind = 9
const PipelineStep PipelineKind = 10

// Comm is goss_comm_t.
type Comm unsafe.Pointer

// Request is goss_request_t.
type Request unsafe.Pointer

// Topology is goss_topology_t.
type Topology unsafe.Pointer

// Pipeline is goss_pipeline_t.
type Pipeline unsafe.Pointer

// PipelineCodec is goss_pipeline_codec_t.
type PipelineCodec unsafe.Pointer

// Sync is goss_sync_t.
type Sync unsafe.Pointer

// Window is goss_window_t.
type Window unsafe.Pointer

// UniqueId is goss_unique_id.
type UniqueId struct {
	Bytes [128]byte
}

var _ [unsafe.Sizeof(UniqueId{}) - C.sizeof_goss_unique_id]byte
var _ [C.sizeof_goss_unique_id - unsafe.Sizeof(UniqueId{})]byte

// Config is goss_config.
type Config struct {
	Size               uintptr
	Rank               int32
	Ranks              int32
	UniqueId           *UniqueId
	TimeoutMs          int64
	BootstrapTimeoutMs int64
	Transport          unsafe.Pointer
	Interface          unsafe.Pointer
	PortMin            uint16
	PortMax            uint16
	ConnectionsPerPeer int32
	Algorithm          unsafe.Pointer
	LinksFile          unsafe.Pointer
	SilenceMs          int64
	Tls                unsafe.Pointer
	TlsScope           unsafe.Pointer
	Advertise          unsafe.Pointer
	Relay              unsafe.Pointer
	Reconnect          unsafe.Pointer
	TcpCongestion      unsafe.Pointer
	TcpPacingBytesPerS uint64
	Codec              unsafe.Pointer
	FragmentBytes      uint64
	TuningFile         unsafe.Pointer
	UnexpectedBytes    uint64
	ShmRingBytes       uint64
	ShmPath            unsafe.Pointer
	ShmDirectBytes     uint64
	SpinUs             int32
	BootstrapPort      int32
	SimSeed            uint64
	SimDrop            float64
	LogLevel           unsafe.Pointer
	JobId              unsafe.Pointer
	TcpChecksum        unsafe.Pointer
	Device             unsafe.Pointer
	DeviceHoldMs       int64
	Measure            unsafe.Pointer
}

var _ [unsafe.Sizeof(Config{}) - C.sizeof_goss_config]byte
var _ [C.sizeof_goss_config - unsafe.Sizeof(Config{})]byte

// Options is goss_options.
type Options struct {
	Size        uintptr
	Flags       uint32
	TimeoutMs   int64
	Algorithm   unsafe.Pointer
	Scale       float64
	Stream      unsafe.Pointer
	Codec       unsafe.Pointer
	ReturnCodec unsafe.Pointer
	Tensor      uint64
}

var _ [unsafe.Sizeof(Options{}) - C.sizeof_goss_options]byte
var _ [C.sizeof_goss_options - unsafe.Sizeof(Options{})]byte

// Message is goss_message.
type Message struct {
	Source int32
	Tag    int32
	Bytes  uintptr
}

var _ [unsafe.Sizeof(Message{}) - C.sizeof_goss_message]byte
var _ [C.sizeof_goss_message - unsafe.Sizeof(Message{})]byte

// Counters is goss_counters.
type Counters struct {
	Size              uintptr
	Operations        uint64
	Failures          uint64
	PayloadBytes      uint64
	WireBytesSent     uint64
	WireBytesReceived uint64
	BusyNs            uint64
	PlacedBytes       uint64
}

var _ [unsafe.Sizeof(Counters{}) - C.sizeof_goss_counters]byte
var _ [C.sizeof_goss_counters - unsafe.Sizeof(Counters{})]byte

// CodecFunctions is goss_codec_functions.
type CodecFunctions struct {
	Size     uintptr
	Context  unsafe.Pointer
	Block    uintptr
	MaxBytes unsafe.Pointer
	Encode   unsafe.Pointer
	Decode   unsafe.Pointer
}

var _ [unsafe.Sizeof(CodecFunctions{}) - C.sizeof_goss_codec_functions]byte
var _ [C.sizeof_goss_codec_functions - unsafe.Sizeof(CodecFunctions{})]byte

// Neighbor is goss_neighbor.
type Neighbor struct {
	Rank     int32
	Reserved int32
	Weight   float64
}

var _ [unsafe.Sizeof(Neighbor{}) - C.sizeof_goss_neighbor]byte
var _ [C.sizeof_goss_neighbor - unsafe.Sizeof(Neighbor{})]byte

// Neighborhood is goss_neighborhood.
type Neighborhood struct {
	Size             uintptr
	SelfWeight       float64
	Sources          *Neighbor
	SourceCount      uintptr
	Destinations     *Neighbor
	DestinationCount uintptr
}

var _ [unsafe.Sizeof(Neighborhood{}) - C.sizeof_goss_neighborhood]byte
var _ [C.sizeof_goss_neighborhood - unsafe.Sizeof(Neighborhood{})]byte

// PipelineAction is goss_pipeline_action.
type PipelineAction struct {
	Kind       int32
	Stage      int32
	MicroBatch int32
	Chain      int32
	Version    int32
}

var _ [unsafe.Sizeof(PipelineAction{}) - C.sizeof_goss_pipeline_action]byte
var _ [C.sizeof_goss_pipeline_action - unsafe.Sizeof(PipelineAction{})]byte

// PipelineRequest is goss_pipeline_request.
type PipelineRequest struct {
	Size         uintptr
	Name         unsafe.Pointer
	Ranks        int32
	MicroBatches int32
	Batches      int32
	Chunks       int32
	Recompute    int32
	Reserved     int32
}

var _ [unsafe.Sizeof(PipelineRequest{}) - C.sizeof_goss_pipeline_request]byte
var _ [C.sizeof_goss_pipeline_request - unsafe.Sizeof(PipelineRequest{})]byte

// PipelineCosts is goss_pipeline_costs.
type PipelineCosts struct {
	Size               uintptr
	ForwardS           float64
	BackwardInputS     float64
	BackwardWeightS    float64
	RecomputeS         float64
	ActivationBytes    float64
	BoundaryBytes      float64
	LatencyS           float64
	BandwidthBytesPerS float64
	StageTimesS        *float64
}

var _ [unsafe.Sizeof(PipelineCosts{}) - C.sizeof_goss_pipeline_costs]byte
var _ [C.sizeof_goss_pipeline_costs - unsafe.Sizeof(PipelineCosts{})]byte

// PipelineCodecRequest is goss_pipeline_codec_request.
type PipelineCodecRequest struct {
	Size           uintptr
	SampleElems    uintptr
	Forward        unsafe.Pointer
	Backward       unsafe.Pointer
	Deltas         int32
	CacheDirectory unsafe.Pointer
}

var _ [unsafe.Sizeof(PipelineCodecRequest{}) - C.sizeof_goss_pipeline_codec_request]byte
var _ [C.sizeof_goss_pipeline_codec_request - unsafe.Sizeof(PipelineCodecRequest{})]byte

// PipelineWork is goss_pipeline_work.
type PipelineWork struct {
	Size          uintptr
	BoundaryBytes uintptr
	Context       unsafe.Pointer
	Run           unsafe.Pointer
	Codec         PipelineCodec
	Sample        unsafe.Pointer
}

var _ [unsafe.Sizeof(PipelineWork{}) - C.sizeof_goss_pipeline_work]byte
var _ [C.sizeof_goss_pipeline_work - unsafe.Sizeof(PipelineWork{})]byte

// SyncTensor is goss_sync_tensor.
type SyncTensor struct {
	Size      uintptr
	Name      unsafe.Pointer
	Parameter unsafe.Pointer
	Gradient  unsafe.Pointer
	Count     uintptr
	Dtype     Dtype
	Layer     int32
}

var _ [unsafe.Sizeof(SyncTensor{}) - C.sizeof_goss_sync_tensor]byte
var _ [C.sizeof_goss_sync_tensor - unsafe.Sizeof(SyncTensor{})]byte

// SyncInfo is goss_sync_info.
type SyncInfo struct {
	Size          uintptr
	Spec          unsafe.Pointer
	Gradients     int32
	LocalSteps    int32
	GradientSize  int32
	DynamicPeriod int64
}

var _ [unsafe.Sizeof(SyncInfo{}) - C.sizeof_goss_sync_info]byte
var _ [C.sizeof_goss_sync_info - unsafe.Sizeof(SyncInfo{})]byte

// SyncCounters is goss_sync_counters.
type SyncCounters struct {
	Size              uintptr
	Steps             uint64
	Exchanges         uint64
	ExchangedBytes    uint64
	WireBytesSent     uint64
	WireBytesReceived uint64
	WaitedNs          uint64
	SetupBytesSent    uint64
}

var _ [unsafe.Sizeof(SyncCounters{}) - C.sizeof_goss_sync_counters]byte
var _ [C.sizeof_goss_sync_counters - unsafe.Sizeof(SyncCounters{})]byte

// SyncLoss is goss_sync_loss.
type SyncLoss struct {
	Size     uintptr
	Evaluate unsafe.Pointer
	Context  unsafe.Pointer
}

var _ [unsafe.Sizeof(SyncLoss{}) - C.sizeof_goss_sync_loss]byte
var _ [C.sizeof_goss_sync_loss - unsafe.Sizeof(SyncLoss{})]byte

// Shadow is goss_shadow.
type Shadow struct {
	Offset uintptr
	Factor float64
}

var _ [unsafe.Sizeof(Shadow{}) - C.sizeof_goss_shadow]byte
var _ [C.sizeof_goss_shadow - unsafe.Sizeof(Shadow{})]byte

func OptionsInit(options *Options, size uintptr) Status {
	return Status(C.goss_options_init((*C.goss_options)(unsafe.Pointer(options)), C.size_t(size)))
}

func CountersInit(counters *Counters, size uintptr) Status {
	return Status(C.goss_counters_init((*C.goss_counters)(unsafe.Pointer(counters)), C.size_t(size)))
}

func Version() int32 {
	return int32(C.goss_version())
}

func StatusString(status Status) unsafe.Pointer {
	return unsafe.Pointer(C.goss_status_string(C.goss_status(status)))
}

func LastError() unsafe.Pointer {
	return unsafe.Pointer(C.goss_last_error())
}

func LastErrorRank(comm Comm, rank *int32) Status {
	return Status(C.goss_last_error_rank(C.goss_comm_t(unsafe.Pointer(comm)), (*C.int32_t)(unsafe.Pointer(rank))))
}

func SetLastError(status Status, text unsafe.Pointer) Status {
	return Status(C.goss_set_last_error(C.goss_status(status), (*C.char)(unsafe.Pointer(text))))
}

func DtypeSize(dtype Dtype) uintptr {
	return uintptr(C.goss_dtype_size(C.goss_dtype(dtype)))
}

func ConfigInitSized(config *Config, size uintptr) Status {
	return Status(C.goss_config_init_sized((*C.goss_config)(unsafe.Pointer(config)), C.size_t(size)))
}

func ConfigCheck(config *Config) Status {
	return Status(C.goss_config_check((*C.goss_config)(unsafe.Pointer(config))))
}

func UniqueIdCreateWith(config *Config, id *UniqueId) Status {
	return Status(C.goss_unique_id_create_with((*C.goss_config)(unsafe.Pointer(config)), (*C.goss_unique_id)(unsafe.Pointer(id))))
}

func UniqueIdCreate(id *UniqueId) Status {
	return Status(C.goss_unique_id_create((*C.goss_unique_id)(unsafe.Pointer(id))))
}

func UniqueIdDestroy(id *UniqueId) Status {
	return Status(C.goss_unique_id_destroy((*C.goss_unique_id)(unsafe.Pointer(id))))
}

func CommCreate(config *Config, comm *Comm) Status {
	return Status(C.goss_comm_create((*C.goss_config)(unsafe.Pointer(config)), (*C.goss_comm_t)(unsafe.Pointer(comm))))
}

func CommSplit(comm Comm, color int32, key int32, new_comm *Comm) Status {
	return Status(C.goss_comm_split(C.goss_comm_t(unsafe.Pointer(comm)), C.int32_t(color), C.int32_t(key), (*C.goss_comm_t)(unsafe.Pointer(new_comm))))
}

func CommDup(comm Comm, new_comm *Comm) Status {
	return Status(C.goss_comm_dup(C.goss_comm_t(unsafe.Pointer(comm)), (*C.goss_comm_t)(unsafe.Pointer(new_comm))))
}

func CommShrink(comm Comm, options *Options, new_comm *Comm) Status {
	return Status(C.goss_comm_shrink(C.goss_comm_t(unsafe.Pointer(comm)), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_comm_t)(unsafe.Pointer(new_comm))))
}

func CommRank(comm Comm, rank *int32) Status {
	return Status(C.goss_comm_rank(C.goss_comm_t(unsafe.Pointer(comm)), (*C.int32_t)(unsafe.Pointer(rank))))
}

func CommSize(comm Comm, size *int32) Status {
	return Status(C.goss_comm_size(C.goss_comm_t(unsafe.Pointer(comm)), (*C.int32_t)(unsafe.Pointer(size))))
}

func CommTransport(comm Comm, peer int32, name *unsafe.Pointer) Status {
	return Status(C.goss_comm_transport(C.goss_comm_t(unsafe.Pointer(comm)), C.int32_t(peer), (**C.char)(unsafe.Pointer(name))))
}

func CommError(comm Comm, status *Status, text *unsafe.Pointer) Status {
	return Status(C.goss_comm_error(C.goss_comm_t(unsafe.Pointer(comm)), (*C.goss_status)(unsafe.Pointer(status)), (**C.char)(unsafe.Pointer(text))))
}

func CommErrorRank(comm Comm, rank *int32) Status {
	return Status(C.goss_comm_error_rank(C.goss_comm_t(unsafe.Pointer(comm)), (*C.int32_t)(unsafe.Pointer(rank))))
}

func CommEventFd(comm Comm, fd *int32) Status {
	return Status(C.goss_comm_event_fd(C.goss_comm_t(unsafe.Pointer(comm)), (*C.int)(unsafe.Pointer(fd))))
}

func CommAbort(comm Comm, reason unsafe.Pointer) Status {
	return Status(C.goss_comm_abort(C.goss_comm_t(unsafe.Pointer(comm)), (*C.char)(unsafe.Pointer(reason))))
}

func CommDestroy(comm Comm) Status {
	return Status(C.goss_comm_destroy(C.goss_comm_t(unsafe.Pointer(comm))))
}

func CommCounters(comm Comm, counters *Counters) Status {
	return Status(C.goss_comm_counters(C.goss_comm_t(unsafe.Pointer(comm)), (*C.goss_counters)(unsafe.Pointer(counters))))
}

func AllReduce(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, op Op, options *Options, request *Request) Status {
	return Status(C.goss_all_reduce(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), C.goss_op(op), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Reduce(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, op Op, root int32, options *Options, request *Request) Status {
	return Status(C.goss_reduce(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), C.goss_op(op), C.int32_t(root), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Broadcast(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, root int32, options *Options, request *Request) Status {
	return Status(C.goss_broadcast(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), C.int32_t(root), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func AllGather(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, options *Options, request *Request) Status {
	return Status(C.goss_all_gather(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func AllGatherv(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, counts *uintptr, displs *uintptr, dtype Dtype, options *Options, request *Request) Status {
	return Status(C.goss_all_gatherv(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, (*C.size_t)(unsafe.Pointer(counts)), (*C.size_t)(unsafe.Pointer(displs)), C.goss_dtype(dtype), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func ReduceScatter(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, op Op, options *Options, request *Request) Status {
	return Status(C.goss_reduce_scatter(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), C.goss_op(op), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func ReduceScatterv(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, counts *uintptr, dtype Dtype, op Op, options *Options, request *Request) Status {
	return Status(C.goss_reduce_scatterv(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, (*C.size_t)(unsafe.Pointer(counts)), C.goss_dtype(dtype), C.goss_op(op), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func AllToAll(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, options *Options, request *Request) Status {
	return Status(C.goss_all_to_all(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func AllToAllv(comm Comm, send unsafe.Pointer, send_counts *uintptr, send_displs *uintptr, recv unsafe.Pointer, recv_counts *uintptr, recv_displs *uintptr, dtype Dtype, options *Options, request *Request) Status {
	return Status(C.goss_all_to_allv(C.goss_comm_t(unsafe.Pointer(comm)), send, (*C.size_t)(unsafe.Pointer(send_counts)), (*C.size_t)(unsafe.Pointer(send_displs)), recv, (*C.size_t)(unsafe.Pointer(recv_counts)), (*C.size_t)(unsafe.Pointer(recv_displs)), C.goss_dtype(dtype), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Gather(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, root int32, options *Options, request *Request) Status {
	return Status(C.goss_gather(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), C.int32_t(root), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Scatter(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, root int32, options *Options, request *Request) Status {
	return Status(C.goss_scatter(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), C.int32_t(root), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Scan(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, op Op, options *Options, request *Request) Status {
	return Status(C.goss_scan(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), C.goss_op(op), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Exscan(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, op Op, options *Options, request *Request) Status {
	return Status(C.goss_exscan(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), C.goss_op(op), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Barrier(comm Comm, options *Options, request *Request) Status {
	return Status(C.goss_barrier(C.goss_comm_t(unsafe.Pointer(comm)), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Send(comm Comm, buffer unsafe.Pointer, count uintptr, dtype Dtype, peer int32, tag int32, options *Options, request *Request) Status {
	return Status(C.goss_send(C.goss_comm_t(unsafe.Pointer(comm)), buffer, C.size_t(count), C.goss_dtype(dtype), C.int32_t(peer), C.int32_t(tag), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Recv(comm Comm, buffer unsafe.Pointer, count uintptr, dtype Dtype, peer int32, tag int32, options *Options, request *Request) Status {
	return Status(C.goss_recv(C.goss_comm_t(unsafe.Pointer(comm)), buffer, C.size_t(count), C.goss_dtype(dtype), C.int32_t(peer), C.int32_t(tag), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func Sendrecv(comm Comm, send unsafe.Pointer, send_count uintptr, dest int32, recv unsafe.Pointer, recv_count uintptr, source int32, dtype Dtype, tag int32, options *Options, message *Message) Status {
	return Status(C.goss_sendrecv(C.goss_comm_t(unsafe.Pointer(comm)), send, C.size_t(send_count), C.int32_t(dest), recv, C.size_t(recv_count), C.int32_t(source), C.goss_dtype(dtype), C.int32_t(tag), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_message)(unsafe.Pointer(message))))
}

func Probe(comm Comm, source int32, tag int32, options *Options, message *Message) Status {
	return Status(C.goss_probe(C.goss_comm_t(unsafe.Pointer(comm)), C.int32_t(source), C.int32_t(tag), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_message)(unsafe.Pointer(message))))
}

func Iprobe(comm Comm, source int32, tag int32, found *int32, message *Message) Status {
	return Status(C.goss_iprobe(C.goss_comm_t(unsafe.Pointer(comm)), C.int32_t(source), C.int32_t(tag), (*C.int)(unsafe.Pointer(found)), (*C.goss_message)(unsafe.Pointer(message))))
}

func Test(request *Request, done *int32, message *Message) Status {
	return Status(C.goss_test((*C.goss_request_t)(unsafe.Pointer(request)), (*C.int)(unsafe.Pointer(done)), (*C.goss_message)(unsafe.Pointer(message))))
}

func Wait(request *Request, message *Message) Status {
	return Status(C.goss_wait((*C.goss_request_t)(unsafe.Pointer(request)), (*C.goss_message)(unsafe.Pointer(message))))
}

func WaitFor(request *Request, timeout_ms int64, done *int32, message *Message) Status {
	return Status(C.goss_wait_for((*C.goss_request_t)(unsafe.Pointer(request)), C.int64_t(timeout_ms), (*C.int)(unsafe.Pointer(done)), (*C.goss_message)(unsafe.Pointer(message))))
}

func WaitAny(requests *Request, n uintptr, index *uintptr, message *Message) Status {
	return Status(C.goss_wait_any((*C.goss_request_t)(unsafe.Pointer(requests)), C.size_t(n), (*C.size_t)(unsafe.Pointer(index)), (*C.goss_message)(unsafe.Pointer(message))))
}

func WaitAll(requests *Request, n uintptr) Status {
	return Status(C.goss_wait_all((*C.goss_request_t)(unsafe.Pointer(requests)), C.size_t(n)))
}

func RequestError(request Request, status *Status, text *unsafe.Pointer) Status {
	return Status(C.goss_request_error(C.goss_request_t(unsafe.Pointer(request)), (*C.goss_status)(unsafe.Pointer(status)), (**C.char)(unsafe.Pointer(text))))
}

func Start(request Request) Status {
	return Status(C.goss_start(C.goss_request_t(unsafe.Pointer(request))))
}

func RequestFree(request *Request) Status {
	return Status(C.goss_request_free((*C.goss_request_t)(unsafe.Pointer(request))))
}

func GroupBegin() Status {
	return Status(C.goss_group_begin())
}

func GroupEnd() Status {
	return Status(C.goss_group_end())
}

func MemAlloc(comm Comm, bytes uintptr, memory *unsafe.Pointer) Status {
	return Status(C.goss_mem_alloc(C.goss_comm_t(unsafe.Pointer(comm)), C.size_t(bytes), memory))
}

func MemAllocDevice(comm Comm, bytes uintptr, memory *unsafe.Pointer) Status {
	return Status(C.goss_mem_alloc_device(C.goss_comm_t(unsafe.Pointer(comm)), C.size_t(bytes), memory))
}

func MemFree(comm Comm, memory unsafe.Pointer) Status {
	return Status(C.goss_mem_free(C.goss_comm_t(unsafe.Pointer(comm)), memory))
}

func Explain(collective unsafe.Pointer, ranks int32, bytes uintptr, links unsafe.Pointer, json *unsafe.Pointer) Status {
	return Status(C.goss_explain((*C.char)(unsafe.Pointer(collective)), C.int32_t(ranks), C.size_t(bytes), (*C.char)(unsafe.Pointer(links)), (**C.char)(unsafe.Pointer(json))))
}

func Free(memory unsafe.Pointer) {
	C.goss_free(memory)
}

func CodecStateExport(comm Comm, bytes *unsafe.Pointer, size *uintptr) Status {
	return Status(C.goss_codec_state_export(C.goss_comm_t(unsafe.Pointer(comm)), bytes, (*C.size_t)(unsafe.Pointer(size))))
}

func CodecStateImport(comm Comm, bytes unsafe.Pointer, size uintptr) Status {
	return Status(C.goss_codec_state_import(C.goss_comm_t(unsafe.Pointer(comm)), bytes, C.size_t(size)))
}

func CodecStateRead(comm Comm, tensor uint64, values *float32, count uintptr) Status {
	return Status(C.goss_codec_state_read(C.goss_comm_t(unsafe.Pointer(comm)), C.uint64_t(tensor), (*C.float)(unsafe.Pointer(values)), C.size_t(count)))
}

func CodecStateReset(comm Comm, tensor uint64) Status {
	return Status(C.goss_codec_state_reset(C.goss_comm_t(unsafe.Pointer(comm)), C.uint64_t(tensor)))
}

func CodecFunctionsInit(functions *CodecFunctions, size uintptr) Status {
	return Status(C.goss_codec_functions_init((*C.goss_codec_functions)(unsafe.Pointer(functions)), C.size_t(size)))
}

func CodecRegister(comm Comm, name unsafe.Pointer, functions *CodecFunctions) Status {
	return Status(C.goss_codec_register(C.goss_comm_t(unsafe.Pointer(comm)), (*C.char)(unsafe.Pointer(name)), (*C.goss_codec_functions)(unsafe.Pointer(functions))))
}

func Codecs(json *unsafe.Pointer) Status {
	return Status(C.goss_codecs((**C.char)(unsafe.Pointer(json))))
}

func ExplainCodec(collective unsafe.Pointer, ranks int32, bytes uintptr, codec unsafe.Pointer, links unsafe.Pointer, json *unsafe.Pointer) Status {
	return Status(C.goss_explain_codec((*C.char)(unsafe.Pointer(collective)), C.int32_t(ranks), C.size_t(bytes), (*C.char)(unsafe.Pointer(codec)), (*C.char)(unsafe.Pointer(links)), (**C.char)(unsafe.Pointer(json))))
}

func NeighborhoodInit(neighborhood *Neighborhood, size uintptr) Status {
	return Status(C.goss_neighborhood_init((*C.goss_neighborhood)(unsafe.Pointer(neighborhood)), C.size_t(size)))
}

func TopologyCreate(spec unsafe.Pointer, ranks int32, topology *Topology) Status {
	return Status(C.goss_topology_create((*C.char)(unsafe.Pointer(spec)), C.int32_t(ranks), (*C.goss_topology_t)(unsafe.Pointer(topology))))
}

func TopologyDestroy(topology Topology) Status {
	return Status(C.goss_topology_destroy(C.goss_topology_t(unsafe.Pointer(topology))))
}

func TopologyPeriod(topology Topology, period *uint64) Status {
	return Status(C.goss_topology_period(C.goss_topology_t(unsafe.Pointer(topology)), (*C.uint64_t)(unsafe.Pointer(period))))
}

func TopologyWeight(topology Topology, round uint64, to int32, from int32, weight *float64) Status {
	return Status(C.goss_topology_weight(C.goss_topology_t(unsafe.Pointer(topology)), C.uint64_t(round), C.int32_t(to), C.int32_t(from), (*C.double)(unsafe.Pointer(weight))))
}

func TopologyNeighbors(topology Topology, round uint64, rank int32, neighborhood *Neighborhood) Status {
	return Status(C.goss_topology_neighbors(C.goss_topology_t(unsafe.Pointer(topology)), C.uint64_t(round), C.int32_t(rank), (*C.goss_neighborhood)(unsafe.Pointer(neighborhood))))
}

func TopologyRequire(topology Topology, property int32) Status {
	return Status(C.goss_topology_require(C.goss_topology_t(unsafe.Pointer(topology)), C.int32_t(property)))
}

func TopologyDescribe(topology Topology, json *unsafe.Pointer) Status {
	return Status(C.goss_topology_describe(C.goss_topology_t(unsafe.Pointer(topology)), (**C.char)(unsafe.Pointer(json))))
}

func TopologyDraw(topology Topology, round int64, svg *unsafe.Pointer) Status {
	return Status(C.goss_topology_draw(C.goss_topology_t(unsafe.Pointer(topology)), C.int64_t(round), (**C.char)(unsafe.Pointer(svg))))
}

func NeighborAllReduce(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, neighborhood *Neighborhood, options *Options, request *Request) Status {
	return Status(C.goss_neighbor_all_reduce(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), (*C.goss_neighborhood)(unsafe.Pointer(neighborhood)), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func NeighborAllGather(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, neighborhood *Neighborhood, options *Options, request *Request) Status {
	return Status(C.goss_neighbor_all_gather(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), (*C.goss_neighborhood)(unsafe.Pointer(neighborhood)), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func NeighborAllGatherv(comm Comm, send unsafe.Pointer, send_count uintptr, recv unsafe.Pointer, recv_counts *uintptr, recv_displs *uintptr, dtype Dtype, neighborhood *Neighborhood, options *Options, request *Request) Status {
	return Status(C.goss_neighbor_all_gatherv(C.goss_comm_t(unsafe.Pointer(comm)), send, C.size_t(send_count), recv, (*C.size_t)(unsafe.Pointer(recv_counts)), (*C.size_t)(unsafe.Pointer(recv_displs)), C.goss_dtype(dtype), (*C.goss_neighborhood)(unsafe.Pointer(neighborhood)), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func NeighborAllToAll(comm Comm, send unsafe.Pointer, recv unsafe.Pointer, count uintptr, dtype Dtype, neighborhood *Neighborhood, options *Options, request *Request) Status {
	return Status(C.goss_neighbor_all_to_all(C.goss_comm_t(unsafe.Pointer(comm)), send, recv, C.size_t(count), C.goss_dtype(dtype), (*C.goss_neighborhood)(unsafe.Pointer(neighborhood)), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func NeighborAllToAllv(comm Comm, send unsafe.Pointer, send_counts *uintptr, send_displs *uintptr, recv unsafe.Pointer, recv_counts *uintptr, recv_displs *uintptr, dtype Dtype, neighborhood *Neighborhood, options *Options, request *Request) Status {
	return Status(C.goss_neighbor_all_to_allv(C.goss_comm_t(unsafe.Pointer(comm)), send, (*C.size_t)(unsafe.Pointer(send_counts)), (*C.size_t)(unsafe.Pointer(send_displs)), recv, (*C.size_t)(unsafe.Pointer(recv_counts)), (*C.size_t)(unsafe.Pointer(recv_displs)), C.goss_dtype(dtype), (*C.goss_neighborhood)(unsafe.Pointer(neighborhood)), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func CommMeasureLinks(comm Comm, options *Options, links *unsafe.Pointer) Status {
	return Status(C.goss_comm_measure_links(C.goss_comm_t(unsafe.Pointer(comm)), (*C.goss_options)(unsafe.Pointer(options)), (**C.char)(unsafe.Pointer(links))))
}

func CommTrials(comm Comm, json *unsafe.Pointer) Status {
	return Status(C.goss_comm_trials(C.goss_comm_t(unsafe.Pointer(comm)), (**C.char)(unsafe.Pointer(json))))
}

func PipelineRequestInit(request *PipelineRequest, size uintptr) Status {
	return Status(C.goss_pipeline_request_init((*C.goss_pipeline_request)(unsafe.Pointer(request)), C.size_t(size)))
}

func PipelineName(index uintptr) unsafe.Pointer {
	return unsafe.Pointer(C.goss_pipeline_name(C.size_t(index)))
}

func PipelineGenerate(request *PipelineRequest, pipeline *Pipeline) Status {
	return Status(C.goss_pipeline_generate((*C.goss_pipeline_request)(unsafe.Pointer(request)), (*C.goss_pipeline_t)(unsafe.Pointer(pipeline))))
}

func PipelineRead(text unsafe.Pointer, pipeline *Pipeline) Status {
	return Status(C.goss_pipeline_read((*C.char)(unsafe.Pointer(text)), (*C.goss_pipeline_t)(unsafe.Pointer(pipeline))))
}

func PipelineWrite(pipeline Pipeline, is_complete int32, text *unsafe.Pointer) Status {
	return Status(C.goss_pipeline_write(C.goss_pipeline_t(unsafe.Pointer(pipeline)), C.int32_t(is_complete), (**C.char)(unsafe.Pointer(text))))
}

func PipelineDestroy(pipeline Pipeline) Status {
	return Status(C.goss_pipeline_destroy(C.goss_pipeline_t(unsafe.Pointer(pipeline))))
}

func PipelineSize(pipeline Pipeline, ranks *int32, stages *int32, micro_batches *int32) Status {
	return Status(C.goss_pipeline_size(C.goss_pipeline_t(unsafe.Pointer(pipeline)), (*C.int32_t)(unsafe.Pointer(ranks)), (*C.int32_t)(unsafe.Pointer(stages)), (*C.int32_t)(unsafe.Pointer(micro_batches))))
}

func PipelineStageRank(pipeline Pipeline, stage int32, rank *int32) Status {
	return Status(C.goss_pipeline_stage_rank(C.goss_pipeline_t(unsafe.Pointer(pipeline)), C.int32_t(stage), (*C.int32_t)(unsafe.Pointer(rank))))
}

func PipelineActions(pipeline Pipeline, rank int32, actions **PipelineAction, count *uintptr) Status {
	return Status(C.goss_pipeline_actions(C.goss_pipeline_t(unsafe.Pointer(pipeline)), C.int32_t(rank), (**C.goss_pipeline_action)(unsafe.Pointer(actions)), (*C.size_t)(unsafe.Pointer(count))))
}

func PipelineCheck(pipeline Pipeline, most_activations int32, most_versions int32) Status {
	return Status(C.goss_pipeline_check(C.goss_pipeline_t(unsafe.Pointer(pipeline)), C.int32_t(most_activations), C.int32_t(most_versions)))
}

func PipelineCostsInit(costs *PipelineCosts, size uintptr) Status {
	return Status(C.goss_pipeline_costs_init((*C.goss_pipeline_costs)(unsafe.Pointer(costs)), C.size_t(size)))
}

func PipelineSimulate(pipeline Pipeline, costs *PipelineCosts, json *unsafe.Pointer) Status {
	return Status(C.goss_pipeline_simulate(C.goss_pipeline_t(unsafe.Pointer(pipeline)), (*C.goss_pipeline_costs)(unsafe.Pointer(costs)), (**C.char)(unsafe.Pointer(json))))
}

func PipelineDraw(pipeline Pipeline, costs *PipelineCosts, is_svg int32, text *unsafe.Pointer) Status {
	return Status(C.goss_pipeline_draw(C.goss_pipeline_t(unsafe.Pointer(pipeline)), (*C.goss_pipeline_costs)(unsafe.Pointer(costs)), C.int32_t(is_svg), (**C.char)(unsafe.Pointer(text))))
}

func PipelineCodecRequestInit(request *PipelineCodecRequest, size uintptr) Status {
	return Status(C.goss_pipeline_codec_request_init((*C.goss_pipeline_codec_request)(unsafe.Pointer(request)), C.size_t(size)))
}

func PipelineCodecCreate(comm Comm, request *PipelineCodecRequest, codec *PipelineCodec) Status {
	return Status(C.goss_pipeline_codec_create(C.goss_comm_t(unsafe.Pointer(comm)), (*C.goss_pipeline_codec_request)(unsafe.Pointer(request)), (*C.goss_pipeline_codec_t)(unsafe.Pointer(codec))))
}

func PipelineCodecDestroy(codec PipelineCodec) Status {
	return Status(C.goss_pipeline_codec_destroy(C.goss_pipeline_codec_t(unsafe.Pointer(codec))))
}

func PipelineCodecExport(codec PipelineCodec, bytes *unsafe.Pointer, size *uintptr) Status {
	return Status(C.goss_pipeline_codec_export(C.goss_pipeline_codec_t(unsafe.Pointer(codec)), bytes, (*C.size_t)(unsafe.Pointer(size))))
}

func PipelineCodecImport(codec PipelineCodec, bytes unsafe.Pointer, size uintptr) Status {
	return Status(C.goss_pipeline_codec_import(C.goss_pipeline_codec_t(unsafe.Pointer(codec)), bytes, C.size_t(size)))
}

func PipelineWorkInit(work *PipelineWork, size uintptr) Status {
	return Status(C.goss_pipeline_work_init((*C.goss_pipeline_work)(unsafe.Pointer(work)), C.size_t(size)))
}

func PipelineRun(pipeline Pipeline, comm Comm, work *PipelineWork) Status {
	return Status(C.goss_pipeline_run(C.goss_pipeline_t(unsafe.Pointer(pipeline)), C.goss_comm_t(unsafe.Pointer(comm)), (*C.goss_pipeline_work)(unsafe.Pointer(work))))
}

func SyncTensorInit(tensor *SyncTensor, size uintptr) Status {
	return Status(C.goss_sync_tensor_init((*C.goss_sync_tensor)(unsafe.Pointer(tensor)), C.size_t(size)))
}

func SyncInfoInit(info *SyncInfo, size uintptr) Status {
	return Status(C.goss_sync_info_init((*C.goss_sync_info)(unsafe.Pointer(info)), C.size_t(size)))
}

func SyncCountersInit(counters *SyncCounters, size uintptr) Status {
	return Status(C.goss_sync_counters_init((*C.goss_sync_counters)(unsafe.Pointer(counters)), C.size_t(size)))
}

func SyncCreate(comm Comm, spec unsafe.Pointer, sync *Sync) Status {
	return Status(C.goss_sync_create(C.goss_comm_t(unsafe.Pointer(comm)), (*C.char)(unsafe.Pointer(spec)), (*C.goss_sync_t)(unsafe.Pointer(sync))))
}

func SyncRegister(sync Sync, tensor *SyncTensor, index *int32) Status {
	return Status(C.goss_sync_register(C.goss_sync_t(unsafe.Pointer(sync)), (*C.goss_sync_tensor)(unsafe.Pointer(tensor)), (*C.int32_t)(unsafe.Pointer(index))))
}

func SyncStart(sync Sync) Status {
	return Status(C.goss_sync_start(C.goss_sync_t(unsafe.Pointer(sync))))
}

func SyncSetLr(sync Sync, lr float64) Status {
	return Status(C.goss_sync_set_lr(C.goss_sync_t(unsafe.Pointer(sync)), C.double(lr)))
}

func SyncLossInit(loss *SyncLoss, size uintptr) Status {
	return Status(C.goss_sync_loss_init((*C.goss_sync_loss)(unsafe.Pointer(loss)), C.size_t(size)))
}

func SyncSetLoss(sync Sync, loss *SyncLoss) Status {
	return Status(C.goss_sync_set_loss(C.goss_sync_t(unsafe.Pointer(sync)), (*C.goss_sync_loss)(unsafe.Pointer(loss))))
}

func SyncComputes(sync Sync, computes *int32) Status {
	return Status(C.goss_sync_computes(C.goss_sync_t(unsafe.Pointer(sync)), (*C.int32_t)(unsafe.Pointer(computes))))
}

func SyncStepTime(sync Sync, seconds float64) Status {
	return Status(C.goss_sync_step_time(C.goss_sync_t(unsafe.Pointer(sync)), C.double(seconds)))
}

func SyncGradientReady(sync Sync, index int32) Status {
	return Status(C.goss_sync_gradient_ready(C.goss_sync_t(unsafe.Pointer(sync)), C.int32_t(index)))
}

func SyncGradients(sync Sync) Status {
	return Status(C.goss_sync_gradients(C.goss_sync_t(unsafe.Pointer(sync))))
}

func SyncStep(sync Sync) Status {
	return Status(C.goss_sync_step(C.goss_sync_t(unsafe.Pointer(sync))))
}

func SyncFinish(sync Sync) Status {
	return Status(C.goss_sync_finish(C.goss_sync_t(unsafe.Pointer(sync))))
}

func SyncExport(sync Sync, bytes *unsafe.Pointer, count *uintptr) Status {
	return Status(C.goss_sync_export(C.goss_sync_t(unsafe.Pointer(sync)), bytes, (*C.size_t)(unsafe.Pointer(count))))
}

func SyncImport(sync Sync, bytes unsafe.Pointer, count uintptr) Status {
	return Status(C.goss_sync_import(C.goss_sync_t(unsafe.Pointer(sync)), bytes, C.size_t(count)))
}

func SyncImportAll(sync Sync, bytes *unsafe.Pointer, counts *uintptr, states uintptr, dropped *int32) Status {
	return Status(C.goss_sync_import_all(C.goss_sync_t(unsafe.Pointer(sync)), bytes, (*C.size_t)(unsafe.Pointer(counts)), C.size_t(states), (*C.int32_t)(unsafe.Pointer(dropped))))
}

func SyncGetInfo(sync Sync, info *SyncInfo) Status {
	return Status(C.goss_sync_get_info(C.goss_sync_t(unsafe.Pointer(sync)), (*C.goss_sync_info)(unsafe.Pointer(info))))
}

func SyncGetCounters(sync Sync, counters *SyncCounters) Status {
	return Status(C.goss_sync_get_counters(C.goss_sync_t(unsafe.Pointer(sync)), (*C.goss_sync_counters)(unsafe.Pointer(counters))))
}

func SyncAbort(sync Sync, reason unsafe.Pointer) Status {
	return Status(C.goss_sync_abort(C.goss_sync_t(unsafe.Pointer(sync)), (*C.char)(unsafe.Pointer(reason))))
}

func SyncDestroy(sync Sync) Status {
	return Status(C.goss_sync_destroy(C.goss_sync_t(unsafe.Pointer(sync))))
}

func SyncTrials(sync Sync, json *unsafe.Pointer) Status {
	return Status(C.goss_sync_trials(C.goss_sync_t(unsafe.Pointer(sync)), (**C.char)(unsafe.Pointer(json))))
}

func SyncMethods(json *unsafe.Pointer) Status {
	return Status(C.goss_sync_methods((**C.char)(unsafe.Pointer(json))))
}

func WindowCreate(comm Comm, memory unsafe.Pointer, count uintptr, dtype Dtype, options *Options, window *Window) Status {
	return Status(C.goss_window_create(C.goss_comm_t(unsafe.Pointer(comm)), memory, C.size_t(count), C.goss_dtype(dtype), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_window_t)(unsafe.Pointer(window))))
}

func WindowFree(window *Window) Status {
	return Status(C.goss_window_free((*C.goss_window_t)(unsafe.Pointer(window))))
}

func WindowPut(window Window, data unsafe.Pointer, count uintptr, target int32, offset uintptr, options *Options, request *Request) Status {
	return Status(C.goss_window_put(C.goss_window_t(unsafe.Pointer(window)), data, C.size_t(count), C.int32_t(target), C.size_t(offset), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func WindowAccumulate(window Window, data unsafe.Pointer, count uintptr, op Op, target int32, offset uintptr, options *Options, request *Request) Status {
	return Status(C.goss_window_accumulate(C.goss_window_t(unsafe.Pointer(window)), data, C.size_t(count), C.goss_op(op), C.int32_t(target), C.size_t(offset), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func WindowGet(window Window, data unsafe.Pointer, count uintptr, target int32, offset uintptr, options *Options, request *Request) Status {
	return Status(C.goss_window_get(C.goss_window_t(unsafe.Pointer(window)), data, C.size_t(count), C.int32_t(target), C.size_t(offset), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

func WindowFlush(window Window, target int32, options *Options) Status {
	return Status(C.goss_window_flush(C.goss_window_t(unsafe.Pointer(window)), C.int32_t(target), (*C.goss_options)(unsafe.Pointer(options))))
}

func WindowVersion(window Window, origin int32, version *uint64) Status {
	return Status(C.goss_window_version(C.goss_window_t(unsafe.Pointer(window)), C.int32_t(origin), (*C.uint64_t)(unsafe.Pointer(version))))
}

func WindowLock(window Window, target int32, options *Options) Status {
	return Status(C.goss_window_lock(C.goss_window_t(unsafe.Pointer(window)), C.int32_t(target), (*C.goss_options)(unsafe.Pointer(options))))
}

func WindowUnlock(window Window, target int32) Status {
	return Status(C.goss_window_unlock(C.goss_window_t(unsafe.Pointer(window)), C.int32_t(target)))
}

func PairAverage(window Window, partner int32, count uintptr, offset uintptr, shadow *Shadow, options *Options, request *Request) Status {
	return Status(C.goss_pair_average(C.goss_window_t(unsafe.Pointer(window)), C.int32_t(partner), C.size_t(count), C.size_t(offset), (*C.goss_shadow)(unsafe.Pointer(shadow)), (*C.goss_options)(unsafe.Pointer(options)), (*C.goss_request_t)(unsafe.Pointer(request))))
}

// Functions counts the functions above.
const Functions = 138
