// gossamer.hpp on any number of ranks: every call against values worked out by hand. Leaves with the number of wrong
// ones.
#include <sys/wait.h>
#include <unistd.h>
#include <gossamer/gossamer.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using gossamer::Comm;
using gossamer::Op;

int failures = 0;

void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  ++failures;
}

/// The status of the Error that `call` throws; GOSS_SUCCESS when it throws none.
goss_status statusOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const gossamer::Error& error) {
    check(std::strlen(error.what()) > 20, "an error has the library's sentence");
    return error.status();
  }
  return GOSS_SUCCESS;
}

template <class T>
std::vector<T> numbers(std::size_t count, int first) {
  std::vector<T> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int value = first + static_cast<int>(i);
    made[i] = static_cast<T>(value);
  }
  return made;
}

static_assert(!std::is_copy_constructible_v<Comm> && std::is_nothrow_move_constructible_v<Comm>);
static_assert(!std::is_copy_constructible_v<gossamer::Request> &&
              std::is_nothrow_move_constructible_v<gossamer::Request>);
static_assert(gossamer::SendBuffer<const std::vector<float>&> && !gossamer::ReceiveBuffer<const std::vector<float>&>);
static_assert(!gossamer::SendBuffer<std::vector<float>> && gossamer::SendBuffer<std::span<float>>);
static_assert(!gossamer::SendBuffer<std::vector<short>&> && gossamer::kDtypeOf<std::array<bool, 2>&> == GOSS_BOOL);

/// Sums of one type on all ranks: rank r brings r + i.
template <class T>
void sums(Comm& comm) {
  const int ranks = comm.size();
  const auto mine = numbers<T>(5, comm.rank());
  std::vector<T> got(5), expected(5);
  comm.allReduce(mine, got);
  for (std::size_t i = 0; i < 5; ++i) {
    const int sum = ranks * (ranks - 1) / 2 + ranks * static_cast<int>(i);
    expected[i] = static_cast<T>(sum);
  }
  check(got == expected, "all_reduce of one of the types");
}

void types(Comm& comm) {
  sums<std::int8_t>(comm);
  sums<std::uint8_t>(comm);
  sums<std::int32_t>(comm);
  sums<std::uint32_t>(comm);
  sums<std::int64_t>(comm);
  sums<std::uint64_t>(comm);
  sums<long long>(comm);
  sums<float>(comm);
  sums<double>(comm);
  std::array<bool, 2> flags{comm.rank() == 0, true};
  comm.allReduce(flags, flags, Op::logicalAnd);
  check(flags[0] == (comm.size() == 1) && flags[1], "all_reduce of bool, in place");
  std::array<gossamer::BFloat16, 1> ones{{{0x3f80}}}; // 1.0
  comm.allReduce(ones, ones, Op::max);
  check(ones[0].bits == 0x3f80, "all_reduce of bfloat16");
}

