/// Tables and loops of the codecs that look codes up.
#ifndef GOSS_COMPRESSORS_CODEBOOK_FORMAT_H_
#define GOSS_COMPRESSORS_CODEBOOK_FORMAT_H_

#include "compressors/common/runs.h"

namespace goss::compressors {

/// The dynamic map of 256 values in [-1, 1]: zero, 1, and in each decade 10^(d - 6) down to a tenth of it 2^d values,
/// the middles of equal parts. Magnitude 2^d + i is part i of decade d; 0 is zero and 128 is 1.
struct DynamicMap {
  static constexpr std::uint32_t kZeroCode = 127;
  static constexpr std::uint32_t kMagnitudes = 129; ///< Zero and 128 positive values.
  static constexpr int kDecades = 7;

  static constexpr double decadeOf(int decade) {
    double power = 1;
    for (int i = decade; i + 1 < kDecades; ++i) {
      power /= 10;
    }
    return power;
  }
  static constexpr double valueOf(int decade, int part) {
    return decadeOf(decade) * (0.1 + 0.9 * (part + 0.5) / (1 << decade));
  }
  /// Number of parts of a decade per unit of magnitude.
  static constexpr float slopeOf(int decade) { return static_cast<float>((1 << decade) / (0.9 * decadeOf(decade))); }
  /// Middle between a decade's first value and the one before it.
  static constexpr float bottomOf(int decade) {
    return static_cast<float>((valueOf(decade, 0) + (decade == 0 ? 0.0 : valueOf(decade - 1, (1 << decade) / 2 - 1))) /
                              2);
  }
  static constexpr float kBelowOne = static_cast<float>((1.0 + 0.1 + 0.9 * 63.5 / 64) / 2);

  float value[256];
};

/// NormalFloat with 4 bits: means of sixteenths of a normal distribution, scaled to [-1, 1], with a zero (Dettmers et
/// al. 2023, QLoRA, arXiv 2305.14314, appendix E).
struct NormalMap {
  static constexpr std::uint32_t kZeroCode = 7;

  float value[16] = {-1.0f,
                     -0.6961928009986877f,
                     -0.5250730514526367f,
                     -0.39491748809814453f,
                     -0.28444138169288635f,
                     -0.18477343022823334f,
                     -0.09105003625154495f,
                     0.0f,
                     0.07958029955625534f,
                     0.16093020141124725f,
                     0.24611230194568634f,
                     0.33791524171829224f,
                     0.44070982933044434f,
                     0.5626170039176941f,
                     0.7229568362236023f,
                     1.0f};
  float middle[15] = {}; ///< Between a value and the next.

  constexpr NormalMap() {
    for (int i = 0; i < 15; ++i) {
      middle[i] = (value[i] + value[i + 1]) / 2;
    }
  }
};
constexpr std::size_t normalCodeBytes(std::size_t total) { return (total + 1) / 2; }

/// A value coded by the uniform 8-bit codec: its level, and the distance to the level in 2^-16ths of a step.
struct UniformCode {
  std::uint32_t code; ///< Level + 128.
  std::int32_t rest;
};
inline constexpr std::size_t kUniformBuckets = 256;

struct CodebookLoops {
  void (*encodeDynamic)(std::size_t block, const float* values, const EncodeRun& run) = nullptr;
  void (*decodeDynamic)(const DynamicMap& map, std::size_t block, float* out, const DecodeRun& run) = nullptr;
  void (*encodeNormal)(std::size_t block, const float* values, const EncodeRun& run) = nullptr;
  void (*decodeNormal)(std::size_t block, float* out, const DecodeRun& run) = nullptr;
  /// levels[i] = clamp(round(value * inverse), -128, 127) + 128; rest[i] = (value * inverse - level) in 2^-16ths, held
  /// within 2^30.
  void (*encodeUniform)(unsigned char* levels, std::int32_t* rest, const float* values, std::size_t count,
                        float inverse) = nullptr;
  void (*lookUp)(float* out, const unsigned char* codes, std::size_t count, const float* table) = nullptr;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_CODEBOOK_FORMAT_H_
