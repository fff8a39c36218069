/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where two logs part, of logs that are made here; and whose function an address is, of a program
 * that is made here. What real recordings say is tests/replay/diff.test's.
 */
#include "../test.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

#include "replay/rr_compare.h"
#include "replay/symbols.h"

/* ---- logs --------------------------------------------------------------------------------- */

enum { INSTRUCTIONS = 0, INTERRUPT = 1, CHARACTERS = 7, HOST_CLOCK = 28, END = 39 };

struct made {
	uint8_t bytes[512];
	size_t n;
};

static void begin(struct made *log)
{
	static const uint8_t head[RS_RR_HEADER] = { 0x00, 0xe0, 0x20, 0x0c };

	*log = (struct made){ .n = RS_RR_HEADER };
	memcpy(log->bytes, head, sizeof(head));
}

static void put(struct made *log, uint8_t kind, const void *data, size_t bytes)
{
	log->bytes[log->n++] = kind;
	memcpy(log->bytes + log->n, data, bytes);
	log->n += bytes;
}

static void instructions(struct made *log, uint8_t n)
{
	put(log, INSTRUCTIONS, (uint8_t[4]){ 0, 0, 0, n }, 4);
}

static void host_clock(struct made *log, uint8_t seconds)
{
	/* 1,000,000,000 ns are 0x3b9aca00. */
	uint64_t ns = seconds * UINT64_C(1000000000);
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(ns >> (56 - 8 * i));
	put(log, HOST_CLOCK, bytes, 8);
}

static void a_log(struct made *log, uint8_t seconds, uint8_t interrupt_at)
{
	begin(log);
	host_clock(log, 1);
	instructions(log, 100);
	host_clock(log, seconds);
	instructions(log, interrupt_at);
	put(log, INTERRUPT, "", 0);
	instructions(log, (uint8_t)(100 - interrupt_at));
	put(log, CHARACTERS, "\1\0\0\0\3a\rb", 8);
	put(log, END, "", 0);
}

static void compare(const struct made *a, const struct made *b, struct rs_rr_compared *c)
{
	const uint8_t *const bytes[2] = { a->bytes, b->bytes };
	const size_t sizes[2] = { a->n, b->n };

	CHECK_OK(rs_rr_compare(bytes, sizes, c));
}

TEST(the_same_logs_do_not_part)
{
	struct made a;
	struct rs_rr_compared c;

	a_log(&a, 2, 50);
	compare(&a, &a, &c);
	CHECK(!c.differs);
	CHECK_EQ_U64(c.n[0], 5);
	CHECK_EQ_U64(c.icount, 200);
	CHECK_EQ_U64(c.kinds[HOST_CLOCK].n[1], 2);
	CHECK(!c.kinds[HOST_CLOCK].differs && c.ends[0] == RS_RR_END && c.ends[1] == RS_RR_END);
}

TEST(a_clock_that_says_something_else)
{
	struct made a, b;
	struct rs_rr_compared c;
	char text[RS_RR_TEXT_BYTES];

	a_log(&a, 2, 50);
	a_log(&b, 3, 50);
	compare(&a, &b, &c);
	CHECK(c.differs && c.kinds[HOST_CLOCK].differs && !c.kinds[INTERRUPT].differs);
	CHECK_EQ_U64(c.icount, 100);
	CHECK_EQ_U64(c.kinds[HOST_CLOCK].at, 1);
	rs_rr_event_text(&c.kinds[HOST_CLOCK].first[0].event, text);
	CHECK_STR(text, "1970-01-01 00:00:02.000000000");
	rs_rr_event_text(&c.first[1].event, text);
	CHECK_STR(text, "1970-01-01 00:00:03.000000000");
}

TEST(an_interrupt_that_comes_elsewhere)
{
	struct made a, b;
	struct rs_rr_compared c;
	struct rs_rr_event events[2];
	char text[RS_RR_TEXT_BYTES];

	a_log(&a, 2, 50);
	a_log(&b, 2, 47);
	compare(&a, &b, &c);
	CHECK(c.differs && !c.kinds[HOST_CLOCK].differs && c.kinds[INTERRUPT].differs);
	CHECK_EQ_U64(c.icount, 147);
	CHECK_EQ_U64(c.kinds[INTERRUPT].first[0].event.icount, 150);
	CHECK_EQ_U64(c.kinds[INTERRUPT].first[1].event.icount, 147);
	CHECK(!c.kinds[CHARACTERS].differs);
	CHECK_EQ_U64(rs_rr_between(a.bytes, a.n, 101, 200, events, 1), 3);
	CHECK_EQ_U64(events[0].kind, INTERRUPT);
	CHECK_EQ_U64(rs_rr_between(a.bytes, a.n, 151, 200, events, 2), 2);
	rs_rr_event_text(&events[0], text);
	CHECK_STR(text, "a\\x0db");
}