/// Collectives with blocks of two elements a rank: rank r's element i of block b is 100 r + 2 b + i.
void collectives(Comm& comm) {
  const int ranks = comm.size(), rank = comm.rank();
  const auto n = static_cast<std::size_t>(ranks);
  const auto wide = numbers<int>(2 * n, 100 * rank);
  const std::vector<int> mine{10 * rank, 10 * rank + 1};
  std::vector<int> all(2 * n), block(2), expected(2 * n);

  for (std::size_t r = 0; r < n; ++r) {
    expected[2 * r] = 10 * static_cast<int>(r), expected[2 * r + 1] = expected[2 * r] + 1;
  }
  comm.allGather(mine, all);
  check(all == expected, "all_gather");
  std::vector<int> rooted(rank == 0 ? 2 * n : 0);
  comm.gather(mine, rooted, 0);
  check(rank != 0 || rooted == expected, "gather");
  comm.scatter(expected, block, ranks - 1);
  check(block == mine, "scatter");

  const int sum = 100 * ranks * (ranks - 1) / 2;
  comm.reduceScatter(wide, block);
  check(block[0] == sum + ranks * 2 * rank && block[1] == block[0] + ranks, "reduce_scatter");
  std::vector<int> reduced(rank == 0 ? 2 * n : 0);
  comm.reduce(wide, reduced, Op::max, 0);
  check(rank != 0 || reduced == numbers<int>(2 * n, 100 * (ranks - 1)), "reduce");
  comm.allToAll(wide, all);
  for (std::size_t r = 0; r < n; ++r) {
    check(all[2 * r] == 100 * static_cast<int>(r) + 2 * rank && all[2 * r + 1] == all[2 * r] + 1, "all_to_all");
  }
  auto text = numbers<std::uint8_t>(7, rank == ranks - 1 ? 40 : 0);
  comm.broadcast(text, ranks - 1);
  check(text == numbers<std::uint8_t>(7, 40), "broadcast");

  const std::array<double, 1> one{1.0};
  std::array<double, 1> before{-5.0};
  comm.scan(one, before);
  check(before[0] == rank + 1, "scan");
  before[0] = -5.0;
  comm.exscan(one, before);
  check(before[0] == (rank == 0 ? -5.0 : rank), "exscan");
  comm.barrier();
}

/// Rank r has r + 1 elements for everybody.
void unequalBlocks(Comm& comm) {
  const auto n = static_cast<std::size_t>(comm.size()), rank = static_cast<std::size_t>(comm.rank());
  std::vector<std::size_t> counts(n), displs(n), equal(n, rank + 1);
  std::iota(counts.begin(), counts.end(), std::size_t{1});
  const std::size_t total = n * (n + 1) / 2;
  for (std::size_t r = 0; r < n; ++r) {
    displs[r] = total - (r + 1) * (r + 2) / 2; // the last rank's block is first
  }
  const std::vector<float> mine(rank + 1, static_cast<float>(rank));
  std::vector<float> all(total), block(rank + 1);
  comm.allGatherV(mine, all, {counts, displs});
  for (std::size_t r = 0; r < n; ++r) {
    check(all[displs[r]] == static_cast<float>(r) && all[displs[r] + r] == static_cast<float>(r), "all_gatherv");
  }
  const std::vector<float> ones(total, 1.0F);
  comm.reduceScatterV(ones, block, counts, Op::sum);
  check(block == std::vector<float>(rank + 1, static_cast<float>(n)), "reduce_scatterv");
  const std::vector<float> out(n * (rank + 1), static_cast<float>(rank));
  std::vector<float> in(total);
  comm.allToAllV(out, in, {{equal}, {counts}});
  check(in.front() == 0.0F && in.back() == static_cast<float>(n - 1), "all_to_allv");
}

void messages(Comm& comm) {
  const int ranks = comm.size(), rank = comm.rank(), right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  const std::array<int, 3> mine{rank, rank + 1, rank + 2};
  std::array<int, 8> got{};
  auto request = comm.async().recv(got, gossamer::kAnySource, gossamer::kAnyTag);
  comm.send(mine, right, 7);
  const gossamer::Message message = request.wait();
  check(message.source == left && message.tag == 7 && message.bytes == 12 && got[2] == left + 2, "send and recv");

  const gossamer::Message swapped = comm.sendrecv(mine, right, got, left, 8);
  check(swapped.source == left && swapped.tag == 8 && got[0] == left, "sendrecv");

  auto sent = comm.async().send(mine, right, 9);
  const gossamer::Message probed = comm.probe(left, 9);
  check(probed.bytes == 12 && comm.iprobe(left, 9).has_value() && !comm.iprobe(left, 10), "probe and iprobe");
  std::array<int, 3> small{};
  comm.recv(small, left, 9);
  sent.wait();

  gossamer::Group group; // every rank receives before it sends: alone, this would wait for ever
  comm.recv(got, left, 11);
  comm.send(mine, right, 11);
  group.end();
  check(got[1] == left + 1, "a group of messages");
}

