/// Gossamer: collective communication for training models over any network.
///
/// The core of the C ABI (C99): communicators, collectives, messages, memory. abi.h names the headers beside it that
/// complete the ABI, and includes all. Conventions that hold for every call, unless it says otherwise:
///
/// - **Result.** Every call returns a goss_status. On failure goss_last_error() describes it (who, what, what to do
///   next) and no output argument has been written.
/// - **Collective.** "Collective" means that all ranks of the communicator call it, in the same order, with matching
///   arguments. Calls that do not match (collective, count, dtype, op, root) fail with GOSS_ERR_MISMATCH on the ranks
///   that detect it; these notify the others, so that no rank hangs. A rank that receives no message of such a call may
///   return GOSS_SUCCESS; then its next collective that receives data fails, and the error names the earlier calls.
/// - **Blocking or not.** The last argument `request` decides. NULL: the call returns when the result is in place. Not
///   NULL: the call returns immediately and `*request` is later given to goss_wait() or goss_test().
/// - **Buffers** are host memory, contiguous, aligned to their element, lent to the library from the call until the
///   operation completes. Send buffers are never written, unless they are the receive buffer too.
/// - **In place.** Passing the same address as documented at each call; any other overlap is an error that is not
///   detected.
/// - **Threads.** Any thread may call anything at any time. Two threads that start collectives on one communicator must
///   agree on the order by their own means, as in MPI.
/// - **Deadline.** Every operation has a deadline: that of its options, else that of the communicator. An operation
///   that reaches its deadline fails with GOSS_ERR_TIMEOUT, and the error names the rank that it waited for.
/// - **After a failure** (timeout, lost peer, mismatch) all further operations on the communicator fail with the same
///   error: destroy it, or call goss_comm_shrink first. A send or receive that fails because of its deadline, its
///   buffer's length or its dtype does not fail the communicator; but a send whose deadline passes while a part of it
///   is on the wire may end the connection to that peer. Invalid arguments are rejected before anything is sent and
///   leave the communicator unchanged.
/// - **Structs.** A struct that begins with `size` may grow: fields are appended, never moved. `size` tells the library
///   how many bytes the caller's struct has. The initialiser macro sets it, and so does goss_..._init(&it, sizeof it);
///   both also give every field its default. The library reads and writes nothing behind these bytes, and fields that
///   the caller's older header does not have keep their defaults. A size that is not a multiple of 8, or is larger than
///   this library's, is refused with GOSS_ERR_INVALID_ARGUMENT. Strings in structs are read during the call only,
///   unless a field says otherwise.
/// - **Fork.** A child made by fork() owns nothing of its parent's. In it every call with a communicator, request,
///   synchronizer or pipeline codec from before the fork fails with GOSS_ERR_INVALID_ARGUMENT and touches nothing that
///   the parent uses; goss_..._destroy and goss_request_free succeed at once and free nothing; the end of the child
///   frees its memory. The child's copies of the parent's descriptors stay open until it ends or calls exec(): a rank
///   on another host may notice only then, or after GOSS_SILENCE_MS, that the parent has died. The child may make
///   communicators of its own.
/// - **Determinism.** Run to run, the same plan gives the same bits. All ranks get identical bits from all_reduce,
///   broadcast and all_gather. A host's plans depend on how many communicators were made: docs/decisions/001-boards.md.
///   Over wide-area links plans follow from what was measured when the communicator was made, and may differ from run
///   to run; large all_reduces' also from how fast earlier calls were. GOSS_MEASURE=off or GOSS_LINKS keeps them.
#ifndef GOSSAMER_GOSSAMER_H_
#define GOSSAMER_GOSSAMER_H_

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GOSS_API __attribute__((visibility("default")))
#else
#define GOSS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GOSS_VERSION_MAJOR 0
#define GOSS_VERSION_MINOR 1
#define GOSS_VERSION_PATCH 0