TEST(a_log_that_has_no_more)
{
	struct made a, b;
	struct rs_rr_compared c;

	a_log(&a, 2, 50);
	b = a;
	b.n -= 10; /* the characters and the end */
	compare(&a, &b, &c);
	CHECK(c.differs && c.first[0].is && !c.first[1].is);
	CHECK(c.ends[0] == RS_RR_END && c.ends[1] == RS_RR_CUT);
	CHECK(c.kinds[CHARACTERS].differs && c.kinds[END].differs && !c.kinds[INTERRUPT].differs);
	CHECK(!c.kinds[CHARACTERS].first[1].is);
}

TEST(what_is_no_log)
{
	struct made a, b;
	struct rs_rr_compared c;
	const uint8_t *const bytes[2] = { a.bytes, b.bytes };
	size_t sizes[2];

	a_log(&a, 2, 50);
	b = a;
	b.bytes[RS_RR_HEADER] = 200;
	sizes[0] = a.n;
	sizes[1] = b.n;
	CHECK_ERR(rs_rr_compare(bytes, sizes, &c), RS_DAMAGED, "at 0xc is no event");
	sizes[1] = 5;
	CHECK_ERR(rs_rr_compare(bytes, sizes, &c), RS_DAMAGED, "nothing in it");
}

/* ---- functions ---------------------------------------------------------------------------- */

/* A program with a table of symbols, and nothing else. */
static bool write_program(int fd, uint16_t type)
{
	static char names[] = "\0early\0sized\0data\0.symtab\0.strtab";
	Elf64_Sym symbols[] = {
		{ 0 },
		{ 7, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x2000, 0x10 }, /* sized */
		{ 1, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, 1, 0x1000, 0 },	/* early */
		{ 13, ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), 0, 1, 0x1800, 8 }, /* data */
	};
	Elf *elf = elf_begin(fd, ELF_C_WRITE, NULL);
	Elf64_Ehdr *head = elf ? elf64_newehdr(elf) : NULL;
	struct {
		void *bytes;
		size_t size;
		Elf_Type form;
		Elf64_Shdr shdr;
	} parts[] = {
		{ names, sizeof(names), ELF_T_BYTE, { .sh_name = 26, .sh_type = SHT_STRTAB } },
		{ symbols,
		  sizeof(symbols),
		  ELF_T_SYM,
		  { .sh_name = 18,
		    .sh_type = SHT_SYMTAB,
		    .sh_link = 1,
		    .sh_entsize = sizeof(Elf64_Sym) } },
	};
	bool good = head;

	for (size_t i = 0; good && i < 2; i++) {
		Elf_Scn *section = elf_newscn(elf);
		Elf_Data *data = section ? elf_newdata(section) : NULL;
		Elf64_Shdr *shdr = section ? elf64_getshdr(section) : NULL;

		good = data && shdr;
		if (!good)
			break;
		*data = (Elf_Data){ .d_buf = parts[i].bytes,
				    .d_size = parts[i].size,
				    .d_type = parts[i].form,
				    .d_align = 8,
				    .d_version = EV_CURRENT };
		*shdr = parts[i].shdr;
	}
	if (good) {
		head->e_ident[EI_DATA] = ELFDATA2LSB;
		head->e_type = type;
		head->e_machine = EM_X86_64;
		head->e_version = EV_CURRENT;
		head->e_shstrndx = 1;
		good = elf_update(elf, ELF_C_WRITE) > 0;
	}
	elf_end(elf);
	return good;
}

static struct rs_error *read_program(uint16_t type, struct rs_symbols *symbols)
{
	char path[] = "/tmp/ringside-symbols-XXXXXX";
	int fd = mkstemp(path);
	struct rs_error *err;

	elf_version(EV_CURRENT);
	CHECK(fd >= 0 && write_program(fd, type));
	err = rs_symbols_read(path, symbols);
	close(fd);
	unlink(path);
	return err;
}

TEST(functions_are_found)
{
	struct rs_symbols symbols;
	char text[RS_SYMBOL_TEXT_MAX];

	REQUIRE_OK(read_program(ET_EXEC, &symbols));
	CHECK_EQ_U64(symbols.n, 2);
	CHECK(rs_symbols_find(&symbols, 0x1000, text));
	CHECK_STR(text, "early");
	CHECK(rs_symbols_find(&symbols, 0x1801, text)); /* no size: to the next */
	CHECK_STR(text, "early+0x801");
	CHECK(rs_symbols_find(&symbols, 0x200f, text));
	CHECK_STR(text, "sized+0xf");
	CHECK(!rs_symbols_find(&symbols, 0x2010, text));
	CHECK(!rs_symbols_find(&symbols, 0xfff, text));
	rs_symbols_deinit(&symbols);
	CHECK(!rs_symbols_find(&symbols, 0x1000, text));
}

TEST(programs_of_no_use)
{
	struct rs_symbols symbols;

	CHECK_ERR(read_program(ET_REL, &symbols), RS_USAGE, "is a part of a program");
	CHECK_ERR(rs_symbols_read("/nowhere/at/all", &symbols), RS_FAILED, "No such file");
	CHECK_ERR(rs_symbols_read("/dev/null", &symbols), RS_DAMAGED, "not an ELF file");
}
