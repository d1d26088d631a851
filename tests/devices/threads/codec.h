/// Codecs of the provider `threads`: kernels as host code, which workers run.
#ifndef GOSS_TESTS_DEVICES_THREADS_CODEC_H_
#define GOSS_TESTS_DEVICES_THREADS_CODEC_H_

#include <memory>
#include <string_view>

#include "gossamer/device.h"

namespace goss::test {

/// As Device::codec().
Result<std::shared_ptr<const QueuedCodec>> makeThreadCodec(std::string_view spec);

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_THREADS_CODEC_H_
