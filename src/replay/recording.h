/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording: a folder with all files that QEMU needs to repeat the recorded execution,
 * instruction for instruction.
 *
 *	REC/recording.json         the description: struct rs_recording
 *	REC/kernel, initrd, disk   copies; of the disk, before the recording
 *	REC/snapshot               the machine's initial state, if it does not boot
 *	REC/log                    QEMU's log of nondeterministic events
 *	REC/console                output of the guest's serial port
 *
 * The machine is QEMU's `pc` under TCG with one processor, RAM, a serial port, an optional IDE
 * disk, and no other devices. Its clock is the count of instructions, each 2^shift ns, plus the
 * time that it sleeps. A *snapshot* of a running guest is such a folder without a log.
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
/* Limits of the RAM, in MiB. All of it is below 4 GiB, in one piece. */
#define RS_RECORDING_MEMORY_MIN 32u
#define RS_RECORDING_MEMORY_MAX 3072u
#define RS_RECORDING_SHIFT_MAX	10u

/* The files that have a hash. */
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
	RS_RECORDING_OPEN,     /* being recorded; if its lock is free, the recorder was killed */
	RS_RECORDING_CLOSED,   /* to the guest's end, or until it was stopped */
	RS_RECORDING_CUT,      /* QEMU or the recorder was killed: the log may be incomplete */
	RS_RECORDING_SNAPSHOT, /* a guest with which recordings begin; not a recording itself */
};

struct rs_recording {
	struct rs_folder folder;
	enum rs_recording_state state;
	char *command;	    /* command as it was typed */
	char **argv;	    /* command line of the QEMU that recorded it; NULL: unknown */
	char *qemu_version; /* QEMU's own text; another version cannot replay it */
	uint32_t memory_mib;
	uint32_t shift;
	char *append; /* the kernel's arguments, including the recorder's */
	char *cpu;    /* QEMU's name of the CPU, with features; NULL: QEMU's default */
	/* the guest's date at the start, 2026-01-31T12:00:00; NULL: the host's, logged */
	char *date;
	bool initrd, disk, snapshot; /* which files exist */
	bool firmware;		     /* the machine has no kernel: its firmware boots the disk */
	/* While the guest sleeps, so does QEMU, and logs it. If false, sleep takes no time; but
	 * with a disk, QEMU's own clocks must advance, or it hangs. */
	bool sleeps;
	bool mended; /* it was cut, and can be replayed to the last event of its log */
	bool vapic;  /* the machine has a kernel's ROM for APICs; with it, going back hangs */
	int lock;    /* descriptor of the folder while it is recorded; 0: not held */
	/* SHA-256, hex, of rs_recording_files; NULL: no such file */
	char *hashes[RS_RECORDING_FILES];
	uint64_t sizes[RS_RECORDING_FILES]; /* sizes of the files that have a hash; 0: unknown */
	int files[RS_RECORDING_FILES];	    /* open for QEMU (material.h); 0: closed */
	uint64_t icount;		    /* the last instruction known to the recorder */
	/* why the recording ended: "the guest powered off", "stopped" */
	char *why;
};

/* The arguments that keep the log small: calibration by polling a timer logs an event every few
 * instructions. They precede the caller's. */
extern const char rs_recording_append[];
/* Arguments that follow those: they put programs at the addresses in their files, or else at one
 * fixed base each (program.h). */
extern const char rs_recording_append_places[];
/* Returns whether the guest's kernel may choose the places of programs at random. */
bool rs_recording_randomizes(const struct rs_recording *recording);

/* Returns whether a directory has an entry of the name recording.json. */
bool rs_recording_exists(const char *directory);
/* Reads REC/recording.json. Returns RS_USAGE if the directory is not a recording. */
struct rs_error *rs_recording_read(const char *directory, struct rs_recording *recording);
/* Reads recording.json as unchecked JSON, which the caller frees. */
struct rs_error *rs_recording_load(const struct rs_folder *folder, json_t **json);
/* Writes recording.json, by replacing the file. */
struct rs_error *rs_recording_write(const struct rs_recording *recording);
void rs_recording_deinit(struct rs_recording *recording); /* accepts all zero */

/* Returns whether the recording can be replayed without repair. */
bool rs_recording_is_whole(const struct rs_recording *recording);

/* Locks the recording, which shows other processes that it is being recorded, until this process
 * and its QEMU have ended. */
struct rs_error *rs_recording_lock(struct rs_recording *recording);

/* Repairs a recording that was cut, so that it can be replayed to the last event of its log, and
 * writes its new description. Returns RS_DAMAGED if the log is empty, and RS_USAGE if the recording
 * is still being recorded. */
struct rs_error *rs_recording_repair(struct rs_recording *recording);

/*
 * Prepares a recording for replays: checks that its kernel, initrd, log, disk and snapshot are
 * unchanged and that QEMU is the one that recorded it, and opens them. Writes nothing to the
 * recording: if its recorder or QEMU was killed, this repairs a copy of its log. Returns RS_DAMAGED
 * or RS_ABSENT, with the reason, if it cannot be replayed.
 */
struct rs_error *rs_recording_check(struct rs_recording *recording);
/* Checks and opens only the log, for reading. Needs no QEMU, and starts no program. */
struct rs_error *rs_recording_check_log(struct rs_recording *recording);
/* Checks in the same way that a recording can begin with this snapshot. Returns RS_USAGE if it is
 * not a snapshot. */
struct rs_error *rs_recording_check_snapshot(struct rs_recording *snapshot);

enum rs_recording_mode {
	RS_RECORDING_PLAIN, /* neither: a guest of which a snapshot is to be taken */
	RS_RECORDING_RECORD,
	RS_RECORDING_REPLAY,
	RS_RECORDING_LIVE, /* boots the machine again, without counting its instructions */
};

/*
 * Builds QEMU's command line: the machine, and the open files. memory is a memfd with the guest's
 * RAM, or -1; console is the output of the serial port, or -1. Borrows both. rs_snapshots_add_to()
 * adds the disk and the snapshots. A replay, and a machine that begins with a snapshot, is stopped
 * at first.
 */
void rs_recording_command(const struct rs_recording *recording, enum rs_recording_mode mode,
			  int memory, int console, struct rs_qemu_command *command);
/* Stores the words of the command in the recording. */
struct rs_error *rs_recording_keep_words(struct rs_recording *recording,
					 const struct rs_qemu_command *command);

/* Returns the Unix time of the guest's start, computed from the folder's modification time, which
 * is that of the recording's end; 0 if unknown. */
int64_t rs_recording_began_ns(const struct rs_recording *recording);

#endif
