/// Everything in one step: each rank sends its bytes to all ranks that need them, and combines what it receives in rank
/// order.
///
/// This has the latency of one message and sends the most bytes of all algorithms. It is made for the smallest messages
/// between ranks of one host, where lib/boards/board_channel.h does the same without messages: each rank writes once
/// and all others read. That path must give the bits of this schedule, which runs where boards cannot be used.
///
/// Wire, m elements: all_reduce and barrier p (p - 1) m; reduce, broadcast, all_gather, reduce_scatter (p - 1) m;
/// all_to_all the p - 1 blocks of every rank; gather, scatter all blocks but the root's; scan, exscan p (p - 1) / 2 m.
#ifndef GOSS_COLLECTIVES_FLAT_H_
#define GOSS_COLLECTIVES_FLAT_H_

#include "gossamer/algorithm.h"

namespace goss::collectives {

class Flat final : public Algorithm {
 public:
  explicit Flat(Collective collective) : collective_(collective) {}
  [[nodiscard]] std::string_view name() const override { return "flat"; }
  [[nodiscard]] AlgorithmTraits traits() const override { return {}; }
  [[nodiscard]] bool supports(const PlanRequest& request) const override;
  [[nodiscard]] Schedule plan(const PlanRequest& request) const override;
  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override;

 private:
  const Collective collective_;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_FLAT_H_
