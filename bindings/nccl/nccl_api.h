/// The C interface of NCCL 2.32, by which programs call libnccl.so.2: its names, values and layouts, without CUDA's
/// headers. NCCL's documentation describes the functions; docs/nccl.md says where Gossamer differs.
#ifndef GOSS_BINDINGS_NCCL_NCCL_API_H_
#define GOSS_BINDINGS_NCCL_NCCL_API_H_

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;

typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;
typedef struct {
  char internal[128];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
  ncclTimeout = 8,
  ncclNumResults = 9
} ncclResult_t;

typedef enum {
  ncclInt8 = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclFloat32 = 7,
  ncclFloat64 = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

enum { NCCL_SPLIT_NOCOLOR = -1, NCCL_SHRINK_DEFAULT = 0, NCCL_SHRINK_ABORT = 1, NCCL_CONFIG_UNDEF_INT = INT_MIN };
#define NCCL_API_MAGIC 0xcafebeefu
#define NCCL_SIM_INFO_MAGIC 0x74685283u
#define NCCL_VERSION_CODE 23203

/// This struct has grown with NCCL's versions; `size` and `version` say which one a program was compiled with.
typedef struct {
  size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
  int graphUsageMode;
  int numRmaCtx;
  int maxP2pPeers;
  int graphStreamOrdering;
  int launchOrderImplicit;
  int numRmaSig;
  int rmaEagerInit;
  int hostCftMode;
  int nvlsHostMode;
} ncclConfig_t;

/// An option of a vendor's, of one collective; a library ignores those of other vendors.
typedef struct ncclConfigExt {
  struct ncclConfigExt* next;
  struct {
    int vendorId;
    int optionId;
  } key;
  union {
    int i;
    const char* s;
    void* raw;
  } val;
} ncclConfigExt_t;

/// Gossamer's options: a codec's spec (s), an algorithm's name (s), a deadline in milliseconds (i).
enum {
  GOSS_NCCL_VENDOR = 0x676f73,
  GOSS_NCCL_OPTION_CODEC = 1,
  GOSS_NCCL_OPTION_ALGORITHM = 2,
  GOSS_NCCL_OPTION_TIMEOUT_MS = 3
};

typedef struct {
  size_t size;
  unsigned magic;
  unsigned version;
  ncclConfigExt_t* ext;
  int minCTAs;
  int maxCTAs;
  int nvlsCTAs;
  int cgaClusterSize;
  const char* algSelection;
  int forceAlgSelection;
  int CTAPolicy;
  uint64_t userProfilerTag;
  cudaEvent_t launchCompletionEvent;
} ncclCollConfig_t;

typedef struct {
  size_t size;
  unsigned magic;
  unsigned version;
  float estimatedTime;
} ncclSimInfo_t;

typedef struct {
  size_t size;
  unsigned magic;
  unsigned version;
  int mode; ///< 0: in the clear; 1: with `psk`.
  const char* psk;
} ncclEncryptionConfig_t;

typedef struct {
  int opCnt;
  int peer;
  int sigIdx;
  int ctx;
} ncclWaitSignalDesc_t;

typedef struct {
  int nRanks;
  int rank;
  int stride;
} ncclTeam_t;

typedef struct ncclParamHandle* ncclParamHandle_t;

// ---- Communicators ----
ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int ranks, int rank, int ids, ncclUniqueId* id,
                                      ncclConfig_t* config);
ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* made, ncclConfig_t* config);
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* made, ncclConfig_t* config,
                            int flags);
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* id);
ncclResult_t ncclCommGrow(ncclComm_t comm, int ranks, const ncclUniqueId* id, int rank, ncclComm_t* made,
                          ncclConfig_t* config);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error);
ncclResult_t ncclCommCount(ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);
ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags);
ncclResult_t ncclCommResume(ncclComm_t comm);
ncclResult_t ncclCommMemStats(ncclComm_t comm, int statistic, uint64_t* value);
ncclResult_t ncclCommQueryProperties(ncclComm_t comm, void* properties);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
void ncclResetDebugInit(void);
void ncclResetDebugInitInternal(void);
ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t* config);

