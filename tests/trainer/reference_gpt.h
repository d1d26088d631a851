/// A second GPT and Llama, in double precision and as plain as its formulas: what the float kernels are compared with.
#ifndef GOSS_TESTS_TRAINER_REFERENCE_GPT_H_
#define GOSS_TESTS_TRAINER_REFERENCE_GPT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "trainer/model/model_config.h"

namespace goss::trainer::reference {

using Vec = std::vector<double>;

Vec toDouble(const std::vector<float>& values);
/// count values in [-1, 1), the same for the same seed, exactly representable as float.
std::vector<float> randomValues(std::size_t count, std::uint64_t seed);

/// Layer norm of every row of x; weight and bias are [x.size() / rows].
Vec layerNorm(const Vec& x, const Vec& weight, const Vec& bias, std::size_t rows);
/// x[rows, in] * w[in, out], in = x.size() / rows.
Vec matmul(const Vec& x, const Vec& w, std::size_t rows, std::size_t out);
/// Adds bias to every row.
Vec addBias(Vec x, const Vec& bias);
Vec gelu(Vec x);
/// x / sqrt(mean(x^2) + 1e-5) weight of every row.
Vec rmsNorm(Vec x, const Vec& weight);
/// Turns queries and keys of qkv[batch, context, 3 channels] as complex numbers, of which a head's first half holds the
/// real parts.
Vec rotate(Vec qkv, const ModelConfig& config);
/// silu(first half) * second half of every row of pre[rows, 2 width].
Vec swiglu(const Vec& pre, std::size_t rows);
/// qkv[batch, context, 3 channels] -> [batch, context, channels]
Vec attention(const Vec& qkv, std::size_t batch, const ModelConfig& config);
/// Loss of every row of logits[targets.size(), vocab].
Vec xent(const Vec& logits, const std::vector<std::int32_t>& targets);
/// Sum of the losses of all tokens; parameters in the order of the parameter table.
double gptLoss(const ModelConfig& config, const Vec& parameters, const std::vector<std::int32_t>& tokens,
               const std::vector<std::int32_t>& targets);

/// Gradient of f at x by central differences. With h = 1e-5 and f of order one, truncation (h^2 f''' / 6) and
/// rounding (1e-16 / h) leave an error near 1e-10, far below float precision.
Vec numericGradient(const std::function<double(const Vec&)>& f, Vec x);

double dot(const Vec& a, const Vec& b);

} // namespace goss::trainer::reference

#endif // GOSS_TESTS_TRAINER_REFERENCE_GPT_H_