void requests(Comm& comm) {
  const auto ranks = static_cast<float>(comm.size());
  std::vector<std::vector<float>> buckets(4, std::vector<float>(1000, 1.0F));
  std::vector<gossamer::Request> started;
  for (auto& bucket : buckets) {
    started.push_back(comm.async().allReduce(bucket, bucket));
  }
  const std::size_t first = gossamer::Request::waitAny(started);
  check(first < 4 && buckets[first][999] == ranks, "wait_any");
  gossamer::Request::waitAll(started);
  check(buckets[0][0] == ranks && buckets[3][999] == ranks && started[2].test(), "wait_all");
  check(gossamer::Request::waitAny(started) == 4, "wait_any of nothing");

  std::vector<float> once(100, 1.0F);
  { const gossamer::Request dropped = comm.async().allReduce(once, once); } // its destructor waits
  check(once[50] == ranks, "a request that was destroyed while pending");

  gossamer::Request moved = comm.async().allReduce(once, once, Op::max);
  gossamer::Request target = std::move(moved);
  while (!target.test()) {
  }
  check(!target.error() && once[50] == ranks, "a request that was moved, by test()");

  auto persistent = comm.persistent().allReduce(once, once, Op::avg);
  for (int run = 0; run < 3; ++run) {
    once.assign(100, static_cast<float>(comm.rank() + run));
    persistent.start();
    persistent.wait();
    check(once[99] == (ranks - 1) / 2 + static_cast<float>(run), "a persistent request");
  }
  persistent.start(); // its destructor waits and frees
}

void refusals(Comm& comm) {
  std::vector<float> two(2), three(3);
  check(statusOf([&] { comm.allReduce(two, three); }) == GOSS_ERR_INVALID_ARGUMENT, "lengths that do not match");
  check(statusOf([&] { comm.allReduce(two, two, Op::sum, {.codec = "nonsense"}); }) == GOSS_ERR_INVALID_ARGUMENT,
        "an unknown codec");
  check(statusOf([&] { comm.send(two, comm.size()); }) == GOSS_ERR_INVALID_ARGUMENT, "an unknown rank");
  const std::vector<std::size_t> counts(static_cast<std::size_t>(comm.size()), 3);
  check(statusOf([&] { comm.allGatherV(three, two, {counts}); }) == GOSS_ERR_INVALID_ARGUMENT, "blocks behind the end");
  check(statusOf([] { Comm::create({.transport = "pigeon"}); }) == GOSS_ERR_INVALID_ARGUMENT, "an unknown transport");

  const std::size_t wraps = std::numeric_limits<std::size_t>::max() / sizeof(double) + 2;
  check(statusOf([&] { comm.allocate<double>(wraps); }) == GOSS_ERR_INVALID_ARGUMENT, "a size that wraps");
  check(statusOf([&] { comm.allocateOnDevice<double>(wraps); }) == GOSS_ERR_INVALID_ARGUMENT, "one of a device");

  auto request = comm.async().recv(two, comm.rank(), 5);
  comm.async().send(three, comm.rank(), 5).poll();
  check(statusOf([&] { request.wait(); }) == GOSS_ERR_TRUNCATED, "a message that is too long");
  check(statusOf([&] { request.wait(); }) == GOSS_ERR_TRUNCATED && request.error().has_value(), "its error stays");
}

