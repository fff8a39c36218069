/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Static probes and assertions in a program's ELF notes (of ringside/replay.h, and whatever
 * else has notes of SystemTap's form, as sys/sdt.h makes them): where they are, and where their
 * values are when the program comes there. x86-64.
 *
 * A file is untrusted: lengths, texts, operands and symbols are checked; what is invalid is
 * left out, and counted.
 */
#ifndef RS_REPLAY_NOTES_H
#define RS_REPLAY_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ringside/error.h>

#define RS_NOTE_VALUES_MAX 12u
#define RS_NOTE_TEXT_MAX   200u /* bytes of a name, of an expression */
#define RS_NOTES_MAX	   2048u

enum rs_operand_kind {
	RS_OPERAND_CONST,    /* `disp` */
	RS_OPERAND_REGISTER, /* `base`, from its bit `shift` on */
	RS_OPERAND_MEMORY,   /* at base + index * scale + disp */
};

/* Where a value is: "-4@%eax", "8@16(%rbp,%rcx,4)", "4@counter(%rip)", "8@$5". */
struct rs_operand {
	enum rs_operand_kind kind;
	uint8_t bytes; /* 1, 2, 4, 8 */
	bool is_signed;
	int8_t base, index; /* general registers in the order of struct rs_x86_regs; -1: none */
	uint8_t scale, shift;
	bool has_symbol; /* disp is from this symbol: notes_read() has added its address */
	bool moves;	 /* that is the file's: the program's base is to be added */
	/* While it is looked for: whether there is one, and whether there are more. */
	bool found, ambiguous;
	char symbol[RS_NOTE_TEXT_MAX];
	uint64_t symbol_at;
	uint64_t disp;
};

struct rs_note {
	uint64_t pc; /* as in the file: from the program's base on */
	char provider[RS_NOTE_TEXT_MAX], name[RS_NOTE_TEXT_MAX];
	struct rs_operand values[RS_NOTE_VALUES_MAX];
	uint32_t n_values;
	/* Of an assertion (rs_note_is_assert()). */
	char expression[RS_NOTE_TEXT_MAX];
	char names[RS_NOTE_TEXT_MAX]; /* of its values: "bytes, room" */
};

struct rs_notes {
	struct rs_note *at;
	uint32_t n, room;
	uint32_t left_out; /* that are invalid, or not for this processor */
};

/* Of an ELF file. RS_ABSENT, RS_DAMAGED: it is none that is of use. */
struct rs_error *rs_notes_read(const char *path, struct rs_notes *notes);
void rs_notes_deinit(struct rs_notes *notes);

bool rs_note_is_assert(const struct rs_note *note);

/* The next operand of a text, which moves on; false: there is none, or it is invalid (then
 * *text stands at what does not). */
bool rs_operand_parse(const char **text, struct rs_operand *operand);

/* A note's description, of so many bytes, as one more of the notes: of a probe (owner "stapsdt")
 * or what an assertion says ("ringside"), whose probe comes before. Makes no sense: left_out. */
struct rs_error *rs_notes_take(struct rs_notes *notes, const char *owner, const uint8_t *desc,
			       size_t bytes);

#endif
