/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of Xen's domains, from xenstore: libxenstore, which is loaded at run time. One thread. */
#ifndef RS_LIVE_XEN_NAMES_H
#define RS_LIVE_XEN_NAMES_H

#include <stdint.h>
#include <ringside/error.h>

#define RS_XEN_NAME_MAX 64 /* bytes, with a NUL; a longer one is cut */

struct rs_xen_names;

/* RS_ABSENT: there is no libxenstore, or nobody answers for it. */
struct rs_error *rs_xen_names_open(struct rs_xen_names **names);
void rs_xen_names_close(struct rs_xen_names *names); /* NULL is nothing */

/* A domain's name now; NULL: it has none. Valid until the next call. */
const char *rs_xen_names_find(struct rs_xen_names *names, uint32_t dom);

#endif