/// The library refuses to wait after fork(): that says so, and completes nothing.
void refusedWaits(Comm& comm) {
  std::vector<float> mine(1), never(1);
  auto pending = comm.async().recv(never, comm.rank(), 12);
  auto persistent = comm.persistent().recv(mine, comm.rank(), 13);
  persistent.start();
  const pid_t child = fork();
  if (child == 0) {
    for (gossamer::Request* request : {&pending, static_cast<gossamer::Request*>(&persistent)}) {
      check(statusOf([&] { request->wait(); }) == GOSS_ERR_INVALID_ARGUMENT && !request->error(), "a refused wait");
      check(statusOf([&] { request->test(); }) == GOSS_ERR_INVALID_ARGUMENT && !request->error(), "a refused test");
      check(request->poll() && !request->error(), "a coroutine is told of a refused wait");
      check(statusOf([&] { gossamer::Request::waitAll({request, 1}); }) == GOSS_ERR_INVALID_ARGUMENT, "waitAll");
      *request = gossamer::Request();
    }
    _exit(failures);
  }
  int ended = -1;
  check(child > 0 && waitpid(child, &ended, 0) == child && ended == 0, "refused waits in a child");
  const std::vector<float> sent(1, 2.0F);
  comm.send(sent, comm.rank(), 12);
  comm.send(sent, comm.rank(), 13);
  pending.wait();
  persistent.wait();
  check(never == sent && mine == sent, "what the child could not wait for");
}

/// The same calls with results in place of exceptions.
void results(Comm& comm) {
  goss_comm_t made = nullptr;
  check(goss_comm_dup(comm.handle(), &made) == GOSS_SUCCESS, "goss_comm_dup");
  gossamer::results::Comm quiet(made);
  std::vector<float> values(4, 1.0F), other(3);
  check(quiet.allReduce(values, values).isOk() && values[3] == static_cast<float>(comm.size()), "a result");
  const gossamer::Result<> refused = quiet.allReduce(values, other);
  check(
      !refused && refused.error().code() == GOSS_ERR_INVALID_ARGUMENT && refused.status() == GOSS_ERR_INVALID_ARGUMENT,
      "a result that is an error");
  check(std::string_view(refused.error().code().category().name()) == "gossamer", "the category of error codes");
  auto request = quiet.async().allReduce(values, values, Op::max);
  check(request.isOk() && request.value().wait().isOk() && request.value().test().value(), "a request as a result");
  check(statusOf([&] { quiet.reduce(values, other, Op::sum, comm.rank()).value(); }) == GOSS_ERR_INVALID_ARGUMENT,
        "value() of an error throws it");
}

gossamer::Task<float> reduceTwice(Comm& comm, std::vector<float>& values) {
  auto request = comm.async().allReduce(values, values);
  co_await request;
  auto again = comm.async().allReduce(values, values, Op::max);
  co_await again;
  co_return values[0];
}

gossamer::Task<> outer(Comm& comm, float& got) {
  std::vector<float> values(1000, 1.0F);
  got = co_await reduceTwice(comm, values);
}

gossamer::Task<> exchange(Comm& comm, int tag, int& got) {
  const std::array<int, 1> mine{comm.rank() * 10 + tag};
  std::array<int, 1> theirs{};
  auto receive = comm.async().recv(theirs, comm.rank(), tag);
  auto send = comm.async().send(mine, comm.rank(), tag);
  const gossamer::Message message = co_await receive;
  co_await send;
  got = message.tag == tag ? theirs[0] : -1;
}

gossamer::Task<> failing(Comm& comm) {
  std::array<int, 2> two{};
  auto receive = comm.async().recv(std::span(two).first(1), comm.rank(), 3);
  auto send = comm.async().send(two, comm.rank(), 3);
  co_await send;
  co_await receive;
}

void coroutines(Comm& comm) {
  gossamer::EventLoop loop(comm);
  float sum = 0;
  loop.run(outer(comm, sum));
  check(sum == static_cast<float>(comm.size()), "a task in a task");
  std::array<int, 8> got{};
  std::vector<gossamer::Task<>> tasks;
  for (int tag = 0; tag < 8; ++tag) {
    tasks.push_back(exchange(comm, tag, got[static_cast<std::size_t>(tag)]));
  }
  loop.run(std::move(tasks));
  for (int tag = 0; tag < 8; ++tag) {
    check(got[static_cast<std::size_t>(tag)] == comm.rank() * 10 + tag, "tasks at the same time");
  }
  check(statusOf([&] { loop.run(failing(comm)); }) == GOSS_ERR_TRUNCATED, "a task that fails");
}

