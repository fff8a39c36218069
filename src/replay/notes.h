/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads static probes and assertions from an x86-64 program's ELF notes (those of
 * ringside/replay.h, and others in SystemTap's format, such as those of sys/sdt.h): the addresses
 * of probes, and the places of their values there.
 *
 * A file is untrusted: lengths, texts, operands and symbols are checked. Invalid entries are
 * skipped, and counted.
 */
#ifndef RS_REPLAY_NOTES_H
#define RS_REPLAY_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_NOTE_VALUES_MAX 12u
#define RS_NOTE_TEXT_MAX   200u /* size of a name, of an expression */
#define RS_NOTES_MAX	   2048u

enum rs_operand_kind {
	RS_OPERAND_CONST,    /* `disp` */
	RS_OPERAND_REGISTER, /* the register `base`, from its bit `shift` on */
	RS_OPERAND_MEMORY,   /* memory at base + index * scale + disp */
};

/* The place of a value: "-4@%eax", "8@16(%rbp,%rcx,4)", "4@counter(%rip)", "8@$5". */
struct rs_operand {
	enum rs_operand_kind kind;
	uint8_t bytes; /* size: 1, 2, 4, 8 */
	bool is_signed;
	int8_t base, index; /* general registers in the order of struct rs_x86_regs; -1: none */
	uint8_t scale, shift;
	bool has_symbol; /* symbol to which disp is relative; notes_read() has added its address */
	bool moves;	 /* the address is relative to the program's base */
	/* During the search: whether the symbol was found, and whether it was found more than
	 * once. */
	bool found, ambiguous;
	char symbol[RS_NOTE_TEXT_MAX];
	uint64_t symbol_at;
	uint64_t disp;
};

struct rs_note {
	uint64_t pc; /* address in the file, relative to the program's base */
	char provider[RS_NOTE_TEXT_MAX], name[RS_NOTE_TEXT_MAX];
	struct rs_operand values[RS_NOTE_VALUES_MAX];
	uint32_t n_values;
	/* For an assertion (rs_note_is_assert()). */
	char expression[RS_NOTE_TEXT_MAX];
	char names[RS_NOTE_TEXT_MAX]; /* names of its values: "bytes, room" */
};

struct rs_notes {
	struct rs_note *at;
	uint32_t n, room;
	uint32_t left_out; /* number of invalid notes, and notes for another processor */
};

/* Reads the notes of an ELF file. Returns RS_ABSENT or RS_DAMAGED if the file is unusable. */
struct rs_error *rs_notes_read(const char *path, struct rs_notes *notes);
void rs_notes_deinit(struct rs_notes *notes);

bool rs_note_is_assert(const struct rs_note *note);

/* Parses the next operand of a text, and advances it. Returns false if there is none, or it is
 * invalid (*text then points to the invalid part). */
bool rs_operand_parse(const char **text, struct rs_operand *operand);

/* Adds a note from its description: a probe (owner "stapsdt"), or an assertion's text ("ringside"),
 * whose probe precedes it. Counts an invalid note in left_out. */
struct rs_error *rs_notes_add(struct rs_notes *notes, const char *owner, const uint8_t *desc,
			      size_t bytes);

#endif
