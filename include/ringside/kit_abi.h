/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface between the guest kit (kit.h) and the reference micro-VM. Tracing has its own:
 * guest_abi.h. All addresses are guest-physical and equal to guest-virtual ones; all values are
 * little endian. Each side checks what it reads from the other.
 *
 * Start: a vCPU begins in long mode, with interrupts off, at the image's entry, RSP at the top of
 * its stack and RDI the address of its struct rs_kit_boot. It sets itself up and halts with
 * call.state RS_KIT_IDLE. vCPU 0 starts alone; the others when it has halted.
 *
 * Host calls guest: while the vCPU is halted, the host writes the arguments as a message into the
 * vCPU's input, fills in call with state RS_KIT_CALLED, and resumes the vCPU. The vCPU runs the
 * function, writes a message of the result into its output, sets RS_KIT_IDLE or RS_KIT_REFUSED, and
 * halts.
 *
 * Guest calls host: OUT of EAX to RS_KIT_PORT, with RCX an address:
 *	RS_KIT_CALL_HOST	of a struct rs_kit_host_call, which says where the message of the
 *				arguments is, and where the host writes that of the result
 *	RS_KIT_ABORT		of a struct rs_kit_abort; the vCPU does not run again
 */
#ifndef RINGSIDE_KIT_ABI_H
#define RINGSIDE_KIT_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <ringside/language.h>

RS_C_BEGIN

#define RS_KIT_PORT	 0x5254
#define RS_KIT_CALL_HOST 1u
#define RS_KIT_ABORT	 2u

#define RS_KIT_BOOT_MAGIC UINT64_C(0x746f6f626b736972) /* "riskboot" */
#define RS_KIT_VERSION	  3u

/* The size of a vCPU's stack, aligned to that size, so that a vCPU finds its own data from its
 * stack pointer. */
#define RS_KIT_STACK_BYTES  0x10000u
#define RS_KIT_BUFFER_BYTES 0x4000u /* of a vCPU's input, and of its output */
#define RS_KIT_ARGS_MAX	    6u
#define RS_KIT_NAME_MAX	    64u	  /* bytes of a function's name */
#define RS_KIT_TEXT_MAX	    4096u /* bytes of a text for the host */
#define RS_KIT_EXPORTS_MAX  1024u

enum rs_kit_state {
	RS_KIT_BOOTING = 0,
	RS_KIT_IDLE = 1,
	RS_KIT_CALLED = 2,
	RS_KIT_REFUSED = 3, /* no such function, or another number of arguments */
};

struct rs_kit_call {
	uint32_t state;	   /* RS_KIT_ */
	uint32_t function; /* index in the section rs_exports */
};
RS_STATIC_ASSERT(sizeof(struct rs_kit_call) == 8, "both sides");

/* ---- values ------------------------------------------------------------------------------- */

/* Types of arguments and results, those of Hyperlight's guest functions; an integer is one type. */
enum rs_kit_type {
	RS_KIT_VOID = 1, /* only for a result: no value */
	RS_KIT_INT = 2,	 /* 64 bits */
	RS_KIT_BOOL = 3,
	RS_KIT_FLOAT = 4, /* an IEEE 754 binary64 */
	RS_KIT_TEXT = 5,  /* NUL-terminated; UTF-8 by convention */
	RS_KIT_BYTES = 6,
};

struct rs_kit_value {
	uint32_t type;	/* RS_KIT_ */
	uint32_t bytes; /* of a text, without its NUL, or of bytes */
	/* The integer; 0 or 1; the bits of the float. For a text or bytes, their place: in a
	 * message an offset from its beginning, elsewhere an address. */
	uint64_t v;
};
RS_STATIC_ASSERT(sizeof(struct rs_kit_value) == 16, "both sides");

/* The arguments of a call, or its result; the data of texts and bytes follows. */
struct rs_kit_message {
	uint32_t n;
	uint32_t bytes; /* with the data */
	struct rs_kit_value values[RS_KIT_ARGS_MAX];
};
RS_STATIC_ASSERT(sizeof(struct rs_kit_message) == 104, "both sides");

/* Returns whether a message is complete and its values are within it. room is the number of bytes
 * that were read, or that can be read. The other side must not be able to change the message any
 * more. */
