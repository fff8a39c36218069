/* SPDX-License-Identifier: BSD-2-Clause */
/* An event's arguments as JSON, for every output that has them. */
#ifndef RS_EVENT_VIEW_JSON_H
#define RS_EVENT_VIEW_JSON_H

#include "base/json.h"
#include <ringside/source.h>

/*
 * Writes an object with a member for each argument. The type of a value does not depend on the
 * value: what is shown in hex is a string "0x...", enumerations, names and texts are strings, all
 * else are numbers. A stamp is in ns of the trace's time or, with raw_tsc, as the record has it.
 */
void rs_view_json_args(struct rs_json *json, const struct rs_view *view, bool raw_tsc);

#endif