/// How a call ended: zero is success, everything below zero says what the caller can do about it.
typedef enum goss_status {
  GOSS_SUCCESS = 0,
  GOSS_ERR_INVALID_ARGUMENT = -1, ///< Fix the call; nothing was sent and nothing changed.
  GOSS_ERR_UNSUPPORTED = -2,      ///< Legal, but not offered by this build or this version; nothing was sent.
  GOSS_ERR_MISMATCH = -3,         ///< The ranks' calls disagree; fix the program.
  GOSS_ERR_TIMEOUT = -4,          ///< The deadline passed; the text names whom the operation waited for.
  GOSS_ERR_PEER_LOST = -5,        ///< A rank died or its connection broke; the text names it.
  GOSS_ERR_ABORTED = -6,          ///< This communicator was aborted, here or by another rank.
  GOSS_ERR_PROTOCOL = -7,         ///< A peer sent bytes that are not of this protocol or version.
  GOSS_ERR_RESOURCE = -8,         ///< Memory, file descriptors, ports or disk ran out.
  GOSS_ERR_BOOTSTRAP = -9,        ///< The ranks could not find each other; the text names who is missing.
  GOSS_ERR_TRUNCATED = -10,       ///< A received message was longer than the receive buffer.
  GOSS_ERR_INTERNAL = -11,        ///< A bug in Gossamer; please report the text.
  GOSS_ERR_DEVICE = -12           ///< A GPU or its driver failed; the text names the rank, the device and the reason.
} goss_status;

/// Element types. Values are part of the wire format: never renumbered.
typedef enum goss_dtype {
  GOSS_INT8 = 0,
  GOSS_UINT8 = 1,
  GOSS_INT32 = 2,
  GOSS_UINT32 = 3,
  GOSS_INT64 = 4,
  GOSS_UINT64 = 5,
  GOSS_FLOAT16 = 6,
  GOSS_BFLOAT16 = 7,
  GOSS_FLOAT32 = 8,
  GOSS_FLOAT64 = 9,
  GOSS_FLOAT8_E4M3 = 10, ///< OCP e4m3: no infinities, saturates at 448.
  GOSS_FLOAT8_E5M2 = 11, ///< OCP e5m2.
  GOSS_BOOL = 12,        ///< One byte: 0 is false, anything else is true. What is computed is 0 or 1.
  GOSS_DTYPE_COUNT = 13
} goss_dtype;

/// Reductions. Values are part of the wire format: never renumbered. Integers wrap around; floats narrower than 32 bits
/// are added in float32 and rounded to nearest even at each step; NaN survives every operation. GOSS_BOOL takes the
/// logical operations, GOSS_MIN and GOSS_MAX; the others are refused for it. An element to which one rank alone
/// contributes (a single rank; the first of a scan) is copied as it is.
typedef enum goss_op {
  GOSS_SUM = 0,
  GOSS_PROD = 1,
  GOSS_MIN = 2,
  GOSS_MAX = 3,
  GOSS_AVG = 4,        ///< Sum divided by the number of ranks (integers: truncated toward zero).
  GOSS_PREMUL_SUM = 5, ///< Sum of goss_options.scale times each rank's input (floating types only).
  GOSS_BAND = 6,       ///< Bitwise and; like the next two for integers only.
  GOSS_BOR = 7,
  GOSS_BXOR = 8, ///< Bits that are set in an odd number of ranks' inputs.
  GOSS_LAND = 9, ///< 1 where every rank's input is not zero, else 0; like the next two for integers and GOSS_BOOL.
  GOSS_LOR = 10,
  GOSS_LXOR = 11, ///< 1 where an odd number of ranks' inputs is not zero, else 0.
  GOSS_OP_COUNT = 12
} goss_op;

/// A group of ranks with its own operation order. Made by goss_comm_create, goss_comm_split and goss_comm_dup.
typedef struct goss_comm* goss_comm_t;

/// A started operation. goss_wait (or a goss_test that reports completion) frees it and sets it to NULL, unless it is
/// persistent; those are freed by goss_request_free.
typedef struct goss_request* goss_request_t;

/// 128 opaque bytes that let ranks find each other. The application passes them around by its own means.
typedef struct goss_unique_id {
  char bytes[128];
} goss_unique_id;

