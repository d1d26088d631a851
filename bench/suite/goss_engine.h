/// Gossamer's side of a measurement.
#ifndef GOSS_BENCH_SUITE_GOSS_ENGINE_H_
#define GOSS_BENCH_SUITE_GOSS_ENGINE_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "bench/suite/engine.h"

namespace goss::bench {

/// When `status` is an error, throws std::runtime_error naming `what` and the library's own text; std::invalid_argument
/// with that text alone when the library has refused the call's arguments, as it does on every rank.
void check(goss_status status, const char* what);

class GossEngine final : public Engine {
 public:
  /// Takes over `comm` and destroys it at the end. `algorithm`: "" for the planner's choice. `codec`: "" for none.
  GossEngine(goss_comm_t comm, std::string algorithm, std::string codec = "");
  ~GossEngine() override;
  GossEngine(const GossEngine&) = delete;
  GossEngine& operator=(const GossEngine&) = delete;

  [[nodiscard]] goss_comm_t comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Name of the transport to the next rank; "self" when alone.
  [[nodiscard]] std::string transport() const;
  /// Reduces `count` numbers over all ranks, in place.
  void combine(double* values, std::size_t count, goss_op op);
  /// Memory of goss_mem_alloc; must be freed before this engine is destroyed.
  void* allocate(std::size_t bytes);
  void deallocate(void* memory) { (void)goss_mem_free(comm_, memory); }
  /// Memory of this rank's GPU, likewise.
  void* allocateOnDevice(std::size_t bytes);
  /// Copies between memory of the host and of this rank's GPU, either way. The first copy is collective.
  void copy(void* to, const void* from, std::size_t bytes);
  /// Makes the pending and later calls of all ranks fail.
  void abort(const char* reason);

  /// An engine of the same ranks without a codec, to compare with.
  [[nodiscard]] std::unique_ptr<Engine> uncompressed() const;

  [[nodiscard]] const char* name() const override { return name_; }
  [[nodiscard]] std::uint64_t wireBytes() const override;
  [[nodiscard]] std::string version() const override;
  void run(const CollectiveCall& call) override { issue(call, 0, nullptr); }
  void barrier() override;
  void begin(const CollectiveCall& call) override { issue(call, 0, &requests_.emplace_back()); }
  bool test() override;
  void wait() override;
  void prepare(const CollectiveCall& call) override { issue(call, GOSS_PERSISTENT, &requests_.emplace_back()); }
  void start() override;
  void release() override;
  void send(const void* buffer, std::size_t bytes, int peer) override;
  void recv(void* buffer, std::size_t bytes, int peer) override;
  void startSend(const void* buffer, std::size_t bytes, int peer) override;
  void startRecv(void* buffer, std::size_t bytes, int peer) override;
  void waitAll() override;

 private:
  void issue(const CollectiveCall& call, std::uint32_t flags, goss_request_t* request);

  goss_comm_t comm_;
  goss_comm_t alone_ = nullptr; ///< This rank, for copy().
  const char* name_ = "Gossamer";
  std::string algorithm_;
  std::string codec_;
  goss_options options_ = GOSS_OPTIONS_INIT;
  std::deque<goss_request_t> requests_; ///< Begun or prepared requests, the oldest first.
  std::vector<goss_request_t> messages_;
  int rank_ = 0;
  int size_ = 1;
};

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_GOSS_ENGINE_H_
