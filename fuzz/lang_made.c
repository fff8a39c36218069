/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe language, by its grammar: the input's bytes choose among productions, so that most
 * programs are sound and reach the machine. Then, bytes being left, some instructions are spoiled
 * and what the verifier still lets pass is run: it must be as harmless as what the compiler makes.
 */
#include "lang_run.h"

#include <stdarg.h>

#include "lang/internal.h"

#define TEXT_MAX  6000
#define DEPTH_MAX 6
#define SPOILED	  6

struct maker {
	struct fuzz_input in;
	char text[TEXT_MAX + 256];
	size_t len;
	bool walks; /* `it` is there */
};

static const char prelude[] =
	"struct s { int a; unsigned b : 3; short c : 9; char n[8]; string t; long d[3]; };\n"
	"union u { uint32_t w; uint8_t b[4]; };\n"
	"struct o { int p; string q; };\n"
	"translator struct o < struct s *P > { p = P->a + P->b; q = P->t; };\n"
	"translator struct o < int N > { p = N * 2; q = lltostr(N); };\n"
	"inline int K = 1 + 2;\n"
	"int gi; string gs; uint8_t gb; struct s go; union u gu; int ga[4]; struct s gm[2];\n"
	"int ai[int, string]; string as[int]; struct s ao[string];\n"
	"self int si; self string ss; self struct s so;\n"
	"this int ti; this string ts; this struct s to; this struct s *tp; this char *tc;\n"
	"BEGIN { this->tp = (struct s *)alloca(600); gi = 1; }\n";

__attribute__((format(printf, 2, 3))) static void say(struct maker *m, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (m->len < TEXT_MAX)
		m->len += (size_t)vsnprintf(m->text + m->len, 200, format, args);
	va_end(args);
}

static uint32_t choose(struct maker *m, uint32_t n)
{
	return fuzz_u8(&m->in) % n;
}

static void number(struct maker *m, int depth);
static void text(struct maker *m, int depth);

static const char *pick(struct maker *m, const char *const *of, uint32_t n)
{
	return of[choose(m, n)];
}
#define PICK(m, ...)                                                                               \
	pick(m, (const char *const[]){ __VA_ARGS__ },                                              \
	     sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *))

/* A struct's value. */
static void object(struct maker *m, int depth)
{
	switch (choose(m, 8)) {
	case 0:
		say(m, "ao[");
		text(m, depth + 1);
		say(m, "]");
		break;
	case 1:
		say(m, "gm[");
		number(m, depth + 1);
		say(m, "]");
		break;
	case 2:
		say(m, "(*this->tp)");
		break;
	case 3:
		say(m, "this->tp[");
		number(m, depth + 1);
		say(m, "]");
		break;
	default:
		say(m, "%s", PICK(m, "go", "self->so", "this->to"));
		break;
	}
}

/* What can be assigned a number. */
static void place(struct maker *m, int depth)
{
	switch (choose(m, 9)) {
	case 0:
		object(m, depth + 1);
		say(m, ".%s", PICK(m, "a", "b", "c", "d[1]", "n[2]"));
		break;
	case 1:
		say(m, "ai[");
		number(m, depth + 1);
		say(m, ", ");
		text(m, depth + 1);
		say(m, "]");
		break;
	case 2:
		say(m, "ga[");
		number(m, depth + 1);
		say(m, "]");
		break;
	case 3:
		say(m, "gu.%s", PICK(m, "w", "b[0]", "b[3]"));
		break;
	case 4:
		say(m, "*((int *)this->tp + ");
		number(m, depth + 1);
		say(m, ")");
		break;
	default:
		say(m, "%s", PICK(m, "gi", "gb", "self->si", "this->ti", "this->tp->a"));
		break;
	}
}

/* A call or a conversion that gives a number. */
static void made_number(struct maker *m, int depth)
{
	switch (choose(m, 9)) {
	case 0:
		say(m, "strlen(");
		text(m, depth + 1);
		break;
	case 1:
		say(m, "index(");
		text(m, depth + 1);
		say(m, ", ");
		text(m, depth + 1);
		break;
	case 2:
		say(m, "(%s)(", PICK(m, "char", "uint16_t", "int", "uint64_t", "long"));
		number(m, depth + 1);
		break;
	case 3:
		say(m, "xlate <struct o> ((int)(");
		number(m, depth + 1);
		say(m, ")).p + (0");
		break;
	case 4:
		say(m, "xlate <struct o *> (this->tp)->p + (1");
		break;
	case 5:
		say(m, "(uint64_t)&this->tp[");
		number(m, depth + 1);
		say(m, "] + (0");
		break;
	case 6:
		say(m, "strtoll(");
		text(m, depth + 1);
		break;
	case 7:
		place(m, depth + 1);
		say(m, "%s + (0", PICK(m, "++", "--"));
		break;
	default:
		say(m, "(");
		place(m, depth + 1);
		say(m, " %s ", PICK(m, "=", "+=", "-=", "*=", "/=", "<<=", "^="));
		number(m, depth + 1);
		break;
	}
	say(m, ")");
}

