// The symbol that lib/builtins/builtins.cc looks up when it loads libgossamer_mpi.so.
#include "transports/common/plug.h"

#include "transports/mpi/mpi.h"

namespace {

goss::Transport* make(const goss::TransportContext& context) { return new goss::transports::MpiTransport(context); }

} // namespace

extern "C" {
[[gnu::visibility("default")]] extern const goss::transports::TransportPlug goss_transport_plug;
const goss::transports::TransportPlug goss_transport_plug{goss::transports::kPlugVersion, make};
}
