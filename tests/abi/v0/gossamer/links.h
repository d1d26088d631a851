// Frozen: as a program of the first version was compiled with it. Never changed.
#ifndef GOSSAMER_LINKS_H_
#define GOSSAMER_LINKS_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

GOSS_API goss_status goss_comm_measure_links(goss_comm_t comm, const goss_options* options, char** links);

#ifdef __cplusplus
}
#endif

#endif
