/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ringside run: boots a guest in the reference micro-VM and calls one of its functions, on all
 * vCPUs concurrently. With --record, VMM and guest are traced.
 *
 *	clock -> trace, recorder -> VM, image -> guest's trace -> boot, call -> VM ends
 *	      -> rings drained, recorder closed -> memory freed
 *
 * The clock starts first, because time zero precedes the VM. The VM's memory is freed last, because
 * the recorder drains the guest's rings in it.
 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/count.h"
#include "base/json.h"
#include "base/modes.h"
#include "cli/numbers.h"
#include "cli/run_values.h"
#include "cli/shared.h"
#include "introspect/binary.h"
#include "kvm/kvm.h"
#include "vm/vm.h"
#include <ringside/log.h>
#include <ringside/recorder.h>
#include <ringside/trace.h>

#define DEFAULT_FUNCTION "main"
#define MIB		 (UINT64_C(1) << 20)
#define RING_BYTES_MIN	 (sizeof(struct rs_sbuf) + RS_SBUF_ELE_NUM_MIN * RS_SLOT_BYTES)
#define RING_BYTES_MAX	 (UINT64_C(1) << 30)
#define NS_PER_S	 UINT64_C(1000000000)
#define NS_PER_MS	 UINT64_C(1000000)
#define NS_PER_US	 UINT64_C(1000)
#define TIMEOUT_NS_MAX	 (7 * 24 * 3600 * NS_PER_S)
/* The default of --memory: the image, and each vCPU's stack, block and alignment. */
#define IMAGE_BYTES	(32 * MIB)
#define PER_VCPU_BYTES	(MIB / 4)
#define MEMORY_STEP	(2 * MIB)
#define LOG_TRACE_BYTES (RS_LOG_BYTES / 4) /* for each run: half of its share of the log */

struct arguments {
	const char *guest, *function;
	char *args[RS_KIT_ARGS_MAX];
	uint32_t n_args;
	const char *record;
	uint32_t timeout_ms;
	uint32_t poll_us;
	bool json, strict_clock, quiet;
	const char *log, *last, *core;
	struct rs_vm_options vm;
};

/* ---- arguments ---------------------------------------------------------------------------- */

enum {
	KEY_VCPUS = 256,
	KEY_NAME,
	KEY_MEMORY,
	KEY_TIMEOUT,
	KEY_HANDOVER,
	KEY_RING,
	KEY_POLL,
	KEY_MASK,
};

static const struct argp_option options[] = {
	{ "vcpus", KEY_VCPUS, "N", 0, "Run the function on this many vCPUs (1)", 1 },
	{ "name", KEY_NAME, "NAME", 0,
	  "Name the VM in its traces and in those of `ringside record --kvm` (the guest's file)",
	  1 },
	{ "memory", KEY_MEMORY, "MIB", 0,
	  "Give the guest this much memory (the need of its image "
	  "and rings)",
	  1 },
	{ "timeout", KEY_TIMEOUT, "SEC", 0,
	  "Stop a guest that runs longer than this, as in 0.5 or 500ms (no limit)", 1 },
	{ "core", RS_CLI_TEXT(struct arguments, core), "FILE", 0,
	  "If the guest crashes, times out or is stopped, write an ELF core of it to this new "
	  "file, for gdb",
	  1 },
	{ "record", 'r', "DIR", RS_CLI_TEXT(struct arguments, record),
	  "Trace guest and VMM into this new directory", 2 },
	{ "handover", KEY_HANDOVER, "doorbell|shared", 0,
	  "How the guest's records reach the host: at exits and when a ring is full, without "
	  "losses (doorbell, the default); or while the guest runs, without exits (shared). "
	  "shared without --record is for `ringside record --guest-memory`",
	  2 },
	{ "ring", KEY_RING, "BYTES", 0, "The size of each vCPU's ring, with K or M (4M)", 2 },
	{ "poll", KEY_POLL, "US", 0,
	  "Poll shared rings at this interval, in microseconds, or as in 5ms (1000)", 2 },
	{ "mask", KEY_MASK, "CLASS,...", 0,
	  "Record only these classes: span, func, vm, vcpu, call, boot, irq, log, mem, stack, and "
	  "a program's classes user0 to user15",
	  2 },
	{ "sbuf", RS_CLI_TEXT(struct arguments, vm.sbuf), "PATH", 0,
	  "Trace the run loop in ACRN's format, into the rings that `ringside record --sbuf PATH "
	  "--create N` lends",
	  2 },
	{ "log", RS_CLI_TEXT(struct arguments, log), "PATH", 0,
	  "Log the run loop's actions to this memory, a file or shm:NAME, for `ringside log PATH`",
	  3 },
	{ "guest-log", RS_CLI_TEXT(struct arguments, vm.guest_log), "PATH", 0,
	  "Keep the guest's log and trace rings in this memory, a file or shm:NAME, where they "
	  "survive the VM",
	  3 },
	{ "last", RS_CLI_TEXT(struct arguments, last), "DIR", 0,
	  "Save the contents of earlier runs in the memories of --log and --guest-log to this "
	  "directory (.)",
	  3 },
	{ "strict-clock", RS_CLI_FLAG(struct arguments, strict_clock), NULL, 0,
	  "Refuse to record if the TSC's rate is not invariant; the default is a warning", 2 },
	{ 0 },
};

