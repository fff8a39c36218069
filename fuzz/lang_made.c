/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The probe language, by its grammar: the input's bytes choose among productions, so that most
 * programs are valid and reach the machine. With the remaining bytes some instructions are changed,
 * and code that the verifier still accepts is run: it must be as harmless as compiled code.
 */
#include "lang_made.h"

#include "lang/vm/program.h"
#include "lang_run.h"

#define TEXT_MAX  6000
#define DEPTH_MAX 7
#define SPOILED	  3

struct lang_made_tally lang_made_tally;

static const char prelude[] =
	"struct s { int a; unsigned b : 3; short c : 9; char n[8]; string t; long d[3]; };\n"
	"union u { uint32_t w; uint8_t b[4]; };\n"
	"struct o { int p; string q; };\n"
	"translator struct o < struct s *P > { p = P->a + P->b; q = P->t; };\n"
	"translator struct o < int N > { p = N * 2; q = lltostr(N); };\n"
	"inline int K = 1 + 2;\n"
	"int gi; string gs; uint8_t gb; struct s go; union u gu; int ga[4]; struct s gm[2];\n"
	"int ai[int, string]; string as[int]; struct s ao[string];\n"
	"self int si; self string ss; self struct s so; self int un[int]; self string us[int];\n"
	"int un[string, int]; this int sp;\n"
	"this int ti; this string ts; this struct s to; this struct s *tp; this char *tc;\n"
	"BEGIN { this->tp = (struct s *)alloca(600); gi = 1; }\n";

/* ---- the grammar ---------------------------------------------------------------------------- */

/*
 * A rule's productions. In a production, %X stands for the rule of that letter; %[ and %] enclose
 * the body of a walk, where `it` is defined. At the maximum depth the first production is used,
 * which ends the tree.
 */
#define OF(...)                                                                                    \
	{                                                                                          \
		.at = (const char *const[]){ __VA_ARGS__ },                                        \
		.n = sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(const char *)           \
	}

