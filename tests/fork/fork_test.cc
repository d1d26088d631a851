// A child of fork() has copies of its parent's communicators: it gets an error from every call with them, destroys them
// at once, and its parent's sums stay right meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/abi.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

constexpr unsigned kSecondsToLive = 60;
constexpr std::size_t kMaxElems = 100'000;

/// Memory of all processes of a test.
struct Shared {
  std::atomic<int> has_id;
  goss_unique_id id;
};

Shared* makeShared() {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) Shared{};
}

/// Runs body in a child and returns its process id. The child ends with body's number as its exit code.
pid_t inChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(kSecondsToLive); // A hang is an error.
  const int code = body();
  std::fflush(nullptr);
  ::_exit(code);
}

/// 0, or what is wrong with how the child ended.
std::string endOf(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return "waitpid failed";
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : std::to_string(WEXITSTATUS(status)) + " failures";
}

goss_comm_t join(Shared& shared, int rank, int ranks, const char* transport) {
  if (rank == 0) {
    if (goss_unique_id_create(&shared.id) != GOSS_SUCCESS) return nullptr;
    shared.has_id = 1;
  }
  while (shared.has_id == 0)
    ::usleep(1000);
  goss_config config;
  if (goss_config_init(&config) != GOSS_SUCCESS) return nullptr;
  config.rank = rank;
  config.ranks = ranks;
  config.unique_id = &shared.id;
  config.transport = transport;
  config.timeout_ms = config.bootstrap_timeout_ms = 30'000;
  goss_comm_t comm = nullptr;
  if (goss_comm_create(&config, &comm) != GOSS_SUCCESS) std::printf("rank %d: %s\n", rank, goss_last_error());
  return comm;
}

/// Everything that can be made of a communicator, for a child to inherit.
struct Handles {
  goss_comm_t comm = nullptr;
  goss_sync_t sync = nullptr;
  goss_pipeline_t pipeline = nullptr;
  goss_pipeline_codec_t codec = nullptr;
  goss_request_t pending = nullptr;    ///< A receive that nobody serves before the end.
  goss_request_t persistent = nullptr; ///< Inactive.
  goss_request_t sent = nullptr;
  void* memory = nullptr;
  std::array<float, 8> weights{};
  std::array<float, 8> gradients{};
  std::array<std::int32_t, 4> message{};
};

bool make(Handles& handles, goss_comm_t comm, int rank) {
  handles.comm = comm;
  goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
  tensor.name = "weights";
  tensor.parameter = handles.weights.data();
  tensor.gradient = handles.gradients.data();
  tensor.count = handles.weights.size();
  goss_pipeline_request request = GOSS_PIPELINE_REQUEST_INIT;
  request.ranks = 2;
  goss_pipeline_codec_request codec = GOSS_PIPELINE_CODEC_REQUEST_INIT;
  codec.sample_elems = 8;
  goss_options persistent = GOSS_OPTIONS_INIT;
  persistent.flags = GOSS_PERSISTENT;
  std::int32_t one = 1;
  return goss_sync_create(comm, "ddp", &handles.sync) == GOSS_SUCCESS &&
         goss_sync_register(handles.sync, &tensor, nullptr) == GOSS_SUCCESS &&
         goss_sync_start(handles.sync) == GOSS_SUCCESS &&
         goss_pipeline_generate(&request, &handles.pipeline) == GOSS_SUCCESS &&
         goss_pipeline_codec_create(comm, &codec, &handles.codec) == GOSS_SUCCESS &&
         goss_recv(comm, handles.message.data(), 4, GOSS_INT32, 1 - rank, 5, nullptr, &handles.pending) ==
             GOSS_SUCCESS &&
         goss_recv(comm, &one, 1, GOSS_INT32, 1 - rank, 6, &persistent, &handles.persistent) == GOSS_SUCCESS &&
         goss_send(comm, &one, 1, GOSS_INT32, 1 - rank, 7, nullptr, &handles.sent) == GOSS_SUCCESS &&
         goss_recv(comm, &one, 1, GOSS_INT32, 1 - rank, 7, nullptr, nullptr) == GOSS_SUCCESS &&
         goss_mem_alloc(comm, 1 << 20, &handles.memory) == GOSS_SUCCESS;
}

