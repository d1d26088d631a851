#include "messages/message_context.h"

namespace goss {

MessageContext::MessageContext(const OperationEnvironment& environment)
    : OperationEnvironment(environment), receives(group, context, mesh, self_channel) {
  for (unsigned dtype = 0; dtype < GOSS_DTYPE_COUNT; ++dtype) {
    Signature signature;
    signature.kind = Signature::Kind::pointToPoint;
    signature.dtype = static_cast<DType>(dtype);
    envelopes[dtype] = signature.encode();
  }
}

} // namespace goss
