#include "tests/trainer/reference_gpt.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

#include "trainer/base/random.h"

namespace goss::trainer::reference {

namespace {

/// Hands out the tensors of the flat parameter vector one after the other.
class Reader {
 public:
  explicit Reader(const Vec& values) : next_(values.begin()) {}
  Vec take(std::size_t count) {
    Vec out(next_, next_ + static_cast<std::ptrdiff_t>(count));
    next_ += static_cast<std::ptrdiff_t>(count);
    return out;
  }

 private:
  Vec::const_iterator next_;
};

Vec add(Vec a, const Vec& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] += b[i];
  return a;
}

Vec block(const Vec& x, const ModelConfig& c, Reader& p, std::size_t rows) {
  const std::size_t n = c.channels;
  const Vec ln1w = p.take(n), ln1b = p.take(n), wqkv = p.take(3 * n * n), bqkv = p.take(3 * n);
  const Vec watt = p.take(n * n), batt = p.take(n), ln2w = p.take(n), ln2b = p.take(n);
  const Vec wfc = p.take(4 * n * n), bfc = p.take(4 * n), wout = p.take(4 * n * n), bout = p.take(n);
  const Vec qkv = addBias(matmul(layerNorm(x, ln1w, ln1b, rows), wqkv, rows, 3 * n), bqkv);
  const Vec attended = attention(qkv, rows / c.context, c);
  const Vec middle = add(addBias(matmul(attended, watt, rows, n), batt), x);
  const Vec fc = addBias(matmul(layerNorm(middle, ln2w, ln2b, rows), wfc, rows, 4 * n), bfc);
  return add(addBias(matmul(gelu(fc), wout, rows, n), bout), middle);
}

/// w[out, in] as [in, out].
Vec transposed(const Vec& w, std::size_t out) {
  const std::size_t in = w.size() / out;
  Vec t(w.size());
  for (std::size_t i = 0; i < w.size(); ++i)
    t[i % in * out + i / in] = w[i];
  return t;
}

/// x[rows, in] times the transpose of w[out, in].
Vec linear(const Vec& x, const Vec& w, std::size_t rows, std::size_t out) {
  return matmul(x, transposed(w, out), rows, out);
}

Vec llamaBlock(const Vec& x, const ModelConfig& c, Reader& p, std::size_t rows) {
  const std::size_t n = c.channels, width = c.mlpWidth();
  const Vec ln1 = p.take(n), wqkv = p.take(3 * n * n), watt = p.take(n * n), ln2 = p.take(n);
  const Vec wfc = p.take(2 * width * n), wout = p.take(n * width);
  const Vec qkv = rotate(linear(rmsNorm(x, ln1), wqkv, rows, 3 * n), c);
  const Vec middle = add(linear(attention(qkv, rows / c.context, c), watt, rows, n), x);
  return add(linear(swiglu(linear(rmsNorm(middle, ln2), wfc, rows, 2 * width), rows), wout, rows, n), middle);
}

} // namespace

Vec rmsNorm(Vec x, const Vec& weight) {
  const std::size_t n = weight.size();
  for (std::size_t row = 0; row < x.size(); row += n) {
    double squares = 0;
    for (std::size_t c = 0; c < n; ++c)
      squares += x[row + c] * x[row + c] / static_cast<double>(n);
    for (std::size_t c = 0; c < n; ++c)
      x[row + c] *= weight[c] / std::sqrt(squares + 1e-5);
  }
  return x;
}

Vec rotate(Vec qkv, const ModelConfig& config) {
  const std::size_t n = config.channels, size = n / config.heads, half = size / 2;
  for (std::size_t row = 0; row < qkv.size() / (3 * n); ++row) {
    for (std::size_t channel = 0; channel < 2 * n; ++channel) { // of queries and keys
      const std::size_t i = channel % size;
      if (i >= half) continue;
      double& real = qkv[row * 3 * n + channel];
      double& imaginary = qkv[row * 3 * n + channel + half];
      const double frequency = std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(size));
      const std::complex<double> turned =
          std::complex(real, imaginary) * std::polar(1.0, static_cast<double>(row % config.context) * frequency);
      real = turned.real();
      imaginary = turned.imag();
    }
  }
  return qkv;
}

Vec swiglu(const Vec& pre, std::size_t rows) {
  const std::size_t width = pre.size() / rows / 2;
  Vec out;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < width; ++i) {
      const double gate = pre[r * 2 * width + i];
      out.push_back(gate / (1 + std::exp(-gate)) * pre[r * 2 * width + width + i]);
    }
  }
  return out;
}

Vec toDouble(const std::vector<float>& values) { return Vec(values.begin(), values.end()); }

