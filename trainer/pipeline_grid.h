/// The ranks of a launch as a grid: pipelines of P ranks, and as many replicas of them as there are ranks for.
#ifndef GOSS_TRAINER_PIPELINE_GRID_H_
#define GOSS_TRAINER_PIPELINE_GRID_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "gossamer/pipeline.h"

namespace goss::trainer {

struct PipelineShape {
  std::string schedule; // a generator's name, or a CSV file of a schedule
  int ranks = 1;        // P, of one pipeline
  int micro_batches = 1;
  int layers = 1;
};

/// Rank r of the world is rank r % P of pipeline r / P. Errors of the library are thrown as Error. One thread.
class PipelineGrid {
 public:
  /// Collective. Throws Error before any message is sent when the ranks do not form pipelines of `shape.ranks`, when
  /// the schedule is unknown, does not fit or does not flush, or when it has more stages than the model has layers.
  PipelineGrid(goss_comm_t world, const PipelineShape& shape);
  ~PipelineGrid();
  PipelineGrid(const PipelineGrid&) = delete;
  PipelineGrid& operator=(const PipelineGrid&) = delete;

  [[nodiscard]] int replicas() const { return replicas_; }
  [[nodiscard]] int replica() const { return replica_; }
  [[nodiscard]] int rank() const { return rank_; } ///< in its pipeline
  [[nodiscard]] int stages() const { return stages_; }
  [[nodiscard]] int rankOf(int stage) const;
  [[nodiscard]] std::vector<int> owned() const;

  using Work = std::function<void(const goss_pipeline_action& action, const void* input, void* output)>;
  /// Collective over the pipeline: runs the schedule once. What `work` throws comes out here.
  void run(std::size_t boundary_bytes, const Work& work);

  // Between two ranks of a pipeline, blocking.
  void send(const void* data, std::size_t bytes, int peer);
  void recv(void* data, std::size_t bytes, int peer);
  /// As send, but returns at once; `data` is lent until waitSends.
  void startSend(const void* data, std::size_t bytes, int peer);
  void waitSends();
  /// Collective over the ranks with the same stages: values = their sum.
  void sumOverReplicas(float* values, std::size_t count);
  /// Of payload, by this rank.
  [[nodiscard]] std::uint64_t wireBytesSent() const;
  /// Local: takes everybody down with this rank.
  void abort(const std::string& reason) noexcept;

 private:
  void destroy();

  goss_comm_t pipeline_comm_ = nullptr;
  goss_comm_t replica_comm_ = nullptr;
  goss_pipeline_t schedule_ = nullptr;
  std::vector<goss_request_t> sends_;
  int replicas_ = 1;
  int replica_ = 0;
  int rank_ = 0;
  int stages_ = 1;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_PIPELINE_GRID_H_