/// Settings of a new world of ranks. The brackets name each field's environment variable and its default;
/// docs/environment.md lists the accepted values. Call goss_config_init first: it sets numbers to the environment's
/// values, and strings to NULL, which means the environment's value. An empty string means the default, even if the
/// variable is set. 0 means the environment's value in every number whose comment gives 0 no other meaning. The call
/// that takes the struct copies the strings.
typedef struct goss_config {
  size_t size;                     ///< sizeof(goss_config); set by goss_config_init.
  int32_t rank;                    ///< This process's rank, or -1: from the launcher's environment.
  int32_t ranks;                   ///< Number of ranks, or -1: from the launcher's environment.
  const goss_unique_id* unique_id; ///< NULL: meet by the launcher's means (mpirun's PMIx, or MASTER_ADDR/MASTER_PORT).
  /// Milliseconds until an operation that names no deadline fails. [GOSS_TIMEOUT_MS, 300000]
  int64_t timeout_ms;
  int64_t bootstrap_timeout_ms; ///< Milliseconds until all ranks must have arrived. [GOSS_BOOTSTRAP_TIMEOUT_MS, 60000]
  const char* transport;        ///< Forces one: loopback|shm|tcp|tls|ucx|mpi|sim. [GOSS_TRANSPORT, best per pair]
  const char* interface;        ///< A network interface's name or address. [GOSS_INTERFACE, any]
  uint16_t port_min;            ///< Listening ports are taken from port_min..port_max; 0,0: any. [GOSS_PORT_RANGE=a-b]
  uint16_t port_max;
  int32_t connections_per_peer; ///< TCP connections for payload to each peer.  [GOSS_CONNECTIONS, 1]
  const char* algorithm;        ///< An algorithm's name. [GOSS_ALGORITHM, the planner's choice]
  const char* links_file;       ///< Link prices, as goss-explain reads them. [GOSS_LINKS, built-in prices]
  int64_t silence_ms;           ///< Milliseconds of silence after which a rank is given up; 0: never. [GOSS_SILENCE_MS]
  const char* tls;              ///< psk:FILE or certs:DIR secures the run. [GOSS_TLS, none]
  const char* tls_scope;        ///< TLS on all links, or between hosts: all|hosts; wants `tls`. [GOSS_TLS_SCOPE, all]
  const char* advertise;        ///< address[:ports] at which others call this rank through a router. [GOSS_ADVERTISE]
  const char* relay;            ///< Whether this rank relays between ranks that cannot meet: on|off. [GOSS_RELAY, on]
  const char* reconnect;        ///< Which broken connections are resumed: auto|on|off. [GOSS_RECONNECT, auto]
  const char* tcp_congestion;   ///< Congestion control, such as bbr. [GOSS_TCP_CONGESTION, by path]
  uint64_t tcp_pacing_bytes_per_s; ///< Most bytes a second to each peer; 0: no bound. [GOSS_TCP_PACING]
  const char* codec;               ///< Default codec of floating all_reduces by sum or mean. [GOSS_CODEC, none]
  uint64_t fragment_bytes;         ///< Approximate bytes of a fragment; 0: the planner's choice. [GOSS_FRAGMENT_BYTES]
  const char* tuning_file;         ///< File of prices that goss-tune measured. [GOSS_TUNING, built-in prices]
  uint64_t unexpected_bytes;       ///< Bytes kept per peer for messages without a receive. [GOSS_UNEXPECTED_BYTES]
  uint64_t shm_ring_bytes;         ///< Bytes of the shared ring from each local peer; 0: picks. [GOSS_SHM_RING_BYTES]
  const char* shm_path;            ///< Long messages on a host: ring|mapped|addresses. [GOSS_SHM_PATH, picks]
  uint64_t shm_direct_bytes;       ///< Bytes from which messages are read in place. [GOSS_SHM_DIRECT_BYTES]
  int32_t spin_us;                 ///< Microseconds that a waiting thread polls before it sleeps. [GOSS_SPIN_US, 100]
  int32_t bootstrap_port;          ///< Port of rank 0 at MASTER_ADDR; 0: MASTER_PORT. [GOSS_BOOTSTRAP_PORT]
  uint64_t sim_seed;               ///< Seed of the sim transport. [GOSS_SIM_SEED, 1]
  double sim_drop;                 ///< Probability that the sim transport loses a frame once. [GOSS_SIM_DROP, 0]
  const char* log_level;           ///< off|error|warn|info|debug|trace, to standard error. [GOSS_LOG, warn]
  const char* job_id;              ///< Tells jobs apart that share MASTER_ADDR and port. [GOSS_JOB_ID]
  const char* tcp_checksum;        ///< Whether TCP finds flipped bits: auto (between hosts)|on|off. [GOSS_TCP_CHECKSUM]
  const char* device;              ///< Provider of device buffers, such as cuda, or none. [GOSS_DEVICE, if in use]
  int64_t device_hold_ms;          ///< Longest wait of a stream behind a failed call. [GOSS_DEVICE_HOLD_MS, 600000]
  const char* measure;             ///< How WAN links are known: off|links|trials. [GOSS_MEASURE, links]
} goss_config;

/// Flags of goss_options.
enum {
  /// Do not start: plan and return an inactive request, to be run any number of times by goss_start, then goss_wait.
  /// Buffers and arguments are fixed at this call. `request` must not be NULL. Local, except that all ranks must make
  /// the same persistent calls in the same order.
  GOSS_PERSISTENT = 1,
  /// All buffers are memory of the host, pinned or not, and this rank's driver is not asked where they lie: it may keep
  /// the call waiting until another thread has freed memory. Collectives and messages obey it. Not with `stream`.
  GOSS_ON_HOST = 2
};