void gossip(Comm& comm) {
  const int ranks = comm.size();
  if (ranks < 2) return;
  const auto topology = gossamer::Topology::create("ring", ranks);
  check(topology.period() == 1 && topology.describe().find("spectral_gap") != std::string::npos, "topology");
  check(topology.draw().find("<svg") != std::string::npos, "topology as a picture");
  topology.require(GOSS_TOPOLOGY_DOUBLY_STOCHASTIC);
  const gossamer::Neighborhood neighbors = topology.neighbors(0, comm.rank());
  const std::vector<double> mine(3, comm.rank());
  std::vector<double> mixed(3);
  double expected = neighbors.self_weight * comm.rank();
  for (const gossamer::Neighbor& source : neighbors.sources) {
    expected += source.weight * source.rank;
    check(source.weight == topology.weight(0, comm.rank(), source.rank), "weights");
  }
  comm.neighborAllReduce(mine, mixed, neighbors);
  check(std::abs(mixed[2] - expected) < 1e-12, "neighbor_all_reduce");

  const std::size_t sources = neighbors.sources.size();
  std::vector<double> gathered(3 * sources), blocks(3 * neighbors.destinations.size(), comm.rank());
  const std::vector<std::size_t> counts(sources, 3), sent(neighbors.destinations.size(), 3);
  const auto isRight = [&] {
    bool right = true;
    for (std::size_t k = 0; k < sources; ++k) {
      right = right && gathered[3 * k] == neighbors.sources[k].rank && gathered[3 * k + 2] == neighbors.sources[k].rank;
    }
    gathered.assign(gathered.size(), -1);
    return right;
  };
  comm.neighborAllGather(mine, gathered, neighbors);
  check(isRight(), "neighbor_all_gather");
  comm.neighborAllGatherV(mine, gathered, {counts}, neighbors);
  check(isRight(), "neighbor_all_gatherv");
  comm.neighborAllToAll(blocks, gathered, 3, neighbors);
  check(isRight(), "neighbor_all_to_all");
  comm.neighborAllToAllV(blocks, gathered, {{sent}, {counts}}, neighbors);
  check(isRight(), "neighbor_all_to_allv");
}

/// Every rank changes its right neighbour's part.
void windows(Comm& comm) {
  const int ranks = comm.size(), rank = comm.rank(), right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  auto window = gossamer::Window<float>::create(comm, 4);
  const std::array<float, 2> mine{static_cast<float>(rank), 1.0F};
  window.put(mine, right, 2);
  window.lock(right);
  window.accumulate(mine, Op::sum, right, 2);
  window.unlock(right);
  window.flush();
  comm.barrier();
  check(window.span()[2] == static_cast<float>(2 * left) && window.span()[3] == 2.0F, "put and accumulate");
  check(window.version(left) == 2 && window.span()[0] == 0.0F, "the version of a window");
  std::array<float, 2> got{};
  auto request = window.async().get(got, right, 2);
  request.wait();
  check(got[0] == static_cast<float>(2 * rank) && got[1] == 2.0F, "get");
  comm.barrier();
  if (ranks > 1 && rank == 0) window.pairAverage(1, 1, 3);
  check(statusOf([&] { window.put(mine, right, 3); }) == GOSS_ERR_INVALID_ARGUMENT, "a range behind the end");
  window.free();
  check(window.span()[3] == 2.0F, "the average of equal elements");
  auto locked = gossamer::Window<std::int64_t>::create(comm, 1);
  locked.lock(rank); // its destructor gives the lock up
}

