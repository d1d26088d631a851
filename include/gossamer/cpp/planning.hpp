/// Calls that need no communicator: what the planner chooses, and what is built in.
#ifndef GOSSAMER_CPP_PLANNING_HPP_
#define GOSSAMER_CPP_PLANNING_HPP_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "gossamer/abi.h"
#include "gossamer/cpp/buffer.hpp"
#include "gossamer/cpp/error.hpp"

namespace gossamer {

/// The library's version as major * 10000 + minor * 100 + patch.
inline int version() { return goss_version(); }

/// Bytes of one element; 0 for an unknown dtype.
inline std::size_t sizeOf(goss_dtype dtype) { return goss_dtype_size(dtype); }

/// A collective whose candidates the planner prices.
struct Planned {
  const char* collective = "allreduce";
  std::int32_t ranks = 2;
  std::size_t bytes = 0;
  const char* codec = nullptr; ///< A built-in codec; nullptr: uncompressed.
  const char* links = nullptr; ///< Text of a link file; nullptr: one host's built-in prices.
};

/// Candidates, prices, choice and reason as JSON text.
template <class Errors = Throwing>
typename Errors::template Return<std::string> explain(const Planned& planned) {
  char* json = nullptr;
  const goss_status status =
      planned.codec == nullptr
          ? goss_explain(planned.collective, planned.ranks, planned.bytes, planned.links, &json)
          : goss_explain_codec(planned.collective, planned.ranks, planned.bytes, planned.codec, planned.links, &json);
  return Errors::finish(status, [&] { return detail::takeText(json); });
}

/// What built-in codec specs are made of, as JSON text.
template <class Errors = Throwing>
typename Errors::template Return<std::string> codecs() {
  char* json = nullptr;
  const goss_status status = goss_codecs(&json);
  return Errors::finish(status, [&] { return detail::takeText(json); });
}

/// All synchronizers and their parameters, as JSON text.
template <class Errors = Throwing>
typename Errors::template Return<std::string> syncMethods() {
  char* json = nullptr;
  const goss_status status = goss_sync_methods(&json);
  return Errors::finish(status, [&] { return detail::takeText(json); });
}

} // namespace gossamer

#endif // GOSSAMER_CPP_PLANNING_HPP_