static void number(struct maker *m, int depth)
{
	uint32_t what = depth > DEPTH_MAX ? 0 : choose(m, 8);

	switch (what) {
	case 1:
	case 2:
		say(m, "(");
		number(m, depth + 1);
		say(m, " %s ",
		    PICK(m, "+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "<",
			 ">=", "==", "!=", "&&", "||", "^^"));
		number(m, depth + 1);
		say(m, ")");
		break;
	case 3:
		say(m, "(%s", PICK(m, "-", "~", "!"));
		number(m, depth + 1);
		say(m, ")");
		break;
	case 4:
		say(m, "(");
		number(m, depth + 1);
		say(m, " ? ");
		number(m, depth + 1);
		say(m, " : ");
		number(m, depth + 1);
		say(m, ")");
		break;
	case 5:
		made_number(m, depth);
		break;
	case 6:
		place(m, depth);
		break;
	default:
		if (m->walks && !choose(m, 3))
			say(m, "it");
		else
			say(m, "%s",
			    PICK(m, "0", "1", "-1", "7", "0x7fffffffffffffff", "255", "K", "cpu",
				 "timestamp", "arg0", "arg1", "id", "vcpu", "sizeof (struct s)",
				 "offsetof(struct s, n)", "rand()", "$1", "4096", "65535"));
		break;
	}
}

static void text(struct maker *m, int depth)
{
	uint32_t what = depth > DEPTH_MAX ? 0 : choose(m, 8);

	switch (what) {
	case 1:
		say(m, "strjoin(");
		text(m, depth + 1);
		say(m, ", ");
		text(m, depth + 1);
		say(m, ")");
		break;
	case 2:
		say(m, "substr(");
		text(m, depth + 1);
		say(m, ", ");
		number(m, depth + 1);
		say(m, ", ");
		number(m, depth + 1);
		say(m, ")");
		break;
	case 3:
		say(m, "lltostr(");
		number(m, depth + 1);
		say(m, ")");
		break;
	case 4:
		say(m, "%s(stringof(%s))", PICK(m, "basename", "dirname", "toupper"),
		    PICK(m, "(char *)this->tp", "go.n", "this->tp->n", "gs", "this->tc"));
		break;
	case 5:
		object(m, depth + 1);
		say(m, ".t");
		break;
	case 6:
		say(m, "strtok(");
		text(m, depth + 1);
		say(m, ", \"ae\")");
		break;
	default:
		say(m, "%s",
		    PICK(m, "\"\"", "\"text\"", "probename", "vm", "execname", "gs", "self->ss",
			 "this->ts", "as[1]", "\"a longer text than some\"", "$$1"));
		break;
	}
}

static void statements(struct maker *m, int depth);

static void aggregation(struct maker *m)
{
	static const char *const with[] = { "sum(",    "avg(",	    "min(",   "max(",
					    "stddev(", "quantize(", "p(90, ", "topk(3, " };
	uint32_t which = choose(m, 10);

	say(m, "@a%u[", which);
	number(m, DEPTH_MAX - 1);
	say(m, ", ");
	text(m, DEPTH_MAX - 1);
	say(m, "] = ");
	if (which == 8) {
		say(m, "count()");
		return;
	}
	say(m, "%s", which == 9 ? "lquantize(" : with[which]);
	number(m, 2);
	say(m, which == 9 ? ", -10, 100, 5)" : ")");
}

static void action(struct maker *m)
{
	switch (choose(m, 12)) {
	case 0:
		say(m, "printf(\"%%%s%s %%s\\n\", ", PICK(m, "", "-", "5", "08", "#"),
		    PICK(m, "d", "x", "u", "o", "c", "p", "Y"));
		number(m, 1);
		say(m, ", ");
		text(m, 1);
		say(m, ")");
		break;
	case 1:
		say(m, "trace(");
		number(m, 1);
		say(m, ")");
		break;
	case 2:
		say(m, "%s(", PICK(m, "print", "trace"));
		object(m, 1);
		say(m, ")");
		break;
	case 3:
		say(m, "tracemem(this->tp, 40, ");
		number(m, 1);
		say(m, ")");
		break;
	case 4:
		say(m, "bcopy(%s, this->tp, ",
		    PICK(m, "\"text\"", "&this->tp[1]", "go.n", "this->tc"));
		number(m, 1);
		say(m, ")");
		break;
	case 5:
		say(m, "this->tp = (struct s *)alloca(");
		number(m, 1);
		say(m, ")");
		break;
	case 6:
		say(m, "%s", PICK(m, "stack()", "sym(5)", "setopt(\"aggsortrev\")", "ustack(3)"));
		break;
	case 7:
		say(m, "printa(@a8)");
		break;
	case 8:
		say(m, "%s(@a8%s)", PICK(m, "clear", "trunc", "denormalize"), "");
		break;
	case 9:
		say(m, "this->tc = (char *)");
		number(m, 1);
		break;
	case 10:
		say(m, "ao[");
		text(m, 1);
		say(m, "] = ");
		if (choose(m, 3))
			object(m, 1);
		else
			say(m, "0");
		break;
	default:
		say(m, "this->to = go");
		break;
	}
}

