/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of QEMU options that a recording accepts. */
#include "replay/arguments.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/recording.h"

#define VALUE_MAX 4096u
#define KNOWN_MAX 512u

/*
 * ---- checks of values ------------------------------------------------------------------------ *
 * Each function checks and stores a value. It returns NULL, or why the value is refused.
 */

typedef const char *value_fn(const char *value, struct rs_arguments *a);

bool rs_arguments_is_cpu(const char *text)
{
	return text[0] && strlen(text) < 256 &&
	       text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				 "+-_.,=")] == '\0';
}

bool rs_arguments_is_date(const char *text)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd";

	for (size_t i = 0; i < sizeof(form); i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
			return false;
	return true;
}

static const char *kernel(const char *value, struct rs_arguments *a)
{
	a->kernel = value;
	return NULL;
}

static const char *initrd(const char *value, struct rs_arguments *a)
{
	a->initrd = value;
	return NULL;
}

static const char *append(const char *value, struct rs_arguments *a)
{
	a->append = value;
	return NULL;
}

static const char *memory(const char *value, struct rs_arguments *a)
{
	char *end;
	uint64_t mib;

	if (!strncmp(value, "size=", 5))
		value += 5;
	mib = isdigit((unsigned char)value[0]) ? strtoull(value, &end, 10) : 0;
	if (mib && (*end == 'G' || *end == 'g')) {
		mib = mib > UINT32_MAX ? 0 : mib * 1024;
		end++;
	} else if (mib && (*end == 'M' || *end == 'm')) {
		end++;
	}
	if (!mib || *end)
		return "give RAM in MiB, or with M or G, without other options";
	if (mib < RS_RECORDING_MEMORY_MIN || mib > RS_RECORDING_MEMORY_MAX)
		return "a guest has between 32 and 3072 MiB";
	a->memory_mib = (uint32_t)mib;
	return NULL;
}

static const char *cpu(const char *value, struct rs_arguments *a)
{
	if (!strcmp(value, "host") || !strncmp(value, "host,", 5))
		return "the host's own processor needs KVM, which does not count instructions; use "
		       "a model of QEMU's, or max";
	if (!rs_arguments_is_cpu(value))
		return "that is not the name of a processor model with its features";
	a->cpu = value;
	return NULL;
}

static const char *smp(const char *value, struct rs_arguments *a)
{
	(void)a;
	return !strcmp(value, "1") || !strcmp(value, "cpus=1")
		       ? NULL
		       : "instructions are counted for one processor; accesses of several "
			 "processors to "
			 "shared memory are not recorded";
}

static const char *accel(const char *value, struct rs_arguments *a)
{
	(void)a;
	return !strcmp(value, "tcg") || !strcmp(value, "tcg,thread=single")
		       ? NULL
		       : "only TCG in one thread counts instructions";
}

static const char *machine(const char *value, struct rs_arguments *a)
{
	(void)a;
	return !strcmp(value, "pc") || !strcmp(value, "pc,accel=tcg")
		       ? NULL
		       : "only the machine pc is verified to replay";
}

static const char *none(const char *value, struct rs_arguments *a)
{
	(void)a;
	return !strcmp(value, "none") ? NULL
				      : "only none is allowed: external input is not "
					"recorded";
}

static const char *network(const char *value, struct rs_arguments *a)
{
	(void)a;
	return !strcmp(value, "none")
		       ? NULL
		       : "packets arrive at times that are not recorded; only none is allowed";
}

static const char *rtc(const char *value, struct rs_arguments *a)
{
	const char *clock = "the guest's clock would be the host's: base=2026-01-31T12:00:00,"
			    "clock=vm";
	char date[20];

	if (strlen(value) != strlen("base=2026-01-31T12:00:00,clock=vm") ||
	    strncmp(value, "base=", 5) || strcmp(value + 5 + 19, ",clock=vm") != 0)
		return clock;
	snprintf(date, sizeof(date), "%.19s", value + 5);
	if (!rs_arguments_is_date(date))
		return clock;
	free(a->date);
	a->date = strdup(date);
	return a->date ? NULL : "out of memory";
}

static const char *image(const char *value, struct rs_arguments *a)
{
	if (a->disk)
		return "a guest can have only one disk";
	if (strchr(value, ','))
		return "QEMU takes no path with a comma";
	a->disk = strdup(value);
	return a->disk ? NULL : "out of memory";
}

