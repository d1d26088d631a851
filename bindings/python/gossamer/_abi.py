"""The C ABI of Gossamer as ctypes declares it. scripts/abi wrote this file from include/gossamer/abi.h; do not edit it."""
from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t,
                    c_uint16, c_uint32, c_uint64, c_void_p)

VERSION = "0.1.0"

# goss_status
GOSS_SUCCESS = 0
GOSS_ERR_INVALID_ARGUMENT = -1
GOSS_ERR_UNSUPPORTED = -2
GOSS_ERR_MISMATCH = -3
GOSS_ERR_TIMEOUT = -4
GOSS_ERR_PEER_LOST = -5
GOSS_ERR_ABORTED = -6
GOSS_ERR_PROTOCOL = -7
GOSS_ERR_RESOURCE = -8
GOSS_ERR_BOOTSTRAP = -9
GOSS_ERR_TRUNCATED = -10
GOSS_ERR_INTERNAL = -11
GOSS_ERR_DEVICE = -12

# goss_dtype
GOSS_INT8 = 0
GOSS_UINT8 = 1
GOSS_INT32 = 2
GOSS_UINT32 = 3
GOSS_INT64 = 4
GOSS_UINT64 = 5
GOSS_FLOAT16 = 6
GOSS_BFLOAT16 = 7
GOSS_FLOAT32 = 8
GOSS_FLOAT64 = 9
GOSS_FLOAT8_E4M3 = 10
GOSS_FLOAT8_E5M2 = 11
GOSS_BOOL = 12
GOSS_DTYPE_COUNT = 13

# goss_op
GOSS_SUM = 0
GOSS_PROD = 1
GOSS_MIN = 2
GOSS_MAX = 3
GOSS_AVG = 4
GOSS_PREMUL_SUM = 5
GOSS_BAND = 6
GOSS_BOR = 7
GOSS_BXOR = 8
GOSS_LAND = 9
GOSS_LOR = 10
GOSS_LXOR = 11
GOSS_OP_COUNT = 12

# goss_topology_property
GOSS_TOPOLOGY_ROW_STOCHASTIC = 0
GOSS_TOPOLOGY_COLUMN_STOCHASTIC = 1
GOSS_TOPOLOGY_DOUBLY_STOCHASTIC = 2
GOSS_TOPOLOGY_SYMMETRIC = 3
GOSS_TOPOLOGY_CONSTANT = 4

# goss_pipeline_kind
GOSS_PIPELINE_FORWARD = 0
GOSS_PIPELINE_BACKWARD = 1
GOSS_PIPELINE_BACKWARD_INPUT = 2
GOSS_PIPELINE_BACKWARD_WEIGHT = 3
GOSS_PIPELINE_RECOMPUTE = 4
GOSS_PIPELINE_SEND_FORWARD = 5
GOSS_PIPELINE_RECV_FORWARD = 6
GOSS_PIPELINE_SEND_BACKWARD = 7
GOSS_PIPELINE_RECV_BACKWARD = 8
GOSS_PIPELINE_REDUCE = 9
GOSS_PIPELINE_STEP = 10

# constants
GOSS_PERSISTENT = 1
GOSS_ON_HOST = 2
GOSS_ANY_SOURCE = -1
GOSS_ANY_TAG = -1


class goss_unique_id(Structure):
    _fields_ = [
        ("bytes", c_char * 128),
    ]


class goss_config(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("rank", c_int32),
        ("ranks", c_int32),
        ("unique_id", POINTER(goss_unique_id)),
        ("timeout_ms", c_int64),
        ("bootstrap_timeout_ms", c_int64),
        ("transport", c_char_p),
        ("interface", c_char_p),
        ("port_min", c_uint16),
        ("port_max", c_uint16),
        ("connections_per_peer", c_int32),
        ("algorithm", c_char_p),
        ("links_file", c_char_p),
        ("silence_ms", c_int64),
        ("tls", c_char_p),
        ("tls_scope", c_char_p),
        ("advertise", c_char_p),
        ("relay", c_char_p),
        ("reconnect", c_char_p),
        ("tcp_congestion", c_char_p),
        ("tcp_pacing_bytes_per_s", c_uint64),
        ("codec", c_char_p),
        ("fragment_bytes", c_uint64),
        ("tuning_file", c_char_p),
        ("unexpected_bytes", c_uint64),
        ("shm_ring_bytes", c_uint64),
        ("shm_path", c_char_p),
        ("shm_direct_bytes", c_uint64),
        ("spin_us", c_int32),
        ("bootstrap_port", c_int32),
        ("sim_seed", c_uint64),
        ("sim_drop", c_double),
        ("log_level", c_char_p),
        ("job_id", c_char_p),
        ("tcp_checksum", c_char_p),
        ("device", c_char_p),
        ("device_hold_ms", c_int64),
        ("measure", c_char_p),
    ]


