! bindings/fortran/generate wrote this file; do not edit it.
!> The C ABI of Gossamer. The names of functions begin with c_; the C headers document them. Pointers are type(c_ptr).
module gossamer_abi
  use, intrinsic :: iso_c_binding
  implicit none (type, external)
  public

  integer(c_int), parameter :: GOSS_SUCCESS = 0
  integer(c_int), parameter :: GOSS_ERR_INVALID_ARGUMENT = -1
  integer(c_int), parameter :: GOSS_ERR_UNSUPPORTED = -2
  integer(c_int), parameter :: GOSS_ERR_MISMATCH = -3
  integer(c_int), parameter :: GOSS_ERR_TIMEOUT = -4
  integer(c_int), parameter :: GOSS_ERR_PEER_LOST = -5
  integer(c_int), parameter :: GOSS_ERR_ABORTED = -6
  integer(c_int), parameter :: GOSS_ERR_PROTOCOL = -7
  integer(c_int), parameter :: GOSS_ERR_RESOURCE = -8
  integer(c_int), parameter :: GOSS_ERR_BOOTSTRAP = -9
  integer(c_int), parameter :: GOSS_ERR_TRUNCATED = -10
  integer(c_int), parameter :: GOSS_ERR_INTERNAL = -11
  integer(c_int), parameter :: GOSS_ERR_DEVICE = -12
  integer(c_int), parameter :: GOSS_INT8 = 0
  integer(c_int), parameter :: GOSS_UINT8 = 1
  integer(c_int), parameter :: GOSS_INT32 = 2
  integer(c_int), parameter :: GOSS_UINT32 = 3
  integer(c_int), parameter :: GOSS_INT64 = 4
  integer(c_int), parameter :: GOSS_UINT64 = 5
  integer(c_int), parameter :: GOSS_FLOAT16 = 6
  integer(c_int), parameter :: GOSS_BFLOAT16 = 7
  integer(c_int), parameter :: GOSS_FLOAT32 = 8
  integer(c_int), parameter :: GOSS_FLOAT64 = 9
  integer(c_int), parameter :: GOSS_FLOAT8_E4M3 = 10
  integer(c_int), parameter :: GOSS_FLOAT8_E5M2 = 11
  integer(c_int), parameter :: GOSS_BOOL = 12
  integer(c_int), parameter :: GOSS_DTYPE_COUNT = 13
  integer(c_int), parameter :: GOSS_SUM = 0
  integer(c_int), parameter :: GOSS_PROD = 1
  integer(c_int), parameter :: GOSS_MIN = 2
  integer(c_int), parameter :: GOSS_MAX = 3
  integer(c_int), parameter :: GOSS_AVG = 4
  integer(c_int), parameter :: GOSS_PREMUL_SUM = 5
  integer(c_int), parameter :: GOSS_BAND = 6
  integer(c_int), parameter :: GOSS_BOR = 7
  integer(c_int), parameter :: GOSS_BXOR = 8
  integer(c_int), parameter :: GOSS_LAND = 9
  integer(c_int), parameter :: GOSS_LOR = 10
  integer(c_int), parameter :: GOSS_LXOR = 11
  integer(c_int), parameter :: GOSS_OP_COUNT = 12
  integer(c_int), parameter :: GOSS_TOPOLOGY_ROW_STOCHASTIC = 0
  integer(c_int), parameter :: GOSS_TOPOLOGY_COLUMN_STOCHASTIC = 1
  integer(c_int), parameter :: GOSS_TOPOLOGY_DOUBLY_STOCHASTIC = 2
  integer(c_int), parameter :: GOSS_TOPOLOGY_SYMMETRIC = 3
  integer(c_int), parameter :: GOSS_TOPOLOGY_CONSTANT = 4
  integer(c_int), parameter :: GOSS_PIPELINE_FORWARD = 0
  integer(c_int), parameter :: GOSS_PIPELINE_BACKWARD = 1
  integer(c_int), parameter :: GOSS_PIPELINE_BACKWARD_INPUT = 2
  integer(c_int), parameter :: GOSS_PIPELINE_BACKWARD_WEIGHT = 3
  integer(c_int), parameter :: GOSS_PIPELINE_RECOMPUTE = 4
  integer(c_int), parameter :: GOSS_PIPELINE_SEND_FORWARD = 5
  integer(c_int), parameter :: GOSS_PIPELINE_RECV_FORWARD = 6
  integer(c_int), parameter :: GOSS_PIPELINE_SEND_BACKWARD = 7
  integer(c_int), parameter :: GOSS_PIPELINE_RECV_BACKWARD = 8
  integer(c_int), parameter :: GOSS_PIPELINE_REDUCE = 9
  integer(c_int), parameter :: GOSS_PIPELINE_STEP = 10
  integer(c_int), parameter :: GOSS_PERSISTENT = 1
  integer(c_int), parameter :: GOSS_ON_HOST = 2
  integer(c_int), parameter :: GOSS_ANY_SOURCE = -1
  integer(c_int), parameter :: GOSS_ANY_TAG = -1

  type, bind(c) :: goss_unique_id
    character(kind=c_char) :: bytes(128)
  end type

  type, bind(c) :: goss_config
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: rank = 0
    integer(c_int32_t) :: ranks = 0
    type(c_ptr) :: unique_id = c_null_ptr
    integer(c_int64_t) :: timeout_ms = 0
    integer(c_int64_t) :: bootstrap_timeout_ms = 0
    type(c_ptr) :: transport = c_null_ptr
    type(c_ptr) :: interface = c_null_ptr
    integer(c_int16_t) :: port_min = 0
    integer(c_int16_t) :: port_max = 0
    integer(c_int32_t) :: connections_per_peer = 0
    type(c_ptr) :: algorithm = c_null_ptr
    type(c_ptr) :: links_file = c_null_ptr
    integer(c_int64_t) :: silence_ms = 0
    type(c_ptr) :: tls = c_null_ptr
    type(c_ptr) :: tls_scope = c_null_ptr
    type(c_ptr) :: advertise = c_null_ptr
    type(c_ptr) :: relay = c_null_ptr
    type(c_ptr) :: reconnect = c_null_ptr
    type(c_ptr) :: tcp_congestion = c_null_ptr
    integer(c_int64_t) :: tcp_pacing_bytes_per_s = 0
    type(c_ptr) :: codec = c_null_ptr
    integer(c_int64_t) :: fragment_bytes = 0
    type(c_ptr) :: tuning_file = c_null_ptr
    integer(c_int64_t) :: unexpected_bytes = 0
    integer(c_int64_t) :: shm_ring_bytes = 0
    type(c_ptr) :: shm_path = c_null_ptr
    integer(c_int64_t) :: shm_direct_bytes = 0
    integer(c_int32_t) :: spin_us = 0
    integer(c_int32_t) :: bootstrap_port = 0
    integer(c_int64_t) :: sim_seed = 0
    real(c_double) :: sim_drop = 0
    type(c_ptr) :: log_level = c_null_ptr
    type(c_ptr) :: job_id = c_null_ptr
    type(c_ptr) :: tcp_checksum = c_null_ptr
    type(c_ptr) :: device = c_null_ptr
    integer(c_int64_t) :: device_hold_ms = 0
    type(c_ptr) :: measure = c_null_ptr
  end type

  type, bind(c) :: goss_options
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: flags = 0
    integer(c_int64_t) :: timeout_ms = 0
    type(c_ptr) :: algorithm = c_null_ptr
    real(c_double) :: scale = 0
    type(c_ptr) :: stream = c_null_ptr
    type(c_ptr) :: codec = c_null_ptr
    type(c_ptr) :: return_codec = c_null_ptr
    integer(c_int64_t) :: tensor = 0
  end type

  type, bind(c) :: goss_message
    integer(c_int32_t) :: source = 0
    integer(c_int32_t) :: tag = 0
    integer(c_size_t) :: bytes = 0
  end type

  type, bind(c) :: goss_counters
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: operations = 0
    integer(c_int64_t) :: failures = 0
    integer(c_int64_t) :: payload_bytes = 0
    integer(c_int64_t) :: wire_bytes_sent = 0
    integer(c_int64_t) :: wire_bytes_received = 0
    integer(c_int64_t) :: busy_ns = 0
    integer(c_int64_t) :: placed_bytes = 0
  end type

  type, bind(c) :: goss_codec_functions
    integer(c_size_t) :: size = 0
    type(c_ptr) :: context = c_null_ptr
    integer(c_size_t) :: block = 0
    type(c_funptr) :: max_bytes = c_null_funptr
    type(c_funptr) :: encode = c_null_funptr
    type(c_funptr) :: decode = c_null_funptr
  end type

  type, bind(c) :: goss_neighbor
    integer(c_int32_t) :: rank = 0
    integer(c_int32_t) :: reserved = 0
    real(c_double) :: weight = 0
  end type

  type, bind(c) :: goss_neighborhood
    integer(c_size_t) :: size = 0
    real(c_double) :: self_weight = 0
    type(c_ptr) :: sources = c_null_ptr
    integer(c_size_t) :: source_count = 0
    type(c_ptr) :: destinations = c_null_ptr
    integer(c_size_t) :: destination_count = 0
  end type

  type, bind(c) :: goss_pipeline_action
    integer(c_int32_t) :: kind = 0
    integer(c_int32_t) :: stage = 0
    integer(c_int32_t) :: micro_batch = 0
    integer(c_int32_t) :: chain = 0
    integer(c_int32_t) :: version = 0
  end type

  type, bind(c) :: goss_pipeline_request
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    integer(c_int32_t) :: ranks = 0
    integer(c_int32_t) :: micro_batches = 0
    integer(c_int32_t) :: batches = 0
    integer(c_int32_t) :: chunks = 0
    integer(c_int32_t) :: recompute = 0
    integer(c_int32_t) :: reserved = 0
  end type

  type, bind(c) :: goss_pipeline_costs
    integer(c_size_t) :: size = 0
    real(c_double) :: forward_s = 0
    real(c_double) :: backward_input_s = 0
    real(c_double) :: backward_weight_s = 0
    real(c_double) :: recompute_s = 0
    real(c_double) :: activation_bytes = 0
    real(c_double) :: boundary_bytes = 0
    real(c_double) :: latency_s = 0
    real(c_double) :: bandwidth_bytes_per_s = 0
    type(c_ptr) :: stage_times_s = c_null_ptr
  end type

  type, bind(c) :: goss_pipeline_codec_request
    integer(c_size_t) :: size = 0
    integer(c_size_t) :: sample_elems = 0
    type(c_ptr) :: forward = c_null_ptr
    type(c_ptr) :: backward = c_null_ptr
    integer(c_int32_t) :: deltas = 0
    type(c_ptr) :: cache_directory = c_null_ptr
  end type

  type, bind(c) :: goss_pipeline_work
    integer(c_size_t) :: size = 0
    integer(c_size_t) :: boundary_bytes = 0
    type(c_ptr) :: context = c_null_ptr
    type(c_funptr) :: run = c_null_funptr
    type(c_ptr) :: codec = c_null_ptr
    type(c_funptr) :: sample = c_null_funptr
  end type

  type, bind(c) :: goss_sync_tensor
    integer(c_size_t) :: size = 0
    type(c_ptr) :: name = c_null_ptr
    type(c_ptr) :: parameter = c_null_ptr
    type(c_ptr) :: gradient = c_null_ptr
    integer(c_size_t) :: count = 0
    integer(c_int) :: dtype = 0
    integer(c_int32_t) :: layer = 0
  end type

  type, bind(c) :: goss_sync_info
    integer(c_size_t) :: size = 0
    type(c_ptr) :: spec = c_null_ptr
    integer(c_int32_t) :: gradients = 0
    integer(c_int32_t) :: local_steps = 0
    integer(c_int32_t) :: gradient_size = 0
    integer(c_int64_t) :: dynamic_period = 0
  end type

  type, bind(c) :: goss_sync_counters
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: steps = 0
    integer(c_int64_t) :: exchanges = 0
    integer(c_int64_t) :: exchanged_bytes = 0
    integer(c_int64_t) :: wire_bytes_sent = 0
    integer(c_int64_t) :: wire_bytes_received = 0
    integer(c_int64_t) :: waited_ns = 0
    integer(c_int64_t) :: setup_bytes_sent = 0
  end type

  type, bind(c) :: goss_sync_loss
    integer(c_size_t) :: size = 0
    type(c_funptr) :: evaluate = c_null_funptr
    type(c_ptr) :: context = c_null_ptr
  end type

  type, bind(c) :: goss_shadow
    integer(c_size_t) :: offset = 0
    real(c_double) :: factor = 0
  end type

  interface
    function c_goss_options_init(options, size) bind(c, name="goss_options_init") result(result_)
      import
      type(c_ptr), value :: options
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_counters_init(counters, size) bind(c, name="goss_counters_init") result(result_)
      import
      type(c_ptr), value :: counters
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_version() bind(c, name="goss_version") result(result_)
      import
      integer(c_int) :: result_
    end function
    function c_goss_status_string(status) bind(c, name="goss_status_string") result(result_)
      import
      integer(c_int), value :: status
      type(c_ptr) :: result_
    end function
    function c_goss_last_error() bind(c, name="goss_last_error") result(result_)
      import
      type(c_ptr) :: result_
    end function
    function c_goss_last_error_rank(comm, rank) bind(c, name="goss_last_error_rank") result(result_)
      import
      type(c_ptr), value :: comm, rank
      integer(c_int) :: result_
    end function
    function c_goss_set_last_error(status, text) bind(c, name="goss_set_last_error") result(result_)
      import
      integer(c_int), value :: status
      type(c_ptr), value :: text
      integer(c_int) :: result_
    end function
    function c_goss_dtype_size(dtype) bind(c, name="goss_dtype_size") result(result_)
      import
      integer(c_int), value :: dtype
      integer(c_size_t) :: result_
    end function
    function c_goss_config_init_sized(config, size) bind(c, name="goss_config_init_sized") result(result_)
      import
      type(c_ptr), value :: config
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_config_check(config) bind(c, name="goss_config_check") result(result_)
      import
      type(c_ptr), value :: config
      integer(c_int) :: result_
    end function
    function c_goss_unique_id_create_with(config, id) bind(c, name="goss_unique_id_create_with") result(result_)
      import
      type(c_ptr), value :: config, id
      integer(c_int) :: result_
    end function
    function c_goss_unique_id_create(id) bind(c, name="goss_unique_id_create") result(result_)
      import
      type(c_ptr), value :: id
      integer(c_int) :: result_
    end function
    function c_goss_unique_id_destroy(id) bind(c, name="goss_unique_id_destroy") result(result_)
      import
      type(c_ptr), value :: id
      integer(c_int) :: result_
    end function
    function c_goss_comm_create(config, comm) bind(c, name="goss_comm_create") result(result_)
      import
      type(c_ptr), value :: config, comm
      integer(c_int) :: result_
    end function
    function c_goss_comm_split(comm, color, key, new_comm) bind(c, name="goss_comm_split") result(result_)
      import
      type(c_ptr), value :: comm, new_comm
      integer(c_int32_t), value :: color, key
      integer(c_int) :: result_
    end function
    function c_goss_comm_dup(comm, new_comm) bind(c, name="goss_comm_dup") result(result_)
      import
      type(c_ptr), value :: comm, new_comm
      integer(c_int) :: result_
    end function
    function c_goss_comm_shrink(comm, options, new_comm) bind(c, name="goss_comm_shrink") result(result_)
      import
      type(c_ptr), value :: comm, options, new_comm
      integer(c_int) :: result_
    end function
    function c_goss_comm_rank(comm, rank) bind(c, name="goss_comm_rank") result(result_)
      import
      type(c_ptr), value :: comm, rank
      integer(c_int) :: result_
    end function
    function c_goss_comm_size(comm, size) bind(c, name="goss_comm_size") result(result_)
      import
      type(c_ptr), value :: comm, size
      integer(c_int) :: result_
    end function
    function c_goss_comm_transport(comm, peer, name) bind(c, name="goss_comm_transport") result(result_)
      import
      type(c_ptr), value :: comm, name
      integer(c_int32_t), value :: peer
      integer(c_int) :: result_
    end function
    function c_goss_comm_error(comm, status, text) bind(c, name="goss_comm_error") result(result_)
      import
      type(c_ptr), value :: comm, status, text
      integer(c_int) :: result_
    end function
    function c_goss_comm_error_rank(comm, rank) bind(c, name="goss_comm_error_rank") result(result_)
      import
      type(c_ptr), value :: comm, rank
      integer(c_int) :: result_
    end function
    function c_goss_comm_event_fd(comm, fd) bind(c, name="goss_comm_event_fd") result(result_)
      import
      type(c_ptr), value :: comm, fd
      integer(c_int) :: result_
    end function
    function c_goss_comm_abort(comm, reason) bind(c, name="goss_comm_abort") result(result_)
      import
      type(c_ptr), value :: comm, reason
      integer(c_int) :: result_
    end function
    function c_goss_comm_destroy(comm) bind(c, name="goss_comm_destroy") result(result_)
      import
      type(c_ptr), value :: comm
      integer(c_int) :: result_
    end function
    function c_goss_comm_counters(comm, counters) bind(c, name="goss_comm_counters") result(result_)
      import
      type(c_ptr), value :: comm, counters
      integer(c_int) :: result_
    end function
    function c_goss_all_reduce(comm, send, recv, count, dtype, op, options, request) bind(c, name="goss_all_reduce") &
        result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype, op
      integer(c_int) :: result_
    end function
    function c_goss_reduce(comm, send, recv, count, dtype, op, root, options, request) bind(c, name="goss_reduce") &
        result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype, op
      integer(c_int32_t), value :: root
      integer(c_int) :: result_
    end function
    function c_goss_broadcast(comm, send, recv, count, dtype, root, options, request) bind(c, name="goss_broadcast") &
        result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int32_t), value :: root
      integer(c_int) :: result_
    end function
    function c_goss_all_gather(comm, send, recv, count, dtype, options, request) bind(c, name="goss_all_gather") &
        result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_all_gatherv(comm, send, recv, counts, displs, dtype, options, request) bind(c, name="goss_all_gatherv") &
        result(result_)
      import
      type(c_ptr), value :: comm, send, recv, counts, displs, options, request
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_reduce_scatter(comm, send, recv, count, dtype, op, options, request) bind(c, name="goss_reduce_scatter") &
        result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype, op
      integer(c_int) :: result_
    end function
    function c_goss_reduce_scatterv(comm, send, recv, counts, dtype, op, options, request) bind(c, &
        name="goss_reduce_scatterv") result(result_)
      import
      type(c_ptr), value :: comm, send, recv, counts, options, request
      integer(c_int), value :: dtype, op
      integer(c_int) :: result_
    end function
    function c_goss_all_to_all(comm, send, recv, count, dtype, options, request) bind(c, name="goss_all_to_all") &
        result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_all_to_allv(comm, send, send_counts, send_displs, recv, recv_counts, recv_displs, dtype, options, &
        request) bind(c, name="goss_all_to_allv") result(result_)
      import
      type(c_ptr), value :: comm, send, send_counts, send_displs, recv, recv_counts, recv_displs, options, request
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_gather(comm, send, recv, count, dtype, root, options, request) bind(c, name="goss_gather") &
        result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int32_t), value :: root
      integer(c_int) :: result_
    end function
    function c_goss_scatter(comm, send, recv, count, dtype, root, options, request) bind(c, name="goss_scatter") &
        result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int32_t), value :: root
      integer(c_int) :: result_
    end function
    function c_goss_scan(comm, send, recv, count, dtype, op, options, request) bind(c, name="goss_scan") result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype, op
      integer(c_int) :: result_
    end function
    function c_goss_exscan(comm, send, recv, count, dtype, op, options, request) bind(c, name="goss_exscan") result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype, op
      integer(c_int) :: result_
    end function
    function c_goss_barrier(comm, options, request) bind(c, name="goss_barrier") result(result_)
      import
      type(c_ptr), value :: comm, options, request
      integer(c_int) :: result_
    end function
    function c_goss_send(comm, buffer, count, dtype, peer, tag, options, request) bind(c, name="goss_send") result(result_)
      import
      type(c_ptr), value :: comm, buffer, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int32_t), value :: peer, tag
      integer(c_int) :: result_
    end function
    function c_goss_recv(comm, buffer, count, dtype, peer, tag, options, request) bind(c, name="goss_recv") result(result_)
      import
      type(c_ptr), value :: comm, buffer, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int32_t), value :: peer, tag
      integer(c_int) :: result_
    end function
    function c_goss_sendrecv(comm, send, send_count, dest, recv, recv_count, source, dtype, tag, options, message) bind(c, &
        name="goss_sendrecv") result(result_)
      import
      type(c_ptr), value :: comm, send, recv, options, message
      integer(c_size_t), value :: send_count, recv_count
      integer(c_int32_t), value :: dest, source, tag
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_probe(comm, source, tag, options, message) bind(c, name="goss_probe") result(result_)
      import
      type(c_ptr), value :: comm, options, message
      integer(c_int32_t), value :: source, tag
      integer(c_int) :: result_
    end function
    function c_goss_iprobe(comm, source, tag, found, message) bind(c, name="goss_iprobe") result(result_)
      import
      type(c_ptr), value :: comm, found, message
      integer(c_int32_t), value :: source, tag
      integer(c_int) :: result_
    end function
    function c_goss_test(request, done, message) bind(c, name="goss_test") result(result_)
      import
      type(c_ptr), value :: request, done, message
      integer(c_int) :: result_
    end function
    function c_goss_wait(request, message) bind(c, name="goss_wait") result(result_)
      import
      type(c_ptr), value :: request, message
      integer(c_int) :: result_
    end function
    function c_goss_wait_for(request, timeout_ms, done, message) bind(c, name="goss_wait_for") result(result_)
      import
      type(c_ptr), value :: request, done, message
      integer(c_int64_t), value :: timeout_ms
      integer(c_int) :: result_
    end function
    function c_goss_wait_any(requests, n, index, message) bind(c, name="goss_wait_any") result(result_)
      import
      type(c_ptr), value :: requests, index, message
      integer(c_size_t), value :: n
      integer(c_int) :: result_
    end function
    function c_goss_wait_all(requests, n) bind(c, name="goss_wait_all") result(result_)
      import
      type(c_ptr), value :: requests
      integer(c_size_t), value :: n
      integer(c_int) :: result_
    end function
    function c_goss_request_error(request, status, text) bind(c, name="goss_request_error") result(result_)
      import
      type(c_ptr), value :: request, status, text
      integer(c_int) :: result_
    end function
    function c_goss_start(request) bind(c, name="goss_start") result(result_)
      import
      type(c_ptr), value :: request
      integer(c_int) :: result_
    end function
    function c_goss_request_free(request) bind(c, name="goss_request_free") result(result_)
      import
      type(c_ptr), value :: request
      integer(c_int) :: result_
    end function
    function c_goss_group_begin() bind(c, name="goss_group_begin") result(result_)
      import
      integer(c_int) :: result_
    end function
    function c_goss_group_end() bind(c, name="goss_group_end") result(result_)
      import
      integer(c_int) :: result_
    end function
    function c_goss_mem_alloc(comm, bytes, memory) bind(c, name="goss_mem_alloc") result(result_)
      import
      type(c_ptr), value :: comm, memory
      integer(c_size_t), value :: bytes
      integer(c_int) :: result_
    end function
    function c_goss_mem_alloc_device(comm, bytes, memory) bind(c, name="goss_mem_alloc_device") result(result_)
      import
      type(c_ptr), value :: comm, memory
      integer(c_size_t), value :: bytes
      integer(c_int) :: result_
    end function
    function c_goss_mem_free(comm, memory) bind(c, name="goss_mem_free") result(result_)
      import
      type(c_ptr), value :: comm, memory
      integer(c_int) :: result_
    end function
    function c_goss_explain(collective, ranks, bytes, links, json) bind(c, name="goss_explain") result(result_)
      import
      type(c_ptr), value :: collective, links, json
      integer(c_int32_t), value :: ranks
      integer(c_size_t), value :: bytes
      integer(c_int) :: result_
    end function
    subroutine c_goss_free(memory) bind(c, name="goss_free")
      import
      type(c_ptr), value :: memory
    end subroutine
    function c_goss_codec_state_export(comm, bytes, size) bind(c, name="goss_codec_state_export") result(result_)
      import
      type(c_ptr), value :: comm, bytes, size
      integer(c_int) :: result_
    end function
    function c_goss_codec_state_import(comm, bytes, size) bind(c, name="goss_codec_state_import") result(result_)
      import
      type(c_ptr), value :: comm, bytes
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_codec_state_read(comm, tensor, values, count) bind(c, name="goss_codec_state_read") result(result_)
      import
      type(c_ptr), value :: comm, values
      integer(c_int64_t), value :: tensor
      integer(c_size_t), value :: count
      integer(c_int) :: result_
    end function
    function c_goss_codec_state_reset(comm, tensor) bind(c, name="goss_codec_state_reset") result(result_)
      import
      type(c_ptr), value :: comm
      integer(c_int64_t), value :: tensor
      integer(c_int) :: result_
    end function
    function c_goss_codec_functions_init(functions, size) bind(c, name="goss_codec_functions_init") result(result_)
      import
      type(c_ptr), value :: functions
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_codec_register(comm, name, functions) bind(c, name="goss_codec_register") result(result_)
      import
      type(c_ptr), value :: comm, name, functions
      integer(c_int) :: result_
    end function
    function c_goss_codecs(json) bind(c, name="goss_codecs") result(result_)
      import
      type(c_ptr), value :: json
      integer(c_int) :: result_
    end function
    function c_goss_explain_codec(collective, ranks, bytes, codec, links, json) bind(c, name="goss_explain_codec") &
        result(result_)
      import
      type(c_ptr), value :: collective, codec, links, json
      integer(c_int32_t), value :: ranks
      integer(c_size_t), value :: bytes
      integer(c_int) :: result_
    end function
    function c_goss_neighborhood_init(neighborhood, size) bind(c, name="goss_neighborhood_init") result(result_)
      import
      type(c_ptr), value :: neighborhood
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_topology_create(spec, ranks, topology) bind(c, name="goss_topology_create") result(result_)
      import
      type(c_ptr), value :: spec, topology
      integer(c_int32_t), value :: ranks
      integer(c_int) :: result_
    end function
    function c_goss_topology_destroy(topology) bind(c, name="goss_topology_destroy") result(result_)
      import
      type(c_ptr), value :: topology
      integer(c_int) :: result_
    end function
    function c_goss_topology_period(topology, period) bind(c, name="goss_topology_period") result(result_)
      import
      type(c_ptr), value :: topology, period
      integer(c_int) :: result_
    end function
    function c_goss_topology_weight(topology, round, to, from, weight) bind(c, name="goss_topology_weight") result(result_)
      import
      type(c_ptr), value :: topology, weight
      integer(c_int64_t), value :: round
      integer(c_int32_t), value :: to, from
      integer(c_int) :: result_
    end function
    function c_goss_topology_neighbors(topology, round, rank, neighborhood) bind(c, name="goss_topology_neighbors") &
        result(result_)
      import
      type(c_ptr), value :: topology, neighborhood
      integer(c_int64_t), value :: round
      integer(c_int32_t), value :: rank
      integer(c_int) :: result_
    end function
    function c_goss_topology_require(topology, property) bind(c, name="goss_topology_require") result(result_)
      import
      type(c_ptr), value :: topology
      integer(c_int32_t), value :: property
      integer(c_int) :: result_
    end function
    function c_goss_topology_describe(topology, json) bind(c, name="goss_topology_describe") result(result_)
      import
      type(c_ptr), value :: topology, json
      integer(c_int) :: result_
    end function
    function c_goss_topology_draw(topology, round, svg) bind(c, name="goss_topology_draw") result(result_)
      import
      type(c_ptr), value :: topology, svg
      integer(c_int64_t), value :: round
      integer(c_int) :: result_
    end function
    function c_goss_neighbor_all_reduce(comm, send, recv, count, dtype, neighborhood, options, request) bind(c, &
        name="goss_neighbor_all_reduce") result(result_)
      import
      type(c_ptr), value :: comm, send, recv, neighborhood, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_neighbor_all_gather(comm, send, recv, count, dtype, neighborhood, options, request) bind(c, &
        name="goss_neighbor_all_gather") result(result_)
      import
      type(c_ptr), value :: comm, send, recv, neighborhood, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_neighbor_all_gatherv(comm, send, send_count, recv, recv_counts, recv_displs, dtype, neighborhood, &
        options, request) bind(c, name="goss_neighbor_all_gatherv") result(result_)
      import
      type(c_ptr), value :: comm, send, recv, recv_counts, recv_displs, neighborhood, options, request
      integer(c_size_t), value :: send_count
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_neighbor_all_to_all(comm, send, recv, count, dtype, neighborhood, options, request) bind(c, &
        name="goss_neighbor_all_to_all") result(result_)
      import
      type(c_ptr), value :: comm, send, recv, neighborhood, options, request
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_neighbor_all_to_allv(comm, send, send_counts, send_displs, recv, recv_counts, recv_displs, dtype, &
        neighborhood, options, request) bind(c, name="goss_neighbor_all_to_allv") result(result_)
      import
      type(c_ptr), value :: comm, send, send_counts, send_displs, recv, recv_counts, recv_displs, neighborhood, options, &
          request
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_comm_measure_links(comm, options, links) bind(c, name="goss_comm_measure_links") result(result_)
      import
      type(c_ptr), value :: comm, options, links
      integer(c_int) :: result_
    end function
    function c_goss_comm_trials(comm, json) bind(c, name="goss_comm_trials") result(result_)
      import
      type(c_ptr), value :: comm, json
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_request_init(request, size) bind(c, name="goss_pipeline_request_init") result(result_)
      import
      type(c_ptr), value :: request
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_name(index) bind(c, name="goss_pipeline_name") result(result_)
      import
      integer(c_size_t), value :: index
      type(c_ptr) :: result_
    end function
    function c_goss_pipeline_generate(request, pipeline) bind(c, name="goss_pipeline_generate") result(result_)
      import
      type(c_ptr), value :: request, pipeline
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_read(text, pipeline) bind(c, name="goss_pipeline_read") result(result_)
      import
      type(c_ptr), value :: text, pipeline
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_write(pipeline, is_complete, text) bind(c, name="goss_pipeline_write") result(result_)
      import
      type(c_ptr), value :: pipeline, text
      integer(c_int32_t), value :: is_complete
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_destroy(pipeline) bind(c, name="goss_pipeline_destroy") result(result_)
      import
      type(c_ptr), value :: pipeline
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_size(pipeline, ranks, stages, micro_batches) bind(c, name="goss_pipeline_size") result(result_)
      import
      type(c_ptr), value :: pipeline, ranks, stages, micro_batches
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_stage_rank(pipeline, stage, rank) bind(c, name="goss_pipeline_stage_rank") result(result_)
      import
      type(c_ptr), value :: pipeline, rank
      integer(c_int32_t), value :: stage
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_actions(pipeline, rank, actions, count) bind(c, name="goss_pipeline_actions") result(result_)
      import
      type(c_ptr), value :: pipeline, actions, count
      integer(c_int32_t), value :: rank
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_check(pipeline, most_activations, most_versions) bind(c, name="goss_pipeline_check") &
        result(result_)
      import
      type(c_ptr), value :: pipeline
      integer(c_int32_t), value :: most_activations, most_versions
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_costs_init(costs, size) bind(c, name="goss_pipeline_costs_init") result(result_)
      import
      type(c_ptr), value :: costs
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_simulate(pipeline, costs, json) bind(c, name="goss_pipeline_simulate") result(result_)
      import
      type(c_ptr), value :: pipeline, costs, json
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_draw(pipeline, costs, is_svg, text) bind(c, name="goss_pipeline_draw") result(result_)
      import
      type(c_ptr), value :: pipeline, costs, text
      integer(c_int32_t), value :: is_svg
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_codec_request_init(request, size) bind(c, name="goss_pipeline_codec_request_init") &
        result(result_)
      import
      type(c_ptr), value :: request
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_codec_create(comm, request, codec) bind(c, name="goss_pipeline_codec_create") result(result_)
      import
      type(c_ptr), value :: comm, request, codec
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_codec_destroy(codec) bind(c, name="goss_pipeline_codec_destroy") result(result_)
      import
      type(c_ptr), value :: codec
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_codec_export(codec, bytes, size) bind(c, name="goss_pipeline_codec_export") result(result_)
      import
      type(c_ptr), value :: codec, bytes, size
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_codec_import(codec, bytes, size) bind(c, name="goss_pipeline_codec_import") result(result_)
      import
      type(c_ptr), value :: codec, bytes
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_work_init(work, size) bind(c, name="goss_pipeline_work_init") result(result_)
      import
      type(c_ptr), value :: work
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_pipeline_run(pipeline, comm, work) bind(c, name="goss_pipeline_run") result(result_)
      import
      type(c_ptr), value :: pipeline, comm, work
      integer(c_int) :: result_
    end function
    function c_goss_sync_tensor_init(tensor, size) bind(c, name="goss_sync_tensor_init") result(result_)
      import
      type(c_ptr), value :: tensor
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_sync_info_init(info, size) bind(c, name="goss_sync_info_init") result(result_)
      import
      type(c_ptr), value :: info
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_sync_counters_init(counters, size) bind(c, name="goss_sync_counters_init") result(result_)
      import
      type(c_ptr), value :: counters
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_sync_create(comm, spec, sync) bind(c, name="goss_sync_create") result(result_)
      import
      type(c_ptr), value :: comm, spec, sync
      integer(c_int) :: result_
    end function
    function c_goss_sync_register(sync, tensor, index) bind(c, name="goss_sync_register") result(result_)
      import
      type(c_ptr), value :: sync, tensor, index
      integer(c_int) :: result_
    end function
    function c_goss_sync_start(sync) bind(c, name="goss_sync_start") result(result_)
      import
      type(c_ptr), value :: sync
      integer(c_int) :: result_
    end function
    function c_goss_sync_set_lr(sync, lr) bind(c, name="goss_sync_set_lr") result(result_)
      import
      type(c_ptr), value :: sync
      real(c_double), value :: lr
      integer(c_int) :: result_
    end function
    function c_goss_sync_loss_init(loss, size) bind(c, name="goss_sync_loss_init") result(result_)
      import
      type(c_ptr), value :: loss
      integer(c_size_t), value :: size
      integer(c_int) :: result_
    end function
    function c_goss_sync_set_loss(sync, loss) bind(c, name="goss_sync_set_loss") result(result_)
      import
      type(c_ptr), value :: sync, loss
      integer(c_int) :: result_
    end function
    function c_goss_sync_computes(sync, computes) bind(c, name="goss_sync_computes") result(result_)
      import
      type(c_ptr), value :: sync, computes
      integer(c_int) :: result_
    end function
    function c_goss_sync_step_time(sync, seconds) bind(c, name="goss_sync_step_time") result(result_)
      import
      type(c_ptr), value :: sync
      real(c_double), value :: seconds
      integer(c_int) :: result_
    end function
    function c_goss_sync_gradient_ready(sync, index) bind(c, name="goss_sync_gradient_ready") result(result_)
      import
      type(c_ptr), value :: sync
      integer(c_int32_t), value :: index
      integer(c_int) :: result_
    end function
    function c_goss_sync_gradients(sync) bind(c, name="goss_sync_gradients") result(result_)
      import
      type(c_ptr), value :: sync
      integer(c_int) :: result_
    end function
    function c_goss_sync_step(sync) bind(c, name="goss_sync_step") result(result_)
      import
      type(c_ptr), value :: sync
      integer(c_int) :: result_
    end function
    function c_goss_sync_finish(sync) bind(c, name="goss_sync_finish") result(result_)
      import
      type(c_ptr), value :: sync
      integer(c_int) :: result_
    end function
    function c_goss_sync_export(sync, bytes, count) bind(c, name="goss_sync_export") result(result_)
      import
      type(c_ptr), value :: sync, bytes, count
      integer(c_int) :: result_
    end function
    function c_goss_sync_import(sync, bytes, count) bind(c, name="goss_sync_import") result(result_)
      import
      type(c_ptr), value :: sync, bytes
      integer(c_size_t), value :: count
      integer(c_int) :: result_
    end function
    function c_goss_sync_import_all(sync, bytes, counts, states, dropped) bind(c, name="goss_sync_import_all") &
        result(result_)
      import
      type(c_ptr), value :: sync, bytes, counts, dropped
      integer(c_size_t), value :: states
      integer(c_int) :: result_
    end function
    function c_goss_sync_get_info(sync, info) bind(c, name="goss_sync_get_info") result(result_)
      import
      type(c_ptr), value :: sync, info
      integer(c_int) :: result_
    end function
    function c_goss_sync_get_counters(sync, counters) bind(c, name="goss_sync_get_counters") result(result_)
      import
      type(c_ptr), value :: sync, counters
      integer(c_int) :: result_
    end function
    function c_goss_sync_abort(sync, reason) bind(c, name="goss_sync_abort") result(result_)
      import
      type(c_ptr), value :: sync, reason
      integer(c_int) :: result_
    end function
    function c_goss_sync_destroy(sync) bind(c, name="goss_sync_destroy") result(result_)
      import
      type(c_ptr), value :: sync
      integer(c_int) :: result_
    end function
    function c_goss_sync_trials(sync, json) bind(c, name="goss_sync_trials") result(result_)
      import
      type(c_ptr), value :: sync, json
      integer(c_int) :: result_
    end function
    function c_goss_sync_methods(json) bind(c, name="goss_sync_methods") result(result_)
      import
      type(c_ptr), value :: json
      integer(c_int) :: result_
    end function
    function c_goss_window_create(comm, memory, count, dtype, options, window) bind(c, name="goss_window_create") &
        result(result_)
      import
      type(c_ptr), value :: comm, memory, options, window
      integer(c_size_t), value :: count
      integer(c_int), value :: dtype
      integer(c_int) :: result_
    end function
    function c_goss_window_free(window) bind(c, name="goss_window_free") result(result_)
      import
      type(c_ptr), value :: window
      integer(c_int) :: result_
    end function
    function c_goss_window_put(window, data, count, target, offset, options, request) bind(c, name="goss_window_put") &
        result(result_)
      import
      type(c_ptr), value :: window, data, options, request
      integer(c_size_t), value :: count, offset
      integer(c_int32_t), value :: target
      integer(c_int) :: result_
    end function
    function c_goss_window_accumulate(window, data, count, op, target, offset, options, request) bind(c, &
        name="goss_window_accumulate") result(result_)
      import
      type(c_ptr), value :: window, data, options, request
      integer(c_size_t), value :: count, offset
      integer(c_int), value :: op
      integer(c_int32_t), value :: target
      integer(c_int) :: result_
    end function
    function c_goss_window_get(window, data, count, target, offset, options, request) bind(c, name="goss_window_get") &
        result(result_)
      import
      type(c_ptr), value :: window, data, options, request
      integer(c_size_t), value :: count, offset
      integer(c_int32_t), value :: target
      integer(c_int) :: result_
    end function
    function c_goss_window_flush(window, target, options) bind(c, name="goss_window_flush") result(result_)
      import
      type(c_ptr), value :: window, options
      integer(c_int32_t), value :: target
      integer(c_int) :: result_
    end function
    function c_goss_window_version(window, origin, version) bind(c, name="goss_window_version") result(result_)
      import
      type(c_ptr), value :: window, version
      integer(c_int32_t), value :: origin
      integer(c_int) :: result_
    end function
    function c_goss_window_lock(window, target, options) bind(c, name="goss_window_lock") result(result_)
      import
      type(c_ptr), value :: window, options
      integer(c_int32_t), value :: target
      integer(c_int) :: result_
    end function
    function c_goss_window_unlock(window, target) bind(c, name="goss_window_unlock") result(result_)
      import
      type(c_ptr), value :: window
      integer(c_int32_t), value :: target
      integer(c_int) :: result_
    end function
    function c_goss_pair_average(window, partner, count, offset, shadow, options, request) bind(c, name="goss_pair_average") &
        result(result_)
      import
      type(c_ptr), value :: window, shadow, options, request
      integer(c_int32_t), value :: partner
      integer(c_size_t), value :: count, offset
      integer(c_int) :: result_
    end function
  end interface
end module