/// Gradients r + 1 are averaged; after plain descent by 1 every rank holds -mean.
void synchronizer(const Comm& comm) {
  std::vector<float> parameter(10, comm.rank() == 0 ? 0.0F : 9.0F), gradient(10, static_cast<float>(comm.rank() + 1));
  auto sync = gossamer::Synchronizer::create(comm, "ddp");
  check(sync.add({.name = "w", .parameter = parameter, .gradient = gradient}) == 0, "the number of a tensor");
  sync.start();
  sync.setLearningRate(1.0);
  check(parameter[9] == 0.0F && sync.computes(), "everybody has rank 0's parameters");
  sync.gradientReady(0);
  sync.gradients();
  for (std::size_t i = 0; i < 10; ++i) {
    parameter[i] -= gradient[i];
  }
  sync.step();
  sync.finish();
  check(parameter[0] == -static_cast<float>(comm.size() + 1) / 2, "averaged gradients");
  check(sync.counters().steps == 1 && sync.info().gradients == 1 && !sync.exportState().empty(), "what it tells");
}

void communicators(Comm& comm) {
  auto half = comm.split(comm.rank() % 2, -comm.rank());
  check(half && half->size() == (comm.size() + (comm.rank() % 2 == 0 ? 1 : 0)) / 2, "split");
  check(!comm.split(-1), "split into none");
  gossamer::Request last;
  std::vector<float> values(10, 1.0F);
  {
    Comm copy = comm.dup();
    last = copy.async().allReduce(values, values);
  } // the request keeps the communicator
  last.wait();
  check(values[9] == static_cast<float>(comm.size()), "a request that outlives its communicator object");
  auto memory = comm.allocate<float>(1000);
  std::fill(memory.span().begin(), memory.span().end(), 2.0F);
  comm.allReduce(memory.span(), memory.span(), Op::avg);
  check(memory.span()[999] == 2.0F, "memory of the library");
  check(comm.transport(comm.rank()) == "self" && comm.counters().operations > 0 && comm.eventFd() >= 0,
        "what it tells");
  check(comm.trials().find("plans_tried") != std::string::npos, "trials");
  check(!comm.error() && comm.measureLinks().find("link") != std::string::npos, "links");

  Comm doomed = comm.dup();
  comm.barrier();
  if (comm.rank() == 0) doomed.abort("the test ends it");
  check(statusOf([&] { doomed.barrier({.timeout_ms = 5000}); }) == GOSS_ERR_ABORTED, "abort");
  check(doomed.error().has_value(), "the error of a communicator");
  Comm other = comm.dup();
  comm.barrier();
  if (comm.rank() == comm.size() - 1) other.abort("the test ends it");
  try {
    gossamer::Request barrier = other.async().barrier({.timeout_ms = 5000});
    gossamer::Request::waitAll({&barrier, 1});
    check(false, "a barrier of an aborted communicator");
  } catch (const gossamer::Error& error) {
    check(error.status() == GOSS_ERR_ABORTED && error.worldRank() == comm.size() - 1, "waitAll blames a rank");
  }
}

void codecs(Comm& comm) {
  std::vector<float> values(1000, 1.0F);
  comm.allReduce(values, values, Op::avg, {.codec = "int8:block=256+ef", .tensor = 3});
  check(std::abs(values[500] - 1.0F) < 0.02F, "a codec");
  const auto state = comm.exportCodecState();
  comm.importCodecState(state);
  std::vector<float> lost(1000, -1.0F);
  comm.readCodecState(3, lost);
  check(!state.empty() && std::abs(lost[0]) < 0.02F, "what error feedback keeps");
  comm.resetCodecState();
  goss_codec_functions functions{};
  functions.max_bytes = [](void*, std::size_t count) { return 4 * count; };
  functions.encode = [](void*, const float* from, std::size_t count, void* to) {
    std::memcpy(to, from, 4 * count);
    return 4 * count;
  };
  functions.decode = [](void*, const void* from, std::size_t bytes, std::size_t count, float* to) {
    if (bytes != 4 * count) return 1;
    std::memcpy(to, from, bytes);
    return 0;
  };
  comm.registerCodec("copy", functions);
  std::vector<float> exact(100, 1.0F);
  comm.allReduce(exact, exact, Op::sum, {.codec = "copy"});
  check(exact[99] == static_cast<float>(comm.size()), "a codec of one's own");
}