static inline int rs_kit_message_valid(const struct rs_kit_message *message, uint64_t room)
{
	if (room < sizeof(*message) || message->bytes < sizeof(*message) || message->bytes > room ||
	    message->n > RS_KIT_ARGS_MAX)
		return 0;
	for (uint32_t i = 0; i < message->n; i++) {
		const struct rs_kit_value *value = &message->values[i];
		uint64_t end = value->v + value->bytes;

		if (value->type < RS_KIT_INT || value->type > RS_KIT_BYTES ||
		    (value->type == RS_KIT_BOOL && value->v > 1))
			return 0;
		if (value->type < RS_KIT_TEXT)
			continue;
		if (value->v < sizeof(*message) || end < value->v || end > message->bytes)
			return 0;
		if (value->type == RS_KIT_TEXT &&
		    (end == message->bytes || ((const char *)message)[end]))
			return 0;
	}
	return 1;
}

enum rs_kit_hand_over {
	RS_KIT_NO_TRACE = 0,
	RS_KIT_DOORBELL = 1,
	RS_KIT_SHARED = 2,
	RS_KIT_KEEP =
		3, /* the host does not read the rings; recovery reads them from the log's memory */
};

/* There is one per vCPU, in memory that the host provides. */
struct rs_kit_boot {
	uint64_t magic;
	uint32_t version;
	uint32_t bytes; /* sizeof(struct rs_kit_boot) */
	uint32_t vcpu;
	uint32_t vcpus;
	uint32_t hand_over; /* RS_KIT_ */
	uint32_t mask;	    /* trace classes; 0: all */
	uint64_t stack;	    /* lowest address of RS_KIT_STACK_BYTES */
	uint64_t ring;	    /* memory for the trace ring */
	uint64_t ring_bytes;
	struct rs_kit_call call;
	uint64_t input, output; /* RS_KIT_BUFFER_BYTES each */
	/* The log's memory (guest_log.h), which the host owns, and which survives the guest. */
	uint64_t log;
	uint64_t log_bytes;	    /* 0: none */
	uint64_t tsc_hz;	    /* of the guest's TSC */
	int64_t wall_ns;	    /* Unix time when the TSC was 0 */
	char name[RS_KIT_NAME_MAX]; /* of the VM; NUL-terminated */
};
RS_STATIC_ASSERT(offsetof(struct rs_kit_boot, stack) == 32, "both sides");
RS_STATIC_ASSERT(offsetof(struct rs_kit_boot, call) == 56, "both sides");
RS_STATIC_ASSERT(offsetof(struct rs_kit_boot, log) == 80, "both sides");
RS_STATIC_ASSERT(sizeof(struct rs_kit_boot) == 176, "both sides");

/* The section rs_exports is an array of these. */
struct rs_kit_args;
struct rs_kit_export {
	const char *name; /* NUL-terminated, up to RS_KIT_NAME_MAX - 1 bytes */
	uint64_t (*function)(const struct rs_kit_args *args);
	uint8_t n_args;
	uint8_t result;			 /* RS_KIT_ */
	uint8_t params[RS_KIT_ARGS_MAX]; /* RS_KIT_ */
	const char *help;
};
RS_STATIC_ASSERT(sizeof(struct rs_kit_export) == 32, "both sides");

struct rs_kit_host_call {
	uint64_t name; /* of the host's function */
	uint32_t name_bytes;
	uint32_t result;       /* the type that the guest expects; RS_KIT_VOID: it ignores any */
	uint64_t args;	       /* a struct rs_kit_message */
	uint64_t answer;       /* where the host writes the result's ... */
	uint32_t answer_bytes; /* ... in this much room; 0 if it is ignored */
	uint32_t status;       /* of the answer */
};
RS_STATIC_ASSERT(sizeof(struct rs_kit_host_call) == 40, "both sides");

enum rs_kit_host_status {
	RS_KIT_HOST_PENDING = 0,
	RS_KIT_HOST_OK = 1,
	RS_KIT_HOST_NO_FUNCTION = 2,
	RS_KIT_HOST_BAD_ARGS = 3,
	RS_KIT_HOST_BAD_RESULT = 4, /* of another type, or too long for the room */
};

#define RS_KIT_NO_VECTOR UINT32_C(0xffffffff) /* the guest gave up without an exception */

struct rs_kit_abort {
	uint32_t vector; /* of the exception */
	uint32_t text_bytes;
	uint64_t text; /* why, in words; text_bytes 0: no words */
	uint64_t error;
	uint64_t rip;
	uint64_t address; /* CR2 for a page fault */
};
RS_STATIC_ASSERT(sizeof(struct rs_kit_abort) == 40, "both sides");

RS_C_END

#endif
