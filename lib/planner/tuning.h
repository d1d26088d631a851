/// Costs of messages and arithmetic at each level of a machine or cluster: built in, or measured by goss-tune.
#ifndef GOSS_LIB_PLANNER_TUNING_H_
#define GOSS_LIB_PLANNER_TUNING_H_

#include <string_view>

#include "gossamer/status.h"
#include "schedule/links.h"

namespace goss {

/// A value. All ranks of a world must hold equal ones, because each plans by itself.
struct Tuning {
  schedule::LinkPrice loopback; ///< Between threads of one process.
  schedule::LinkPrice shm;      ///< Between processes of one host, as are ucx, tcp and tls.
  schedule::LinkPrice ucx;      ///< Replaces shm between ranks that use UCX.
  schedule::LinkPrice tcp;
  schedule::LinkPrice tls;     ///< TCP with encryption, which costs processor time.
  schedule::LinkPrice network; ///< Between hosts.
  schedule::CpuPrice cpu;

  /// The prices of Links::builtIn: loopback, shm, ucx, tcp, tls and lan10g.
  static Tuning builtIn();
  /// Reads a tuning file (docs/formats.md, "Tuning files"). Prices that it does not name stay the built-in ones.
  /// Errors: invalidArgument naming the key and what is accepted.
  static Result<Tuning> parse(std::string_view text);
};

} // namespace goss

#endif // GOSS_LIB_PLANNER_TUNING_H_