/// Each stage adds 1 to what it gets: after the last one a micro-batch is the number of stages.
void pipeline(Comm& comm) {
  const int ranks = comm.size();
  const auto schedule = gossamer::Pipeline::generate({.name = "gpipe", .ranks = ranks, .micro_batches = 3});
  check(schedule.size().stages == ranks && schedule.size().micro_batches == 3, "the size of a schedule");
  schedule.check();
  check(gossamer::Pipeline::read(schedule.write()).actions(0).size() == schedule.actions(0).size(),
        "a schedule as text");
  check(schedule.simulate().find("makespan_s") != std::string::npos && !schedule.draw().empty(), "a priced schedule");
  const std::vector<double> times(static_cast<std::size_t>(3 * ranks) + 1, 1.0);
  const std::span<const double> all(times);
  check(!schedule.simulate({.stage_times_s = all.first(all.size() - 1)}).empty(), "times of all stages");
  check(statusOf([&] { (void)schedule.simulate({.stage_times_s = all}); }) == GOSS_ERR_INVALID_ARGUMENT, "too many");
  check(statusOf([&] { (void)schedule.draw({.stage_times_s = all.first(1)}); }) == GOSS_ERR_INVALID_ARGUMENT,
        "too few");
  check(!gossamer::pipelineNames().empty() && schedule.stageRank(ranks - 1) == ranks - 1, "names and stages");
  int forwards = 0;
  float last = 0;
  const auto codec = gossamer::PipelineCodec::create(comm, {.sample_elems = 1});
  const gossamer::PipelineWork work{
      .boundary_bytes = sizeof(float),
      .run =
          [&](const goss_pipeline_action& action, std::span<const std::byte> input, std::span<std::byte> output) {
            if (action.kind != GOSS_PIPELINE_FORWARD) {
              if (!output.empty()) std::memset(output.data(), 0, output.size());
              return;
            }
            float value = 0;
            if (!input.empty()) std::memcpy(&value, input.data(), sizeof(value));
            value += 1;
            if (!output.empty()) std::memcpy(output.data(), &value, sizeof(value));
            last = value;
            ++forwards;
          },
      .codec = codec.handle(),
      .sample = [](std::int32_t micro_batch, std::size_t) { return static_cast<std::uint64_t>(micro_batch); },
  };
  schedule.run(comm, work);
  check(forwards == 3 && last == static_cast<float>(comm.rank() + 1), "a schedule that runs");
}

void planning() {
  check(gossamer::version() == GOSS_VERSION_MAJOR * 10000 + GOSS_VERSION_MINOR * 100 + GOSS_VERSION_PATCH, "version");
  check(gossamer::sizeOf(GOSS_BFLOAT16) == 2, "bytes of a type");
  check(gossamer::explain({.ranks = 4, .bytes = 1 << 20}).find("candidates") != std::string::npos, "explain");
  check(!gossamer::explain({.ranks = 4, .bytes = 1 << 20, .codec = "int8"}).empty(), "explain with a codec");
  check(!gossamer::codecs().empty() && gossamer::syncMethods().find("diloco") != std::string::npos, "catalogues");
  gossamer::checkConfig({.transport = "tcp", .spin_us = 50});
  gossamer::destroyUniqueId(gossamer::createUniqueId());
}

} // namespace

int main() {
  try {
    planning();
    Comm comm = Comm::create({.timeout_ms = 60000});
    types(comm);
    collectives(comm);
    unequalBlocks(comm);
    messages(comm);
    requests(comm);
    refusals(comm);
    refusedWaits(comm);
    results(comm);
    coroutines(comm);
    gossip(comm);
    windows(comm);
    synchronizer(comm);
    communicators(comm);
    codecs(comm);
    pipeline(comm);
    comm.barrier();
    std::printf("rank %d of %d: %d wrong\n", comm.rank(), comm.size(), failures);
  } catch (const gossamer::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return failures == 0 ? 0 : 1;
}
