//! The C ABI of Gossamer. scripts/abi wrote this file from include/gossamer/abi.h; do not edit it.
use std::os::raw::{c_char, c_int, c_void};

pub const VERSION: &str = "0.1.0";

pub const GOSS_PERSISTENT: i32 = 1;
pub const GOSS_ON_HOST: i32 = 2;
pub const GOSS_ANY_SOURCE: i32 = -1;
pub const GOSS_ANY_TAG: i32 = -1;

pub type goss_status = c_int;
pub const GOSS_SUCCESS: goss_status = 0;
pub const GOSS_ERR_INVALID_ARGUMENT: goss_status = -1;
pub const GOSS_ERR_UNSUPPORTED: goss_status = -2;
pub const GOSS_ERR_MISMATCH: goss_status = -3;
pub const GOSS_ERR_TIMEOUT: goss_status = -4;
pub const GOSS_ERR_PEER_LOST: goss_status = -5;
pub const GOSS_ERR_ABORTED: goss_status = -6;
pub const GOSS_ERR_PROTOCOL: goss_status = -7;
pub const GOSS_ERR_RESOURCE: goss_status = -8;
pub const GOSS_ERR_BOOTSTRAP: goss_status = -9;
pub const GOSS_ERR_TRUNCATED: goss_status = -10;
pub const GOSS_ERR_INTERNAL: goss_status = -11;
pub const GOSS_ERR_DEVICE: goss_status = -12;

pub type goss_dtype = c_int;
pub const GOSS_INT8: goss_dtype = 0;
pub const GOSS_UINT8: goss_dtype = 1;
pub const GOSS_INT32: goss_dtype = 2;
pub const GOSS_UINT32: goss_dtype = 3;
pub const GOSS_INT64: goss_dtype = 4;
pub const GOSS_UINT64: goss_dtype = 5;
pub const GOSS_FLOAT16: goss_dtype = 6;
pub const GOSS_BFLOAT16: goss_dtype = 7;
pub const GOSS_FLOAT32: goss_dtype = 8;
pub const GOSS_FLOAT64: goss_dtype = 9;
pub const GOSS_FLOAT8_E4M3: goss_dtype = 10;
pub const GOSS_FLOAT8_E5M2: goss_dtype = 11;
pub const GOSS_BOOL: goss_dtype = 12;
pub const GOSS_DTYPE_COUNT: goss_dtype = 13;

pub type goss_op = c_int;
pub const GOSS_SUM: goss_op = 0;
pub const GOSS_PROD: goss_op = 1;
pub const GOSS_MIN: goss_op = 2;
pub const GOSS_MAX: goss_op = 3;
pub const GOSS_AVG: goss_op = 4;
pub const GOSS_PREMUL_SUM: goss_op = 5;
pub const GOSS_BAND: goss_op = 6;
pub const GOSS_BOR: goss_op = 7;
pub const GOSS_BXOR: goss_op = 8;
pub const GOSS_LAND: goss_op = 9;
pub const GOSS_LOR: goss_op = 10;
pub const GOSS_LXOR: goss_op = 11;
pub const GOSS_OP_COUNT: goss_op = 12;

pub type goss_topology_property = c_int;
pub const GOSS_TOPOLOGY_ROW_STOCHASTIC: goss_topology_property = 0;
pub const GOSS_TOPOLOGY_COLUMN_STOCHASTIC: goss_topology_property = 1;
pub const GOSS_TOPOLOGY_DOUBLY_STOCHASTIC: goss_topology_property = 2;
pub const GOSS_TOPOLOGY_SYMMETRIC: goss_topology_property = 3;
pub const GOSS_TOPOLOGY_CONSTANT: goss_topology_property = 4;

pub type goss_pipeline_kind = c_int;
pub const GOSS_PIPELINE_FORWARD: goss_pipeline_kind = 0;
pub const GOSS_PIPELINE_BACKWARD: goss_pipeline_kind = 1;
pub const GOSS_PIPELINE_BACKWARD_INPUT: goss_pipeline_kind = 2;
pub const GOSS_PIPELINE_BACKWARD_WEIGHT: goss_pipeline_kind = 3;
pub const GOSS_PIPELINE_RECOMPUTE: goss_pipeline_kind = 4;
pub const GOSS_PIPELINE_SEND_FORWARD: goss_pipeline_kind = 5;
pub const GOSS_PIPELINE_RECV_FORWARD: goss_pipeline_kind = 6;
pub const GOSS_PIPELINE_SEND_BACKWARD: goss_pipeline_kind = 7;
pub const GOSS_PIPELINE_RECV_BACKWARD: goss_pipeline_kind = 8;
pub const GOSS_PIPELINE_REDUCE: goss_pipeline_kind = 9;
pub const GOSS_PIPELINE_STEP: goss_pipeline_kind = 10;

