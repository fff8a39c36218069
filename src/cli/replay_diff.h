/* SPDX-License-Identifier: BSD-2-Clause */
/* Shows the result of `replay diff`. */
#ifndef RS_CLI_REPLAY_DIFF_H
#define RS_CLI_REPLAY_DIFF_H

#include "replay/diff.h"

void rs_replay_diff_print(const struct rs_diff *diff);
struct rs_error *rs_replay_diff_print_json(const struct rs_diff *diff);

#endif