/// Every call with an inherited handle; each is to fail.
// NOLINTNEXTLINE(readability-function-size): a table
std::vector<std::pair<const char*, std::function<goss_status()>>> callsWith(Handles& h) {
  static std::array<float, 64> a{};
  static std::array<float, 64> b{};
  static goss_comm_t comm_out = nullptr;
  static std::int32_t number = 0;
  static std::size_t size = 0;
  static int done = 0;
  static void* bytes = nullptr;
  static char* text = nullptr;
  static const char* name = nullptr;
  static std::array<std::size_t, 2> counts{1, 1};
  static goss_request_t started = nullptr;
  static goss_counters counters{sizeof(goss_counters), 0, 0, 0, 0, 0, 0, 0};
  static goss_sync_info info{sizeof(goss_sync_info), nullptr, 0, 0, 0, 0};
  static goss_codec_functions functions{sizeof(goss_codec_functions), nullptr, 0, nullptr, nullptr, nullptr};
  static goss_pipeline_work work{sizeof(goss_pipeline_work), 64, nullptr, nullptr, nullptr, nullptr};
  work.run = [](void*, const goss_pipeline_action*, const void*, void*) -> std::int32_t { return 0; };
  goss_comm_t c = h.comm;
  const auto f = GOSS_FLOAT32;
  return {
      {"all_reduce", [=] { return goss_all_reduce(c, a.data(), b.data(), 64, f, GOSS_SUM, nullptr, nullptr); }},
      {"i-all_reduce", [=] { return goss_all_reduce(c, a.data(), b.data(), 64, f, GOSS_SUM, nullptr, &started); }},
      {"reduce", [=] { return goss_reduce(c, a.data(), b.data(), 64, f, GOSS_SUM, 0, nullptr, nullptr); }},
      {"broadcast", [=] { return goss_broadcast(c, a.data(), b.data(), 64, f, 0, nullptr, nullptr); }},
      {"all_gather", [=] { return goss_all_gather(c, a.data(), b.data(), 32, f, nullptr, nullptr); }},
      {"all_gatherv",
       [=] { return goss_all_gatherv(c, a.data(), b.data(), counts.data(), nullptr, f, nullptr, nullptr); }},
      {"reduce_scatter", [=] { return goss_reduce_scatter(c, a.data(), b.data(), 32, f, GOSS_SUM, nullptr, nullptr); }},
      {"reduce_scatterv",
       [=] { return goss_reduce_scatterv(c, a.data(), b.data(), counts.data(), f, GOSS_SUM, nullptr, nullptr); }},
      {"all_to_all", [=] { return goss_all_to_all(c, a.data(), b.data(), 32, f, nullptr, nullptr); }},
      {"all_to_allv",
       [=] {
         return goss_all_to_allv(c, a.data(), counts.data(), nullptr, b.data(), counts.data(), nullptr, f, nullptr,
                                 nullptr);
       }},
      {"gather", [=] { return goss_gather(c, a.data(), b.data(), 32, f, 0, nullptr, nullptr); }},
      {"scatter", [=] { return goss_scatter(c, a.data(), b.data(), 32, f, 0, nullptr, nullptr); }},
      {"scan", [=] { return goss_scan(c, a.data(), b.data(), 64, f, GOSS_SUM, nullptr, nullptr); }},
      {"exscan", [=] { return goss_exscan(c, a.data(), b.data(), 64, f, GOSS_SUM, nullptr, nullptr); }},
      {"barrier", [=] { return goss_barrier(c, nullptr, nullptr); }},
      {"send", [=] { return goss_send(c, a.data(), 1, f, 1, 5, nullptr, nullptr); }},
      {"recv", [=] { return goss_recv(c, a.data(), 1, f, 1, 5, nullptr, nullptr); }},
      {"sendrecv", [=] { return goss_sendrecv(c, a.data(), 1, 1, b.data(), 1, 1, f, 5, nullptr, nullptr); }},
      {"probe", [=] { return goss_probe(c, 1, 5, nullptr, nullptr); }},
      {"iprobe", [=] { return goss_iprobe(c, 1, 5, &number, nullptr); }},
      {"request_error", [&h] { return goss_request_error(h.pending, nullptr, nullptr); }},
      {"wait", [&h] { return goss_wait(&h.pending, nullptr); }},
      {"wait sent", [&h] { return goss_wait(&h.sent, nullptr); }},
      {"test", [&h] { return goss_test(&h.pending, &done, nullptr); }},
      {"wait_any", [&h] { return goss_wait_any(&h.pending, 1, &size, nullptr); }},
      {"wait_all", [&h] { return goss_wait_all(&h.pending, 1); }},
      {"start", [&h] { return goss_start(h.persistent); }},
      {"split", [=] { return goss_comm_split(c, 0, 0, &comm_out); }},
      {"dup", [=] { return goss_comm_dup(c, &comm_out); }},
      {"shrink", [=] { return goss_comm_shrink(c, nullptr, &comm_out); }},
      {"rank", [=] { return goss_comm_rank(c, &number); }},
      {"size", [=] { return goss_comm_size(c, &number); }},
      {"transport", [=] { return goss_comm_transport(c, 0, &name); }},
      {"abort", [=] { return goss_comm_abort(c, "not this one"); }},
      {"counters", [=] { return goss_comm_counters(c, &counters); }},
      {"error", [=] { return goss_comm_error(c, nullptr, nullptr); }},
      {"event_fd", [=] { return goss_comm_event_fd(c, &number); }},
      {"trials", [=] { return goss_comm_trials(c, &text); }},
      {"measure_links", [=] { return goss_comm_measure_links(c, nullptr, &text); }},
      {"mem_alloc", [=] { return goss_mem_alloc(c, 4096, &bytes); }},
      {"mem_free", [=, &h] { return goss_mem_free(c, h.memory); }},
      {"codec_state_export", [=] { return goss_codec_state_export(c, &bytes, &size); }},
      {"codec_state_import", [=] { return goss_codec_state_import(c, "", 0); }},
      {"codec_state_read", [=] { return goss_codec_state_read(c, 1, a.data(), 1); }},
      {"codec_state_reset", [=] { return goss_codec_state_reset(c, 0); }},
      {"codec_register", [=] { return goss_codec_register(c, "mine", &functions); }},
      {"sync_create", [=, &h] { return goss_sync_create(c, "ddp", &h.sync); }},
      {"sync_start", [&h] { return goss_sync_start(h.sync); }},
      {"sync_set_lr", [&h] { return goss_sync_set_lr(h.sync, 1); }},
      {"sync_computes", [&h] { return goss_sync_computes(h.sync, &number); }},
      {"sync_step_time", [&h] { return goss_sync_step_time(h.sync, 1); }},
      {"sync_gradient_ready", [&h] { return goss_sync_gradient_ready(h.sync, 0); }},
      {"sync_gradients", [&h] { return goss_sync_gradients(h.sync); }},
      {"sync_step", [&h] { return goss_sync_step(h.sync); }},
      {"sync_finish", [&h] { return goss_sync_finish(h.sync); }},
      {"sync_export", [&h] { return goss_sync_export(h.sync, &bytes, &size); }},
      {"sync_import", [&h] { return goss_sync_import(h.sync, "", 0); }},
      {"sync_get_info", [&h] { return goss_sync_get_info(h.sync, &info); }},
      {"sync_abort", [&h] { return goss_sync_abort(h.sync, "not this one"); }},
      {"pipeline_run", [=, &h] { return goss_pipeline_run(h.pipeline, c, &work); }},
      {"pipeline_codec_create",
       [=, &h] {
         const goss_pipeline_codec_request request = GOSS_PIPELINE_CODEC_REQUEST_INIT;
         return goss_pipeline_codec_create(c, &request, &h.codec);
       }},
      {"pipeline_codec_export", [&h] { return goss_pipeline_codec_export(h.codec, &bytes, &size); }},
      {"pipeline_codec_import", [&h] { return goss_pipeline_codec_import(h.codec, "", 0); }},
  };
}

