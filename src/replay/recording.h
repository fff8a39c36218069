/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording: a folder with all that a QEMU needs to do once more, instruction for instruction,
 * what it did when it was recorded.
 *
 *	REC/recording.json         what this is: below
 *	REC/kernel, initrd, disk   copies; of the disk, as it was before
 *	REC/snapshot               the machine that it begins with, where it does not boot
 *	REC/log                    QEMU's: what was not deterministic
 *	REC/console                what the guest wrote on its serial port
 *
 * The machine is QEMU's `pc` under TCG with one processor, RAM, a serial port, an IDE disk if there
 * is one, and nothing else; its clock is the count of instructions, each 2^shift ns, and what it
 * sleeps besides. A *snapshot* of a running guest is such a folder without a log.
 */
#ifndef RS_REPLAY_RECORDING_H
#define RS_REPLAY_RECORDING_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>
#include <ringside/error.h>

#include "base/folder.h"
#include "replay/command.h"

#define RS_RECORDING_VERSION 1
/* MiB of RAM: all of it below 4 GiB, in one piece. */
#define RS_RECORDING_MEMORY_MIN 32u
#define RS_RECORDING_MEMORY_MAX 3072u
#define RS_RECORDING_SHIFT_MAX	10u

/* What has a hash. */
enum {
	RS_RECORDING_KERNEL,
	RS_RECORDING_INITRD,
	RS_RECORDING_LOG,
	RS_RECORDING_DISK,
	RS_RECORDING_BEGIN,
	RS_RECORDING_FILES,
};
extern const char *const rs_recording_files[RS_RECORDING_FILES];

enum rs_recording_state {
	RS_RECORDING_OPEN,     /* being recorded; where nobody holds its lock, who did was killed */
	RS_RECORDING_CLOSED,   /* to the guest's end, or until it was stopped */
	RS_RECORDING_CUT,      /* QEMU or we were killed: its log may lack its end */
	RS_RECORDING_SNAPSHOT, /* a guest to begin recordings with, and none itself */
};

struct rs_recording {
	struct rs_folder folder;
	enum rs_recording_state state;
	char *command;	    /* as it was typed */
	char **argv;	    /* of the QEMU that recorded it; NULL: it does not say */
	char *qemu_version; /* as it says itself: another one does not replay */
	uint32_t memory_mib;
	uint32_t shift;
	char *append; /* the kernel's arguments, ours among them */
	char *cpu;    /* QEMU's name of it, with features; NULL: QEMU's own */
	char *date;   /* the guest's at the start, 2026-01-31T12:00:00; NULL: the host's, logged */
	bool initrd, disk, snapshot; /* what is there */
	bool firmware;		     /* the machine has no kernel: its firmware boots the disk */
	/* While the guest sleeps so does QEMU, and logs it. Else sleep takes no time: but with a
	 * disk, QEMU's own clocks must go on, or it hangs. */
	bool sleeps;
	bool mended; /* it was cut, and can be replayed to the last event of its log */
	bool vapic;  /* the machine has a kernel's ROM for APICs; with it, going back hangs */
	int lock;    /* of the folder, while it is recorded; 0: not ours */
	char *hashes[RS_RECORDING_FILES]; /* SHA-256, hex, of rs_recording_files; NULL: not there */
	uint64_t
		sizes[RS_RECORDING_FILES]; /* bytes of those that have a hash; 0: it does not say */
	int files[RS_RECORDING_FILES];	   /* open for QEMU (material.h); 0: not */
	uint64_t icount;		   /* the last that was seen while it was recorded */
	char *why;			   /* it ended: "the guest powered off", "stopped" */
};

/* The arguments that keep the log small: calibration by polling a timer writes an event each few
 * instructions. Put before the caller's. */
extern const char rs_recording_append[];
/* Behind those: programs are where their files say, or else in one place each (program.h). */
extern const char rs_recording_append_places[];

/* Whether a directory has something of the name recording.json. */
bool rs_recording_is_one(const char *directory);
/* Reads REC/recording.json. RS_USAGE: the directory is no recording. */
struct rs_error *rs_recording_read(const char *directory, struct rs_recording *recording);
/* The same as JSON, whatever it says; the caller's. */
struct rs_error *rs_recording_load(const struct rs_folder *folder, json_t **json);
/* Writes it, by replacing the file. */
struct rs_error *rs_recording_write(const struct rs_recording *recording);
void rs_recording_deinit(struct rs_recording *recording); /* also one of zero bytes */

/* Whether it can be replayed without being mended. */
bool rs_recording_is_whole(const struct rs_recording *recording);

/* Says to others that it is being recorded, until this process and its QEMU have gone. */
struct rs_error *rs_recording_lock(struct rs_recording *recording);

/* Writes to the recording: makes one that was cut replayable to the last event of its log, and
 * writes what it is now. RS_DAMAGED: there is nothing to replay. RS_USAGE: it is being recorded. */
struct rs_error *rs_recording_mend(struct rs_recording *recording);

/*
 * Makes a recording ready for replays: checks that its kernel, initrd, log, disk and snapshot are
 * what they were when it was recorded and that QEMU is the one that recorded it, and opens them.
 * Writes nothing to the recording: if its recorder or QEMU was killed, the copy of its log is
 * mended. RS_DAMAGED, RS_ABSENT: it cannot be replayed, and why.
 */
struct rs_error *rs_recording_check(struct rs_recording *recording);
/* Checks and opens the log alone, for reading: needs no QEMU, and starts no program. */
struct rs_error *rs_recording_check_log(struct rs_recording *recording);
/* Whether a recording can begin with this snapshot; likewise. RS_USAGE: it is none. */
struct rs_error *rs_recording_check_snapshot(struct rs_recording *snapshot);

enum rs_recording_mode {
	RS_RECORDING_PLAIN, /* neither: a guest of which a snapshot is to be taken */
	RS_RECORDING_RECORD,
	RS_RECORDING_REPLAY,
	RS_RECORDING_LIVE, /* boots it again, without counting its instructions */
};

/* Makes QEMU's command line: the machine, and the files that are open. memory: a memfd that is the
 * guest's RAM, or -1; console: where the serial port goes, or -1. Both are borrowed. The disk, and
 * where snapshots are, rs_snapshots_add_to() adds. A replay, and what begins with a snapshot, stand
 * still at first. */
void rs_recording_command(const struct rs_recording *recording, enum rs_recording_mode mode,
			  int memory, int console, struct rs_qemu_command *command);
/* Keeps the words of it as what QEMU was started with. */
struct rs_error *rs_recording_keep_words(struct rs_recording *recording,
					 const struct rs_qemu_command *command);

#endif
