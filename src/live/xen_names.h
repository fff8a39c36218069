/* SPDX-License-Identifier: BSD-2-Clause */
/* Looks up the names of Xen's domains in xenstore, through libxenstore, which is loaded at run
 * time. One thread. */
#ifndef RS_LIVE_XEN_NAMES_H
#define RS_LIVE_XEN_NAMES_H

#include <stdint.h>
#include <ringside/error.h>

#define RS_XEN_NAME_MAX 64 /* bytes, with a NUL; a longer name is cut */

struct rs_xen_names;

/* Opens xenstore. Returns RS_ABSENT if libxenstore is missing, or no daemon answers. */
struct rs_error *rs_xen_names_open(struct rs_xen_names **names);
void rs_xen_names_close(struct rs_xen_names *names); /* NULL is ignored */

/* Returns a domain's present name, or NULL. The name is valid until the next call. */
const char *rs_xen_names_find(struct rs_xen_names *names, uint32_t dom);

#endif
