/// The ranks of a communicator: their world ranks, and how errors name them.
#ifndef GOSS_LIB_MESH_GROUP_H_
#define GOSS_LIB_MESH_GROUP_H_

#include <cstddef>
#include <string>
#include <vector>

#include "gossamer/status.h"

namespace goss {

/// Immutable, and so thread-safe. "Rank" means a rank of the communicator unless a comment says otherwise.
class Group {
 public:
  /// `world_ranks`: world rank of each rank. This process is `own_world_rank`, one of them, of a world of `world_size`.
  Group(std::vector<int> world_ranks, int own_world_rank, int world_size);

  /// This process's rank in the communicator.
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return static_cast<int>(world_ranks_.size()); }
  /// World ranks, by rank.
  [[nodiscard]] const std::vector<int>& worldRanks() const { return world_ranks_; }
  [[nodiscard]] int worldRank(int rank) const { return world_ranks_[static_cast<std::size_t>(rank)]; }
  /// The rank of a world rank; -1 when it is not a member.
  [[nodiscard]] int rankOfWorld(int world_rank) const;
  /// All ranks but this process's, ascending.
  [[nodiscard]] std::vector<int> others() const;

  /// A rank's name, such as "rank 3", or "rank 3 (world rank 5)" where these differ.
  [[nodiscard]] std::string nameOf(int rank) const;
  /// Names of ranks, such as "rank 3", or "ranks 3, 5". After 16 ranks it says how many more there are. `ranks` is not
  /// empty.
  [[nodiscard]] std::string namesOf(const std::vector<int>& ranks) const;
  /// The error of a transport, which names its peer by the world rank, with the name that nameOf() gives that rank.
  /// Other errors are returned as they are.
  [[nodiscard]] Status named(const Status& error) const;

 private:
  const std::vector<int> world_ranks_;
  const int rank_;
  std::vector<int> rank_of_world_;
};

} // namespace goss

#endif // GOSS_LIB_MESH_GROUP_H_