static const struct rule {
	const char *const *at;
	uint32_t n;
} rules[128] = {
	/* numbers */
	['N'] = OF("%L", "%L", "(%N %B %N)", "(%N %B %N)", "(%U%N)", "(%N ? %N : %N)", "%F", "%P"),
	['L'] = OF("1", "0", "-1", "7", "0x7fffffffffffffff", "255", "K", "cpu", "timestamp",
		   "arg2", "arg1", "id", "vcpu", "sizeof (struct s)", "offsetof(struct s, n)",
		   "rand()", "$1", "4096", "65535", "this->sp", "%i", "pid",
		   "(uint64_t)curthread"),
	['B'] = OF("+", "-", "*", "/", "%%", "<<", ">>", "&", "|", "^", "<", ">=", "==", "!=", "&&",
		   "||", "^^"),
	['U'] = OF("-", "~", "!"),
	['F'] = OF("strlen(%T)", "index(%T, %T)", "rindex(%T, %T, %N)", "(%C)(%N)",
		   "xlate <struct o> ((int)(%N)).p", "xlate <struct o *> (this->tp)->p",
		   "(uint64_t)&this->tp[%N]", "strtoll(%T)", "%P%Q", "%Q%P", "(%P %A %N)",
		   "(%T %c %T)", "strstr(%T, %T) != NULL", "speculation()", "htonl(%N)"),
	['C'] = OF("char", "uint16_t", "int", "uint64_t", "long"),
	['Q'] = OF("++", "--"),
	['A'] = OF("=", "+=", "-=", "*=", "/=", "%%=", "<<=", ">>=", "^=", "|=", "&="),
	['c'] = OF("==", "!=", "<", ">="),
	/* assignable numbers; a struct's value */
	['P'] = OF("gi", "gb", "self->si", "this->ti", "this->tp->a", "%O.%M", "ai[%N, %T]",
		   "ga[gi + %N]", "gu.%V", "*((int *)this->tp + %N)", "self->un[%N]", "un[%T, %N]"),
	['M'] = OF("a", "b", "c", "d[1]", "n[2]", "d[gi - %N]"),
	['V'] = OF("w", "b[0]", "b[3]", "b[gi ^ %N]"),
	['O'] = OF("go", "self->so", "this->to", "go", "ao[%T]", "gm[gi + %N]", "(*this->tp)",
		   "this->tp[%N]"),
	/* strings */
	['T'] = OF("%W", "%W", "strjoin(%T, %T)", "substr(%T, %N, %N)", "lltostr(%N)",
		   "lltostr(%N, %R)", "%S(stringof(%D))", "%O.t", "strtok(%T, \"ae\")",
		   "(%N ? %T : %T)", "strchr(%T, 'e')", "cleanpath(%T)", "json(%T, %T)", "stack()",
		   "inet_ntop(2, this->tp)", "link_ntop(1, this->tp)", "self->us[%N]"),
	['W'] = OF("\"\"", "\"text\"", "probename", "vm", "execname", "gs", "self->ss", "this->ts",
		   "as[1]", "\"a longer text than some\"", "$$1"),
	['S'] = OF("basename", "dirname", "toupper"),
	['D'] = OF("(char *)this->tp", "go.n", "this->tp->n", "gs", "this->tc", "(char *)(%N)"),
	['R'] = OF("2", "8", "10", "16", "36"),
	/* actions */
	['a'] = OF("gi++", "%f", "%f", "%P %A %N", "%P %A %N", "%t = %T",
		   "printf(\"%%%w%v %%s\\n\", %N, %T)", "trace(%N)", "%p(%O)",
		   "tracemem(this->tp, 40, %N)", "bcopy(%D, this->tp, %N)",
		   "this->tp = (struct s *)alloca(%N)", "this->tc = (char *)(%N)", "ao[%T] = %O",
		   "ao[%T] = 0", "this->to = go", "%s", "%g", "this->sp = speculation()", "%e"),
	['f'] = OF("@c[%N, %T] = count()", "@s[%T] = sum(%N)", "@v[%N] = avg(%N)", "@i = min(%N)",
		   "@x[%T, %T] = max(%N)", "@d[%N] = stddev(%N)", "@q[%T] = quantize(%N)",
		   "@w = quantize(%N, %N)", "@l[%N] = lquantize(%N, -10, 100, 5)",
		   "@m[%T] = llquantize(%N, 10, 0, 6, 20)", "@p[%T] = p(90, %N)",
		   "@e[%T] = variance(%N)", "@t[%N] = topk(3, %N)"),
	['t'] = OF("gs", "self->ss", "this->ts", "as[1]", "go.t", "this->tp->t", "self->us[%N]"),
	['w'] = OF("", "-", "5", "08", "#", "20.3"),
	['v'] = OF("d", "x", "u", "o", "c", "p", "Y", "lld", "hhx"),
	['p'] = OF("print", "trace"),
	['s'] = OF("stack()", "sym(5)", "setopt(\"aggsortrev\")", "ustack(3)",
		   "setopt(\"aggsortkey\")", "exit(%N)"),
	['g'] = OF("printa(@a8)", "printa(\"%%@d %%d %%s\\n\", @a8)", "clear(@a8)", "trunc(@a8)",
		   "trunc(@a8, %N)", "normalize(@a8, %N)", "denormalize(@a8)",
		   "printa(\"%%@8d %%@x\\n\", @n8, @n9)"),
	['e'] = OF("discard(%N)", "commit(%N)", "discard(this->sp)", "commit(this->sp)"),
	/* statements and clauses */
	['x'] = OF("%a;\n", "%a;\n%a;\n", "if (%N) {\n%x} else {\n%x}\n", "if (%N) {\n%x}\n",
		   "walk (%N, %n, %m) {\n%[%x%]}\n", "%x%x"),
	['n'] = OF("it - 1", "it", "it / 2", "gi"),
	['m'] = OF("1", "3", "5"),
	['h'] = OF(":::", "BEGIN", "END", "ERROR", "tick-10us", "vmm:::", ":::, tick-1ms"),
	['q'] = OF("", "/ %N /", "/ %N %c %N /"),
	['r'] = OF("speculate(%N)", "speculate(this->sp)"),
	['y'] = OF("printf(\"%%%w%v %%s\\n\", %N, %T)", "trace(%N)", "print(%O)", "stack()"),
	['z'] = OF("%h %q {\n@a8[1, \"\"] = count();\n@n8 = sum(1);\n@n9 = count();\n%x%x}\n",
		   "%h %q {\n%x%x%x}\n", "%h %q {\n%r;\n%y;\n}\n", "%h %q {\n%e;\n}\n",
		   "%h %q {\n@a8[1, \"\"] = count();\n@n8 = sum(1);\n@n9 = count();\n%x%g;\n}\n"),
};

