// The symbol that lib/builtins/builtins.cc looks up when it loads libgossamer_ucx.so.
#include "transports/common/plug.h"

#include "transports/ucx/ucx.h"

namespace {

goss::Transport* make(const goss::TransportContext& context) { return new goss::transports::UcxTransport(context); }

} // namespace

extern "C" {
[[gnu::visibility("default")]] extern const goss::transports::TransportPlug goss_transport_plug;
const goss::transports::TransportPlug goss_transport_plug{goss::transports::kPlugVersion, make};
}
