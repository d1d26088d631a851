/// Names, shapes and offsets of a model's parameters in one flat vector.
#ifndef GOSS_TRAINER_MODEL_PARAMETER_TABLE_H_
#define GOSS_TRAINER_MODEL_PARAMETER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trainer/model/model_config.h"

namespace goss::trainer {

/// One tensor: elements [offset, offset + count) of the flat vector.
struct Parameter {
  std::string name;               // Hugging Face's, such as "h.0.attn.c_attn.weight"
  std::vector<std::size_t> shape; // projections are [in, out] in gpt2, as its Conv1D, and [out, in] in llama
  std::size_t offset = 0;
  std::size_t count = 0;
  int layer = 0;         // the block; embeddings are in the first layer, the last layer norm comes after all
  float init_std = 0.0f; // normal(0, init_std); 0: constant init_value
  float init_value = 0.0f;
  bool is_in_block = false;
  [[nodiscard]] bool isMatrix() const { return shape.size() > 1; }          // matrices decay, vectors do not
  [[nodiscard]] bool isHidden() const { return is_in_block && isMatrix(); } // from channels to channels
};

/// Offsets of the tensors of one block; F is ModelConfig::mlpWidth. Biases are gpt2's only.
struct BlockOffsets {
  std::size_t ln1_weight, ln1_bias;
  std::size_t qkv_weight, qkv_bias; // [C, 3C], [3C]; llama: queries, keys and values one behind the other, [3C, C]
  std::size_t att_weight, att_bias; // [C, C], [C]
  std::size_t ln2_weight, ln2_bias;
  std::size_t fc_weight, fc_bias;   // [C, F], [F]; llama: gate and up one behind the other, [2F, C]
  std::size_t out_weight, out_bias; // [F, C], [C]; llama: [C, F]
};

/// Tensors lie in the order of the forward pass: wte, wpe (gpt2's), blocks, ln_f. The backward pass therefore completes
/// the flat gradient from its end to its start, and "everything from offset x on is final" describes its progress.
class ParameterTable {
 public:
  explicit ParameterTable(const ModelConfig& config);
  /// Tensors of the layers [first_layer, last_layer) only, which block() then counts from 0, with the embeddings and
  /// the final layer norm as asked; the names are those of the whole model. The token embedding comes last: its
  /// gradient is complete after all others, because the output projection of another stage contributes to it.
  ParameterTable(const ModelConfig& config, std::size_t first_layer, std::size_t last_layer, bool has_embeddings,
                 bool has_final_norm);

  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }
  [[nodiscard]] const BlockOffsets& block(std::size_t layer) const { return blocks_[layer]; }
  [[nodiscard]] std::size_t wte() const { return wte_; } // [V, C], tied with the output projection
  [[nodiscard]] std::size_t wpe() const { return wpe_; } // [T, C], gpt2's only
  [[nodiscard]] std::size_t lnfWeight() const { return lnf_weight_; }
  [[nodiscard]] std::size_t count() const { return count_; }

  /// GPT-2's initial values as a pure function of the seed: normal(0, 0.02), with 0.02 / sqrt(2 layers) for the
  /// projections into the residual stream; biases 0; layer norm weights 1.
  [[nodiscard]] std::vector<float> initialValues(std::uint64_t seed) const;

 private:
  std::size_t add(std::string name, std::vector<std::size_t> shape, float init_std, float init_value = 0.0f);
  void addEmbeddings(const ModelConfig& config);
  void addPositions(const ModelConfig& config);
  void addFinalNorm(const ModelConfig& config);
  void addBlock(const ModelConfig& config, std::size_t layer);
  [[nodiscard]] BlockOffsets addGpt2Block(const ModelConfig& config, std::size_t layer);
  [[nodiscard]] BlockOffsets addLlamaBlock(const ModelConfig& config, std::size_t layer);

  std::vector<Parameter> parameters_;
  std::vector<BlockOffsets> blocks_;
  std::size_t wte_ = 0;
  std::size_t wpe_ = 0;
  std::size_t lnf_weight_ = 0;
  std::size_t count_ = 0;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_MODEL_PARAMETER_TABLE_H_