/// Per-call options; NULL means all defaults. Start from GOSS_OPTIONS_INIT.
typedef struct goss_options {
  size_t size;           ///< sizeof(goss_options).
  uint32_t flags;        ///< 0, or the sum of GOSS_PERSISTENT and GOSS_ON_HOST, or one of them.
  int64_t timeout_ms;    ///< 0: the communicator's; else the deadline from the start of the operation.
  const char* algorithm; ///< NULL: the planner's choice; else a name listed by goss-explain. Must match across ranks.
  double scale;          ///< Factor of GOSS_PREMUL_SUM; may differ per rank.
  /// NULL: device buffers must be ready at the call, and results are ready when the operation has completed. Else a
  /// CUDA stream of the buffers' device (docs/devices.md): the operation is ordered in the stream as a kernel would be,
  /// and with request == NULL the call returns at once. CUDA's legacy default stream is (void*)1 here, not NULL.
  void* stream;
  /// Spec of the codec that compresses the data on the wire (docs/compressors.md), such as "int8:block=256+ef". NULL:
  /// goss_config.codec where it applies, else uncompressed. Must match across ranks. Codecs take GOSS_FLOAT32,
  /// GOSS_FLOAT16 and GOSS_BFLOAT16, and the ops GOSS_SUM, GOSS_AVG and GOSS_PREMUL_SUM. Calls without support for
  /// codecs fail with GOSS_ERR_UNSUPPORTED.
  const char* codec;
  /// Codec of the second half of an all_reduce, which distributes the results; NULL: the same as `codec`.
  const char* return_codec;
  /// Number of the tensor that is compressed, which selects its error feedback and its random stream. Equal on all
  /// ranks, and different for each tensor of a training step. 0: no state is kept, and codecs with error feedback are
  /// rejected.
  uint64_t tensor;
} goss_options;

#define GOSS_OPTIONS_INIT \
  { sizeof(goss_options), 0, 0, NULL, 1.0, NULL, NULL, NULL, 0 }

/// Gives `options` the values of GOSS_OPTIONS_INIT. Errors: GOSS_ERR_INVALID_ARGUMENT.
GOSS_API goss_status goss_options_init(goss_options* options, size_t size);

/// Source, tag and length of a received message. The struct never grows.
typedef struct goss_message {
  int32_t source; ///< Rank of the sender.
  int32_t tag;
  size_t bytes; ///< Actual length, at most the receive buffer's.
} goss_message;

/// Running totals of one communicator on this rank.
typedef struct goss_counters {
  size_t size;              ///< sizeof(goss_counters); set by the caller.
  uint64_t operations;      ///< Completed operations.
  uint64_t failures;        ///< Operations that completed with an error.
  uint64_t payload_bytes;   ///< Bytes of the callers' vectors over completed operations.
  uint64_t wire_bytes_sent; ///< Payload bytes handed to transports, headers excluded.
  uint64_t wire_bytes_received;
  uint64_t busy_ns; ///< Time from start to completion, summed; partly sampled (docs/thread_model.md).
  /// Bytes of wire_bytes_sent that this rank wrote straight into the peer's result buffer: large all-reduces of two
  /// ranks of a host do so where the peer's vector and result are in memory of goss_mem_alloc.
  uint64_t placed_bytes;
} goss_counters;

/// Sets `size` and zeroes the rest. Errors: GOSS_ERR_INVALID_ARGUMENT.
GOSS_API goss_status goss_counters_init(goss_counters* counters, size_t size);

/// Library version as major * 10000 + minor * 100 + patch.
GOSS_API int goss_version(void);

/// A short constant English name of a status, such as "peer lost". Never NULL.
GOSS_API const char* goss_status_string(goss_status status);

/// The text of this thread's last failed call; "" when none failed. Valid until the thread's next Gossamer call.
GOSS_API const char* goss_last_error(void);

/// Sets *rank to the rank that caused the failure of this thread's last failed call: a rank that was lost, is silent or
/// late, made another call, or aborted. The number counts in `comm`, or, if `comm` is NULL, in the communicator that
/// goss_comm_create made. -1: no rank caused the failure, the rank is not in `comm`, or rank 0 reported the failure
/// during the bootstrap. Errors: GOSS_ERR_INVALID_ARGUMENT, which replaces the text of goss_last_error().
GOSS_API goss_status goss_last_error_rank(goss_comm_t comm, int32_t* rank);