static const char doc[] =
	"Boot a guest in the reference micro-VM (it needs /dev/kvm) and call one of its functions, "
	"by default \"main\". The types of the function's arguments determine how ARGS are read: "
	"as numbers (hexadecimal after 0x), true or false, texts, or bytes as pairs of hexadecimal "
	"digits or @FILE.\v"
	"A guest is a static ELF64 program made with the guest kit: see ringside/kit.h and "
	"examples/guests. The guest's output goes to standard output.\n\n"
	"Exit codes: 0 the function returned on each vCPU; 1 the guest crashed or timed out, or "
	"the run failed; 2 usage error; 3 it returned, but records were lost.\n\n"
	"Examples:\n"
	"  ringside run build/examples/guests/hello\n"
	"  ringside run --record trace --vcpus 2 build/examples/guests/primes\n"
	"  ringside run --record trace --timeout 1 build/examples/guests/crash endless\n"
	"  ringside run --core core build/examples/guests/crash null_write\n"
	"  ringside run --log shm:vm --guest-log shm:guest build/examples/guests/logs\n"
	"  ringside print --tree trace\n";

static uint64_t ring_bytes(struct argp_state *state, const char *text)
{
	uint64_t bytes = 0;

	if (!rs_cli_read_size(text, RING_BYTES_MIN, RING_BYTES_MAX, &bytes))
		argp_error(state, "--ring '%s': expected %zu bytes to %lluM", text,
			   (size_t)RING_BYTES_MIN, (unsigned long long)(RING_BYTES_MAX >> 20));
	return bytes;
}

static enum rs_kit_hand_over hand_over(struct argp_state *state, const char *text)
{
	if (strcmp(text, "doorbell") != 0 && strcmp(text, "shared") != 0)
		argp_error(state, "--handover '%s': expected doorbell or shared", text);
	return text[0] == 'd' ? RS_KIT_DOORBELL : RS_KIT_SHARED;
}

static const struct {
	const char *name;
	uint32_t bits;
} classes[] = {
	{ "span", RS_CLASS_span },   { "func", RS_CLASS_func }, { "vm", RS_CLASS_vm },
	{ "vcpu", RS_CLASS_vcpu },   { "call", RS_CLASS_call }, { "boot", RS_CLASS_boot },
	{ "irq", RS_CLASS_irq },     { "log", RS_CLASS_log },	{ "mem", RS_CLASS_mem },
	{ "stack", RS_CLASS_stack }, { "all", RS_CLASS_ALL },
};
#define USER_CLASSES 16

