/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A D program over guest types that no compiler writes: self-containing, endless, outside of their
 * struct; and over variables, whose symbols are made too. The BTF is made here of literal records
 * (Documentation/bpf/btf.rst).
 */
#include "../test.h"
#include "../../fuzz/kernel_made.h"

#include "insight/btf_types.h"
#include "lang/lang.h"

enum { KIND_INT = 1, KIND_PTR, KIND_ARRAY, KIND_STRUCT, KIND_VAR = 14, KIND_DATASEC };
#define PERCPU (MADE_BASE + 0x10000)
#define NESTED 200u

static uint32_t words[4096], n_words, n_types;
static char texts[8192];
static uint32_t n_texts = 1;
static struct rs_btf *made;
static struct rs_types *types;
static struct rs_kallsyms *symbols;

static uint32_t text(const char *name)
{
	uint32_t at = n_texts;

	strcpy(texts + at, name);
	n_texts += (uint32_t)strlen(name) + 1;
	return at;
}

static void word(uint32_t value)
{
	words[n_words++] = value;
}

/* Adds a record, without the data after it. Returns its number. */
static uint32_t record(uint32_t kind, const char *name, uint32_t n, uint32_t size_or_type)
{
	word(*name ? text(name) : 0);
	word(kind << 24 | n);
	word(size_or_type);
	return ++n_types;
}

static void member(const char *name, uint32_t type, uint32_t bits)
{
	word(*name ? text(name) : 0);
	word(type);
	word(bits);
}

static void array(uint32_t of, uint32_t n)
{
	record(KIND_ARRAY, "", 0, 0);
	word(of);
	word(1);
	word(n);
}

/* As since Linux 6.15, where per-CPU symbols have addresses like others. */
static void symbols_make(void)
{
	static const struct made_symbol own[] = {
		{ "__per_cpu_start", PERCPU },	  { "good", PERCPU + 8 },
		{ "moved", PERCPU + 24 },	  { "bare", PERCPU + 32 },
		{ "__per_cpu_end", PERCPU + 64 }, { "global", PERCPU + 128 },
		{ "plain", PERCPU + 136 },	  { "twice", PERCPU + 144 },
		{ "twice", PERCPU + 152 },
	};
	uint32_t from, to;
	struct rs_image image = made_image_own(MADE_NEW, false, own, sizeof(own) / sizeof(own[0]),
					       &from, &to);

	REQUIRE_OK(rs_kallsyms_find(&image, &symbols));
	rs_image_deinit(&image);
}

static uint32_t var(const char *name, uint32_t type)
{
	uint32_t id = record(KIND_VAR, name, 0, type);

	word(1); /* global */
	return id;
}

/* Variables of type int; `moved` is elsewhere than its symbol. */
static void variables_make(void)
{
	uint32_t good = var("good", 1), moved = var("moved", 1);

	var("global", 1);
	record(KIND_DATASEC, ".data..percpu", 2, 64);
	word(good);
	word(8);
	word(4);
	word(moved);
	word(16);
	word(4);
}

TEST(is_made)
{
	static uint8_t btf[sizeof(words) + sizeof(texts) + 24];
	uint32_t head[6] = { 0x1eb9f, 24, 0, 0, 0, 0 }, of;

	record(KIND_INT, "int", 0, 4);
	word(1u << 24 | 32);
	of = record(KIND_STRUCT, "self", 2, 8);
	member("a", of, 0);
	member("b", 1, 32);
	of = record(KIND_PTR, "", 0, n_types + 1); /* to itself */
	record(KIND_STRUCT, "loop", 1, 8);
	member("p", of, 0);
	array(n_types + 1, 2); /* of itself */
	of = n_types;
	record(KIND_STRUCT, "endless", 2, 16);
	member("a", of, 0);
	member("n", 1, 64);
	array(1, UINT32_MAX);
	of = n_types;
	record(KIND_STRUCT, "wide", 3, 16);
	member("huge", of, 0);
	member("far", 1, 0x7ffffff8);
	member("last", 1, 96);
	record(KIND_STRUCT, "chain", 1, 8);
	for (uint32_t i = 0; i < NESTED; i++) {
		member("", n_types + 1, 0);
		record(KIND_STRUCT, "", 1, 8);
	}
	member("x", 1, 0);
	variables_make();
	symbols_make();
	head[3] = head[4] = n_words * 4;
	head[5] = n_texts;
	memcpy(btf, head, sizeof(head));
	memcpy(btf + sizeof(head), words, n_words * 4);
	memcpy(btf + sizeof(head) + n_words * 4, texts, n_texts);
	REQUIRE_OK(rs_btf_create(btf, sizeof(head) + n_words * 4 + n_texts, &made));
	REQUIRE_OK(rs_btf_types_create(made, symbols, &types));
}

