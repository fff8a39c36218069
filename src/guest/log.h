/* SPDX-License-Identifier: BSD-2-Clause */
/* What the log gives to those who keep rings in its memory. */
#ifndef RS_GUEST_LOG_H
#define RS_GUEST_LOG_H

#include <stdint.h>

/* The traces' region of the half that this run has; NULL: there is none. */
void *rs_guest_log_region(uint64_t *bytes);

/* "vcpu12", as lines have it; up to 8 bytes with the end. Its length. */
uint32_t rs_guest_log_name(uint32_t vcpu, char *name);

#endif
