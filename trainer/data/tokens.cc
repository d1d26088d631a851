#include "trainer/data/tokens.h"

#include <algorithm>
#include <iterator>

namespace goss::trainer {

namespace {

std::uint16_t tokenAt(const Tokens::Piece& piece, std::size_t index) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(piece.bytes[at]); };
  if (piece.bytes_a_token == 1) return byte(index);
  return static_cast<std::uint16_t>(byte(2 * index) | byte(2 * index + 1) << 8);
}

std::size_t countOf(const Tokens::Piece& piece) { return piece.bytes.size() / piece.bytes_a_token; }

} // namespace

Tokens::Tokens(std::vector<std::uint16_t> tokens) {
  auto store = std::make_shared<Store>();
  store->own = std::move(tokens);
  const std::string_view bytes(reinterpret_cast<const char*>(store->own.data()),
                               store->own.size() * sizeof(std::uint16_t));
  store->pieces.push_back({{bytes, sizeof(std::uint16_t)}, 0});
  count_ = store->own.size();
  store_ = std::move(store);
}

Tokens::Tokens(const std::vector<Piece>& pieces, std::shared_ptr<const void> owner) {
  auto store = std::make_shared<Store>();
  store->owner = std::move(owner);
  for (const Piece& piece : pieces) {
    if (countOf(piece) == 0) continue;
    store->pieces.push_back({piece, count_});
    count_ += countOf(piece);
  }
  store_ = std::move(store);
}

Tokens Tokens::part(std::size_t first, std::size_t count) const {
  Tokens part = *this;
  part.first_ = first_ + first;
  part.count_ = count;
  return part;
}

std::size_t Tokens::indexOfPiece(std::size_t token) const {
  const auto after =
      std::upper_bound(store_->pieces.begin(), store_->pieces.end(), token,
                       [](std::size_t number, const NumberedPiece& held) { return number < held.first; });
  return static_cast<std::size_t>(std::distance(store_->pieces.begin(), after)) - 1;
}

template <typename T>
void Tokens::copy(std::size_t start, std::span<T> to) const {
  if (to.empty()) return;
  std::size_t token = first_ + start;
  std::size_t at = indexOfPiece(token);
  for (T& value : to) {
    while (token - store_->pieces[at].first == countOf(store_->pieces[at].piece))
      ++at;
    const NumberedPiece& held = store_->pieces[at];
    value = tokenAt(held.piece, token - held.first);
    ++token;
  }
}

template void Tokens::copy(std::size_t, std::span<std::int32_t>) const;
template void Tokens::copy(std::size_t, std::span<std::uint16_t>) const;

std::uint16_t Tokens::operator[](std::size_t index) const {
  std::uint16_t token = 0;
  copy(index, std::span(&token, 1));
  return token;
}

} // namespace goss::trainer