/// In the child: the number of calls that did not fail as they should.
int useInherited(Handles& handles) {
  int failures = 0;
  const auto expect = [&](bool holds, const char* what) {
    if (holds) return;
    std::printf("in the child: %s; last error: %s\n", what, goss_last_error());
    ++failures;
  };
  for (const auto& [name, call] : callsWith(handles)) {
    goss_set_last_error(GOSS_SUCCESS, "");
    expect(call() == GOSS_ERR_INVALID_ARGUMENT && std::strstr(goss_last_error(), "fork") != nullptr, name);
  }
  expect(goss_group_begin() == GOSS_SUCCESS && goss_group_end() == GOSS_SUCCESS, "an empty group");
  expect(goss_request_free(&handles.persistent) == GOSS_SUCCESS && handles.persistent == nullptr, "request_free");
  expect(goss_sync_destroy(handles.sync) == GOSS_SUCCESS, "sync_destroy");
  expect(goss_pipeline_codec_destroy(handles.codec) == GOSS_SUCCESS, "pipeline_codec_destroy");
  expect(goss_pipeline_destroy(handles.pipeline) == GOSS_SUCCESS, "pipeline_destroy");
  expect(goss_comm_destroy(handles.comm) == GOSS_SUCCESS, "comm_destroy");
  return failures;
}

