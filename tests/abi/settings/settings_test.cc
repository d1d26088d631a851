// Every setting can be given as a variable and as a field of goss_config, with the same limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "capi/config.h"
#include "world/settings.h"

namespace goss::capi {
namespace {

using ::testing::HasSubstr;

goss_config initialised() {
  goss_config config;
  EXPECT_EQ(goss_config_init(&config), GOSS_SUCCESS) << goss_last_error();
  return config;
}

/// Sets a field alone, and looks for it in what goss_comm_create would go by.
class EachIsTaken {
 public:
  void text(const Setting<std::string, const char*>& setting) { expect(setting, "given", std::string("given")); }
  void word(const Setting<std::string, const char*>& setting, Words words) {
    const std::string last(words.end()[-1]);
    expect(setting, last.c_str(), last);
    goss_config config = initialised();
    config.*setting.given = "nonsense";
    expectRefused(config, setting.field);
  }
  template <typename T, typename F>
  void integer(const Setting<T, F>& setting, const Range<T>& range) {
    expect(setting, static_cast<F>(range.least + 1), static_cast<T>(range.least + 1));
    if (range.most == std::numeric_limits<T>::max() && sizeof(T) == sizeof(F)) return;
    goss_config config = initialised();
    config.*setting.given = static_cast<F>(static_cast<F>(range.most) + 1);
    expectRefused(config, setting.field);
  }
  template <typename F>
  void bytes(const Setting<std::size_t, F>& setting, const Range<std::size_t>& range) {
    integer(setting, range);
  }
  void probability(const Setting<double, double>& setting) {
    expect(setting, 0.25, 0.25);
    goss_config config = initialised();
    config.*setting.given = 1;
    expectRefused(config, setting.field);
  }
  void portRange(const char* /*variable*/, const char* fields) {
    goss_config config = initialised();
    config.port_min = 20000;
    config.port_max = 20999;
    const auto settings = readSettings("test", &config);
    ASSERT_TRUE(settings.isOk()) << settings.status().text();
    EXPECT_EQ(settings.value().config.port_min, 20000);
    EXPECT_EQ(settings.value().config.port_max, 20999);
    config.port_max = 19999;
    expectRefused(config, fields);
    ++count;
  }

  int count = 0;

 private:
  template <typename T, typename F, typename G>
  void expect(const Setting<T, F>& setting, G given, const T& taken) {
    goss_config config = initialised();
    config.*setting.given = given;
    if (std::string_view(setting.field) == "tls_scope") config.tls = "psk:/nowhere";
    const auto settings = readSettings("test", &config);
    ASSERT_TRUE(settings.isOk()) << settings.status().text();
    EXPECT_EQ(settings.value().config.*setting.member, taken) << setting.field;
    ++count;
  }
  void expectRefused(const goss_config& config, const char* field) {
    const auto settings = readSettings("test", &config);
    ASSERT_FALSE(settings.isOk()) << field;
    EXPECT_THAT(settings.status().text(), HasSubstr(std::string("test: config.") + field));
  }
};

TEST(Settings, AreAllReachableAsFields) {
  EachIsTaken each;
  visitSettings(each);
  EXPECT_GE(each.count, 29);
}

TEST(Settings, OfTheEnvironmentStandUnlessTheFieldSaysOtherwise) {
  ::setenv("GOSS_RELAY", "off", 1);
  ::setenv("GOSS_SPIN_US", "7", 1);
  ::setenv("GOSS_UNEXPECTED_BYTES", "1M", 1);
  goss_config config = initialised();
  EXPECT_EQ(config.spin_us, 7);
  EXPECT_EQ(config.unexpected_bytes, 1u << 20);
  EXPECT_EQ(config.relay, nullptr);
  auto settings = readSettings("test", &config);
  ASSERT_TRUE(settings.isOk());
  EXPECT_EQ(settings.value().config.relay, "off");
  config.relay = "";           // the default
  config.unexpected_bytes = 0; // no meaning of its own
  config.spin_us = 0;
  settings = readSettings("test", &config);
  ASSERT_TRUE(settings.isOk()) << settings.status().text();
  EXPECT_EQ(settings.value().config.relay, "on");
  EXPECT_EQ(settings.value().config.unexpected_bytes, 1u << 20);
  EXPECT_EQ(settings.value().config.spin_us, 0);
  config.size = offsetof(goss_config, silence_ms); // a caller of the first version
  settings = readSettings("test", &config);
  ASSERT_TRUE(settings.isOk()) << settings.status().text();
  EXPECT_EQ(settings.value().config.relay, "off");
  EXPECT_EQ(settings.value().config.spin_us, 7);
  ::unsetenv("GOSS_RELAY");
  ::unsetenv("GOSS_SPIN_US");
  ::unsetenv("GOSS_UNEXPECTED_BYTES");
}

TEST(Settings, ThatWouldLeaveARunInClearAreRefused) {
  goss_config config = initialised();
  config.tls_scope = "hosts";
  const auto settings = readSettings("test", &config);
  ASSERT_FALSE(settings.isOk());
  EXPECT_THAT(settings.status().text(), HasSubstr("tls_scope is set, but tls is not"));
}

} // namespace
} // namespace goss::capi
