/* SPDX-License-Identifier: BSD-2-Clause */
/* An event's arguments as JSON, for all outputs. */
#ifndef RS_EVENT_VIEW_JSON_H
#define RS_EVENT_VIEW_JSON_H

#include "base/json.h"
#include <ringside/source.h>

/*
 * Writes an object with a member for each argument. A value's JSON type depends only on its field:
 * hexadecimal values are strings "0x...", enumerations, names and texts are strings, and all others
 * are numbers. A stamp is in ns of the trace's time or, with raw_tsc, unconverted.
 */
void rs_view_json_args(struct rs_json *json, const struct rs_view *view, bool raw_tsc);

#endif
