/// The libraries that are measured: collectives and messages of Gossamer or of a peer library behind one interface, so
/// that every measuring loop exists once.
#ifndef GOSS_BENCH_SUITE_ENGINE_H_
#define GOSS_BENCH_SUITE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "gossamer/gossamer.h"

namespace goss::bench {

enum class Collective {
  allReduce,
  reduce,
  broadcast,
  allGather,
  allGatherv,
  reduceScatter,
  allToAll,
  allToAllv,
  gather,
  scatter,
  scan,
  exscan,
  barrier,
};

/// Arguments of one collective call. Everything is lent until the call has completed.
struct CollectiveCall {
  Collective collective = Collective::barrier;
  const void* send = nullptr;
  void* recv = nullptr;
  std::size_t count = 0;               ///< Elements of the vector, or of one rank's block.
  const std::size_t* counts = nullptr; ///< Elements of each rank's block, for the v-variants.
  bool even = true;                    ///< All counts are equal.
  goss_dtype dtype = GOSS_FLOAT32;
  goss_op op = GOSS_SUM;
  int root = 0;
};

/// One rank of a library. One thread. Every call throws std::runtime_error with a text for the user when it fails.
class Engine {
 public:
  virtual ~Engine() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  /// The library's name and version, for the record.
  [[nodiscard]] virtual std::string version() const = 0;
  /// The variant that settle() has chosen; "" where the library decides by itself.
  [[nodiscard]] virtual std::string variant() const { return {}; }
  /// Collective: before a call like this one is measured, finds the fastest of the variants that the user must choose
  /// from.
  virtual void settle(const CollectiveCall& call) { (void)call; }

  /// Payload bytes that this rank has sent so far; 0 where the library does not count them.
  [[nodiscard]] virtual std::uint64_t wireBytes() const { return 0; }

  virtual void run(const CollectiveCall& call) = 0;
  virtual void barrier() = 0;

  /// Non-blocking form: begin, then test() until true or wait(). Gossamer may have several operations begun, and ends
  /// the oldest; other libraries have one at a time.
  virtual void begin(const CollectiveCall& call) = 0;
  virtual bool test() = 0;
  virtual void wait() = 0;
  /// Persistent form: prepare once, then start() and wait() any number of times, then release().
  virtual void prepare(const CollectiveCall& call) = 0;
  virtual void start() = 0;
  virtual void release() = 0;

  virtual void send(const void* buffer, std::size_t bytes, int peer) = 0;
  virtual void recv(void* buffer, std::size_t bytes, int peer) = 0;
  /// waitAll() completes all started messages.
  virtual void startSend(const void* buffer, std::size_t bytes, int peer) = 0;
  virtual void startRecv(void* buffer, std::size_t bytes, int peer) = 0;
  virtual void waitAll() = 0;
};

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_ENGINE_H_