static uint32_t class_bits(struct argp_state *state, const char *name)
{
	char user[16];

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (!strcmp(classes[i].name, name))
			return classes[i].bits;
	}
	for (uint32_t i = 0; i < USER_CLASSES; i++) {
		snprintf(user, sizeof(user), "user%u", i);
		if (!strcmp(user, name))
			return RS_CLASS_USER(i);
	}
	argp_error(state, "--mask: there is no class '%s'", name);
	return 0;
}

static uint32_t mask(struct argp_state *state, char *list)
{
	uint32_t bits = 0;
	char *rest = NULL;

	for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
		bits |= class_bits(state, name);
	if (!bits)
		argp_error(state, "--mask: no classes given");
	return bits;
}

/* Returns a name that fits into every trace. KVM's recorder limits it to RS_KVM_VM_MAX. */
static const char *vm_name(struct argp_state *state, const char *text)
{
	if (!*text || strlen(text) >= RS_KVM_VM_MAX)
		argp_error(state, "--name '%s': expected 1 to %d bytes", text, RS_KVM_VM_MAX - 1);
	return text;
}

static void positional(struct argp_state *state, struct arguments *a, char *text)
{
	if (!a->guest) {
		a->guest = text;
	} else if (!a->function) {
		a->function = text;
	} else {
		if (a->n_args == RS_KIT_ARGS_MAX)
			argp_error(state, "more than %u arguments", RS_KIT_ARGS_MAX);
		a->args[a->n_args++] = text;
	}
}

static error_t parse(int key, char *text, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->json;
		state->child_inputs[1] = &a->quiet;
		break;
	case KEY_VCPUS:
		a->vm.vcpus = (uint32_t)rs_cli_number(state, "--vcpus", text, 1, RS_VM_VCPUS_MAX);
		break;
	case KEY_NAME:
		a->vm.name = vm_name(state, text);
		break;
	case KEY_MEMORY:
		a->vm.memory_bytes =
			MIB * rs_cli_number(state, "--memory", text, 2, RS_VM_MEMORY_MAX / MIB);
		break;
	case KEY_TIMEOUT:
		a->timeout_ms = (uint32_t)(rs_cli_time_within(state, "--timeout", text, NS_PER_S,
							      NS_PER_MS, TIMEOUT_NS_MAX) /
					   NS_PER_MS);
		break;
	case KEY_HANDOVER:
		a->vm.hand_over = hand_over(state, text);
		break;
	case KEY_RING:
		a->vm.ring_bytes = ring_bytes(state, text);
		break;
	case KEY_POLL:
		a->poll_us = (uint32_t)(rs_cli_poll(state, text, NS_PER_US) / NS_PER_US);
		break;
	case KEY_MASK:
		a->vm.mask = mask(state, text);
		break;
	case ARGP_KEY_ARG:
		positional(state, a, text);
		break;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no GUEST given; examples are in build/examples/guests");
		break;
	default:
		return rs_cli_store(options, key, text, state);
	}
	return 0;
}

static void defaults_fill(struct arguments *a)
{
	struct rs_vm_options *vm = &a->vm;
	const char *slash = strrchr(a->guest, '/');

	if (!vm->name)
		vm->name = slash ? slash + 1 : a->guest;
	vm->guest_log_last = a->last;
	if (!a->function)
		a->function = DEFAULT_FUNCTION;
	if (!vm->ring_bytes)
		vm->ring_bytes = RS_VM_RING_BYTES;
	if (!vm->memory_bytes)
		vm->memory_bytes = IMAGE_BYTES + vm->vcpus * (PER_VCPU_BYTES + vm->ring_bytes);
	vm->memory_bytes = (vm->memory_bytes + MEMORY_STEP - 1) / MEMORY_STEP * MEMORY_STEP;
}

/* ---- a run -------------------------------------------------------------------------------- */