struct maker {
	struct fuzz_input in;
	char text[TEXT_MAX + 256];
	size_t len;
	uint32_t walks; /* inside a walk: `it` is defined */
};

static void append(struct maker *m, const char *text, size_t len)
{
	if (m->len >= TEXT_MAX || len > 200)
		return;
	memcpy(m->text + m->len, text, len);
	m->len += len;
}

static void make(struct maker *m, char name, uint32_t depth)
{
	const struct rule *rule = &rules[(unsigned char)name];
	const char *at = rule->at[depth > DEPTH_MAX ? 0 : fuzz_u8(&m->in) % rule->n];

	while (*at) {
		size_t len = strcspn(at, "%");

		append(m, at, len);
		at += len;
		if (!*at)
			break;
		if (at[1] == '%')
			append(m, at, 1);
		else if (at[1] == 'i')
			append(m, m->walks ? "it" : "11", 2);
		else if (at[1] == '[')
			m->walks++;
		else if (at[1] == ']')
			m->walks--;
		else
			make(m, at[1], depth + 1);
		at += 2;
	}
}

/* ---- use of a program ----------------------------------------------------------------------- */

/* Changes compiled code. Returns false if the verifier refuses it. */
static bool change_code(struct rs_script *script, struct fuzz_input *in)
{
	for (struct clause *clause = script->clauses; clause; clause = clause->next) {
		for (uint32_t i = fuzz_u8(in) % SPOILED; i && clause->n_code; i--) {
			struct insn *insn = &clause->code[fuzz_u16(in) % clause->n_code];

			switch (fuzz_u8(in) % 6) {
			case 0:
				insn->op = fuzz_u8(in) % I_COUNT;
				break;
			case 1:
				insn->n = fuzz_u8(in);
				break;
			case 2:
				insn->k = fuzz_u8(in);
				break;
			case 3: /* to a neighbouring value */
				insn->k ^= 1;
				break;
			case 4:
				*insn = clause->code[fuzz_u16(in) % clause->n_code];
				break;
			default:
				insn->k = fuzz_u32(in);
				break;
			}
		}
	}
	for (struct clause *clause = script->clauses; clause; clause = clause->next) {
		struct rs_error *err = rs_lang_verify_clause(script, clause);

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
	memcpy(m.text, prelude, sizeof(prelude) - 1);
	m.len = sizeof(prelude) - 1;
	for (uint32_t n = 1 + fuzz_u8(&m.in) % 3; n && m.len < TEXT_MAX; n--)
		make(&m, 'z', 0);
	lang_made_tally.made++;
	if (getenv("FUZZ_SHOW"))
		fprintf(stderr, "%.*s", (int)m.len, m.text);
	script = lang_compile(m.text, m.len, schema);
	if (!script)
		return 0;
	lang_made_tally.compiled++;
	lang_made_tally.spoiled += m.in.left > 0;
	if (!m.in.left || change_code(script, &m.in)) {
		lang_made_tally.passed += m.in.left > 0;
		rs_script_disassemble(script, &out);
		lang_run(script, schema, &out);
	}
	rs_script_destroy(script);
	return 0;
}
