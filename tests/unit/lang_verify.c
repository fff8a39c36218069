/* SPDX-License-Identifier: BSD-2-Clause */
/* The verifier: compiled code passes; each kind of broken code is refused. */
#include "../test.h"

#include <string.h>

#include "lang/vm/program.h"

static struct rs_script *compiled(const char *text)
{
	struct rs_script_config config = { .name = "test", .text = text, .len = strlen(text) };
	struct rs_script *script = NULL;

	if (!CHECK_OK(rs_script_compile(&config, &script)))
		return NULL;
	return script;
}

/* Literal code in place of the first clause's. */
static struct rs_error *verdict(struct rs_script *script, struct insn *code, uint32_t n)
{
	struct clause clause = *script->clauses;

	clause.code = code;
	clause.n_code = n;
	clause.test_end = 0;
	return rs_lang_verify_clause(script, &clause);
}

#define CODE(...)                                                                                  \
	(struct insn[])                                                                            \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define N(...) (sizeof(CODE(__VA_ARGS__)) / sizeof(struct insn))
#define REFUSED(why, ...)                                                                          \
	CHECK_ERR(verdict(script, CODE(__VA_ARGS__), N(__VA_ARGS__)), RS_USAGE, why)
#define PASSES(...) CHECK_OK(verdict(script, CODE(__VA_ARGS__), N(__VA_ARGS__)))

static const char program[] = "BEGIN { x = 5; s = \"a\"; y[1] = 2; printf(\"%d %s\", x, s); }";

TEST(literal_code)
{
	struct rs_script *script = compiled(program);

	REQUIRE(script);
	PASSES({ I_END });
	PASSES({ I_CONST }, { I_POPI }, { I_END });
	PASSES({ I_CONST }, { I_JZERO, 0, 3 }, { I_JUMP, 0, 3 }, { I_END });
	REFUSED("no end", { I_CONST }, { I_POPI });
	REFUSED("lacks", { I_POPI }, { I_END });
	REFUSED("lacks", { I_TEXT }, { I_POPI }, { I_END });
	REFUSED("end in the middle", { I_CONST }, { I_END });
	REFUSED("end in the middle", { I_END }, { I_END });
	REFUSED("no such instruction", { I_COUNT }, { I_END });
	rs_script_destroy(script);
}

TEST(operands)
{
	struct rs_script *script = compiled(program);

	REQUIRE(script);
	REFUSED("beyond", { I_CONST, 0, 1000 }, { I_POPI }, { I_END });
	REFUSED("beyond", { I_TEXT, 0, 1000 }, { I_POPS }, { I_END });
	REFUSED("beyond", { I_ARG }, { I_POPI }, { I_END });
	REFUSED("beyond", { I_ENUM }, { I_POPI }, { I_END });
	REFUSED("beyond", { I_VARI, 0, 1000 }, { I_POPI }, { I_END });
	REFUSED("beyond", { I_LOADI, SCOPE_GLOBAL, 2 }, { I_POPI }, { I_END });
	REFUSED("beyond", { I_LOADI, SCOPE_SELF, 0 }, { I_POPI }, { I_END });
	REFUSED("beyond", { I_CALL, 0, 1000 }, { I_END });
	REFUSED("beyond", { I_DO, 0, 1 }, { I_END });
	REFUSED("beyond", { I_CONST }, { I_CUT, 3 }, { I_POPI }, { I_END });
	REFUSED("lacks", { I_DO }, { I_END });
	REFUSED("number of arguments", { I_CALL, 9, 0 }, { I_END });
	/* also in unreachable code */
	REFUSED("beyond", { I_JUMP, 0, 2 }, { I_ARG, 0, 1000 }, { I_END });
	REFUSED("no such instruction", { I_JUMP, 0, 2 }, { I_COUNT }, { I_END });
	rs_script_destroy(script);
}

TEST(jumps)
{
	struct rs_script *script = compiled(program);

	REQUIRE(script);
	REFUSED("out of the code", { I_JUMP, 0, 0 }, { I_END });
	REFUSED("out of the code", { I_JUMP, 0, 2 }, { I_END });
	REFUSED("different stack", { I_CONST }, { I_JZERO, 0, 3 }, { I_CONST }, { I_END });
	REFUSED("different stack", { I_CONST }, { I_JZERO, 0, 4 }, { I_CONST }, { I_JUMP, 0, 5 },
		{ I_TEXT }, { I_POPI }, { I_END });
	rs_script_destroy(script);
}

/* A backward jump decrements a counter that is set once, and ends after it. */
TEST(walks)
{
	struct rs_script *script = compiled(program);

	REQUIRE(script);
	PASSES({ I_WALK, 0, 5 }, { I_STEP, 0, 3 }, { I_AGAIN, 0, 1 }, { I_END });
	REFUSED("ends within itself", { I_WALK, 0, 5 }, { I_STEP, 0, 2 }, { I_AGAIN, 0, 1 },
		{ I_END });
	REFUSED("belongs to no walk", { I_STEP, 0, 2 }, { I_AGAIN, 0, 0 }, { I_END });
	REFUSED("the same counter", { I_WALK, 0, 5 }, { I_STEP, 0, 6 }, { I_WALK, 0, 5 },
		{ I_STEP, 0, 5 }, { I_AGAIN, 0, 3 }, { I_AGAIN, 0, 1 }, { I_END });
	REFUSED("too many steps", { I_WALK, 0, LANG_WALK_STEPS }, { I_STEP, 0, 6 },
		{ I_WALK, 1, 2 }, { I_STEP, 1, 5 }, { I_AGAIN, 1, 3 }, { I_AGAIN, 0, 1 },
		{ I_END });
	rs_script_destroy(script);
}

TEST(stack)
{
	struct rs_script *script = compiled(program);
	struct insn code[LANG_STACK_MAX + 2];

	REQUIRE(script);
	for (uint32_t i = 0; i <= LANG_STACK_MAX; i++)
		code[i] = (struct insn){ I_CONST };
	code[LANG_STACK_MAX + 1] = (struct insn){ I_END };
	CHECK_ERR(verdict(script, code, LANG_STACK_MAX + 2), RS_USAGE, "too deep");
	rs_script_destroy(script);
}

/* Each byte of real code is changed: it is refused, or the machine can still run it. */
TEST(changed_code)
{
	struct rs_script *script = compiled(program);
	struct clause *clause = script ? script->clauses : NULL;
	uint32_t refused = 0;

	REQUIRE(script);
	for (uint32_t i = 0; i < clause->n_code; i++) {
		struct insn was = clause->code[i];

		for (uint32_t op = 0; op < 256; op++) {
			struct rs_error *err;

			clause->code[i].op = (uint8_t)op;
			err = rs_lang_verify_clause(script, clause);
			refused += err != NULL;
			rs_error_free(err);
		}
		clause->code[i] = was;
	}
	CHECK(refused > clause->n_code * 200);
	CHECK_OK(rs_lang_verify_clause(script, clause));
	rs_script_destroy(script);
}
