/// The ranks of a launch as a grid: pipelines of P ranks, replicas of pipelines that add their gradients, islands of
/// replicas.
#ifndef GOSS_TRAINER_PIPELINE_PIPELINE_GRID_H_
#define GOSS_TRAINER_PIPELINE_PIPELINE_GRID_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/pipeline.h"
#include "trainer/compute/buffer.h"
#include "trainer/compute/ops.h"

namespace goss::trainer {

struct PipelineShape {
  std::string schedule; // a generator's name, or a CSV file of a schedule
  int ranks = 1;        // P, ranks of one pipeline
  int micro_batches = 1;
  int layers = 1;
  int islands = 1; // K, number of islands
  bool recompute = false;
};

/// Throws Error that names the flags unless `ranks` are islands of equally many pipelines.
void checkGrid(int ranks, int pipeline, int islands);

/// Rank r of the world is rank r % P of pipeline r / P. Consecutive pipelines, as many in each, form an island. Errors
/// of the library are thrown as Error. One thread.
class PipelineGrid {
 public:
  /// Collective. Throws Error before any message is sent when the ranks do not form pipelines of `shape.ranks`, when
  /// the schedule is unknown or does not fit, or when it has more stages than the model has layers.
  PipelineGrid(goss_comm_t world, const PipelineShape& shape);
  ~PipelineGrid();
  PipelineGrid(const PipelineGrid&) = delete;
  PipelineGrid& operator=(const PipelineGrid&) = delete;

  [[nodiscard]] int replicas() const { return replicas_; } ///< pipelines, over all islands
  [[nodiscard]] int replica() const { return replica_; }
  [[nodiscard]] int islands() const { return islands_; }
  [[nodiscard]] int rank() const { return rank_; } ///< this rank's number in its pipeline
  [[nodiscard]] int stages() const { return stages_; }
  [[nodiscard]] int rankOf(int stage) const;
  [[nodiscard]] std::vector<int> owned() const;
  /// Whether batches end before the next begin. If not, prepare() says how many batches the schedule spans.
  [[nodiscard]] bool flushes() const { return flushes_; }
  /// The number of batches of a schedule that was read from a file; 0: prepare() makes any number.
  [[nodiscard]] int fixedBatches() const;
  /// The schedule as CSV text: ranks with equal texts run matching actions.
  [[nodiscard]] std::string text() const;
  void prepare(int batches);
  /// (stage, micro-batch) of this rank's forward passes that keep their input only, and are repeated as RECOMPUTE.
  [[nodiscard]] std::set<std::pair<int, int>> recomputed() const;
  /// The schedule of one rank of a pipeline; valid until prepare.
  [[nodiscard]] std::span<const goss_pipeline_action> actions(int rank) const;

  using Work = std::function<void(const goss_pipeline_action& action, const void* input, void* output)>;
  /// Codecs of the activations and gradients that cross between ranks from now on; send() and its kind are not encoded.
  struct BoundaryCodecs {
    std::string forward, backward; // specs; empty: no codec
    bool deltas = false;           // AQ-SGD
    std::string cache;             // directory; empty: in memory
    std::size_t sample_elems = 1;
  };
  using SampleNumber = std::function<std::uint64_t(int micro_batch, std::size_t index)>;
  void compress(const BoundaryCodecs& codecs, SampleNumber sample);
  /// Local, between runs: the samples that AQ-SGD keeps on this rank; empty without deltas.
  [[nodiscard]] std::string activations() const;
  /// Restores what activations() returned on the rank with the same stages, on all ranks or on none.
  void restoreActivations(const std::string& bytes);
  /// Collective over the pipeline: runs the schedule once. Exceptions of `work` leave this call.
  void run(std::size_t boundary_bytes, const Work& work);

  // Messages between two ranks of a pipeline, blocking.
  void send(const void* data, std::size_t bytes, int peer);
  void recv(void* data, std::size_t bytes, int peer);
  /// As send, but returns at once; `data` is lent until waitSends.
  void startSend(const void* data, std::size_t bytes, int peer);
  void waitSends();
  /// As startSend, of bytes that the grid keeps until they are sent, or until waitPosts.
  void post(std::vector<std::byte>&& bytes, int peer);
  void waitPosts();
  /// Collective over the island's ranks with the same stages: values = their sum. Values are in the backend's memory,
  /// and go through the host where that is not the host's.
  void sumOverReplicas(Buffer<float>& values, const Ops& ops);
  void sumOverReplicas(std::span<double> values);
  /// Collective over the pipeline: values = their sum.
  void sumOverPipeline(std::span<double> values);
  /// Communicator of one rank of every island: those with the same stages at the same position of their island.
  [[nodiscard]] goss_comm_t acrossIslands() const { return across_comm_; }
  /// Payload bytes that this rank has sent.
  [[nodiscard]] std::uint64_t wireBytesSent() const;
  /// Local: aborts all ranks.
  void abort(const std::string& reason) noexcept;

 private:
  struct Post {
    std::vector<std::byte> bytes;
    goss_request_t request = nullptr;
  };
  void destroy();

  PipelineShape shape_;
  goss_comm_t pipeline_comm_ = nullptr;
  goss_comm_t replica_comm_ = nullptr; // the replicas within the island
  goss_comm_t across_comm_ = nullptr;
  goss_pipeline_t schedule_ = nullptr;
  std::vector<goss_request_t> sends_;
  std::vector<Post> posts_;
  goss_pipeline_codec_t codec_ = nullptr;
  bool has_deltas_ = false; // codec_ uses deltas
  SampleNumber sample_;
  bool flushes_ = true;
  int batches_ = 1; // batches of schedule_
  int replicas_ = 1;
  int replica_ = 0;
  int islands_ = 1;
  int rank_ = 0;
  int stages_ = 1;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_PIPELINE_PIPELINE_GRID_H_