/* Accepts file=F, with the options that the recorder itself passes. */
static const char *drive(const char *value, struct rs_arguments *a)
{
	static const char *const good[] = { "format=raw", "if=ide",	 "media=disk",
					    "index=0",	  "snapshot=on", NULL };
	const char *why = NULL, *file = NULL;
	char *copy = strdup(value), *rest = copy;

	if (!copy)
		return "out of memory";
	for (char *part; !why && (part = strsep(&rest, ","));) {
		bool known = false;

		for (size_t i = 0; good[i]; i++)
			known |= !strcmp(part, good[i]);
		if (!strncmp(part, "file=", 5))
			file = part + 5;
		else if (!known)
			why = "expected file=IMAGE,format=raw,if=ide: the only disk that is "
			      "verified to "
			      "replay";
	}
	if (!why)
		why = file ? image(file, a) : "file=IMAGE is missing";
	free(copy);
	return why;
}

/* ---- the table ------------------------------------------------------------------------------ */

enum form { ALONE, VALUE };

#define CHANNELS "the recorder owns the machine's channels: use ringside replay run, or --live"
#define COUNTS	 "the recorder sets counting and the log itself: --shift, -o"
#define OUTSIDE	 "external input is not recorded"
#define OUTPUT	 "the serial port's output goes to REC/console"
#define DEVICES	 "only the disk is verified to replay: -drive file=IMAGE,format=raw,if=ide"

/* A row has a check of its value, or the reason for refusing the option. The recorder itself does
 * what rows with neither request. */
static const struct argument {
	const char *name;
	enum form form;
	value_fn *value;
	const char *why_not;
} arguments[] = {
	{ "kernel", VALUE, kernel, NULL },
	{ "initrd", VALUE, initrd, NULL },
	{ "append", VALUE, append, NULL },
	{ "m", VALUE, memory, NULL },
	{ "cpu", VALUE, cpu, NULL },
	{ "smp", VALUE, smp, NULL },
	{ "accel", VALUE, accel, NULL },
	{ "M", VALUE, machine, NULL },
	{ "machine", VALUE, machine, NULL },
	{ "rtc", VALUE, rtc, NULL },
	{ "drive", VALUE, drive, NULL },
	{ "hda", VALUE, image, NULL },
	{ "net", VALUE, network, NULL },
	{ "nic", VALUE, network, NULL },
	{ "display", VALUE, none, NULL },
	{ "vga", VALUE, none, NULL },
	{ "monitor", VALUE, none, NULL },
	{ "parallel", VALUE, none, NULL },
	{ "nographic", ALONE, NULL, NULL },
	{ "nodefaults", ALONE, NULL, NULL },
	{ "no-user-config", ALONE, NULL, NULL },
	{ "no-reboot", ALONE, NULL, NULL },
	{ "snapshot", ALONE, NULL, NULL },

	{ "enable-kvm", ALONE, NULL, "KVM does not count instructions; recordings use TCG" },
	{ "icount", VALUE, NULL, COUNTS },
	{ "record", VALUE, NULL, COUNTS },
	{ "replay", VALUE, NULL, COUNTS },
	{ "no-shutdown", ALONE, NULL, "a guest that powers off would never end its recording" },
	{ "S", ALONE, NULL, CHANNELS },
	{ "s", ALONE, NULL, CHANNELS },
	{ "gdb", VALUE, NULL, CHANNELS },
	{ "qmp", VALUE, NULL, CHANNELS },
	{ "qmp-pretty", VALUE, NULL, CHANNELS },
	{ "mon", VALUE, NULL, CHANNELS },
	{ "chardev", VALUE, NULL, CHANNELS },
	{ "daemonize", ALONE, NULL, "QEMU must end with its recorder" },
	{ "serial", VALUE, NULL, OUTPUT },
	{ "debugcon", VALUE, NULL, OUTPUT },
	{ "virtioconsole", VALUE, NULL, OUTPUT },
	{ "netdev", VALUE, NULL,
	  "packets arrive at times that are not recorded; only -nic none is allowed" },
	{ "usb", ALONE, NULL, "USB devices are those of the host, or its input: " OUTSIDE },
	{ "usbdevice", VALUE, NULL, "USB devices are those of the host, or its input: " OUTSIDE },
	{ "audiodev", VALUE, NULL, OUTSIDE },
	{ "audio", VALUE, NULL, OUTSIDE },
	{ "spice", VALUE, NULL, "input at a display is not recorded: " OUTSIDE },
	{ "vnc", VALUE, NULL, "input at a display is not recorded: " OUTSIDE },
	{ "virtfs", VALUE, NULL, "files of the host may change: use --disk or --guest-dir" },
	{ "fsdev", VALUE, NULL, "files of the host may change: use --disk or --guest-dir" },
	{ "tpmdev", VALUE, NULL, OUTSIDE },
	{ "cdrom", VALUE, NULL, DEVICES },
	{ "hdb", VALUE, NULL, DEVICES },
	{ "hdc", VALUE, NULL, DEVICES },
	{ "hdd", VALUE, NULL, DEVICES },
	{ "fda", VALUE, NULL, DEVICES },
	{ "sd", VALUE, NULL, DEVICES },
	{ "pflash", VALUE, NULL, DEVICES },
	{ "blockdev", VALUE, NULL, DEVICES },
	{ "global", VALUE, NULL, "only the default properties of devices are verified to replay" },
	{ "loadvm", VALUE, NULL, "use ringside replay snapshot, and --snapshot" },
	{ "incoming", VALUE, NULL, "use ringside replay snapshot, and --snapshot" },
	{ "object", VALUE, NULL, "the recorder provides the RAM" },
	{ "mem-path", VALUE, NULL, "the recorder provides the RAM" },
	{ "plugin", VALUE, NULL, "a plugin would need to be the same in each replay" },
};
#define N_ARGUMENTS (sizeof(arguments) / sizeof(arguments[0]))

