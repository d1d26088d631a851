// One-sided operations, and what kernels need that communicate by themselves: memory that a GPU maps of another one.
#include <fmt/format.h>

#include "bindings/nccl/communicator.h"
#include "bindings/nccl/errors.h"

namespace {

ncclResult_t oneSided(const char* call) {
  return goss::nccl::refuse(ncclInvalidUsage,
                            fmt::format("{}: Gossamer has no one-sided operations; use ncclSend and ncclRecv", call));
}

ncclResult_t onDevice(const char* call) {
  return goss::nccl::refuse(
      ncclInvalidUsage,
      fmt::format("{}: kernels do not communicate by themselves over Gossamer; use NCCL's collectives", call));
}

/// The team of all ranks, or of this rank alone, because no rank maps memory of another.
ncclTeam_t team(ncclComm_t handle, bool all) {
  const auto comm = goss::nccl::find(handle, "ncclTeam");
  if (comm == nullptr || !all) return {1, 0, 1};
  return {comm->ranks, comm->rank, 1};
}

} // namespace

ncclResult_t ncclPutSignal(const void* /*local*/, size_t /*count*/, ncclDataType_t /*type*/, int /*peer*/,
                           ncclWindow_t /*window*/, size_t /*offset*/, int /*signal*/, int /*context*/,
                           unsigned /*flags*/, ncclComm_t /*comm*/, cudaStream_t /*stream*/) {
  return oneSided("ncclPutSignal");
}
ncclResult_t ncclSignal(int /*peer*/, int /*signal*/, int /*context*/, unsigned /*flags*/, ncclComm_t /*comm*/,
                        cudaStream_t /*stream*/) {
  return oneSided("ncclSignal");
}
ncclResult_t ncclWaitSignal(int /*count*/, ncclWaitSignalDesc_t* /*signals*/, ncclComm_t /*comm*/,
                            cudaStream_t /*stream*/) {
  return oneSided("ncclWaitSignal");
}
ncclResult_t ncclCommQueryProperties(ncclComm_t /*comm*/, void* /*properties*/) {
  return onDevice("ncclCommQueryProperties");
}
ncclResult_t ncclDevCommCreate(ncclComm_t /*comm*/, const void* /*requirements*/, void* /*made*/) {
  return onDevice("ncclDevCommCreate");
}
ncclResult_t ncclDevCommDestroy(ncclComm_t /*comm*/, const void* /*made*/) { return onDevice("ncclDevCommDestroy"); }
ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t /*window*/, size_t /*offset*/, int /*peer*/, void** /*pointer*/) {
  return onDevice("ncclGetLsaDevicePointer");
}
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t /*window*/, size_t /*offset*/, int /*peer*/, void** /*pointer*/) {
  return onDevice("ncclGetPeerDevicePointer");
}
ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t /*window*/, size_t /*offset*/, void** /*pointer*/) {
  return onDevice("ncclGetLsaMultimemDevicePointer");
}
ncclResult_t ncclGetMultimemDevicePointer(ncclWindow_t /*window*/, size_t /*offset*/, void* /*handle*/,
                                          void** /*pointer*/) {
  return onDevice("ncclGetMultimemDevicePointer");
}
ncclResult_t ncclGetCftDeviceLeInfo() { return onDevice("ncclGetCftDeviceLeInfo"); }
ncclResult_t ncclGetMultimemDeviceLeInfo() { return onDevice("ncclGetMultimemDeviceLeInfo"); }
ncclResult_t ncclGetPeerDeviceLeInfo() { return onDevice("ncclGetPeerDeviceLeInfo"); }
ncclResult_t ncclLsaBarrierCreateRequirement(ncclTeam_t /*team*/, int /*barriers*/, void* /*handle*/,
                                             void* /*requirement*/) {
  return onDevice("ncclLsaBarrierCreateRequirement");
}
ncclResult_t ncclGinBarrierCreateRequirement(ncclComm_t /*comm*/, ncclTeam_t /*team*/, int /*barriers*/,
                                             void* /*handle*/, void* /*requirement*/) {
  return onDevice("ncclGinBarrierCreateRequirement");
}
ncclResult_t ncclGinInboxA2ACreateRequirement() { return onDevice("ncclGinInboxA2ACreateRequirement"); }
ncclResult_t ncclGinOutboxCreateRequirement() { return onDevice("ncclGinOutboxCreateRequirement"); }
ncclResult_t ncclLLA2ACreateRequirement(int /*blocks*/, int /*slots*/, void* /*handle*/, void* /*requirement*/) {
  return onDevice("ncclLLA2ACreateRequirement");
}
int ncclLLA2ACalcSlots(int /*elements*/, int /*bytes*/) { return 0; }

ncclTeam_t ncclTeamWorld(ncclComm_t comm) { return team(comm, true); }
ncclTeam_t ncclTeamLsa(ncclComm_t comm) { return team(comm, false); }
ncclTeam_t ncclTeamRail(ncclComm_t comm) { return team(comm, true); }
ncclTeam_t ncclTeamCft(ncclComm_t comm) { return team(comm, false); }
ncclTeam_t ncclTeamCftMultimem(ncclComm_t comm) { return team(comm, false); }
int ncclTeamRankToWorld(ncclComm_t comm, ncclTeam_t of, int rank) {
  return team(comm, true).rank + (rank - of.rank) * of.stride;
}
int ncclTeamRankToLsa(ncclComm_t comm, ncclTeam_t of, int rank) {
  return ncclTeamRankToWorld(comm, of, rank) - team(comm, true).rank;
}
