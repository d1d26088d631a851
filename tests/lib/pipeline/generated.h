/// A generated schedule for tests, which must exist.
#ifndef GOSS_TESTS_LIB_PIPELINE_GENERATED_H_
#define GOSS_TESTS_LIB_PIPELINE_GENERATED_H_

#include <gtest/gtest.h>

#include <string>

#include "pipeline/checker.h"
#include "pipeline/generate.h"

namespace goss::pipeline {

inline Schedule generated(const Request& request) {
  Result<Schedule> schedule = generate(request);
  if (!schedule.isOk()) {
    ADD_FAILURE() << schedule.status().text();
    return {};
  }
  return schedule.take();
}

inline Schedule generated(const std::string& name, int ranks, int micro_batches, int batches = 1) {
  return generated({.name = name, .ranks = ranks, .micro_batches = micro_batches, .batches = batches});
}

} // namespace goss::pipeline

#endif // GOSS_TESTS_LIB_PIPELINE_GENERATED_H_