static struct rs_error *types_of(void *ctx, uint32_t index, const char **name,
				 struct rs_types **out)
{
	(void)ctx;
	*name = index ? NULL : "kernel";
	if (!index && out)
		*out = types;
	return NULL;
}

static struct rs_error *compiled(const char *expression)
{
	struct rs_script *script = NULL;
	char text[256];
	struct rs_script_config config = { .name = "test", .text = text, .types = types_of };
	struct rs_error *err;

	snprintf(text, sizeof(text), "BEGIN { trace(%s); }", expression);
	config.len = strlen(text);
	err = rs_script_compile(&config, &script);
	rs_script_destroy(script);
	return err;
}

TEST(valid_types_can_be_used)
{
	CHECK_OK(compiled("((struct self *)0x1000)->b"));
	CHECK_OK(compiled("(uint64_t)((struct loop *)0x1000)->p"));
	CHECK_OK(compiled("((struct endless *)0x1000)->n"));
	CHECK_OK(compiled("((struct kernel`wide *)0x1000)->last"));
	CHECK_OK(compiled("sizeof (struct self) + offsetof(struct self, b)"));
}

TEST(invalid_types_are_refused)
{
	CHECK_ERR(compiled("((struct endless *)0x1000)->a"), RS_USAGE, "D_OP_VFPTR");
	CHECK_ERR(compiled("((struct wide *)0x1000)->far"), RS_USAGE, "D_TYPE_MEMBER");
	CHECK_ERR(compiled("((struct wide *)0x1000)->huge[5]"), RS_USAGE, "D_OP_VFPTR");
	CHECK_ERR(compiled("((struct chain *)0x1000)->x"), RS_USAGE, "nests more than");
	CHECK_ERR(compiled("((struct wid *)0x1000)->last"), RS_USAGE,
		  "kernel has no such type; did you mean 'wide'?");
	CHECK_ERR(compiled("((struct user`wide *)0x1000)->last"), RS_USAGE,
		  "there are no types of 'user'; the known sets are kernel");
}

static struct rs_cvariable variable(const char *name)
{
	struct rs_cvariable found = { .address = 1 };
	bool is = false;

	CHECK_OK(types->ops->variable(types, name, &found, &is));
	CHECK(is);
	return found;
}

TEST(variables_have_the_place_of_their_symbol)
{
	struct rs_cvariable v = variable("good");

	CHECK(v.is_percpu && v.has_type);
	CHECK_EQ_U64(v.address, PERCPU + 8);
	CHECK_EQ_U64(v.type, 1);
	v = variable("bare");
	CHECK(v.is_percpu && !v.has_type);
	v = variable("global");
	CHECK(!v.is_percpu && v.has_type);
	v = variable("plain");
	CHECK(!v.is_percpu && !v.has_type);
	CHECK_EQ_U64(v.address, PERCPU + 136);
	CHECK_OK(compiled("kernel`good + (`global) + (kernel`good * 2) + sizeof (kernel`good)"));
	CHECK_OK(compiled("*(int *)&kernel`plain + *&kernel`global"));
}

TEST(a_variable_whose_type_is_elsewhere_has_none)
{
	CHECK(!variable("moved").has_type);
	CHECK_ERR(compiled("kernel`moved"), RS_USAGE,
		  "[D_OP_VFPTR] kernel`moved has no type that D can read");
}

TEST(wrong_variables_are_refused)
{
	CHECK_ERR(compiled("kernel`globl"), RS_USAGE,
		  "test:1:15: [D_SYM_BADREF] there is no variable kernel`globl: kernel has no such "
		  "variable; did you mean 'global'?");
	CHECK_ERR(compiled("kernel`twice"), RS_USAGE, "several symbols 'twice'");
	CHECK_ERR(compiled("user`good"), RS_USAGE,
		  "there are no variables of 'user'; the known sets are kernel");
	CHECK_ERR(compiled("(kernel`nothing *)0"), RS_USAGE, "[D_DECL_IDENT]");
	CHECK_ERR(compiled("kernel`5"), RS_USAGE, "[D_SYNTAX] expected a name after `");
	CHECK_ERR(compiled("kernel`good = 5"), RS_USAGE, "[D_OP_WRITE] kernel`good is read-only");
	CHECK_ERR(compiled("kernel`good->x"), RS_USAGE, "[D_OP_PTR]");
}

TEST(closes)
{
	rs_types_close(types);
	rs_kallsyms_destroy(symbols);
	rs_btf_destroy(made);
}
