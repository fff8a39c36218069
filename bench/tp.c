/* SPDX-License-Identifier: BSD-2-Clause */
/* The rival's probe; tp.h declares it. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tp.h"
