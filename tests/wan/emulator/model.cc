#include "tests/wan/emulator/model.h"

#include <map>

namespace goss::wanem {

void setProfile(Profile& p, const std::string& key, const std::string& value) {
  static const std::map<std::string, double Profile::*> keys = {
      {"bw", &Profile::bw},       {"delay", &Profile::delay},    {"jitter", &Profile::jitter},
      {"loss", &Profile::loss},   {"burst", &Profile::burst},    {"corrupt", &Profile::corrupt},
      {"queue", &Profile::queue}, {"reorder", &Profile::reorder}};
  auto it = keys.find(key);
  if (it == keys.end()) fail("unknown option or key '" + key + "'");
  p.*it->second = number(value, key, 0, key == "loss" || key == "corrupt" ? 100 : 1e9);
}

} // namespace goss::wanem
