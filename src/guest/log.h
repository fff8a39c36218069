/* SPDX-License-Identifier: BSD-2-Clause */
/* The log's interface for code that keeps rings in its memory. */
#ifndef RS_GUEST_LOG_H
#define RS_GUEST_LOG_H

#include <stdint.h>

/* Returns the region for trace rings in the half that this run uses, or NULL if it has no such
 * region. */
void *rs_guest_log_region(uint64_t *bytes);

/* Writes the name of a vCPU for lines ("vcpu12"), up to 8 bytes with the NUL. Returns its
 * length. */
uint32_t rs_guest_log_name(uint32_t vcpu, char *name);

#endif
