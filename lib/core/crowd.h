/// What is different where more ranks than processors talk over sockets.
#ifndef GOSS_LIB_CORE_CROWD_H_
#define GOSS_LIB_CORE_CROWD_H_

#include <string_view>

#include "gossamer/config.h"
#include "schedule/links.h"

namespace goss::core {

schedule::LinkPrice crowdedPrice(schedule::LinkPrice price, double ranks_per_processor);
/// Whether ranks of one host talk over sockets too.
bool usesSockets(const Config& config);
/// The algorithm that such ranks take among equals; "": none.
std::string_view preferredAmongEquals(const Config& config, double ranks_per_processor);

} // namespace goss::core

#endif // GOSS_LIB_CORE_CROWD_H_
