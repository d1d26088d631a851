#include <gtest/gtest.h>

#include "builtins/builtins.h"

namespace goss {
namespace {

/// Names of the transports of a run, best first, or the error's text.
std::string transportsOf(const Config& config) {
  TransportContext context;
  context.size = 2;
  context.config = &config;
  const auto made = makeTransports(config, context);
  if (!made.isOk()) {
    EXPECT_EQ(made.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
    return made.status().text();
  }
  std::string names;
  for (const auto& transport : made.value())
    names += (names.empty() ? "" : " ") + std::string(transport->name());
  return names;
}

Config secured(const std::string& transport, const std::string& scope) {
  Config config;
  config.tls = "psk:run.key";
  config.transport = transport;
  config.tls_scope = scope;
  return config;
}

TEST(SecuredTransports, NothingLeavesAProcessOrAHostInClear) {
  EXPECT_EQ(transportsOf({}), "loopback shm tcp");
  EXPECT_EQ(transportsOf(secured("", "all")), "loopback tls");
  EXPECT_EQ(transportsOf(secured("", "hosts")), "loopback shm tls");
  EXPECT_EQ(transportsOf(secured("tls", "all")), "tls");
  EXPECT_EQ(transportsOf(secured("shm", "hosts")), "shm");
}

TEST(SecuredTransports, WhatSendsInClearIsRefusedWithWordsThatHelp) {
  for (const char* transport : {"tcp", "ucx", "mpi"}) {
    for (const char* scope : {"all", "hosts"}) {
      const std::string text = transportsOf(secured(transport, scope));
      EXPECT_EQ(text, std::string("GOSS_TRANSPORT is \"") + transport +
                          "\", which sends in clear what GOSS_TLS with GOSS_TLS_SCOPE=" + scope +
                          " secures; leave GOSS_TRANSPORT unset, or set it to tls");
    }
  }
  EXPECT_NE(transportsOf(secured("shm", "all")).find("sends in clear"), std::string::npos);
}

TEST(SecuredTransports, TlsWithoutCredentialsIsRefused) {
  Config config;
  config.transport = "tls";
  EXPECT_EQ(transportsOf(config),
            "GOSS_TRANSPORT is \"tls\", but there are no credentials; set GOSS_TLS to psk:FILE or certs:DIR");
}

} // namespace
} // namespace goss
