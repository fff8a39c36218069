/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files of a recording as QEMU gets them: open, in rs_recording.files. A recording may come
 * from another user, so its files are opened below its folder (folder.h), and QEMU gets what was
 * checked:
 *
 *	kernel, initrd, snapshot, log	a copy without a name, whose hash is checked, and which
 *					QEMU's user may read
 *	disk				the file itself, open for reading
 *
 * The hashes in recording.json are from its creator: they detect damage. The content of a hostile
 * recording reaches QEMU, which is confined.
 */
#ifndef RS_REPLAY_MATERIAL_H
#define RS_REPLAY_MATERIAL_H

#include <ringside/error.h>
#include "replay/recording.h"

/* Opens all files except the log. Checks each against its hash, or sets the hash if the recording
 * has none. */
struct rs_error *rs_material_open(struct rs_recording *recording);
/* Opens a copy of the log. Checks it against its hash, unless it was cut and will be repaired. */
struct rs_error *rs_material_open_log(struct rs_recording *recording);
/* Creates REC/log for QEMU to write. */
struct rs_error *rs_material_make_log(struct rs_recording *recording);
/* Returns the log to the owner of REC after QEMU has ended, if that is this process' user. Sets its
 * hash and size. */
struct rs_error *rs_material_end_log(struct rs_recording *recording, int log);

/* Opens the file of a guest's console: creates or empties it. */
struct rs_error *rs_material_console(const char *path, int *fd);

/* Closes them all. */
void rs_material_close(struct rs_recording *recording);

/* Sets the hash and the size of one of its files. */
struct rs_error *rs_material_describe(struct rs_recording *recording, int file, int fd);

#endif
