/// Topologies of gossip, and the neighbours of a rank.
#ifndef GOSSAMER_CPP_TOPOLOGY_HPP_
#define GOSSAMER_CPP_TOPOLOGY_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/abi.h"
#include "gossamer/cpp/error.hpp"

namespace gossamer {

/// A neighbour and the factor of what comes from it, or goes to it.
struct Neighbor {
  std::int32_t rank = 0;
  double weight = 1;
};

/// The neighbours of a rank in one round: `sources` send to it, it sends to `destinations`.
struct Neighborhood {
  double self_weight = 1;
  std::vector<Neighbor> sources;
  std::vector<Neighbor> destinations;
};

namespace detail {

/// A Neighborhood as the C ABI takes it. Lives during a call.
class RawNeighborhood {
 public:
  explicit RawNeighborhood(const Neighborhood& from)
      : sources_(list(from.sources)), destinations_(list(from.destinations)) {
    raw_ = {sizeof(raw_),    from.self_weight,     sources_.data(),
            sources_.size(), destinations_.data(), destinations_.size()};
  }
  RawNeighborhood(const RawNeighborhood&) = delete;
  RawNeighborhood& operator=(const RawNeighborhood&) = delete;
  const goss_neighborhood* get() const { return &raw_; }

 private:
  static std::vector<goss_neighbor> list(const std::vector<Neighbor>& from) {
    std::vector<goss_neighbor> made;
    made.reserve(from.size());
    for (const Neighbor& one : from) {
      made.push_back({one.rank, 0, one.weight});
    }
    return made;
  }
  std::vector<goss_neighbor> sources_;
  std::vector<goss_neighbor> destinations_;
  goss_neighborhood raw_ = GOSS_NEIGHBORHOOD_INIT;
};

/// Owns a handle that `destroy` frees.
template <class Handle, goss_status (*destroy)(Handle)>
struct Destroy {
  using pointer = Handle; // NOLINT(readability-identifier-naming): std::unique_ptr looks for it
  void operator()(Handle handle) const noexcept { destroy(handle); }
};
template <class Handle, goss_status (*destroy)(Handle)>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle, destroy>>;

} // namespace detail

/// Who averages with whom, in every round. Immutable.
template <class Errors = Throwing>
class BasicTopology {
 public:
  template <class T>
  using Return = typename Errors::template Return<T>;

  /// Local. `spec`: gossip.h lists them.
  static Return<BasicTopology> create(const std::string& spec, std::int32_t ranks) {
    goss_topology_t handle = nullptr;
    const goss_status status = goss_topology_create(spec.c_str(), ranks, &handle);
    return Errors::finish(status, [&] { return BasicTopology(handle); });
  }

  /// The number of rounds after which the topology repeats.
  Return<std::uint64_t> period() const {
    std::uint64_t period = 0;
    const goss_status status = goss_topology_period(handle(), &period);
    return Errors::finish(status, [&] { return period; });
  }

  /// W(to, from) of `round`.
  Return<double> weight(std::uint64_t round, std::int32_t to, std::int32_t from) const {
    double weight = 0;
    const goss_status status = goss_topology_weight(handle(), round, to, from, &weight);
    return Errors::finish(status, [&] { return weight; });
  }

  /// The neighbours of `rank` in `round`.
  Return<Neighborhood> neighbors(std::uint64_t round, std::int32_t rank) const {
    goss_neighborhood got = GOSS_NEIGHBORHOOD_INIT;
    const goss_status status = goss_topology_neighbors(handle(), round, rank, &got);
    return Errors::finish(status, [&] {
      return Neighborhood{got.self_weight, list(got.sources, got.source_count),
                          list(got.destinations, got.destination_count)};
    });
  }

  /// Succeeds if every round has the property.
  Return<void> require(goss_topology_property property) const {
    return Errors::finish(goss_topology_require(handle(), property));
  }

  /// The topology's properties as JSON text.
  Return<std::string> describe() const {
    char* json = nullptr;
    const goss_status status = goss_topology_describe(handle(), &json);
    return Errors::finish(status, [&] { return detail::takeText(json); });
  }

  /// The arcs of `round`, or with -1 of all rounds, as SVG text.
  Return<std::string> draw(std::int64_t round = -1) const {
    char* svg = nullptr;
    const goss_status status = goss_topology_draw(handle(), round, &svg);
    return Errors::finish(status, [&] { return detail::takeText(svg); });
  }

  goss_topology_t handle() const { return handle_.get(); }

 private:
  explicit BasicTopology(goss_topology_t handle) : handle_(handle) {}
  static std::vector<Neighbor> list(const goss_neighbor* first, std::size_t count) {
    std::vector<Neighbor> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back({first[i].rank, first[i].weight});
    }
    return made;
  }
  detail::Owned<goss_topology_t, goss_topology_destroy> handle_;
};

} // namespace gossamer

#endif // GOSSAMER_CPP_TOPOLOGY_HPP_
