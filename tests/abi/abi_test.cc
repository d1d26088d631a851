// The rule of all structs that grow: the caller says how many bytes it has, and gets and gives no more than these.
#include "gossamer/abi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

using ::testing::HasSubstr;

constexpr unsigned char kGuard = 0xa5;

/// Bytes for a struct of the library's size, with as many behind it, all guards.
template <typename T>
struct Guarded {
  Guarded() { std::memset(bytes, kGuard, sizeof bytes); }
  T* get() { return reinterpret_cast<T*>(bytes); }
  /// Whether nothing from the `from`-th byte on was written.
  [[nodiscard]] bool intactFrom(std::size_t from) const {
    for (std::size_t i = from; i < sizeof bytes; ++i)
      if (bytes[i] != kGuard) return false;
    return true;
  }
  alignas(T) unsigned char bytes[2 * sizeof(T)];
};

/// `init` gives structs of every size their defaults, and no byte more.
template <typename T>
void expectSized(goss_status (*init)(T*, size_t)) {
  for (std::size_t size = sizeof(size_t); size <= sizeof(T); size += sizeof(size_t)) {
    Guarded<T> it;
    ASSERT_EQ(init(it.get(), size), GOSS_SUCCESS) << goss_last_error();
    EXPECT_EQ(it.get()->size, size);
    EXPECT_TRUE(it.intactFrom(size)) << size;
  }
  Guarded<T> it;
  EXPECT_EQ(init(it.get(), sizeof(T) + 8), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(goss_last_error(), HasSubstr("newer than the library"));
  EXPECT_EQ(init(it.get(), 0), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(init(it.get(), sizeof(T) - 4), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(init(nullptr, sizeof(T)), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_TRUE(it.intactFrom(0));
}

TEST(Structs, OfAllKindsAreInitialisedToTheirSize) {
  expectSized(goss_config_init_sized);
  expectSized(goss_options_init);
  expectSized(goss_counters_init);
  expectSized(goss_sync_tensor_init);
  expectSized(goss_sync_info_init);
  expectSized(goss_sync_counters_init);
  expectSized(goss_neighborhood_init);
  expectSized(goss_pipeline_request_init);
  expectSized(goss_pipeline_costs_init);
  expectSized(goss_pipeline_codec_request_init);
  expectSized(goss_pipeline_work_init);
  expectSized(goss_codec_functions_init);
}

/// Where padding ended a struct, the next field would lie in bytes that no caller has set.
TEST(Structs, HaveNoPaddingAtTheirEnds) {
  EXPECT_EQ(sizeof(goss_config), offsetof(goss_config, measure) + sizeof(const char*));
  EXPECT_EQ(sizeof(goss_options), offsetof(goss_options, tensor) + sizeof(uint64_t));
  EXPECT_EQ(sizeof(goss_counters), offsetof(goss_counters, placed_bytes) + sizeof(uint64_t));
  EXPECT_EQ(sizeof(goss_sync_tensor), offsetof(goss_sync_tensor, layer) + sizeof(int32_t));
  EXPECT_EQ(sizeof(goss_sync_info), offsetof(goss_sync_info, dynamic_period) + sizeof(int64_t));
  EXPECT_EQ(sizeof(goss_sync_counters), offsetof(goss_sync_counters, setup_bytes_sent) + sizeof(uint64_t));
  EXPECT_EQ(sizeof(goss_neighborhood), offsetof(goss_neighborhood, destination_count) + sizeof(size_t));
  EXPECT_EQ(sizeof(goss_pipeline_request), offsetof(goss_pipeline_request, reserved) + sizeof(int32_t));
  EXPECT_EQ(sizeof(goss_pipeline_costs), offsetof(goss_pipeline_costs, stage_times_s) + sizeof(double*));
  EXPECT_EQ(sizeof(goss_pipeline_codec_request),
            offsetof(goss_pipeline_codec_request, cache_directory) + sizeof(char*));
  EXPECT_EQ(sizeof(goss_codec_functions), offsetof(goss_codec_functions, decode) + sizeof(void (*)()));
}

TEST(Structs, InitialisersAndFunctionsAgree) {
  const goss_options options = GOSS_OPTIONS_INIT;
  goss_options same;
  ASSERT_EQ(goss_options_init(&same, sizeof same), GOSS_SUCCESS);
  EXPECT_EQ(same.size, options.size);
  EXPECT_EQ(same.scale, options.scale);
  goss_pipeline_request request;
  ASSERT_EQ(goss_pipeline_request_init(&request, sizeof request), GOSS_SUCCESS);
  EXPECT_STREQ(request.name, "1f1b");
  goss_sync_tensor tensor;
  ASSERT_EQ(goss_sync_tensor_init(&tensor, sizeof tensor), GOSS_SUCCESS);
  EXPECT_EQ(tensor.layer, -1);
}

TEST(Structs, FieldsBehindTheCallersSizeAreNotRead) {
  goss_config config;
  ASSERT_EQ(goss_config_init(&config), GOSS_SUCCESS);
  config.size = offsetof(goss_config, tls);
  config.spin_us = -7;
  config.tls = reinterpret_cast<const char*>(1); // to read it would crash
  EXPECT_EQ(goss_config_check(&config), GOSS_SUCCESS) << goss_last_error();
  config.size = sizeof config;
  config.tls = nullptr;
  EXPECT_EQ(goss_config_check(&config), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(goss_last_error(), HasSubstr("config.spin_us is -7; it must be a whole number of microseconds"));
}

TEST(LastError, IsWhatAFunctionBuiltOnTheLibrarySays) {
  EXPECT_EQ(goss_set_last_error(GOSS_ERR_BOOTSTRAP, "rank 7 is late"), GOSS_ERR_BOOTSTRAP);
  EXPECT_STREQ(goss_last_error(), "rank 7 is late");
  EXPECT_EQ(goss_set_last_error(GOSS_SUCCESS, nullptr), GOSS_SUCCESS);
  EXPECT_STREQ(goss_last_error(), "");
}

int openDescriptors() {
  int open = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    int type = 0;
    socklen_t bytes = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0) ++open;
  }
  return open;
}

TEST(UniqueId, ThatNobodyUsesIsDestroyedOnce) {
  const int before = openDescriptors();
  goss_unique_id id;
  ASSERT_EQ(goss_unique_id_create(&id), GOSS_SUCCESS) << goss_last_error();
  EXPECT_EQ(openDescriptors(), before + 1);
  EXPECT_EQ(goss_unique_id_destroy(&id), GOSS_SUCCESS) << goss_last_error();
  EXPECT_EQ(openDescriptors(), before);
  EXPECT_EQ(goss_unique_id_destroy(&id), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(goss_unique_id_destroy(nullptr), GOSS_ERR_INVALID_ARGUMENT);
  std::memset(&id, 0, sizeof id);
  EXPECT_EQ(goss_unique_id_destroy(&id), GOSS_ERR_INVALID_ARGUMENT);
}

TEST(UniqueId, ListensWhereTheConfigSays) {
  goss_config config;
  ASSERT_EQ(goss_config_init(&config), GOSS_SUCCESS);
  config.interface = "no-such-interface";
  goss_unique_id id;
  EXPECT_EQ(goss_unique_id_create_with(&config, &id), GOSS_ERR_INVALID_ARGUMENT);
  config.interface = "127.0.0.1";
  ASSERT_EQ(goss_unique_id_create_with(&config, &id), GOSS_SUCCESS) << goss_last_error();
  EXPECT_EQ(goss_unique_id_destroy(&id), GOSS_SUCCESS);
}

} // namespace