#[repr(C)]
pub struct goss_comm {
    _opaque: [u8; 0],
}
pub type goss_comm_t = *mut goss_comm;

#[repr(C)]
pub struct goss_request {
    _opaque: [u8; 0],
}
pub type goss_request_t = *mut goss_request;

#[repr(C)]
pub struct goss_topology {
    _opaque: [u8; 0],
}
pub type goss_topology_t = *mut goss_topology;

#[repr(C)]
pub struct goss_pipeline {
    _opaque: [u8; 0],
}
pub type goss_pipeline_t = *mut goss_pipeline;

#[repr(C)]
pub struct goss_pipeline_codec {
    _opaque: [u8; 0],
}
pub type goss_pipeline_codec_t = *mut goss_pipeline_codec;

#[repr(C)]
pub struct goss_sync {
    _opaque: [u8; 0],
}
pub type goss_sync_t = *mut goss_sync;

#[repr(C)]
pub struct goss_window {
    _opaque: [u8; 0],
}
pub type goss_window_t = *mut goss_window;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_unique_id {
    pub bytes: [c_char; 128],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_config {
    pub size: usize,
    pub rank: i32,
    pub ranks: i32,
    pub unique_id: *mut goss_unique_id,
    pub timeout_ms: i64,
    pub bootstrap_timeout_ms: i64,
    pub transport: *mut c_char,
    pub interface: *mut c_char,
    pub port_min: u16,
    pub port_max: u16,
    pub connections_per_peer: i32,
    pub algorithm: *mut c_char,
    pub links_file: *mut c_char,
    pub silence_ms: i64,
    pub tls: *mut c_char,
    pub tls_scope: *mut c_char,
    pub advertise: *mut c_char,
    pub relay: *mut c_char,
    pub reconnect: *mut c_char,
    pub tcp_congestion: *mut c_char,
    pub tcp_pacing_bytes_per_s: u64,
    pub codec: *mut c_char,
    pub fragment_bytes: u64,
    pub tuning_file: *mut c_char,
    pub unexpected_bytes: u64,
    pub shm_ring_bytes: u64,
    pub shm_path: *mut c_char,
    pub shm_direct_bytes: u64,
    pub spin_us: i32,
    pub bootstrap_port: i32,
    pub sim_seed: u64,
    pub sim_drop: f64,
    pub log_level: *mut c_char,
    pub job_id: *mut c_char,
    pub tcp_checksum: *mut c_char,
    pub device: *mut c_char,
    pub device_hold_ms: i64,
    pub measure: *mut c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_options {
    pub size: usize,
    pub flags: u32,
    pub timeout_ms: i64,
    pub algorithm: *mut c_char,
    pub scale: f64,
    pub stream: *mut c_void,
    pub codec: *mut c_char,
    pub return_codec: *mut c_char,
    pub tensor: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_message {
    pub source: i32,
    pub tag: i32,
    pub bytes: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_counters {
    pub size: usize,
    pub operations: u64,
    pub failures: u64,
    pub payload_bytes: u64,
    pub wire_bytes_sent: u64,
    pub wire_bytes_received: u64,
    pub busy_ns: u64,
    pub placed_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_codec_functions {
    pub size: usize,
    pub context: *mut c_void,
    pub block: usize,
    pub max_bytes: Option<unsafe extern "C" fn(context: *mut c_void, count: usize) -> usize>,
    pub encode: Option<unsafe extern "C" fn(context: *mut c_void, values: *mut f32, count: usize, payload: *mut c_void) -> usize>,
    pub decode: Option<unsafe extern "C" fn(context: *mut c_void, payload: *mut c_void, bytes: usize, count: usize, values: *mut f32) -> c_int>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_neighbor {
    pub rank: i32,
    pub reserved: i32,
    pub weight: f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_neighborhood {
    pub size: usize,
    pub self_weight: f64,
    pub sources: *mut goss_neighbor,
    pub source_count: usize,
    pub destinations: *mut goss_neighbor,
    pub destination_count: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_pipeline_action {
    pub kind: i32,
    pub stage: i32,
    pub micro_batch: i32,
    pub chain: i32,
    pub version: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_pipeline_request {
    pub size: usize,
    pub name: *mut c_char,
    pub ranks: i32,
    pub micro_batches: i32,
    pub batches: i32,
    pub chunks: i32,
    pub recompute: i32,
    pub reserved: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_pipeline_costs {
    pub size: usize,
    pub forward_s: f64,
    pub backward_input_s: f64,
    pub backward_weight_s: f64,
    pub recompute_s: f64,
    pub activation_bytes: f64,
    pub boundary_bytes: f64,
    pub latency_s: f64,
    pub bandwidth_bytes_per_s: f64,
    pub stage_times_s: *mut f64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_pipeline_codec_request {
    pub size: usize,
    pub sample_elems: usize,
    pub forward: *mut c_char,
    pub backward: *mut c_char,
    pub deltas: i32,
    pub cache_directory: *mut c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_pipeline_work {
    pub size: usize,
    pub boundary_bytes: usize,
    pub context: *mut c_void,
    pub run: Option<unsafe extern "C" fn(context: *mut c_void, action: *mut goss_pipeline_action, input: *mut c_void, output: *mut c_void) -> i32>,
    pub codec: goss_pipeline_codec_t,
    pub sample: Option<unsafe extern "C" fn(context: *mut c_void, micro_batch: i32, index: usize) -> u64>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_sync_tensor {
    pub size: usize,
    pub name: *mut c_char,
    pub parameter: *mut c_void,
    pub gradient: *mut c_void,
    pub count: usize,
    pub dtype: goss_dtype,
    pub layer: i32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_sync_info {
    pub size: usize,
    pub spec: *mut c_char,
    pub gradients: i32,
    pub local_steps: i32,
    pub gradient_size: i32,
    pub dynamic_period: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_sync_counters {
    pub size: usize,
    pub steps: u64,
    pub exchanges: u64,
    pub exchanged_bytes: u64,
    pub wire_bytes_sent: u64,
    pub wire_bytes_received: u64,
    pub waited_ns: u64,
    pub setup_bytes_sent: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_sync_loss {
    pub size: usize,
    pub evaluate: Option<unsafe extern "C" fn(context: *mut c_void) -> f64>,
    pub context: *mut c_void,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct goss_shadow {
    pub offset: usize,
    pub factor: f64,
}

extern "C" {
    pub fn goss_options_init(options: *mut goss_options, size: usize) -> goss_status;
    pub fn goss_counters_init(counters: *mut goss_counters, size: usize) -> goss_status;
    pub fn goss_version() -> c_int;
    pub fn goss_status_string(status: goss_status) -> *mut c_char;
    pub fn goss_last_error() -> *mut c_char;
    pub fn goss_last_error_rank(comm: goss_comm_t, rank: *mut i32) -> goss_status;
    pub fn goss_set_last_error(status: goss_status, text: *mut c_char) -> goss_status;
    pub fn goss_dtype_size(dtype: goss_dtype) -> usize;
    pub fn goss_config_init_sized(config: *mut goss_config, size: usize) -> goss_status;
    pub fn goss_config_check(config: *mut goss_config) -> goss_status;
    pub fn goss_unique_id_create_with(config: *mut goss_config, id: *mut goss_unique_id) -> goss_status;
    pub fn goss_unique_id_create(id: *mut goss_unique_id) -> goss_status;
    pub fn goss_unique_id_destroy(id: *mut goss_unique_id) -> goss_status;
    pub fn goss_comm_create(config: *mut goss_config, comm: *mut goss_comm_t) -> goss_status;
    pub fn goss_comm_split(comm: goss_comm_t, color: i32, key: i32, new_comm: *mut goss_comm_t) -> goss_status;
    pub fn goss_comm_dup(comm: goss_comm_t, new_comm: *mut goss_comm_t) -> goss_status;
    pub fn goss_comm_shrink(comm: goss_comm_t, options: *mut goss_options, new_comm: *mut goss_comm_t) -> goss_status;
    pub fn goss_comm_rank(comm: goss_comm_t, rank: *mut i32) -> goss_status;
    pub fn goss_comm_size(comm: goss_comm_t, size: *mut i32) -> goss_status;
    pub fn goss_comm_transport(comm: goss_comm_t, peer: i32, name: *mut *mut c_char) -> goss_status;
    pub fn goss_comm_error(comm: goss_comm_t, status: *mut goss_status, text: *mut *mut c_char) -> goss_status;
    pub fn goss_comm_error_rank(comm: goss_comm_t, rank: *mut i32) -> goss_status;
    pub fn goss_comm_event_fd(comm: goss_comm_t, fd: *mut c_int) -> goss_status;
    pub fn goss_comm_abort(comm: goss_comm_t, reason: *mut c_char) -> goss_status;
    pub fn goss_comm_destroy(comm: goss_comm_t) -> goss_status;
    pub fn goss_comm_counters(comm: goss_comm_t, counters: *mut goss_counters) -> goss_status;
    pub fn goss_all_reduce(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, op: goss_op, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_reduce(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, op: goss_op, root: i32, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_broadcast(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, root: i32, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_all_gather(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_all_gatherv(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, counts: *mut usize, displs: *mut usize, dtype: goss_dtype, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_reduce_scatter(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, op: goss_op, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_reduce_scatterv(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, counts: *mut usize, dtype: goss_dtype, op: goss_op, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_all_to_all(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_all_to_allv(comm: goss_comm_t, send: *mut c_void, send_counts: *mut usize, send_displs: *mut usize, recv: *mut c_void, recv_counts: *mut usize, recv_displs: *mut usize, dtype: goss_dtype, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_gather(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, root: i32, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_scatter(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, root: i32, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_scan(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, op: goss_op, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_exscan(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, op: goss_op, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_barrier(comm: goss_comm_t, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_send(comm: goss_comm_t, buffer: *mut c_void, count: usize, dtype: goss_dtype, peer: i32, tag: i32, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_recv(comm: goss_comm_t, buffer: *mut c_void, count: usize, dtype: goss_dtype, peer: i32, tag: i32, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_sendrecv(comm: goss_comm_t, send: *mut c_void, send_count: usize, dest: i32, recv: *mut c_void, recv_count: usize, source: i32, dtype: goss_dtype, tag: i32, options: *mut goss_options, message: *mut goss_message) -> goss_status;
    pub fn goss_probe(comm: goss_comm_t, source: i32, tag: i32, options: *mut goss_options, message: *mut goss_message) -> goss_status;
    pub fn goss_iprobe(comm: goss_comm_t, source: i32, tag: i32, found: *mut c_int, message: *mut goss_message) -> goss_status;
    pub fn goss_test(request: *mut goss_request_t, done: *mut c_int, message: *mut goss_message) -> goss_status;
    pub fn goss_wait(request: *mut goss_request_t, message: *mut goss_message) -> goss_status;
    pub fn goss_wait_for(request: *mut goss_request_t, timeout_ms: i64, done: *mut c_int, message: *mut goss_message) -> goss_status;
    pub fn goss_wait_any(requests: *mut goss_request_t, n: usize, index: *mut usize, message: *mut goss_message) -> goss_status;
    pub fn goss_wait_all(requests: *mut goss_request_t, n: usize) -> goss_status;
    pub fn goss_request_error(request: goss_request_t, status: *mut goss_status, text: *mut *mut c_char) -> goss_status;
    pub fn goss_start(request: goss_request_t) -> goss_status;
    pub fn goss_request_free(request: *mut goss_request_t) -> goss_status;
    pub fn goss_group_begin() -> goss_status;
    pub fn goss_group_end() -> goss_status;
    pub fn goss_mem_alloc(comm: goss_comm_t, bytes: usize, memory: *mut *mut c_void) -> goss_status;
    pub fn goss_mem_alloc_device(comm: goss_comm_t, bytes: usize, memory: *mut *mut c_void) -> goss_status;
    pub fn goss_mem_free(comm: goss_comm_t, memory: *mut c_void) -> goss_status;
    pub fn goss_explain(collective: *mut c_char, ranks: i32, bytes: usize, links: *mut c_char, json: *mut *mut c_char) -> goss_status;
    pub fn goss_free(memory: *mut c_void);
    pub fn goss_codec_state_export(comm: goss_comm_t, bytes: *mut *mut c_void, size: *mut usize) -> goss_status;
    pub fn goss_codec_state_import(comm: goss_comm_t, bytes: *mut c_void, size: usize) -> goss_status;
    pub fn goss_codec_state_read(comm: goss_comm_t, tensor: u64, values: *mut f32, count: usize) -> goss_status;
    pub fn goss_codec_state_reset(comm: goss_comm_t, tensor: u64) -> goss_status;
    pub fn goss_codec_functions_init(functions: *mut goss_codec_functions, size: usize) -> goss_status;
    pub fn goss_codec_register(comm: goss_comm_t, name: *mut c_char, functions: *mut goss_codec_functions) -> goss_status;
    pub fn goss_codecs(json: *mut *mut c_char) -> goss_status;
    pub fn goss_explain_codec(collective: *mut c_char, ranks: i32, bytes: usize, codec: *mut c_char, links: *mut c_char, json: *mut *mut c_char) -> goss_status;
    pub fn goss_neighborhood_init(neighborhood: *mut goss_neighborhood, size: usize) -> goss_status;
    pub fn goss_topology_create(spec: *mut c_char, ranks: i32, topology: *mut goss_topology_t) -> goss_status;
    pub fn goss_topology_destroy(topology: goss_topology_t) -> goss_status;
    pub fn goss_topology_period(topology: goss_topology_t, period: *mut u64) -> goss_status;
    pub fn goss_topology_weight(topology: goss_topology_t, round: u64, to: i32, from: i32, weight: *mut f64) -> goss_status;
    pub fn goss_topology_neighbors(topology: goss_topology_t, round: u64, rank: i32, neighborhood: *mut goss_neighborhood) -> goss_status;
    pub fn goss_topology_require(topology: goss_topology_t, property: i32) -> goss_status;
    pub fn goss_topology_describe(topology: goss_topology_t, json: *mut *mut c_char) -> goss_status;
    pub fn goss_topology_draw(topology: goss_topology_t, round: i64, svg: *mut *mut c_char) -> goss_status;
    pub fn goss_neighbor_all_reduce(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, neighborhood: *mut goss_neighborhood, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_neighbor_all_gather(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, neighborhood: *mut goss_neighborhood, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_neighbor_all_gatherv(comm: goss_comm_t, send: *mut c_void, send_count: usize, recv: *mut c_void, recv_counts: *mut usize, recv_displs: *mut usize, dtype: goss_dtype, neighborhood: *mut goss_neighborhood, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_neighbor_all_to_all(comm: goss_comm_t, send: *mut c_void, recv: *mut c_void, count: usize, dtype: goss_dtype, neighborhood: *mut goss_neighborhood, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_neighbor_all_to_allv(comm: goss_comm_t, send: *mut c_void, send_counts: *mut usize, send_displs: *mut usize, recv: *mut c_void, recv_counts: *mut usize, recv_displs: *mut usize, dtype: goss_dtype, neighborhood: *mut goss_neighborhood, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_comm_measure_links(comm: goss_comm_t, options: *mut goss_options, links: *mut *mut c_char) -> goss_status;
    pub fn goss_comm_trials(comm: goss_comm_t, json: *mut *mut c_char) -> goss_status;
    pub fn goss_pipeline_request_init(request: *mut goss_pipeline_request, size: usize) -> goss_status;
    pub fn goss_pipeline_name(index: usize) -> *mut c_char;
    pub fn goss_pipeline_generate(request: *mut goss_pipeline_request, pipeline: *mut goss_pipeline_t) -> goss_status;
    pub fn goss_pipeline_read(text: *mut c_char, pipeline: *mut goss_pipeline_t) -> goss_status;
    pub fn goss_pipeline_write(pipeline: goss_pipeline_t, is_complete: i32, text: *mut *mut c_char) -> goss_status;
    pub fn goss_pipeline_destroy(pipeline: goss_pipeline_t) -> goss_status;
    pub fn goss_pipeline_size(pipeline: goss_pipeline_t, ranks: *mut i32, stages: *mut i32, micro_batches: *mut i32) -> goss_status;
    pub fn goss_pipeline_stage_rank(pipeline: goss_pipeline_t, stage: i32, rank: *mut i32) -> goss_status;
    pub fn goss_pipeline_actions(pipeline: goss_pipeline_t, rank: i32, actions: *mut *mut goss_pipeline_action, count: *mut usize) -> goss_status;
    pub fn goss_pipeline_check(pipeline: goss_pipeline_t, most_activations: i32, most_versions: i32) -> goss_status;
    pub fn goss_pipeline_costs_init(costs: *mut goss_pipeline_costs, size: usize) -> goss_status;
    pub fn goss_pipeline_simulate(pipeline: goss_pipeline_t, costs: *mut goss_pipeline_costs, json: *mut *mut c_char) -> goss_status;
    pub fn goss_pipeline_draw(pipeline: goss_pipeline_t, costs: *mut goss_pipeline_costs, is_svg: i32, text: *mut *mut c_char) -> goss_status;
    pub fn goss_pipeline_codec_request_init(request: *mut goss_pipeline_codec_request, size: usize) -> goss_status;
    pub fn goss_pipeline_codec_create(comm: goss_comm_t, request: *mut goss_pipeline_codec_request, codec: *mut goss_pipeline_codec_t) -> goss_status;
    pub fn goss_pipeline_codec_destroy(codec: goss_pipeline_codec_t) -> goss_status;
    pub fn goss_pipeline_codec_export(codec: goss_pipeline_codec_t, bytes: *mut *mut c_void, size: *mut usize) -> goss_status;
    pub fn goss_pipeline_codec_import(codec: goss_pipeline_codec_t, bytes: *mut c_void, size: usize) -> goss_status;
    pub fn goss_pipeline_work_init(work: *mut goss_pipeline_work, size: usize) -> goss_status;
    pub fn goss_pipeline_run(pipeline: goss_pipeline_t, comm: goss_comm_t, work: *mut goss_pipeline_work) -> goss_status;
    pub fn goss_sync_tensor_init(tensor: *mut goss_sync_tensor, size: usize) -> goss_status;
    pub fn goss_sync_info_init(info: *mut goss_sync_info, size: usize) -> goss_status;
    pub fn goss_sync_counters_init(counters: *mut goss_sync_counters, size: usize) -> goss_status;
    pub fn goss_sync_create(comm: goss_comm_t, spec: *mut c_char, sync: *mut goss_sync_t) -> goss_status;
    pub fn goss_sync_register(sync: goss_sync_t, tensor: *mut goss_sync_tensor, index: *mut i32) -> goss_status;
    pub fn goss_sync_start(sync: goss_sync_t) -> goss_status;
    pub fn goss_sync_set_lr(sync: goss_sync_t, lr: f64) -> goss_status;
    pub fn goss_sync_loss_init(loss: *mut goss_sync_loss, size: usize) -> goss_status;
    pub fn goss_sync_set_loss(sync: goss_sync_t, loss: *mut goss_sync_loss) -> goss_status;
    pub fn goss_sync_computes(sync: goss_sync_t, computes: *mut i32) -> goss_status;
    pub fn goss_sync_step_time(sync: goss_sync_t, seconds: f64) -> goss_status;
    pub fn goss_sync_gradient_ready(sync: goss_sync_t, index: i32) -> goss_status;
    pub fn goss_sync_gradients(sync: goss_sync_t) -> goss_status;
    pub fn goss_sync_step(sync: goss_sync_t) -> goss_status;
    pub fn goss_sync_finish(sync: goss_sync_t) -> goss_status;
    pub fn goss_sync_export(sync: goss_sync_t, bytes: *mut *mut c_void, count: *mut usize) -> goss_status;
    pub fn goss_sync_import(sync: goss_sync_t, bytes: *mut c_void, count: usize) -> goss_status;
    pub fn goss_sync_import_all(sync: goss_sync_t, bytes: *mut *mut c_void, counts: *mut usize, states: usize, dropped: *mut i32) -> goss_status;
    pub fn goss_sync_get_info(sync: goss_sync_t, info: *mut goss_sync_info) -> goss_status;
    pub fn goss_sync_get_counters(sync: goss_sync_t, counters: *mut goss_sync_counters) -> goss_status;
    pub fn goss_sync_abort(sync: goss_sync_t, reason: *mut c_char) -> goss_status;
    pub fn goss_sync_destroy(sync: goss_sync_t) -> goss_status;
    pub fn goss_sync_trials(sync: goss_sync_t, json: *mut *mut c_char) -> goss_status;
    pub fn goss_sync_methods(json: *mut *mut c_char) -> goss_status;
    pub fn goss_window_create(comm: goss_comm_t, memory: *mut c_void, count: usize, dtype: goss_dtype, options: *mut goss_options, window: *mut goss_window_t) -> goss_status;
    pub fn goss_window_free(window: *mut goss_window_t) -> goss_status;
    pub fn goss_window_put(window: goss_window_t, data: *mut c_void, count: usize, target: i32, offset: usize, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_window_accumulate(window: goss_window_t, data: *mut c_void, count: usize, op: goss_op, target: i32, offset: usize, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_window_get(window: goss_window_t, data: *mut c_void, count: usize, target: i32, offset: usize, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
    pub fn goss_window_flush(window: goss_window_t, target: i32, options: *mut goss_options) -> goss_status;
    pub fn goss_window_version(window: goss_window_t, origin: i32, version: *mut u64) -> goss_status;
    pub fn goss_window_lock(window: goss_window_t, target: i32, options: *mut goss_options) -> goss_status;
    pub fn goss_window_unlock(window: goss_window_t, target: i32) -> goss_status;
    pub fn goss_pair_average(window: goss_window_t, partner: i32, count: usize, offset: usize, shadow: *mut goss_shadow, options: *mut goss_options, request: *mut goss_request_t) -> goss_status;
}

/// The address of every function: a program that reads them does not link with a library that lacks one.
pub fn functions() -> [(&'static str, *const ()); 138] {
    [
        ("goss_options_init", goss_options_init as *const ()),
        ("goss_counters_init", goss_counters_init as *const ()),
        ("goss_version", goss_version as *const ()),
        ("goss_status_string", goss_status_string as *const ()),
        ("goss_last_error", goss_last_error as *const ()),
        ("goss_last_error_rank", goss_last_error_rank as *const ()),
        ("goss_set_last_error", goss_set_last_error as *const ()),
        ("goss_dtype_size", goss_dtype_size as *const ()),
        ("goss_config_init_sized", goss_config_init_sized as *const ()),
        ("goss_config_check", goss_config_check as *const ()),
        ("goss_unique_id_create_with", goss_unique_id_create_with as *const ()),
        ("goss_unique_id_create", goss_unique_id_create as *const ()),
        ("goss_unique_id_destroy", goss_unique_id_destroy as *const ()),
        ("goss_comm_create", goss_comm_create as *const ()),
        ("goss_comm_split", goss_comm_split as *const ()),
        ("goss_comm_dup", goss_comm_dup as *const ()),
        ("goss_comm_shrink", goss_comm_shrink as *const ()),
        ("goss_comm_rank", goss_comm_rank as *const ()),
        ("goss_comm_size", goss_comm_size as *const ()),
        ("goss_comm_transport", goss_comm_transport as *const ()),
        ("goss_comm_error", goss_comm_error as *const ()),
        ("goss_comm_error_rank", goss_comm_error_rank as *const ()),
        ("goss_comm_event_fd", goss_comm_event_fd as *const ()),
        ("goss_comm_abort", goss_comm_abort as *const ()),
        ("goss_comm_destroy", goss_comm_destroy as *const ()),
        ("goss_comm_counters", goss_comm_counters as *const ()),
        ("goss_all_reduce", goss_all_reduce as *const ()),
        ("goss_reduce", goss_reduce as *const ()),
        ("goss_broadcast", goss_broadcast as *const ()),
        ("goss_all_gather", goss_all_gather as *const ()),
        ("goss_all_gatherv", goss_all_gatherv as *const ()),
        ("goss_reduce_scatter", goss_reduce_scatter as *const ()),
        ("goss_reduce_scatterv", goss_reduce_scatterv as *const ()),
        ("goss_all_to_all", goss_all_to_all as *const ()),
        ("goss_all_to_allv", goss_all_to_allv as *const ()),
        ("goss_gather", goss_gather as *const ()),
        ("goss_scatter", goss_scatter as *const ()),
        ("goss_scan", goss_scan as *const ()),
        ("goss_exscan", goss_exscan as *const ()),
        ("goss_barrier", goss_barrier as *const ()),
        ("goss_send", goss_send as *const ()),
        ("goss_recv", goss_recv as *const ()),
        ("goss_sendrecv", goss_sendrecv as *const ()),
        ("goss_probe", goss_probe as *const ()),
        ("goss_iprobe", goss_iprobe as *const ()),
        ("goss_test", goss_test as *const ()),
        ("goss_wait", goss_wait as *const ()),
        ("goss_wait_for", goss_wait_for as *const ()),
        ("goss_wait_any", goss_wait_any as *const ()),
        ("goss_wait_all", goss_wait_all as *const ()),
        ("goss_request_error", goss_request_error as *const ()),
        ("goss_start", goss_start as *const ()),
        ("goss_request_free", goss_request_free as *const ()),
        ("goss_group_begin", goss_group_begin as *const ()),
        ("goss_group_end", goss_group_end as *const ()),
        ("goss_mem_alloc", goss_mem_alloc as *const ()),
        ("goss_mem_alloc_device", goss_mem_alloc_device as *const ()),
        ("goss_mem_free", goss_mem_free as *const ()),
        ("goss_explain", goss_explain as *const ()),
        ("goss_free", goss_free as *const ()),
        ("goss_codec_state_export", goss_codec_state_export as *const ()),
        ("goss_codec_state_import", goss_codec_state_import as *const ()),
        ("goss_codec_state_read", goss_codec_state_read as *const ()),
        ("goss_codec_state_reset", goss_codec_state_reset as *const ()),
        ("goss_codec_functions_init", goss_codec_functions_init as *const ()),
        ("goss_codec_register", goss_codec_register as *const ()),
        ("goss_codecs", goss_codecs as *const ()),
        ("goss_explain_codec", goss_explain_codec as *const ()),
        ("goss_neighborhood_init", goss_neighborhood_init as *const ()),
        ("goss_topology_create", goss_topology_create as *const ()),
        ("goss_topology_destroy", goss_topology_destroy as *const ()),
        ("goss_topology_period", goss_topology_period as *const ()),
        ("goss_topology_weight", goss_topology_weight as *const ()),
        ("goss_topology_neighbors", goss_topology_neighbors as *const ()),
        ("goss_topology_require", goss_topology_require as *const ()),
        ("goss_topology_describe", goss_topology_describe as *const ()),
        ("goss_topology_draw", goss_topology_draw as *const ()),
        ("goss_neighbor_all_reduce", goss_neighbor_all_reduce as *const ()),
        ("goss_neighbor_all_gather", goss_neighbor_all_gather as *const ()),
        ("goss_neighbor_all_gatherv", goss_neighbor_all_gatherv as *const ()),
        ("goss_neighbor_all_to_all", goss_neighbor_all_to_all as *const ()),
        ("goss_neighbor_all_to_allv", goss_neighbor_all_to_allv as *const ()),
        ("goss_comm_measure_links", goss_comm_measure_links as *const ()),
        ("goss_comm_trials", goss_comm_trials as *const ()),
        ("goss_pipeline_request_init", goss_pipeline_request_init as *const ()),
        ("goss_pipeline_name", goss_pipeline_name as *const ()),
        ("goss_pipeline_generate", goss_pipeline_generate as *const ()),
        ("goss_pipeline_read", goss_pipeline_read as *const ()),
        ("goss_pipeline_write", goss_pipeline_write as *const ()),
        ("goss_pipeline_destroy", goss_pipeline_destroy as *const ()),
        ("goss_pipeline_size", goss_pipeline_size as *const ()),
        ("goss_pipeline_stage_rank", goss_pipeline_stage_rank as *const ()),
        ("goss_pipeline_actions", goss_pipeline_actions as *const ()),
        ("goss_pipeline_check", goss_pipeline_check as *const ()),
        ("goss_pipeline_costs_init", goss_pipeline_costs_init as *const ()),
        ("goss_pipeline_simulate", goss_pipeline_simulate as *const ()),
        ("goss_pipeline_draw", goss_pipeline_draw as *const ()),
        ("goss_pipeline_codec_request_init", goss_pipeline_codec_request_init as *const ()),
        ("goss_pipeline_codec_create", goss_pipeline_codec_create as *const ()),
        ("goss_pipeline_codec_destroy", goss_pipeline_codec_destroy as *const ()),
        ("goss_pipeline_codec_export", goss_pipeline_codec_export as *const ()),
        ("goss_pipeline_codec_import", goss_pipeline_codec_import as *const ()),
        ("goss_pipeline_work_init", goss_pipeline_work_init as *const ()),
        ("goss_pipeline_run", goss_pipeline_run as *const ()),
        ("goss_sync_tensor_init", goss_sync_tensor_init as *const ()),
        ("goss_sync_info_init", goss_sync_info_init as *const ()),
        ("goss_sync_counters_init", goss_sync_counters_init as *const ()),
        ("goss_sync_create", goss_sync_create as *const ()),
        ("goss_sync_register", goss_sync_register as *const ()),
        ("goss_sync_start", goss_sync_start as *const ()),
        ("goss_sync_set_lr", goss_sync_set_lr as *const ()),
        ("goss_sync_loss_init", goss_sync_loss_init as *const ()),
        ("goss_sync_set_loss", goss_sync_set_loss as *const ()),
        ("goss_sync_computes", goss_sync_computes as *const ()),
        ("goss_sync_step_time", goss_sync_step_time as *const ()),
        ("goss_sync_gradient_ready", goss_sync_gradient_ready as *const ()),
        ("goss_sync_gradients", goss_sync_gradients as *const ()),
        ("goss_sync_step", goss_sync_step as *const ()),
        ("goss_sync_finish", goss_sync_finish as *const ()),
        ("goss_sync_export", goss_sync_export as *const ()),
        ("goss_sync_import", goss_sync_import as *const ()),
        ("goss_sync_import_all", goss_sync_import_all as *const ()),
        ("goss_sync_get_info", goss_sync_get_info as *const ()),
        ("goss_sync_get_counters", goss_sync_get_counters as *const ()),
        ("goss_sync_abort", goss_sync_abort as *const ()),
        ("goss_sync_destroy", goss_sync_destroy as *const ()),
        ("goss_sync_trials", goss_sync_trials as *const ()),
        ("goss_sync_methods", goss_sync_methods as *const ()),
        ("goss_window_create", goss_window_create as *const ()),
        ("goss_window_free", goss_window_free as *const ()),
        ("goss_window_put", goss_window_put as *const ()),
        ("goss_window_accumulate", goss_window_accumulate as *const ()),
        ("goss_window_get", goss_window_get as *const ()),
        ("goss_window_flush", goss_window_flush as *const ()),
        ("goss_window_version", goss_window_version as *const ()),
        ("goss_window_lock", goss_window_lock as *const ()),
        ("goss_window_unlock", goss_window_unlock as *const ()),
        ("goss_pair_average", goss_pair_average as *const ()),
    ]
}