/* Returns the reason for refusing -device D, by its kind. */
static const char *device_why(const char *value)
{
	static const struct {
		const char *part, *why;
	} kinds[] = {
		{ "vhost", "vhost works in the host's kernel, outside QEMU: " OUTSIDE },
		{ "-net", "packets arrive at any time: " OUTSIDE },
		{ "e1000", "packets arrive at any time: " OUTSIDE },
		{ "rtl8139", "packets arrive at any time: " OUTSIDE },
		{ "usb", "USB devices are those of the host, or its input: " OUTSIDE },
		{ "vfio", "a device of the host answers at any time: " OUTSIDE },
		{ "nvme", "a guest with NVMe does not reach its power-off in replays: -drive "
			  "file=IMAGE,format=raw,if=ide" },
		{ "rng", "random bytes of the host: " OUTSIDE },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strstr(value, kinds[i].part))
			return kinds[i].why;
	return DEVICES;
}

static struct rs_error *unknown(const char *word)
{
	char known[KNOWN_MAX] = "";
	size_t used = 0;

	for (size_t i = 0; i < N_ARGUMENTS && used < sizeof(known); i++)
		if (!arguments[i].why_not)
			used += (size_t)snprintf(known + used, sizeof(known) - used, " -%s",
						 arguments[i].name);
	return rs_error_create(RS_USAGE, "%.64s is not verified to replay; these are:%s", word,
			       known);
}

static const struct argument *find(const char *word)
{
	const char *name = word + strspn(word, "-");
	size_t dashes = (size_t)(name - word);

	for (size_t i = 0; (dashes == 1 || dashes == 2) && i < N_ARGUMENTS; i++)
		if (!strcmp(arguments[i].name, name))
			return &arguments[i];
	return NULL;
}

struct rs_error *rs_arguments_read(int count, char *const words[], struct rs_arguments *a)
{
	struct rs_error *err = NULL;

	*a = (struct rs_arguments){ 0 };
	for (int i = 0; !err && i < count; i++) {
		const struct argument *known = find(words[i]);
		const char *word = words[i], *value = "", *why;

		if (!strcmp(word, "-device") || !strcmp(word, "--device"))
			why = device_why(i + 1 < count ? words[i + 1] : "");
		else
			why = known ? known->why_not : NULL;
		if (!why && !known) {
			err = unknown(word);
		} else if (!why && known->form == VALUE) {
			if (++i == count)
				err = rs_error_create(RS_USAGE, "%s needs a value", word);
			else if (strlen(words[i]) > VALUE_MAX)
				err = rs_error_create(RS_USAGE, "the value of %s is too long",
						      word);
			else
				value = words[i];
			why = err ? NULL : known->value(value, a);
		} else if (why && i + 1 < count && words[i + 1][0] != '-') {
			value = words[i + 1];
		}
		if (why)
			err = rs_error_create(RS_USAGE, "%s%s%.128s: %s", word, value[0] ? " " : "",
					      value, why);
	}
	if (err)
		rs_arguments_deinit(a);
	return err;
}

void rs_arguments_deinit(struct rs_arguments *a)
{
	free(a->disk);
	free(a->date);
	*a = (struct rs_arguments){ 0 };
}