/// All-reduces of many lengths, of which any corruption shows.
int reduceOften(goss_comm_t comm, int rank, int rounds) {
  static std::vector<std::int32_t> values(kMaxElems);
  int failures = 0;
  for (int round = 0; round < rounds && failures == 0; ++round) {
    const std::size_t count = round % 3 == 0 ? 8 : round % 3 == 1 ? 3000 : kMaxElems;
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<std::int32_t>(i) * (rank + 1) + round;
    if (goss_all_reduce(comm, values.data(), values.data(), count, GOSS_INT32, GOSS_SUM, nullptr, nullptr) !=
        GOSS_SUCCESS) {
      std::printf("rank %d, round %d: %s\n", rank, round, goss_last_error());
      ++failures;
    }
    for (std::size_t i = 0; i < count && failures == 0; ++i)
      if (values[i] != 3 * static_cast<std::int32_t>(i) + 2 * round) ++failures;
    if (failures > 0) std::printf("rank %d, round %d: wrong\n", rank, round);
  }
  return failures;
}

/// A rank whose child uses what it inherits while the rank goes on.
int runParent(Shared& shared, int rank, const char* transport) {
  goss_comm_t comm = join(shared, rank, 2, transport);
  Handles handles;
  if (comm == nullptr || !make(handles, comm, rank)) {
    std::printf("rank %d: %s\n", rank, goss_last_error());
    return 1;
  }
  int failures = reduceOften(comm, rank, 10);
  std::vector<pid_t> children;
  for (int i = 0; i < 3; ++i) {
    children.push_back(inChild([&] {
      const int wrong = useInherited(handles);
      // The child runs destructors of static objects and exit handlers, except under a sanitizer, which would search
      // the child for memory that the stacks of the parent's threads point to.
      if (i == 0 && fullOr(true, false)) std::exit(wrong);
      return wrong;
    }));
    failures += reduceOften(comm, rank, 30);
  }
  for (const pid_t child : children) {
    const std::string end = endOf(child);
    if (end.empty()) continue;
    std::printf("rank %d: child: %s\n", rank, end.c_str());
    ++failures;
  }
  failures += reduceOften(comm, rank, 60);
  const std::array<std::int32_t, 4> message{rank, 1, 2, 3};
  if (goss_send(comm, message.data(), 4, GOSS_INT32, 1 - rank, 5, nullptr, nullptr) != GOSS_SUCCESS) ++failures;
  if (goss_wait(&handles.pending, nullptr) != GOSS_SUCCESS || handles.message[0] != 1 - rank) ++failures;
  if (goss_sync_gradients(handles.sync) != GOSS_SUCCESS || goss_sync_step(handles.sync) != GOSS_SUCCESS) ++failures;
  if (goss_barrier(comm, nullptr, nullptr) != GOSS_SUCCESS) ++failures;
  goss_request_free(&handles.persistent);
  goss_sync_destroy(handles.sync);
  goss_pipeline_codec_destroy(handles.codec);
  goss_pipeline_destroy(handles.pipeline);
  goss_mem_free(comm, handles.memory);
  goss_comm_destroy(comm);
  return failures;
}