class goss_options(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("flags", c_uint32),
        ("timeout_ms", c_int64),
        ("algorithm", c_char_p),
        ("scale", c_double),
        ("stream", c_void_p),
        ("codec", c_char_p),
        ("return_codec", c_char_p),
        ("tensor", c_uint64),
    ]


class goss_message(Structure):
    _fields_ = [
        ("source", c_int32),
        ("tag", c_int32),
        ("bytes", c_size_t),
    ]


class goss_counters(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("operations", c_uint64),
        ("failures", c_uint64),
        ("payload_bytes", c_uint64),
        ("wire_bytes_sent", c_uint64),
        ("wire_bytes_received", c_uint64),
        ("busy_ns", c_uint64),
        ("placed_bytes", c_uint64),
    ]


class goss_codec_functions(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("context", c_void_p),
        ("block", c_size_t),
        ("max_bytes", CFUNCTYPE(c_size_t, c_void_p, c_size_t)),
        ("encode", CFUNCTYPE(c_size_t, c_void_p, c_void_p, c_size_t, c_void_p)),
        ("decode", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_size_t, c_void_p)),
    ]


class goss_neighbor(Structure):
    _fields_ = [
        ("rank", c_int32),
        ("reserved", c_int32),
        ("weight", c_double),
    ]


class goss_neighborhood(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("self_weight", c_double),
        ("sources", POINTER(goss_neighbor)),
        ("source_count", c_size_t),
        ("destinations", POINTER(goss_neighbor)),
        ("destination_count", c_size_t),
    ]


class goss_pipeline_action(Structure):
    _fields_ = [
        ("kind", c_int32),
        ("stage", c_int32),
        ("micro_batch", c_int32),
        ("chain", c_int32),
        ("version", c_int32),
    ]


class goss_pipeline_request(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("ranks", c_int32),
        ("micro_batches", c_int32),
        ("batches", c_int32),
        ("chunks", c_int32),
        ("recompute", c_int32),
        ("reserved", c_int32),
    ]


class goss_pipeline_costs(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("forward_s", c_double),
        ("backward_input_s", c_double),
        ("backward_weight_s", c_double),
        ("recompute_s", c_double),
        ("activation_bytes", c_double),
        ("boundary_bytes", c_double),
        ("latency_s", c_double),
        ("bandwidth_bytes_per_s", c_double),
        ("stage_times_s", POINTER(c_double)),
    ]


class goss_pipeline_codec_request(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("sample_elems", c_size_t),
        ("forward", c_char_p),
        ("backward", c_char_p),
        ("deltas", c_int32),
        ("cache_directory", c_char_p),
    ]


class goss_pipeline_work(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("boundary_bytes", c_size_t),
        ("context", c_void_p),
        ("run", CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p, c_void_p)),
        ("codec", c_void_p),
        ("sample", CFUNCTYPE(c_uint64, c_void_p, c_int32, c_size_t)),
    ]


class goss_sync_tensor(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("parameter", c_void_p),
        ("gradient", c_void_p),
        ("count", c_size_t),
        ("dtype", c_int),
        ("layer", c_int32),
    ]


class goss_sync_info(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("spec", c_char_p),
        ("gradients", c_int32),
        ("local_steps", c_int32),
        ("gradient_size", c_int32),
        ("dynamic_period", c_int64),
    ]


class goss_sync_counters(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("steps", c_uint64),
        ("exchanges", c_uint64),
        ("exchanged_bytes", c_uint64),
        ("wire_bytes_sent", c_uint64),
        ("wire_bytes_received", c_uint64),
        ("waited_ns", c_uint64),
        ("setup_bytes_sent", c_uint64),
    ]


class goss_sync_loss(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("evaluate", CFUNCTYPE(c_double, c_void_p)),
        ("context", c_void_p),
    ]


class goss_shadow(Structure):
    _fields_ = [
        ("offset", c_size_t),
        ("factor", c_double),
    ]