/// Makes `text` what goss_last_error returns to this thread, and returns `status`. Functions outside of the library
/// that report their own errors as its functions do, such as goss_comm_create_from_mpi, call it. `text` NULL: "". No
/// rank is blamed then.
GOSS_API goss_status goss_set_last_error(goss_status status, const char* text);

/// Bytes of one element; 0 for an unknown dtype.
GOSS_API size_t goss_dtype_size(goss_dtype dtype);

// ---- Communicators ----

/// Fills `config`, of `size` bytes, with defaults and the environment. Errors: GOSS_ERR_INVALID_ARGUMENT (a malformed
/// variable, named).
GOSS_API goss_status goss_config_init_sized(goss_config* config, size_t size);

/// goss_config_init_sized with the size of this header's struct. The library also has a symbol of this name, for
/// programs that were compiled when it was a function: bindings that load symbols by name take goss_config_init_sized.
static inline goss_status goss_config_init(goss_config* config) {
  return goss_config_init_sized(config, sizeof(goss_config));
}

/// Says whether `config` (NULL: the environment) is well-formed, without making anything; goss_comm_create checks the
/// same first. Errors: GOSS_ERR_INVALID_ARGUMENT naming the field or variable, its value and what is accepted.
GOSS_API goss_status goss_config_check(const goss_config* config);

/// Makes an id and opens the listening socket that its holders will call. The process that makes it must become rank 0
/// and must stay alive until goss_comm_create returned. Uses the interface, port and address settings of `config`;
/// NULL: of the environment. Errors: GOSS_ERR_INVALID_ARGUMENT, GOSS_ERR_RESOURCE.
GOSS_API goss_status goss_unique_id_create_with(const goss_config* config, goss_unique_id* id);

/// goss_unique_id_create_with with the environment's settings.
GOSS_API goss_status goss_unique_id_create(goss_unique_id* id);

/// Local: closes the listening socket of an id that this process has made and that will not be used. Errors:
/// GOSS_ERR_INVALID_ARGUMENT for an id that another process has made, that goss_comm_create has taken, or that is
/// destroyed already; nothing has changed then.
GOSS_API goss_status goss_unique_id_destroy(const goss_unique_id* id);

/// Collective over all `ranks` processes or threads: each meets the others, connects, and gets a communicator. `config`
/// NULL: everything from the environment (a process without launcher variables becomes rank 0 of 1). Blocks up to
/// bootstrap_timeout_ms. If the ranks are on 3 to 16 hosts, and the round trip between some hosts takes 2 ms or more,
/// one rank of each host then measures the links as goss_comm_measure_links does: usually for 1 to 12 s, and never for
/// more than 20 s. No rank measures if any rank has set GOSS_MEASURE=off or trials, GOSS_LINKS, GOSS_ALGORITHM or
/// GOSS_FRAGMENT_BYTES. A rank that dies meanwhile fails the call on all ranks, with a collective's errors. Other
/// errors: GOSS_ERR_BOOTSTRAP naming the missing ranks, GOSS_ERR_MISMATCH naming a setting that is not the same on two
/// ranks but must be, GOSS_ERR_PROTOCOL, GOSS_ERR_RESOURCE, GOSS_ERR_INVALID_ARGUMENT.
GOSS_API goss_status goss_comm_create(const goss_config* config, goss_comm_t* comm);

/// Collective. Ranks that give the same `color` form a new communicator, ordered by (key, old rank). color < 0: this
/// rank joins none and gets NULL. GOSS_ERR_RESOURCE after about 65,000 colors and duplicates of one world, destroyed
/// ones too.
GOSS_API goss_status goss_comm_split(goss_comm_t comm, int32_t color, int32_t key, goss_comm_t* new_comm);

/// Collective. A new communicator of the same ranks in the same order, which orders its operations apart from `comm`.
GOSS_API goss_status goss_comm_dup(goss_comm_t comm, goss_comm_t* new_comm);

/// Collective over the survivors when other ranks have died or are silent; may be called at any time. The survivors
/// agree on who they are (docs/shrink.md), and get a communicator of these ranks, in the old order. `comm` fails, if it
/// has not failed yet: destroy it. The call waits for ranks that live, up to options->timeout_ms (0: the
/// communicator's), and leaves out ranks that are silent for GOSS_SILENCE_MS. It uses no other field of `options`.
/// Errors: GOSS_ERR_TIMEOUT, which names the ranks that have not called, and after which the call may be repeated;
/// GOSS_ERR_PEER_LOST if the other ranks went on without this rank, or if silent ranks might do so, because the
/// survivors are fewer than half of the ranks, or half without rank 0.
GOSS_API goss_status goss_comm_shrink(goss_comm_t comm, const goss_options* options, goss_comm_t* new_comm);