struct run {
	const struct arguments *a;
	char *command; /* as typed, for the trace */
	struct rs_clock clock;
	struct rs_recorder *recorder; /* NULL: not recorded */
	struct rs_host_guest *guest;
	struct rs_vm *vm;
	struct rs_recorder_summary summary;
	struct rs_vm_outcome outcomes[RS_VM_VCPUS_MAX];
	bool traced; /* rs_trace_start() was called */
	struct rs_log_left left, guest_left;
};

/* For the signal handler. */
static struct rs_vm *volatile running;

static void on_stop(int signal_number)
{
	struct rs_vm *vm = running;

	rs_cli_stop = true;
	if (vm)
		rs_vm_stop(vm);
	signal(signal_number, SIG_DFL); /* a second one ends the process */
}

static void catch_stop(void)
{
	struct sigaction action = { .sa_handler = on_stop };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* Prints a guest's text; called on vCPUs' threads. Control characters must not reach a terminal. */
static void guest_print(void *ctx, uint32_t vcpu, const char *text, size_t bytes)
{
	const struct run *run = ctx;
	FILE *to = run->a->json ? stderr : stdout;

	(void)vcpu;
	rs_cli_put(to, text, bytes);
	fflush(to);
}

static void remark(const struct run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void remark(const struct run *run, const char *format, ...)
{
	va_list args;

	if (run->a->quiet)
		return;
	fputs("ringside run: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static struct rs_error *guest_check(const char *path)
{
	struct stat status;

	if (stat(path, &status) < 0 || access(path, R_OK) < 0)
		return rs_error_errno(errno, "%s", path);
	if (!S_ISREG(status.st_mode))
		return rs_error_create(RS_USAGE, "%s: not a regular file", path);
	return NULL;
}

/* Checks that the core's file can be created, before the guest runs. */
static struct rs_error *core_check(const char *path)
{
	struct stat status;

	if (!path || (lstat(path, &status) && errno == ENOENT))
		return NULL;
	return rs_error_create(RS_USAGE, "--core '%s': the file exists already", path);
}

/* Writes a core of a guest that did not return on each vCPU. */
static struct rs_error *core_write(struct run *run)
{
	const char *path = run->a->core;
	struct rs_error *err;
	int fd;

	fd = rs_modes_open(path, O_RDWR | O_EXCL | O_NOFOLLOW);
	if (fd < 0)
		return rs_error_errno(errno, "cannot write core '%s'", path);
	err = rs_vm_core(run->vm, fd, path);
	if (close(fd) && !err)
		err = rs_error_errno(errno, "cannot write core '%s'", path);
	if (!err)
		remark(run, "core written to %s", path);
	return err;
}

/* Reports the contents of an earlier run in a memory, and where they were saved. */
static void left_remark(const struct run *run, const char *name, const struct rs_log_left *left)
{
	if (left->runs)
		remark(run, "%s of %s from earlier runs: %s (%llu missing) and %s: %s", name,
		       RS_COUNT_OF(left->runs, "run"), RS_COUNT_OF(left->lines, "line"),
		       (unsigned long long)left->missing, RS_COUNT_OF(left->records, "record"),
		       left->file);
	if (left->remark[0])
		remark(run, "%s: %s", name, left->remark);
}

static struct rs_error *trace_begin(struct run *run)
{
	struct rs_error *err = rs_trace_start(
		&(struct rs_trace_options){ .provider = "vmm", .mask = run->a->vm.mask });

	run->traced = !err;
	return err;
}

/* Starts the log, which prints nothing unless `ringside log level` changes its level. This
 * process's trace rings are in the log's memory, and survive the process even if they were not
 * recorded. */
static struct rs_error *log_begin(struct run *run)
{
	const struct arguments *a = run->a;
	struct rs_error *err;

	rs_log_set_level(RS_LOG_CONSOLE, 0);
	if (!a->log) {
		rs_log_set_level(RS_LOG_MEMORY, 0);
		return NULL;
	}
	err = rs_log_start(&(struct rs_log_options){ .path = a->log,
						     .name = a->vm.name,
						     .trace_bytes = LOG_TRACE_BYTES,
						     .last = a->last },
			   &run->left);
	if (err)
		return err;
	left_remark(run, "log", &run->left);
	return trace_begin(run);
}

/* Starts the clock, the tracing of this process and the recorder, before the VM exists. */
static struct rs_error *record_begin(struct run *run)
{
	const struct arguments *a = run->a;
	struct rs_binary guest;
	struct rs_error *err = NULL;

	if (!run->clock.invariant && a->strict_clock)
		return rs_error_create(RS_ABSENT,
				       "this machine's TSC is not known to be invariant (CPUID "
				       "80000007H EDX bit 8); without --strict-clock, this is "
				       "only a warning");
	if (!run->clock.invariant)
		remark(run, "warning: this machine's TSC is not known to be invariant: times are "
			    "wrong if its rate changes (some nested hosts hide the bit)");
	if (!run->traced)
		err = trace_begin(run);
	if (err)
		return err;
	err = rs_recorder_create(&(struct rs_recorder_options){ .directory = a->record,
								.clock = run->clock,
								.poll_us = a->poll_us,
								.command = run->command },
				 &run->recorder);
	if (!err)
		err = rs_recorder_add_trace(run->recorder);
	if (!err)
		err = rs_binary_read(&guest, "guest", a->guest);
	if (!err)
		err = rs_recorder_add_binary(run->recorder, &guest.trace);
	return err;
}

/* Attaches the guest's events, after its image is loaded. */
static struct rs_error *record_guest(struct run *run)
{
	const struct arguments *a = run->a;
	struct rs_error *err;

	err = rs_host_guest_create(&(struct rs_host_options){ .vm = a->vm.name,
							      .memory = rs_vm_memory(run->vm),
							      .clock = &run->clock,
							      .vcpus = a->vm.vcpus,
							      .vcpu_ctx = run->vm,
							      .registers = rs_vm_registers,
							      .unwind = rs_vm_unwind },
				   &run->guest);
	/* Sets the offsets before the recorder starts, because it stores the clocks. */
	if (!err)
		err = rs_vm_trace(run->vm, run->guest, run->recorder);
	if (!err)
		err = rs_recorder_add_guest(run->recorder, run->guest,
					    a->vm.hand_over == RS_KIT_SHARED);
	return err;
}

static bool all_returned(const struct run *run)
{
	for (uint32_t i = 0; i < run->a->vm.vcpus; i++) {
		if (run->outcomes[i].end != RS_VM_RETURNED)
			return false;
	}
	return true;
}

/* Boots the guest, and calls its function if the boot succeeded on each vCPU. */
static struct rs_error *guest_call(struct run *run, const struct rs_vm_export *function,
				   const struct rs_cli_values *values)
{
	const struct arguments *a = run->a;
	struct rs_error *err;

	running = run->vm;
	if (rs_cli_stop)
		rs_vm_stop(run->vm);
	err = rs_vm_boot(run->vm, a->timeout_ms, run->outcomes);
	if (!err && all_returned(run))
		err = rs_vm_call(run->vm, function, values->values, a->timeout_ms, run->outcomes);
	running = NULL;
	return err;
}

static struct rs_error *guest_run(struct run *run)
{
	const struct arguments *a = run->a;
	struct rs_vm_options options = a->vm;
	const struct rs_vm_export *function;
	struct rs_cli_values values = { 0 };
	struct rs_error *err;

	options.print = guest_print;
	options.print_ctx = run;
	options.guest_log_left = &run->guest_left;
	err = rs_vm_create(&options, &run->vm);
	if (!err)
		left_remark(run, "guest's log", &run->guest_left);
	if (!err)
		err = rs_vm_load(run->vm, a->guest);
	if (!err && run->recorder)
		err = record_guest(run);
	if (!err)
		err = rs_vm_export_find(run->vm, a->function, a->n_args, &function);
	if (!err)
		err = rs_cli_values_read(function, a->args, &values);
	if (!err)
		err = guest_call(run, function, &values);
	rs_cli_values_free(&values);
	return err;
}

/* ---- results ------------------------------------------------------------------------------ */

static const char *const end_names[] = {
	[RS_VM_NOT_RUN] = "not-run",   [RS_VM_RETURNED] = "returned", [RS_VM_CRASHED] = "crashed",
	[RS_VM_TIMED_OUT] = "timeout", [RS_VM_STOPPED] = "stopped",   [RS_VM_FAILED] = "failed",
};

static void outcomes_print(const struct run *run)
{
	for (uint32_t i = 0; i < run->a->vm.vcpus; i++) {
		const struct rs_vm_outcome *o = &run->outcomes[i];

		if (o->end == RS_VM_RETURNED) {
			if (run->a->json)
				continue;
			printf("vCPU %u: %s returned", i, run->a->function);
			rs_cli_value_print(stdout, &o->result);
			putchar('\n');
		} else if (o->end != RS_VM_NOT_RUN) {
			fflush(stdout);
			fprintf(stderr, "ringside run: vCPU %u: %s, at rip 0x%llx\n", i, o->why,
				(unsigned long long)o->rip);
		}
	}
}

static void put_vcpu(struct rs_json *json, const struct run *run, uint32_t vcpu)
{
	const struct rs_vm_outcome *o = &run->outcomes[vcpu];
	struct rs_vm_counts c = rs_vm_counts(run->vm, vcpu);

	rs_json_open(json, '{');
	rs_json_unsigned(rs_json_key(json, "vcpu"), vcpu);
	rs_json_text(rs_json_key(json, "end"), end_names[o->end]);
	rs_json_open(rs_json_key(json, "exits"), '{');
	rs_json_unsigned(rs_json_key(json, "all"), c.exits);
	rs_json_unsigned(rs_json_key(json, "halt"), c.halts);
	rs_json_unsigned(rs_json_key(json, "host_call"), c.host_calls);
	rs_json_unsigned(rs_json_key(json, "doorbell_register"), c.doorbell_register);
	rs_json_unsigned(rs_json_key(json, "doorbell_full"), c.doorbell_full);
	rs_json_unsigned(rs_json_key(json, "doorbell_stack"), c.doorbell_stack);
	rs_json_unsigned(rs_json_key(json, "interrupted"), c.interrupted);
	rs_json_close(json, '}');
	if (o->end == RS_VM_RETURNED) {
		rs_cli_value_json(json, &o->result);
	} else {
		rs_json_text(rs_json_key(json, "why"), o->why);
		rs_json_hex(rs_json_key(json, "rip"), o->rip);
	}
	rs_json_close(json, '}');
}

static void put_run(struct rs_json *json, const void *about)
{
	const struct run *run = about;
	const struct arguments *a = run->a;

	rs_json_text(rs_json_key(json, "guest"), a->guest);
	rs_json_text(rs_json_key(json, "function"), a->function);
	rs_json_bool(rs_json_key(json, "ok"), all_returned(run));
	rs_json_open(rs_json_key(json, "vcpus"), '[');
	for (uint32_t i = 0; i < a->vm.vcpus; i++)
		put_vcpu(json, run, i);
	rs_json_close(json, ']');
	if (a->record) {
		rs_json_text(rs_json_key(json, "trace"), a->record);
		rs_json_unsigned(rs_json_key(json, "records"), run->summary.records);
		rs_json_unsigned(rs_json_key(json, "lost"), run->summary.lost);
		rs_json_unsigned(rs_json_key(json, "streams"), run->summary.streams);
	}
}

/* The guest's times depend on one offset per vCPU. */
static void clock_remark(const struct run *run)
{
	for (uint32_t i = 0; i < rs_vm_vcpus(run->vm); i++) {
		uint64_t moved = rs_vm_tsc_moved(run->vm, i);

		if (moved)
			remark(run,
			       "warning: KVM moved vCPU %u's TSC while it ran, as the host's "
			       "kernel holds its own unstable: the guest's times are wrong by up "
			       "to %llu us",
			       i, (unsigned long long)(moved * 1000000 / run->clock.freq_hz));
	}
}

/* Ends the VM, then the trace. If only the trace has an error, the result is partial. */
static int finish(struct run *run)
{
	struct rs_error *err, *guest_error = NULL;
	int code = RS_EXIT_OK;

	if (run->vm) {
		rs_vm_end(run->vm);
		guest_error = rs_vm_trace_error(run->vm);
	}
	if (run->guest)
		rs_host_guest_end(run->guest);
	if (run->recorder && run->vm)
		clock_remark(run);
	if (run->recorder) {
		err = rs_recorder_close(run->recorder, &run->summary);
		/* The recorder may report the error that the VM reported while draining. */
		if (guest_error && err && strstr(rs_error_text(guest_error), rs_error_text(err))) {
			rs_error_free(err);
			err = NULL;
		}
		if (rs_cli_fail("run", guest_error) | rs_cli_fail("run", err))
			code = RS_EXIT_PARTIAL;
		remark(run, "trace written to %s: %s, %llu lost", run->a->record,
		       RS_COUNT_OF(run->summary.records, "record"),
		       (unsigned long long)run->summary.lost);
	}
	if (run->traced)
		rs_trace_stop();
	return run->summary.lost ? RS_EXIT_PARTIAL : code;
}

int cmd_run(int argc, char **argv)
{
	static const struct argp_child children[] = { { &rs_cli_json_argp, 0, NULL, 0 },
						      { &rs_cli_quiet_argp, 0, NULL, 0 },
						      { 0 } };
	static const struct argp argp = { options, parse, "GUEST [FUNCTION ARGS...]", doc, children,
					  NULL,	   NULL };
	struct arguments a = { .vm = { .vcpus = 1, .hand_over = RS_KIT_DOORBELL }, .last = "." };
	struct run run = { .a = &a, .command = rs_cli_command(argc, argv) };
	struct rs_error *err;
	int code, trace_code;
	bool ran;

	if (rs_cli_parse_maker(&argp, argc, argv, &a)) {
		free(run.command);
		return RS_EXIT_USAGE;
	}
	defaults_fill(&a);
	catch_stop();
	/* The clock reads its frequency from the kernel once, before the process is confined. The
	 * threads of the drain and of the vCPUs start later, and inherit the restrictions. */
	err = rs_clock_host(&run.clock);
	if (!err)
		err = rs_cli_confine(RS_CONFINE_WRITER);
	if (!err)
		err = rs_vm_check(); /* before a directory is created */
	if (!err)
		err = guest_check(a.guest);
	if (!err)
		err = core_check(a.core);
	if (!err)
		err = log_begin(&run);
	if (!err && a.record)
		err = record_begin(&run);
	if (!err)
		err = guest_run(&run);
	ran = !err;
	code = rs_cli_fail("run", err);
	if (code == RS_EXIT_PARTIAL)
		code = RS_EXIT_FAILED; /* nothing ran, so nothing is partial */
	if (ran)
		outcomes_print(&run);
	if (ran && a.core && !all_returned(&run))
		rs_cli_fail("run", core_write(&run)); /* the guest's end determines the exit code */
	trace_code = finish(&run);
	if (ran)
		code = all_returned(&run) ? trace_code : RS_EXIT_FAILED;
	if (ran && a.json)
		err = rs_cli_json_print(put_run, &run);
	if (ran && err)
		code = rs_cli_fail("run", err);
	rs_host_guest_destroy(run.guest);
	rs_vm_destroy(run.vm);
	rs_log_stop();
	free(run.command);
	return code;
}
