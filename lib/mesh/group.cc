#include "mesh/group.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>
#include <utility>

namespace goss {

namespace {

/// An error names at most so many ranks one by one.
constexpr std::size_t kMaxNamed = 16;

} // namespace

Group::Group(std::vector<int> world_ranks, int own_world_rank, int world_size)
    : world_ranks_(std::move(world_ranks)),
      rank_(
          static_cast<int>(std::find(world_ranks_.begin(), world_ranks_.end(), own_world_rank) - world_ranks_.begin())),
      rank_of_world_(static_cast<std::size_t>(world_size), -1) {
  for (int rank = 0; rank < size(); ++rank)
    rank_of_world_[static_cast<std::size_t>(worldRank(rank))] = rank;
}

int Group::rankOfWorld(int world_rank) const {
  const auto index = static_cast<std::size_t>(world_rank); // A negative number becomes huge.
  return index < rank_of_world_.size() ? rank_of_world_[index] : -1;
}

std::vector<int> Group::others() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size(); ++rank)
    if (rank != rank_) ranks.push_back(rank);
  return ranks;
}

std::string Group::nameOf(int rank) const {
  if (worldRank(rank) == rank) return fmt::format("rank {}", rank);
  return fmt::format("rank {} (world rank {})", rank, worldRank(rank));
}

Status Group::named(const Status& error) const {
  const int rank = rankOfWorld(error.peer());
  const bool of_transport = error.scope() == ErrorScope::peer || error.kind() == GOSS_ERR_TRUNCATED;
  if (!of_transport || rank < 0 || worldRank(rank) == rank) return error;
  std::string text = error.text();
  const std::string world_name = fmt::format("rank {}", error.peer());
  const std::size_t at = text.find(world_name);
  const std::size_t end = at + world_name.size();
  if (at == std::string::npos || (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0))
    return error;
  constexpr std::string_view kBefore = "world ";
  if (std::string_view(text).substr(0, at).ends_with(kBefore)) return error; // It has that name already.
  return Status::error(error.kind(), text.replace(at, world_name.size(), nameOf(rank)), error.scope(), error.peer());
}

std::string Group::namesOf(const std::vector<int>& ranks) const {
  if (ranks.size() == 1) return nameOf(ranks.front());
  std::vector<std::string> names;
  for (const int rank : std::span(ranks).first(std::min(ranks.size(), kMaxNamed)))
    names.push_back(nameOf(rank).substr(std::string_view("rank ").size()));
  const std::size_t left = ranks.size() - names.size();
  return fmt::format("ranks {}{}", fmt::join(names, ", "), left > 0 ? fmt::format(" and {} more", left) : "");
}

} // namespace goss