/// The calling process's rank in `comm`, from 0.
GOSS_API goss_status goss_comm_rank(goss_comm_t comm, int32_t* rank);
/// The number of ranks in `comm`.
GOSS_API goss_status goss_comm_size(goss_comm_t comm, int32_t* size);

/// Name of the transport that reaches `peer` ("self" for the caller). The string lives as long as the communicator.
GOSS_API goss_status goss_comm_transport(goss_comm_t comm, int32_t peer, const char** name);

/// Tells why `comm` refuses operations: *status and *text are those of its first failure, and GOSS_SUCCESS and "" while
/// it has not failed. A thread other than the one whose call failed learns the reason here. The text lives as long as
/// `comm`. `status` or `text` may be NULL. Never blocks.
GOSS_API goss_status goss_comm_error(goss_comm_t comm, goss_status* status, const char** text);

/// The rank of `comm` that its first failure blames; -1: none, or `comm` has not failed. Never blocks.
GOSS_API goss_status goss_comm_error_rank(goss_comm_t comm, int32_t* rank);

/// A descriptor for event loops (poll, epoll, asyncio): it polls readable (POLLIN) while a request of `comm` is
/// complete and not yet collected by goss_wait, goss_test or their like, and for good once `comm` has failed
/// (goss_comm_error tells). The caller never reads or writes it: it stops being readable when a thread collects the
/// last completed request. With an edge-triggered epoll each completion is an event: test all requests after each. It
/// covers requests that were started after the first call of this function, which makes the library's own thread drive
/// operations while no caller waits; before the first call there is no such cost. Each call gives the same one; it is
/// closed by goss_comm_destroy, before which a caller takes it out of its event loop (a poll() that is under way
/// returns). Errors: GOSS_ERR_RESOURCE.
GOSS_API goss_status goss_comm_event_fd(goss_comm_t comm, int* fd);

/// Local, from any thread. Every pending operation here and on the other ranks fails with GOSS_ERR_ABORTED and
/// `reason`.
GOSS_API goss_status goss_comm_abort(goss_comm_t comm, const char* reason);

/// Local. Pending operations are failed with GOSS_ERR_ABORTED; messages already handed over are delivered. NULL is
/// allowed. The handle and all its requests are invalid afterwards.
GOSS_API goss_status goss_comm_destroy(goss_comm_t comm);

GOSS_API goss_status goss_comm_counters(goss_comm_t comm, goss_counters* counters);

// ---- Collectives ----
//
// `count` is in elements; zero is allowed everywhere. Buffers of zero elements may be NULL.

/// recv[i] = op over all ranks of send[i]. In place: recv == send. Identical bits on all ranks.
GOSS_API goss_status goss_all_reduce(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     goss_op op, const goss_options* options, goss_request_t* request);

/// As goss_all_reduce, but only `root` receives; `recv` is ignored elsewhere.
GOSS_API goss_status goss_reduce(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                 goss_op op, int32_t root, const goss_options* options, goss_request_t* request);

/// recv on every rank = send of `root`; `send` is ignored elsewhere. In place at the root: recv == send.
GOSS_API goss_status goss_broadcast(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                    int32_t root, const goss_options* options, goss_request_t* request);

/// recv = concatenation over ranks of send (`count` elements each). In place: send == recv + rank * count elements.
GOSS_API goss_status goss_all_gather(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     const goss_options* options, goss_request_t* request);

/// As goss_all_gather with counts[r] elements of rank r at element displacement displs[r] (NULL: packed in rank order).
/// Both arrays have one entry a rank, must match across ranks, and are read before the call returns.
GOSS_API goss_status goss_all_gatherv(goss_comm_t comm, const void* send, void* recv, const size_t* counts,
                                      const size_t* displs, goss_dtype dtype, const goss_options* options,
                                      goss_request_t* request);

/// recv (`count` elements) = block `rank` of the reduction of send (ranks * count elements).
/// In place: recv == send + rank * count elements.
GOSS_API goss_status goss_reduce_scatter(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                         goss_op op, const goss_options* options, goss_request_t* request);

