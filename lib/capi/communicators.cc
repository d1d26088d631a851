// Worlds, communicators, memory and planning of the C ABI.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "bootstrap/launch.h"
#include "bootstrap/unique_id.h"
#include "capi/config.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "explain/explain.h"
#include "gossamer/links.h"
#include "survey/survey.h"
#include "world/world.h"

namespace goss::capi {

namespace {

Status checkComm(const char* function, goss_comm_t comm, const void* out) {
  if (Status status = capi::checkComm(function, comm); !status.isOk()) return status;
  if (out == nullptr) return invalid(fmt::format("{}: the place for the result is NULL", function));
  return Status::ok();
}

Status splitInto(const char* function, goss_comm_t comm, std::int32_t color, std::int32_t key, goss_comm_t* new_comm) {
  if (Status status = checkComm(function, comm, new_comm); !status.isOk()) return status;
  auto made = comm->communicator->split(color, key);
  if (!made.isOk()) return made.status();
  *new_comm = made.value() != nullptr ? new goss_comm(made.take()) : nullptr;
  return Status::ok();
}

} // namespace

} // namespace goss::capi

using namespace goss::capi; // NOLINT(google-build-using-namespace): the C functions are not in a namespace
using goss::Status;

extern "C" {

int goss_version(void) { return GOSS_VERSION_MAJOR * 10000 + GOSS_VERSION_MINOR * 100 + GOSS_VERSION_PATCH; }

const char* goss_status_string(goss_status status) {
  switch (status) {
    case GOSS_SUCCESS:
      return "success";
    case GOSS_ERR_INVALID_ARGUMENT:
      return "invalid argument";
    case GOSS_ERR_UNSUPPORTED:
      return "unsupported";
    case GOSS_ERR_MISMATCH:
      return "calls do not match";
    case GOSS_ERR_TIMEOUT:
      return "deadline passed";
    case GOSS_ERR_PEER_LOST:
      return "peer lost";
    case GOSS_ERR_ABORTED:
      return "aborted";
    case GOSS_ERR_PROTOCOL:
      return "protocol error";
    case GOSS_ERR_RESOURCE:
      return "out of resources";
    case GOSS_ERR_BOOTSTRAP:
      return "bootstrap failed";
    case GOSS_ERR_TRUNCATED:
      return "message truncated";
    case GOSS_ERR_INTERNAL:
      return "internal error";
    case GOSS_ERR_DEVICE:
      return "device failed";
  }
  return "unknown status";
}

size_t goss_dtype_size(goss_dtype dtype) { return goss::dtypeBytes(dtype); }

goss_status goss_unique_id_create_with(const goss_config* config, goss_unique_id* id) {
  return guarded("goss_unique_id_create", [&]() -> Status {
    if (id == nullptr) return invalid("goss_unique_id_create: id is NULL");
    const auto settings = readSettings("goss_unique_id_create_with", config);
    if (!settings.isOk()) return settings.status();
    const auto made = goss::makeUniqueId(settings.value().config);
    if (made.isOk()) *id = made.value();
    return made.status();
  });
}

goss_status goss_unique_id_create(goss_unique_id* id) { return goss_unique_id_create_with(nullptr, id); }

goss_status goss_unique_id_destroy(const goss_unique_id* id) {
  return guarded("goss_unique_id_destroy", [&]() -> Status {
    if (id == nullptr) return invalid("goss_unique_id_destroy: id is NULL");
    return goss::destroyUniqueId(*id);
  });
}

goss_status goss_comm_create(const goss_config* config, goss_comm_t* comm) {
  return guarded("goss_comm_create", [&]() -> Status {
    if (comm == nullptr) return invalid("goss_comm_create: the place for the communicator is NULL");
    const auto read = readSettings("goss_comm_create", config);
    if (!read.isOk()) return read.status();
    const Settings& settings = read.value();
    auto launch = goss::detectLaunch(settings.config, &settings.place);
    if (!launch.isOk()) return launch.status();
    const int size = launch.value().ranks;
    auto world = goss::World::create(settings.config, launch.take());
    if (!world.isOk()) return world.status();
    std::vector<int> ranks;
    for (int rank = 0; rank < size; ++rank)
      ranks.push_back(rank);
    auto made = std::make_unique<goss_comm>(std::make_unique<goss::Communicator>(world.take(), 0, std::move(ranks)));
    if (Status status = goss::surveyNewLinks(*made->communicator); !status.isOk()) return status;
    *comm = made.release();
    return Status::ok();
  });
}

goss_status goss_comm_split(goss_comm_t comm, int32_t color, int32_t key, goss_comm_t* new_comm) {
  return guarded("goss_comm_split", [&] { return splitInto("goss_comm_split", comm, color, key, new_comm); });
}

goss_status goss_comm_dup(goss_comm_t comm, goss_comm_t* new_comm) {
  return guarded("goss_comm_dup", [&] { return splitInto("goss_comm_dup", comm, 0, 0, new_comm); });
}

goss_status goss_comm_shrink(goss_comm_t comm, const goss_options* options, goss_comm_t* new_comm) {
  return guarded("goss_comm_shrink", [&]() -> Status {
    if (Status status = checkComm("goss_comm_shrink", comm, new_comm); !status.isOk()) return status;
    const auto read = readOptions("goss_comm_shrink", options, nullptr);
    if (!read.isOk()) return read.status();
    auto made = comm->communicator->shrink(read.value().timeout_ms);
    if (made.isOk()) *new_comm = new goss_comm(made.take());
    return made.status();
  });
}

goss_status goss_comm_rank(goss_comm_t comm, int32_t* rank) {
  return guarded("goss_comm_rank", [&] {
    Status status = checkComm("goss_comm_rank", comm, rank);
    if (status.isOk()) *rank = comm->communicator->rank();
    return status;
  });
}

goss_status goss_comm_size(goss_comm_t comm, int32_t* size) {
  return guarded("goss_comm_size", [&] {
    Status status = checkComm("goss_comm_size", comm, size);
    if (status.isOk()) *size = comm->communicator->size();
    return status;
  });
}

goss_status goss_comm_transport(goss_comm_t comm, int32_t peer, const char** name) {
  return guarded("goss_comm_transport", [&]() -> Status {
    if (Status status = checkComm("goss_comm_transport", comm, name); !status.isOk()) return status;
    if (peer < 0 || peer >= comm->communicator->size()) {
      return invalid(fmt::format("goss_comm_transport: peer {} is not a rank of this communicator", peer));
    }
    *name = comm->transport_names[static_cast<std::size_t>(peer)].c_str();
    return Status::ok();
  });
}

goss_status goss_comm_error(goss_comm_t comm, goss_status* status, const char** text) {
  return guarded("goss_comm_error", [&] {
    Status checked = checkComm("goss_comm_error", comm, comm);
    // The communicator keeps its first failure, and the text with it.
    if (checked.isOk()) tell(comm->communicator->asyncError(), status, text);
    return checked;
  });
}

goss_status goss_comm_error_rank(goss_comm_t comm, int32_t* rank) {
  return guarded("goss_comm_error_rank", [&] {
    Status checked = checkComm("goss_comm_error_rank", comm, rank);
    if (checked.isOk()) *rank = comm->communicator->group().rankOfWorld(comm->communicator->asyncError().peer());
    return checked;
  });
}

goss_status goss_last_error_rank(goss_comm_t comm, int32_t* rank) {
  const int culprit = goss::capi::lastCulpritOfThisThread();
  return guarded("goss_last_error_rank", [&]() -> Status {
    if (rank == nullptr) return invalid("goss_last_error_rank: rank is NULL; pass the address of an int32_t");
    if (comm != nullptr) {
      if (Status status = checkComm("goss_last_error_rank", comm, rank); !status.isOk()) return status;
    }
    *rank = comm != nullptr ? comm->communicator->group().rankOfWorld(culprit) : culprit;
    return Status::ok();
  });
}

goss_status goss_comm_event_fd(goss_comm_t comm, int* fd) {
  return guarded("goss_comm_event_fd", [&]() -> Status {
    if (Status status = checkComm("goss_comm_event_fd", comm, fd); !status.isOk()) return status;
    const auto made = comm->communicator->eventFd();
    if (made.isOk()) *fd = made.value();
    return made.status();
  });
}

goss_status goss_comm_abort(goss_comm_t comm, const char* reason) {
  return guarded("goss_comm_abort", [&] {
    Status status = checkComm("goss_comm_abort", comm, comm);
    if (status.isOk()) comm->communicator->abort(reason != nullptr ? reason : "no reason given");
    return status;
  });
}

goss_status goss_comm_destroy(goss_comm_t comm) {
  return guarded("goss_comm_destroy", [&] {
    if (comm == nullptr) return Status::ok();
    // The destructor would say goodbye to the other ranks in the parent's name.
    if (!comm->communicator->lifetime()->isInherited()) delete comm;
    return Status::ok();
  });
}

goss_status goss_comm_counters(goss_comm_t comm, goss_counters* counters) {
  return guarded("goss_comm_counters", [&]() -> Status {
    if (Status status = checkComm("goss_comm_counters", comm, counters); !status.isOk()) return status;
    return fillStruct("goss_comm_counters: counters", comm->communicator->counters(), counters);
  });
}

goss_status goss_counters_init(goss_counters* counters, size_t size) {
  return initStruct("goss_counters_init", goss_counters{}, counters, size);
}

goss_status goss_mem_alloc(goss_comm_t comm, size_t bytes, void** memory) {
  return guarded("goss_mem_alloc", [&]() -> Status {
    if (Status status = checkComm("goss_mem_alloc", comm, memory); !status.isOk()) return status;
    auto allocated = comm->communicator->world().allocate(bytes);
    if (allocated.isOk()) *memory = allocated.value();
    return allocated.status();
  });
}

goss_status goss_mem_alloc_device(goss_comm_t comm, size_t bytes, void** memory) {
  return guarded("goss_mem_alloc_device", [&]() -> Status {
    if (Status status = checkComm("goss_mem_alloc_device", comm, memory); !status.isOk()) return status;
    auto allocated = comm->communicator->world().allocateOnDevice(bytes);
    if (allocated.isOk()) *memory = allocated.value();
    return allocated.status();
  });
}

goss_status goss_mem_free(goss_comm_t comm, void* memory) {
  return guarded("goss_mem_free", [&]() -> Status {
    if (Status status = checkComm("goss_mem_free", comm, comm); !status.isOk()) return status;
    return memory == nullptr ? Status::ok() : comm->communicator->world().free(memory);
  });
}

goss_status goss_explain(const char* collective, int32_t ranks, size_t bytes, const char* links, char** json) {
  return guarded("goss_explain", [&]() -> Status {
    if (collective == nullptr || json == nullptr) return invalid("goss_explain: collective and json must not be NULL");
    auto text = goss::explainHere(collective, ranks, bytes, {links != nullptr ? links : "", "", {}, 0});
    if (!text.isOk()) return text.status();
    *json = ::strdup(text.value().c_str());
    return *json != nullptr ? Status::ok() : Status::error(GOSS_ERR_RESOURCE, "goss_explain: out of memory");
  });
}

goss_status goss_comm_trials(goss_comm_t comm, char** json) {
  return guarded("goss_comm_trials", [&]() -> Status {
    if (Status status = checkComm("goss_comm_trials", comm, json); !status.isOk()) return status;
    *json = ::strdup(comm->communicator->collectives().trials().c_str());
    return *json != nullptr ? Status::ok() : Status::error(GOSS_ERR_RESOURCE, "goss_comm_trials: out of memory");
  });
}

goss_status goss_comm_measure_links(goss_comm_t comm, const goss_options* options, char** links) {
  return guarded("goss_comm_measure_links", [&]() -> Status {
    if (Status status = checkComm("goss_comm_measure_links", comm, links); !status.isOk()) return status;
    const auto read = readOptions("goss_comm_measure_links", options, nullptr);
    if (!read.isOk()) return read.status();
    auto text = goss::surveyLinks(*comm->communicator, read.value().timeout_ms);
    if (!text.isOk()) return text.status();
    *links = ::strdup(text.value().c_str());
    return *links != nullptr ? Status::ok()
                             : Status::error(GOSS_ERR_RESOURCE, "goss_comm_measure_links: out of memory");
  });
}

void goss_free(void* memory) { std::free(memory); }

} // extern "C"
