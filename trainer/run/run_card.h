/// The record of a run: one JSON file that says what was run and with which result, and reports made from it.
#ifndef GOSS_TRAINER_RUN_RUN_CARD_H_
#define GOSS_TRAINER_RUN_RUN_CARD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace goss::trainer {

struct RunCard {
  std::string settings; // JSON text: trajectorySettings
  std::string sync;     // canonical spec of the synchronizer
  int ranks = 1;
  std::size_t first_step = 0; // steps done before this run
  std::size_t tokens_per_step = 1;
  std::vector<double> losses;                             // of each step of this run, nats a token
  std::vector<double> step_seconds;                       // as long as losses
  std::vector<std::pair<std::size_t, double>> validation; // (steps done, loss)
  // Measured on rank 0:
  std::uint64_t exchanged_bytes = 0; // float32 bytes of exchanged vectors
  // Bytes that the process has sent are the sum of wire_bytes, checkpoint_bytes and message_bytes.
  std::uint64_t wire_bytes = 0;       // of the synchronizer, and of a pipeline's stages
  std::uint64_t setup_bytes = 0;      // of wire_bytes: of the start and the end, apart from the steps
  std::uint64_t checkpoint_bytes = 0; // of checkpoints: the state with which a run begins, and what saving takes
  std::uint64_t message_bytes = 0;    // losses, validations, agreements
  // Bytes that the process has received, but those of the synchronizer and of stages, are the sum of these.
  std::uint64_t checkpoint_bytes_received = 0; // most of them: rank 0 saves
  std::uint64_t message_bytes_received = 0;
  double waited_s = 0; // time waited for other ranks

  [[nodiscard]] double seconds() const;
  [[nodiscard]] double tokensPerSecond() const;
  /// Part of the time in which this rank did not wait for others; 1 for a run of no steps.
  [[nodiscard]] double utilisation() const;
};

/// A summary of three lines for the terminal.
std::string summarize(const RunCard& card);

/// Writes DIR/run.json, DIR/report.md, DIR/loss.svg and DIR/tokens_per_s.svg. Throws Error.
void writeRun(const std::string& directory, const RunCard& card);
/// Reads DIR/run.json. Throws Error that names the file and what is wrong with it.
RunCard readRun(const std::string& directory);

/// A Markdown table of runs, one in each line.
std::string compareTable(const std::vector<std::string>& names, const std::vector<RunCard>& cards);
/// `goss-train compare RUN... [--out DIR]`: prints the table and writes DIR/compare.svg. Returns the exit code.
int runCompare(int argc, const char* const* argv);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_RUN_CARD_H_