# name: (result, arguments)
FUNCTIONS = {
    "goss_options_init": (c_int, [POINTER(goss_options), c_size_t]),
    "goss_counters_init": (c_int, [POINTER(goss_counters), c_size_t]),
    "goss_version": (c_int, []),
    "goss_status_string": (c_char_p, [c_int]),
    "goss_last_error": (c_char_p, []),
    "goss_last_error_rank": (c_int, [c_void_p, POINTER(c_int32)]),
    "goss_set_last_error": (c_int, [c_int, c_char_p]),
    "goss_dtype_size": (c_size_t, [c_int]),
    "goss_config_init_sized": (c_int, [POINTER(goss_config), c_size_t]),
    "goss_config_check": (c_int, [POINTER(goss_config)]),
    "goss_unique_id_create_with": (c_int, [POINTER(goss_config), POINTER(goss_unique_id)]),
    "goss_unique_id_create": (c_int, [POINTER(goss_unique_id)]),
    "goss_unique_id_destroy": (c_int, [POINTER(goss_unique_id)]),
    "goss_comm_create": (c_int, [POINTER(goss_config), POINTER(c_void_p)]),
    "goss_comm_split": (c_int, [c_void_p, c_int32, c_int32, POINTER(c_void_p)]),
    "goss_comm_dup": (c_int, [c_void_p, POINTER(c_void_p)]),
    "goss_comm_shrink": (c_int, [c_void_p, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_comm_rank": (c_int, [c_void_p, POINTER(c_int32)]),
    "goss_comm_size": (c_int, [c_void_p, POINTER(c_int32)]),
    "goss_comm_transport": (c_int, [c_void_p, c_int32, POINTER(c_char_p)]),
    "goss_comm_error": (c_int, [c_void_p, POINTER(c_int), POINTER(c_char_p)]),
    "goss_comm_error_rank": (c_int, [c_void_p, POINTER(c_int32)]),
    "goss_comm_event_fd": (c_int, [c_void_p, POINTER(c_int)]),
    "goss_comm_abort": (c_int, [c_void_p, c_char_p]),
    "goss_comm_destroy": (c_int, [c_void_p]),
    "goss_comm_counters": (c_int, [c_void_p, POINTER(goss_counters)]),
    "goss_all_reduce": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_reduce": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_int, c_int32, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_broadcast": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_int32, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_all_gather": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_all_gatherv": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(c_size_t), POINTER(c_size_t), c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_reduce_scatter": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_reduce_scatterv": (c_int, [c_void_p, c_void_p, c_void_p, POINTER(c_size_t), c_int, c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_all_to_all": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_all_to_allv": (c_int, [c_void_p, c_void_p, POINTER(c_size_t), POINTER(c_size_t), c_void_p, POINTER(c_size_t), POINTER(c_size_t), c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_gather": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_int32, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_scatter": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_int32, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_scan": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_exscan": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_barrier": (c_int, [c_void_p, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_send": (c_int, [c_void_p, c_void_p, c_size_t, c_int, c_int32, c_int32, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_recv": (c_int, [c_void_p, c_void_p, c_size_t, c_int, c_int32, c_int32, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_sendrecv": (c_int, [c_void_p, c_void_p, c_size_t, c_int32, c_void_p, c_size_t, c_int32, c_int, c_int32, POINTER(goss_options), POINTER(goss_message)]),
    "goss_probe": (c_int, [c_void_p, c_int32, c_int32, POINTER(goss_options), POINTER(goss_message)]),
    "goss_iprobe": (c_int, [c_void_p, c_int32, c_int32, POINTER(c_int), POINTER(goss_message)]),
    "goss_test": (c_int, [POINTER(c_void_p), POINTER(c_int), POINTER(goss_message)]),
    "goss_wait": (c_int, [POINTER(c_void_p), POINTER(goss_message)]),
    "goss_wait_for": (c_int, [POINTER(c_void_p), c_int64, POINTER(c_int), POINTER(goss_message)]),
    "goss_wait_any": (c_int, [POINTER(c_void_p), c_size_t, POINTER(c_size_t), POINTER(goss_message)]),
    "goss_wait_all": (c_int, [POINTER(c_void_p), c_size_t]),
    "goss_request_error": (c_int, [c_void_p, POINTER(c_int), POINTER(c_char_p)]),
    "goss_start": (c_int, [c_void_p]),
    "goss_request_free": (c_int, [POINTER(c_void_p)]),
    "goss_group_begin": (c_int, []),
    "goss_group_end": (c_int, []),
    "goss_mem_alloc": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "goss_mem_alloc_device": (c_int, [c_void_p, c_size_t, POINTER(c_void_p)]),
    "goss_mem_free": (c_int, [c_void_p, c_void_p]),
    "goss_explain": (c_int, [c_char_p, c_int32, c_size_t, c_char_p, POINTER(c_char_p)]),
    "goss_free": (None, [c_void_p]),
    "goss_codec_state_export": (c_int, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "goss_codec_state_import": (c_int, [c_void_p, c_void_p, c_size_t]),
    "goss_codec_state_read": (c_int, [c_void_p, c_uint64, POINTER(c_float), c_size_t]),
    "goss_codec_state_reset": (c_int, [c_void_p, c_uint64]),
    "goss_codec_functions_init": (c_int, [POINTER(goss_codec_functions), c_size_t]),
    "goss_codec_register": (c_int, [c_void_p, c_char_p, POINTER(goss_codec_functions)]),
    "goss_codecs": (c_int, [POINTER(c_char_p)]),
    "goss_explain_codec": (c_int, [c_char_p, c_int32, c_size_t, c_char_p, c_char_p, POINTER(c_char_p)]),
    "goss_neighborhood_init": (c_int, [POINTER(goss_neighborhood), c_size_t]),
    "goss_topology_create": (c_int, [c_char_p, c_int32, POINTER(c_void_p)]),
    "goss_topology_destroy": (c_int, [c_void_p]),
    "goss_topology_period": (c_int, [c_void_p, POINTER(c_uint64)]),
    "goss_topology_weight": (c_int, [c_void_p, c_uint64, c_int32, c_int32, POINTER(c_double)]),
    "goss_topology_neighbors": (c_int, [c_void_p, c_uint64, c_int32, POINTER(goss_neighborhood)]),
    "goss_topology_require": (c_int, [c_void_p, c_int32]),
    "goss_topology_describe": (c_int, [c_void_p, POINTER(c_char_p)]),
    "goss_topology_draw": (c_int, [c_void_p, c_int64, POINTER(c_char_p)]),
    "goss_neighbor_all_reduce": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, POINTER(goss_neighborhood), POINTER(goss_options), POINTER(c_void_p)]),
    "goss_neighbor_all_gather": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, POINTER(goss_neighborhood), POINTER(goss_options), POINTER(c_void_p)]),
    "goss_neighbor_all_gatherv": (c_int, [c_void_p, c_void_p, c_size_t, c_void_p, POINTER(c_size_t), POINTER(c_size_t), c_int, POINTER(goss_neighborhood), POINTER(goss_options), POINTER(c_void_p)]),
    "goss_neighbor_all_to_all": (c_int, [c_void_p, c_void_p, c_void_p, c_size_t, c_int, POINTER(goss_neighborhood), POINTER(goss_options), POINTER(c_void_p)]),
    "goss_neighbor_all_to_allv": (c_int, [c_void_p, c_void_p, POINTER(c_size_t), POINTER(c_size_t), c_void_p, POINTER(c_size_t), POINTER(c_size_t), c_int, POINTER(goss_neighborhood), POINTER(goss_options), POINTER(c_void_p)]),
    "goss_comm_measure_links": (c_int, [c_void_p, POINTER(goss_options), POINTER(c_char_p)]),
    "goss_comm_trials": (c_int, [c_void_p, POINTER(c_char_p)]),
    "goss_pipeline_request_init": (c_int, [POINTER(goss_pipeline_request), c_size_t]),
    "goss_pipeline_name": (c_char_p, [c_size_t]),
    "goss_pipeline_generate": (c_int, [POINTER(goss_pipeline_request), POINTER(c_void_p)]),
    "goss_pipeline_read": (c_int, [c_char_p, POINTER(c_void_p)]),
    "goss_pipeline_write": (c_int, [c_void_p, c_int32, POINTER(c_char_p)]),
    "goss_pipeline_destroy": (c_int, [c_void_p]),
    "goss_pipeline_size": (c_int, [c_void_p, POINTER(c_int32), POINTER(c_int32), POINTER(c_int32)]),
    "goss_pipeline_stage_rank": (c_int, [c_void_p, c_int32, POINTER(c_int32)]),
    "goss_pipeline_actions": (c_int, [c_void_p, c_int32, POINTER(POINTER(goss_pipeline_action)), POINTER(c_size_t)]),
    "goss_pipeline_check": (c_int, [c_void_p, c_int32, c_int32]),
    "goss_pipeline_costs_init": (c_int, [POINTER(goss_pipeline_costs), c_size_t]),
    "goss_pipeline_simulate": (c_int, [c_void_p, POINTER(goss_pipeline_costs), POINTER(c_char_p)]),
    "goss_pipeline_draw": (c_int, [c_void_p, POINTER(goss_pipeline_costs), c_int32, POINTER(c_char_p)]),
    "goss_pipeline_codec_request_init": (c_int, [POINTER(goss_pipeline_codec_request), c_size_t]),
    "goss_pipeline_codec_create": (c_int, [c_void_p, POINTER(goss_pipeline_codec_request), POINTER(c_void_p)]),
    "goss_pipeline_codec_destroy": (c_int, [c_void_p]),
    "goss_pipeline_codec_export": (c_int, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "goss_pipeline_codec_import": (c_int, [c_void_p, c_void_p, c_size_t]),
    "goss_pipeline_work_init": (c_int, [POINTER(goss_pipeline_work), c_size_t]),
    "goss_pipeline_run": (c_int, [c_void_p, c_void_p, POINTER(goss_pipeline_work)]),
    "goss_sync_tensor_init": (c_int, [POINTER(goss_sync_tensor), c_size_t]),
    "goss_sync_info_init": (c_int, [POINTER(goss_sync_info), c_size_t]),
    "goss_sync_counters_init": (c_int, [POINTER(goss_sync_counters), c_size_t]),
    "goss_sync_create": (c_int, [c_void_p, c_char_p, POINTER(c_void_p)]),
    "goss_sync_register": (c_int, [c_void_p, POINTER(goss_sync_tensor), POINTER(c_int32)]),
    "goss_sync_start": (c_int, [c_void_p]),
    "goss_sync_set_lr": (c_int, [c_void_p, c_double]),
    "goss_sync_loss_init": (c_int, [POINTER(goss_sync_loss), c_size_t]),
    "goss_sync_set_loss": (c_int, [c_void_p, POINTER(goss_sync_loss)]),
    "goss_sync_computes": (c_int, [c_void_p, POINTER(c_int32)]),
    "goss_sync_step_time": (c_int, [c_void_p, c_double]),
    "goss_sync_gradient_ready": (c_int, [c_void_p, c_int32]),
    "goss_sync_gradients": (c_int, [c_void_p]),
    "goss_sync_step": (c_int, [c_void_p]),
    "goss_sync_finish": (c_int, [c_void_p]),
    "goss_sync_export": (c_int, [c_void_p, POINTER(c_void_p), POINTER(c_size_t)]),
    "goss_sync_import": (c_int, [c_void_p, c_void_p, c_size_t]),
    "goss_sync_import_all": (c_int, [c_void_p, POINTER(c_void_p), POINTER(c_size_t), c_size_t, POINTER(c_int32)]),
    "goss_sync_get_info": (c_int, [c_void_p, POINTER(goss_sync_info)]),
    "goss_sync_get_counters": (c_int, [c_void_p, POINTER(goss_sync_counters)]),
    "goss_sync_abort": (c_int, [c_void_p, c_char_p]),
    "goss_sync_destroy": (c_int, [c_void_p]),
    "goss_sync_trials": (c_int, [c_void_p, POINTER(c_char_p)]),
    "goss_sync_methods": (c_int, [POINTER(c_char_p)]),
    "goss_window_create": (c_int, [c_void_p, c_void_p, c_size_t, c_int, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_window_free": (c_int, [POINTER(c_void_p)]),
    "goss_window_put": (c_int, [c_void_p, c_void_p, c_size_t, c_int32, c_size_t, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_window_accumulate": (c_int, [c_void_p, c_void_p, c_size_t, c_int, c_int32, c_size_t, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_window_get": (c_int, [c_void_p, c_void_p, c_size_t, c_int32, c_size_t, POINTER(goss_options), POINTER(c_void_p)]),
    "goss_window_flush": (c_int, [c_void_p, c_int32, POINTER(goss_options)]),
    "goss_window_version": (c_int, [c_void_p, c_int32, POINTER(c_uint64)]),
    "goss_window_lock": (c_int, [c_void_p, c_int32, POINTER(goss_options)]),
    "goss_window_unlock": (c_int, [c_void_p, c_int32]),
    "goss_pair_average": (c_int, [c_void_p, c_int32, c_size_t, c_size_t, POINTER(goss_shadow), POINTER(goss_options), POINTER(c_void_p)]),
}


def declare(library: CDLL) -> CDLL:
    """Gives every function of the library its types. A library that lacks one raises AttributeError."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library
