/// Encodes and decodes for the tests of codecs, with guards around every buffer.
#ifndef GOSS_TESTS_COMPRESSORS_HARNESS_H_
#define GOSS_TESTS_COMPRESSORS_HARNESS_H_

#include <string>
#include <vector>

#include "compressors/catalogue.h"
#include "compressors/chain.h"

namespace goss::test {

using Floats = std::vector<float>;
using Bytes = std::vector<std::byte>;

/// Fails the test and returns nullptr where the spec is wrong.
std::shared_ptr<const Codec> codecOf(std::string_view spec, const compressors::Loops& loops);
std::shared_ptr<const Codec> codecOf(std::string_view spec);

/// Memory aligned to 64 bytes.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : memory_(bytes + 64) {}
  std::span<std::byte> span();

 private:
  Bytes memory_;
};

struct EncodeCase {
  Floats values;
  const Floats* reference = nullptr;
  Floats* residual = nullptr;
  float decay = 1;
  std::uint32_t rank = 0;
  std::uint32_t step = 7;
  std::uint64_t first_element = 0;
  std::size_t misalign = 0; ///< Bytes from an aligned address to the payload.
};

Randomness randomness(std::uint32_t rank, std::uint32_t step = 7);

/// The payload of the whole vector as one segment; checks that nothing outside maxBytes() was written.
Bytes encode(const Codec& codec, const EncodeCase& what);
inline Bytes encode(const Codec& codec, const Floats& values) { return encode(codec, EncodeCase{values}); }

struct DecodeCase {
  std::vector<Bytes> payloads;
  Floats out; ///< Contents before; its size is the count.
  DecodeMode mode = DecodeMode::set;
  float weight = 1;
  std::uint32_t step = 7;
  std::uint64_t first_element = 0;
  std::size_t misalign = 0;
};
Floats decode(const Codec& codec, const DecodeCase& what);
inline Floats decode(const Codec& codec, const Bytes& payload, std::size_t count) {
  return decode(codec, DecodeCase{{payload}, Floats(count)});
}

/// Reproducible inputs.
Floats gaussian(std::size_t count, std::uint32_t seed = 1);
Floats studentT(std::size_t count, int freedom, std::uint32_t seed = 1);
/// 64 layers of Student-t with 4 degrees of freedom, whose scales are lognormal(1.5).
Floats layered(std::size_t count, std::uint32_t seed = 1);

/// ||x - y||^2 / ||x||^2.
double normalizedError(const Floats& x, const Floats& y);

/// Bit for bit, NaNs included; names the first difference.
void expectSameBits(const Floats& a, const Floats& b, const std::string& what);

} // namespace goss::test

#endif // GOSS_TESTS_COMPRESSORS_HARNESS_H_