/// Runs `body` as rank 0 and 1 in processes of their own.
void expectBothSucceed(const std::function<int(Shared& shared, int rank)>& body) {
  Shared* shared = makeShared();
  ASSERT_NE(shared, nullptr);
  std::array<pid_t, 2> ranks{};
  for (int rank = 0; rank < 2; ++rank)
    ranks[static_cast<std::size_t>(rank)] = inChild([&] { return body(*shared, rank); });
  for (const pid_t rank : ranks)
    EXPECT_EQ(endOf(rank), "");
  ::munmap(shared, sizeof *shared);
}

class Fork : public ::testing::TestWithParam<const char*> {};

TEST_P(Fork, LeavesTheParentsRunAsItWasWhateverTheChildCalls) {
  expectBothSucceed([](Shared& shared, int rank) { return runParent(shared, rank, GetParam()); });
}

/// As a loader of data does that makes a world of its own.
TEST_P(Fork, LetsChildrenMakeCommunicatorsOfTheirOwn) {
  Shared* of_children = makeShared();
  ASSERT_NE(of_children, nullptr);
  expectBothSucceed([of_children](Shared& shared, int rank) {
    goss_comm_t comm = join(shared, rank, 2, GetParam());
    if (comm == nullptr) return 1;
    int failures = reduceOften(comm, rank, 10);
    const pid_t child = inChild([&] {
      goss_comm_t own = join(*of_children, rank, 2, GetParam());
      if (own == nullptr) return 1;
      const int wrong = reduceOften(own, rank, 30);
      goss_comm_destroy(own);
      goss_comm_destroy(comm);
      return wrong;
    });
    failures += reduceOften(comm, rank, 30);
    if (!endOf(child).empty()) ++failures;
    failures += reduceOften(comm, rank, 30);
    goss_comm_destroy(comm);
    return failures;
  });
  ::munmap(of_children, sizeof *of_children);
}

INSTANTIATE_TEST_SUITE_P(Over, Fork, ::testing::Values("shm", "tcp"),
                         [](const auto& at) { return std::string(at.param); });

/// Nothing of a lone rank's world is shared, and yet it is the parent's.
TEST(ForkOfOneRank, IsNoticedToo) {
  const pid_t child = inChild([] {
    goss_comm_t comm = nullptr;
    if (goss_comm_create(nullptr, &comm) != GOSS_SUCCESS) return 1;
    const pid_t grandchild = inChild([comm] {
      std::int32_t rank = 0;
      const bool refused = goss_comm_rank(comm, &rank) == GOSS_ERR_INVALID_ARGUMENT;
      return refused && goss_comm_destroy(comm) == GOSS_SUCCESS ? 0 : 1;
    });
    const bool good = endOf(grandchild).empty();
    return good && goss_comm_destroy(comm) == GOSS_SUCCESS ? 0 : 1;
  });
  EXPECT_EQ(endOf(child), "");
}

} // namespace
} // namespace goss::test