std::vector<float> randomValues(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>(2.0 * randomUnit(randomBits(seed, RandomStream::parameters, 99, i)) - 1.0);
  }
  return values;
}

Vec layerNorm(const Vec& x, const Vec& weight, const Vec& bias, std::size_t rows) {
  const std::size_t n = x.size() / rows;
  Vec y(x.size());
  for (std::size_t r = 0; r < rows; ++r) {
    double mean = 0, variance = 0;
    for (std::size_t c = 0; c < n; ++c)
      mean += x[r * n + c] / static_cast<double>(n);
    for (std::size_t c = 0; c < n; ++c)
      variance += std::pow(x[r * n + c] - mean, 2) / static_cast<double>(n);
    for (std::size_t c = 0; c < n; ++c) {
      y[r * n + c] = (x[r * n + c] - mean) / std::sqrt(variance + 1e-5) * weight[c] + bias[c];
    }
  }
  return y;
}

Vec matmul(const Vec& x, const Vec& w, std::size_t rows, std::size_t out) {
  const std::size_t in = x.size() / rows;
  Vec y(rows * out, 0.0);
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t i = 0; i < in; ++i) {
      for (std::size_t o = 0; o < out; ++o)
        y[r * out + o] += x[r * in + i] * w[i * out + o];
    }
  }
  return y;
}

Vec addBias(Vec x, const Vec& bias) {
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += bias[i % bias.size()];
  return x;
}

Vec gelu(Vec x) {
  const double root = std::sqrt(2.0 / std::numbers::pi);
  for (double& v : x)
    v = 0.5 * v * (1.0 + std::tanh(root * (v + 0.044715 * v * v * v)));
  return x;
}

Vec attention(const Vec& qkv, std::size_t batch, const ModelConfig& config) {
  const std::size_t n = config.channels, context = config.context, size = n / config.heads;
  Vec out(batch * context * n, 0.0);
  const auto at = [&](std::size_t b, std::size_t t, std::size_t part, std::size_t channel) {
    return qkv[(b * context + t) * 3 * n + part * n + channel];
  };
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < config.heads; ++h) {
      for (std::size_t t = 0; t < context; ++t) {
        Vec weights(t + 1, 0.0);
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t c = h * size; c < (h + 1) * size; ++c)
            weights[s] += at(b, t, 0, c) * at(b, s, 1, c);
          weights[s] = std::exp(weights[s] / std::sqrt(static_cast<double>(size)));
        }
        const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
        for (std::size_t s = 0; s <= t; ++s) {
          for (std::size_t c = h * size; c < (h + 1) * size; ++c) {
            out[(b * context + t) * n + c] += weights[s] / total * at(b, s, 2, c);
          }
        }
      }
    }
  }
  return out;
}

Vec xent(const Vec& logits, const std::vector<std::int32_t>& targets) {
  const std::size_t vocab = logits.size() / targets.size();
  Vec losses;
  for (std::size_t r = 0; r < targets.size(); ++r) {
    double sum = 0;
    for (std::size_t v = 0; v < vocab; ++v)
      sum += std::exp(logits[r * vocab + v]);
    losses.push_back(std::log(sum) - logits[r * vocab + static_cast<std::size_t>(targets[r])]);
  }
  return losses;
}

double gptLoss(const ModelConfig& config, const Vec& parameters, const std::vector<std::int32_t>& tokens,
               const std::vector<std::int32_t>& targets) {
  const std::size_t n = config.channels, rows = tokens.size();
  Reader p(parameters);
  const Vec wte = p.take(config.vocab * n);
  const Vec wpe = config.isLlama() ? Vec(config.context * n, 0.0) : p.take(config.context * n);
  Vec x(rows * n);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = wte[static_cast<std::size_t>(tokens[i / n]) * n + i % n] + wpe[i / n % config.context * n + i % n];
  }
  for (std::size_t layer = 0; layer < config.layers; ++layer)
    x = config.isLlama() ? llamaBlock(x, config, p, rows) : block(x, config, p, rows);
  const Vec weight = p.take(n);
  x = config.isLlama() ? rmsNorm(x, weight) : layerNorm(x, weight, p.take(n), rows);
  const Vec losses = xent(linear(x, wte, rows, config.vocab), targets);
  return std::accumulate(losses.begin(), losses.end(), 0.0);
}

Vec numericGradient(const std::function<double(const Vec&)>& f, Vec x) {
  constexpr double kStep = 1e-5;
  Vec gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double keep = x[i];
    x[i] = keep + kStep;
    const double above = f(x);
    x[i] = keep - kStep;
    const double below = f(x);
    x[i] = keep;
    gradient[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

double dot(const Vec& a, const Vec& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

} // namespace goss::trainer::reference