/// As goss_reduce_scatter with counts[r] elements for rank r, packed in rank order in `send`.
GOSS_API goss_status goss_reduce_scatterv(goss_comm_t comm, const void* send, void* recv, const size_t* counts,
                                          goss_dtype dtype, goss_op op, const goss_options* options,
                                          goss_request_t* request);

/// Block j of send (`count` elements) goes to rank j and lands there as block `rank` of recv. In place: recv == send.
GOSS_API goss_status goss_all_to_all(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     const goss_options* options, goss_request_t* request);

/// As goss_all_to_all with send_counts[j] elements at send_displs[j] for rank j, and recv_counts[i] at recv_displs[i]
/// from rank i. displs may be NULL: packed. Not in place. send_counts[j] of rank i must equal recv_counts[i] of rank j;
/// else the call fails, with GOSS_ERR_INVALID_ARGUMENT before anything is sent if i is j, and with GOSS_ERR_MISMATCH
/// otherwise. Blocks of recv must not overlap, here and in goss_all_gatherv.
GOSS_API goss_status goss_all_to_allv(goss_comm_t comm, const void* send, const size_t* send_counts,
                                      const size_t* send_displs, void* recv, const size_t* recv_counts,
                                      const size_t* recv_displs, goss_dtype dtype, const goss_options* options,
                                      goss_request_t* request);

/// recv on `root` = concatenation over ranks of send. In place at the root: send == recv + root * count elements.
GOSS_API goss_status goss_gather(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                 int32_t root, const goss_options* options, goss_request_t* request);

/// recv = block `rank` of root's send. In place at the root: recv == send + root * count elements.
GOSS_API goss_status goss_scatter(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                  int32_t root, const goss_options* options, goss_request_t* request);

/// recv[i] = op over ranks 0..rank of send[i]. In place: recv == send. GOSS_AVG is refused.
GOSS_API goss_status goss_scan(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                               goss_op op, const goss_options* options, goss_request_t* request);

/// recv[i] = op over ranks 0..rank-1 of send[i]; rank 0's recv is left as it was. GOSS_AVG is refused.
GOSS_API goss_status goss_exscan(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                 goss_op op, const goss_options* options, goss_request_t* request);

/// Completes when all ranks have called it. At the deadline the error names all that have not.
GOSS_API goss_status goss_barrier(goss_comm_t comm, const goss_options* options, goss_request_t* request);

// ---- Point to point ----
//
// Messages from one rank to another with the same tag arrive in the order they were sent, but messages of host and of
// device memory keep no order among each other (docs/devices.md). Tags are 0..2^31-1.

/// Wildcards in place of a rank or a tag, for receives and probes.
enum {
  GOSS_ANY_SOURCE = -1, ///< From any rank, this one included. When several have sent, they are served in turn.
  GOSS_ANY_TAG = -1     ///< Accepts any tag: among the messages of one rank the one that was sent first.
};

/// Sends `count` elements to `peer`. A send may complete before it is received; handles of completed sends may compare
/// equal. `dtype` must match the receive's.
GOSS_API goss_status goss_send(goss_comm_t comm, const void* buffer, size_t count, goss_dtype dtype, int32_t peer,
                               int32_t tag, const goss_options* options, goss_request_t* request);

/// Receives up to `count` elements; the actual length is in goss_wait's message, and so are source and tag. A longer
/// message fails this call with GOSS_ERR_TRUNCATED and is dropped; the communicator stays usable. `peer` may be
/// GOSS_ANY_SOURCE and `tag` GOSS_ANY_TAG. As in MPI, of two receives that both accept a message the one that was
/// started first gets it, whether or not it names rank and tag. A receive from any rank fails when a rank is lost, as
/// the communicator does, and when all others have left, but not when one has destroyed its communicator.
GOSS_API goss_status goss_recv(goss_comm_t comm, void* buffer, size_t count, goss_dtype dtype, int32_t peer,
                               int32_t tag, const goss_options* options, goss_request_t* request);

/// Sends to `dest` and receives from `source` (may be GOSS_ANY_SOURCE) at the same time, blocking; cannot deadlock in a
/// ring. `message` may be NULL.
GOSS_API goss_status goss_sendrecv(goss_comm_t comm, const void* send, size_t send_count, int32_t dest, void* recv,
                                   size_t recv_count, int32_t source, goss_dtype dtype, int32_t tag,
                                   const goss_options* options, goss_message* message);

/// Blocks until a message has arrived that a goss_recv with these arguments would receive, and writes its source, tag
/// and length to `message` (may be NULL). The message stays: a goss_recv from that source with that tag receives it,
/// unless another thread's receive comes first. `source` may be GOSS_ANY_SOURCE, `tag` GOSS_ANY_TAG. The call uses only
/// timeout_ms of `options`.
GOSS_API goss_status goss_probe(goss_comm_t comm, int32_t source, int32_t tag, const goss_options* options,
                                goss_message* message);