static void statement(struct maker *m, int depth)
{
	bool walks = m->walks;

	switch (choose(m, 8)) {
	case 0:
	case 1:
		aggregation(m);
		break;
	case 2:
		place(m, 1);
		say(m, " %s ", PICK(m, "=", "+=", "-=", "%=", "|="));
		number(m, 1);
		break;
	case 3:
		say(m,
		    "%s = ", PICK(m, "gs", "self->ss", "this->ts", "as[1]", "go.t", "this->tp->t"));
		text(m, 1);
		break;
	case 4:
		say(m, "if (");
		number(m, 2);
		say(m, ") {\n");
		statements(m, depth + 1);
		say(m, "} else {\n");
		statements(m, depth + 1);
		say(m, "}\n");
		return;
	case 5:
		say(m, "walk (");
		number(m, 3);
		m->walks = true;
		say(m, ", %s, %s) {\n", PICK(m, "it - 1", "it", "it / 2", "gi"),
		    PICK(m, "1", "3", "5"));
		statements(m, depth + 1);
		m->walks = walks;
		say(m, "}\n");
		return;
	default:
		action(m);
		break;
	}
	say(m, ";\n");
}

static void statements(struct maker *m, int depth)
{
	uint32_t n = depth > 3 ? 1 : 1 + choose(m, 4);

	while (n-- && m->len < TEXT_MAX) {
		if (depth > 3)
			say(m, "gi++;\n");
		else
			statement(m, depth);
	}
}

static void clause(struct maker *m)
{
	say(m, "%s",
	    PICK(m, ":::", "BEGIN", "END", "ERROR", "tick-10us", "vmm:::", ":::, tick-1ms"));
	if (!choose(m, 2)) {
		say(m, " / ");
		number(m, 2);
		say(m, " / ");
	}
	say(m, " {\n@a8[1, \"\"] = count();\n");
	statements(m, 0);
	say(m, "}\n");
}

/* What the compiler made, spoiled; false: the verifier refuses it. */
static bool spoil(struct rs_script *script, struct fuzz_input *in)
{
	for (struct clause *clause = script->clauses; clause; clause = clause->next) {
		for (uint32_t i = fuzz_u8(in) % SPOILED; i && clause->n_code; i--) {
			struct insn *insn = &clause->code[fuzz_u16(in) % clause->n_code];

			switch (fuzz_u8(in) % 4) {
			case 0:
				insn->op = fuzz_u8(in) % I_COUNT;
				break;
			case 1:
				insn->n = fuzz_u8(in);
				break;
			case 2:
				insn->k = fuzz_u8(in);
				break;
			default:
				insn->k = fuzz_u32(in);
				break;
			}
		}
	}
	for (struct clause *clause = script->clauses; clause; clause = clause->next) {
		struct rs_error *err = verify_clause(script, clause);

		if (err) {
			rs_error_free(err);
			return false;
		}
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rs_schema *schema;
	static struct rs_out out;
	static struct maker m;
	struct rs_script *script;

	if (!schema) {
		schema = fuzz_schema();
		fuzz_drop(rs_out_init(&out, open("/dev/null", O_WRONLY | O_CLOEXEC)));
	}
	m = (struct maker){ .in = { data, size } };
	say(&m, "%s", "");
	memcpy(m.text, prelude, sizeof(prelude) - 1);
	m.len = sizeof(prelude) - 1;
	for (uint32_t n = 1 + choose(&m, 3); n && m.len < TEXT_MAX; n--)
		clause(&m);
	script = lang_compile(m.text, m.len, schema);
	if (getenv("FUZZ_SHOW"))
		fprintf(stderr, "%.*s%s", (int)m.len, m.text, script ? "compiles\n" : "refused\n");
	if (!script)
		return 0;
	if (!m.in.left || spoil(script, &m.in)) {
		rs_script_disassemble(script, &out);
		lang_run(script, schema, &out);
	}
	rs_script_destroy(script);
	return 0;
}
