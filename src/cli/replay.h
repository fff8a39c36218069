/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs below `replay`. Each is a file replay_<name>.c with one function, and a row in
 * cmd_replay.c. */
#ifndef RS_CLI_REPLAY_H
#define RS_CLI_REPLAY_H

/* argv[0] is "replay NAME". Each function returns an enum rs_exit. */
int replay_diff(int argc, char **argv);
int replay_distortion(int argc, char **argv);
int replay_gdb(int argc, char **argv);
int replay_record(int argc, char **argv);
int replay_profile(int argc, char **argv);
int replay_snapshot(int argc, char **argv);
int replay_run(int argc, char **argv);
int replay_seek(int argc, char **argv);
int replay_verify(int argc, char **argv);

#endif
