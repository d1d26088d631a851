/// A call that is to be planned, and the forms in which an algorithm can do it.
#ifndef GOSS_LIB_PLANNER_QUESTION_H_
#define GOSS_LIB_PLANNER_QUESTION_H_

#include <cstdint>
#include <vector>

#include "base/wide_area.h"
#include "gossamer/algorithm.h"
#include "schedule/compress.h"
#include "schedule/layout.h"
#include "schedule/links.h"
#include "schedule/simulator.h"

namespace goss {

/// Links of at least this latency are a wide-area network's.
inline constexpr double kFar_s = kWideAreaRoundTrip_s / 2;
/// Minimum number of fragments in flight.
inline constexpr std::uint32_t kWindow = 4;

/// The call to be planned. `bytes`: of the vector, or of one rank's block where the collective moves blocks of ranks.
struct Question {
  Collective collective = Collective::allReduce;
  int root = 0;
  bool uneven = false;
  std::uint64_t bytes = 0;
  bool compressed = false;     ///< Messages are encoded (schedule/compress.h), as `codec` prices it.
  bool adds_payloads = false;  ///< The codec is additive: sums are made of payloads.
  bool may_requantize = false; ///< Sums may be encoded at every hop: the codec loses nothing, or the user asked for it.
  bool stochastic = false;     ///< The codec draws random numbers, other ones on each rank.
  schedule::CodecPrice codec = {};
};

/// An algorithm with its parameters, and its price.
struct Candidate {
  const Algorithm* algorithm = nullptr;
  std::uint32_t blocks = 1;
  std::uint32_t fragments = 1;
  std::uint32_t window = 1; ///< Fragments in flight.
  int group_size = 0;
  std::vector<int> order;      ///< Empty: natural.
  std::vector<double> weights; ///< Shape::weights; empty: equal chunks.

  bool between_nodes = false; ///< Compressed, but only messages that leave a node.

  bool on_board = false; ///< Runs over boards, without messages: see boards/board_channel.h.
  double price_s = 0;
  double least_s = 0; ///< Lower bound of the price, for any number of fragments.
  /// Too many steps to simulate: the price follows from fewer ranks, or from the first blocks of a pipeline.
  bool extrapolated = false;
  int critical_rank = 0; ///< The rank that finishes last; 0 when extrapolated.
  /// Bytes that the rank which sends most bytes sends, among the simulated ranks when extrapolated. most_messages_sent:
  /// likewise.
  std::uint64_t most_bytes_sent = 0;
  std::uint64_t most_messages_sent = 0;
};

/// Bytes a second that a rank should send to each peer of a schedule which sends equally much, and not little, to all
/// peers at the same time, over a WAN and through a line whose rate the links name: a higher rate would only overflow
/// the line's queue. 0: unlimited. Sizes are those of `shape`, uncompressed.
[[nodiscard]] std::uint64_t paceFor(const schedule::Links& links, const Schedule& schedule,
                                    const schedule::Shape& shape);

/// How many of `fragments` fragments are to be in flight: kWindow, and over links of long round trips so many that one
/// fragment, or several when packets are lost and sent again, leave no line idle.
[[nodiscard]] std::uint32_t windowFor(const schedule::Links& links, const Question& question, std::uint32_t fragments);

/// The candidate in so many parts: blocks of a pipeline; or fragments, with as many in flight as windowFor() says.
[[nodiscard]] Candidate inParts(const Candidate& candidate, std::uint32_t parts, const Question& question,
                                const schedule::Links& links);

/// The request of rank `rank` of `size` to `candidate.algorithm`.
[[nodiscard]] PlanRequest requestFor(const Question& question, const Candidate& candidate, int size, int rank);

/// Rank `rank`'s schedule over `links`, compressed if the question says so.
[[nodiscard]] schedule::Compressed scheduleFor(const Question& question, const Candidate& candidate,
                                               const schedule::Links& links, int rank);

/// Sizes with one byte per element, as all pricing counts them.
[[nodiscard]] schedule::Shape shapeFor(const Question& question, const Candidate& candidate, int size);

/// Variants of the algorithm by order and group size, unpriced; empty: it does not support this question. `in_order`:
/// the order of the ranks is the best one, so that no other is searched.
[[nodiscard]] std::vector<Candidate> legalVariants(const Question& question, const Algorithm& algorithm,
                                                   const schedule::Links& links, bool in_order = false);

} // namespace goss

#endif // GOSS_LIB_PLANNER_QUESTION_H_
