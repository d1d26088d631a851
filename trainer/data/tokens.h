/// Tokens of one or several pieces of memory, one behind the other.
#ifndef GOSS_TRAINER_DATA_TOKENS_H_
#define GOSS_TRAINER_DATA_TOKENS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace goss::trainer {

/// A range of a sequence of tokens. Copies are cheap and share the memory, which lives as long as one of them.
/// Thread-safe once it is made.
class Tokens {
 public:
  Tokens() : Tokens(std::vector<std::uint16_t>()) {}
  explicit Tokens(std::vector<std::uint16_t> tokens);

  /// Each element is `bytes_a_token` bytes, 1 or 2, little-endian; there are as many as fit. The memory is lent.
  struct Piece {
    std::string_view bytes;
    std::size_t bytes_a_token = 1;
  };
  /// `owner` keeps the pieces' memory.
  Tokens(const std::vector<Piece>& pieces, std::shared_ptr<const void> owner);

  [[nodiscard]] std::size_t size() const { return count_; }
  /// Tokens [first, first + count), which must be inside.
  [[nodiscard]] Tokens part(std::size_t first, std::size_t count) const;
  /// Copies tokens [start, start + to.size()), which must be inside.
  template <typename T>
  void copy(std::size_t start, std::span<T> to) const;
  [[nodiscard]] std::uint16_t operator[](std::size_t index) const;

 private:
  struct NumberedPiece {
    Piece piece;
    std::size_t first; // number of its first token
  };
  struct Store {
    std::vector<std::uint16_t> own;
    std::shared_ptr<const void> owner;
    std::vector<NumberedPiece> pieces;
  };
  [[nodiscard]] std::size_t indexOfPiece(std::size_t token) const;

  std::shared_ptr<const Store> store_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_TOKENS_H_