// ---- Memory ----
ncclResult_t ncclMemAlloc(void** memory, size_t size);
ncclResult_t ncclMemFree(void* memory);
ncclResult_t ncclCommRegister(ncclComm_t comm, void* memory, size_t size, void** handle);
ncclResult_t ncclCommDeregister(ncclComm_t comm, void* handle);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* memory, size_t size, ncclWindow_t* window, int flags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window);
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void** memory);

// ---- Collectives and messages ----
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info);
ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);
ncclResult_t ncclAllReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduce(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                        ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclAlltoAll(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream);
ncclResult_t ncclGather(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream);
ncclResult_t ncclScatter(const void* send, void* recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                         cudaStream_t stream);
ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllReduceConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclReduceConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
                              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclBroadcastConfig(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                                 ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclReduceScatterConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
                                     ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclAllGatherConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclAlltoAllConfig(const void* send, void* recv, size_t count, ncclDataType_t type, ncclComm_t comm,
                                cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclGatherConfig(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                              ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclScatterConfig(const void* send, void* recv, size_t count, ncclDataType_t type, int root,
                               ncclComm_t comm, cudaStream_t stream, const ncclCollConfig_t* config);

// ---- One-sided operations and kernels that communicate: refused ----
ncclResult_t ncclPutSignal(const void* local, size_t count, ncclDataType_t type, int peer, ncclWindow_t window,
                           size_t offset, int signal, int context, unsigned flags, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclSignal(int peer, int signal, int context, unsigned flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t* signals, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclDevCommCreate(ncclComm_t comm, const void* requirements, void* made);
ncclResult_t ncclDevCommDestroy(ncclComm_t comm, const void* made);
ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int peer, void** pointer);
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void** pointer);
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void** pointer);
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t window, size_t offset, void* handle, void** pointer);
ncclResult_t ncclGetCftDeviceLeInfo(void);
ncclResult_t ncclGetMultimemDeviceLeInfo(void);
ncclResult_t ncclGetPeerDeviceLeInfo(void);
ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t team, int barriers, void* handle, void* requirement);
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t comm, ncclTeam_t team, int barriers, void* handle,
                                             void* requirement);
ncclResult_t ncclGinInboxA2ACreateRequirement(void);
ncclResult_t ncclGinOutboxCreateRequirement(void);
ncclResult_t ncclLLA2ACreateRequirement(int blocks, int slots, void* handle, void* requirement);
int ncclLLA2ACalcSlots(int elements, int bytes);
ncclTeam_t ncclTeamWorld(ncclComm_t comm);
ncclTeam_t ncclTeamLsa(ncclComm_t comm);
ncclTeam_t ncclTeamRail(ncclComm_t comm);
ncclTeam_t ncclTeamCft(ncclComm_t comm);
ncclTeam_t ncclTeamCftMultimem(ncclComm_t comm);
int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t team, int rank);
int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t team, int rank);

// ---- Parameters: Gossamer's variables of docs/nccl.md ----
ncclResult_t ncclParamBind(ncclParamHandle_t* handle, const char* key);
ncclResult_t ncclParamGetI8(ncclParamHandle_t handle, int8_t* value);
ncclResult_t ncclParamGetI16(ncclParamHandle_t handle, int16_t* value);
ncclResult_t ncclParamGetI32(ncclParamHandle_t handle, int32_t* value);
ncclResult_t ncclParamGetI64(ncclParamHandle_t handle, int64_t* value);
ncclResult_t ncclParamGetU8(ncclParamHandle_t handle, uint8_t* value);
ncclResult_t ncclParamGetU16(ncclParamHandle_t handle, uint16_t* value);
ncclResult_t ncclParamGetU32(ncclParamHandle_t handle, uint32_t* value);
ncclResult_t ncclParamGetU64(ncclParamHandle_t handle, uint64_t* value);
ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char** value);
ncclResult_t ncclParamGet(ncclParamHandle_t handle, void* value, int room, int* length);
ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* length);
ncclResult_t ncclParamGetAllParameterKeys(const char*** keys, int* count);
void ncclParamDumpAll(void);

#ifdef __cplusplus
}
#endif

#endif // GOSS_BINDINGS_NCCL_NCCL_API_H_