/// goss_probe without waiting: sets *found to 1 if there is such a message, and only then writes `message`; else to 0.
/// Each call drives the library's progress, so a caller that polls with goss_iprobe alone finds a message that was
/// sent. Error: GOSS_ERR_PEER_LOST when there is no such message and `source` has left.
GOSS_API goss_status goss_iprobe(goss_comm_t comm, int32_t source, int32_t tag, int* found, goss_message* message);

// ---- Completion ----

/// Sets *done; when 1, returns the operation's status, fills `message` (may be NULL) and frees *request. Never blocks.
GOSS_API goss_status goss_test(goss_request_t* request, int* done, goss_message* message);

/// Blocks until complete; returns the operation's status and frees *request. *request NULL: success.
GOSS_API goss_status goss_wait(goss_request_t* request, goss_message* message);

/// As goss_wait, but blocks for about `timeout_ms` at most: then it returns GOSS_SUCCESS with *done 0, and the
/// operation goes on. 0: does not block; negative: no limit. *done is 1 when the call has ended the request, with
/// success or not. Two threads must not be in calls for one request at the same time.
GOSS_API goss_status goss_wait_for(goss_request_t* request, int64_t timeout_ms, int* done, goss_message* message);

/// Waits for any of `n` requests; *index is the one that completed (n when all are NULL).
GOSS_API goss_status goss_wait_any(goss_request_t* requests, size_t n, size_t* index, goss_message* message);

/// Waits for all. Returns the first failure in array order; every request has completed either way.
GOSS_API goss_status goss_wait_all(goss_request_t* requests, size_t n);

/// Returns the failure of `request` before a wait reports it. *status is GOSS_SUCCESS and *text "" while the request is
/// pending, when it has succeeded, and for NULL. `status` or `text` may be NULL. The text lives until the request is
/// freed, or a persistent request is started again. (The goss_wait or goss_test that frees the request returns the
/// failure, whose text is then that thread's goss_last_error().) Never blocks, and completes nothing by itself.
GOSS_API goss_status goss_request_error(goss_request_t request, goss_status* status, const char** text);

/// Starts an inactive persistent request: one that was never started, or whose last run goss_wait or goss_test has
/// completed, with success or failure. Errors: GOSS_ERR_INVALID_ARGUMENT for any other request; nothing has changed.
GOSS_API goss_status goss_start(goss_request_t request);

/// Frees an inactive persistent request and sets it to NULL.
GOSS_API goss_status goss_request_free(goss_request_t* request);

/// Between begin and end, this thread's calls with request == NULL are started but not waited for; goss_group_end waits
/// for all of them and returns the first failure. So a group of sends and receives cannot deadlock. Groups nest.
GOSS_API goss_status goss_group_begin(void);
GOSS_API goss_status goss_group_end(void);

// ---- Memory ----

/// Allocates memory that the ranks of this host map, if they belong to this communicator's job and user. They read
/// messages in it in place, and write results straight into receive buffers in it. It is page-aligned, touched, and on
/// huge pages where allowed; forked children share it. goss_mem_free frees it, and refuses with
/// GOSS_ERR_INVALID_ARGUMENT while a message out of it is not complete.
GOSS_API goss_status goss_mem_alloc(goss_comm_t comm, size_t bytes, void** memory);
/// Allocates memory of the calling thread's current device, which the host must not touch; goss_mem_free frees it.
/// Local. Errors: GOSS_ERR_UNSUPPORTED without devices; GOSS_ERR_RESOURCE; GOSS_ERR_DEVICE.
GOSS_API goss_status goss_mem_alloc_device(goss_comm_t comm, size_t bytes, void** memory);
GOSS_API goss_status goss_mem_free(goss_comm_t comm, void* memory);

// ---- Planning ----

/// Local, needs no other rank: prices every legal algorithm for `collective` ("allreduce", "broadcast", ...) of `bytes`
/// over `ranks` ranks and writes a JSON text (candidates, prices, choice, reason) to *json; free it with goss_free.
/// `links` is the text of a link file (docs/formats.md), or NULL for one host's built-in prices. GOSS_ settings count.
GOSS_API goss_status goss_explain(const char* collective, int32_t ranks, size_t bytes, const char* links, char** json);
GOSS_API void goss_free(void* memory);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_GOSSAMER_H_
