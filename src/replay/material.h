/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens the files of a recording for QEMU, in rs_recording.files. A recording may come from another
 * user, so its files are opened below its folder (folder.h), and QEMU gets only checked files:
 *
 *	kernel, initrd, snapshot, log	a copy without a name, whose hash is checked, and which
 *					QEMU's user may read
 *	disk				the file itself, open for reading
 *
 * The hashes in recording.json come from its creator, so they detect only damage. The content of a
 * hostile recording reaches QEMU, which is confined.
 */
#ifndef RS_REPLAY_MATERIAL_H
#define RS_REPLAY_MATERIAL_H

#include <ringside/error.h>
#include "replay/recording.h"

/* Opens all files except the log. Checks each against its hash, or sets the hash if the recording
 * has none. */
struct rs_error *rs_material_open(struct rs_recording *recording);
/* Opens a copy of the log. Checks it against its hash, unless it was cut and is to be repaired. */
struct rs_error *rs_material_open_log(struct rs_recording *recording);
/* Creates REC/log for QEMU to write. */
struct rs_error *rs_material_make_log(struct rs_recording *recording);
/* Gives the log back to the owner of REC after QEMU has ended, if the owner is this process's user.
 * Sets its hash and size. */
struct rs_error *rs_material_end_log(struct rs_recording *recording, int log);

/* Opens the file of a guest's console. Creates or truncates it. */
struct rs_error *rs_material_console(const char *path, int *fd);

/* Closes all files. */
void rs_material_close(struct rs_recording *recording);

/* Sets the hash and the size of one of the recording's files. */
struct rs_error *rs_material_describe(struct rs_recording *recording, int file, int fd);

#endif
