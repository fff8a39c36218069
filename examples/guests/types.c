/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions with each type of argument and result, and calls of the host with each.
 *
 *	ringside run build/examples/guests/types greet world
 *	ringside run build/examples/guests/types reverse 00ff10
 *	ringside run build/examples/guests/types scale 0.75 4
 *	ringside run build/examples/guests/types is_longer short longest
 *	ringside run --record trace build/examples/guests/types
 *	ringside print --tree trace
 */
#include <ringside/kit.h>

#define TEXT_MAX 256u

/* Appends as much of a text as fits. Returns the end. */
static uint32_t append(char to[TEXT_MAX], uint32_t at, const char *text)
{
	for (; *text && at < TEXT_MAX - 1; text++)
		to[at++] = *text;
	to[at] = 0;
	return at;
}

static uint64_t greet(const struct rs_kit_args *args)
{
	RS_FUNCTION();
	char text[TEXT_MAX];

	append(text, append(text, append(text, 0, "Hello, "), rs_kit_text_of(args, 0)), "!");
	return rs_kit_return_text(text);
}
RS_KIT_EXPORT_TYPED(greet, "a greeting", RS_KIT_TEXT, RS_KIT_TEXT);

static uint64_t reverse(const struct rs_kit_args *args)
{
	RS_FUNCTION();
	const uint8_t *from = rs_kit_bytes_of(args, 0);
	uint8_t bytes[TEXT_MAX] = { 0 };
	uint32_t n = args->bytes[0] < TEXT_MAX ? args->bytes[0] : TEXT_MAX;

	for (uint32_t i = 0; i < n; i++)
		bytes[i] = from[n - 1 - i];
	return rs_kit_return_bytes(bytes, n);
}
RS_KIT_EXPORT_TYPED(reverse, "the bytes, last first", RS_KIT_BYTES, RS_KIT_BYTES);

/*
 * Changes the exponent, because guests are compiled without SSE unless their flags say otherwise.
 */
static uint64_t scale(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	return args->v[0] + (args->v[1] << 52);
}
RS_KIT_EXPORT_TYPED(scale, "a normal float times 2 to the power of an integer", RS_KIT_FLOAT,
		    RS_KIT_FLOAT, RS_KIT_INT);

static uint64_t is_longer(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	return args->bytes[1] > args->bytes[0];
}
RS_KIT_EXPORT_TYPED(is_longer, "whether the second text is longer", RS_KIT_BOOL, RS_KIT_TEXT,
		    RS_KIT_TEXT);

/* Six arguments, each of which affects the result. */
static uint64_t digest(const struct rs_kit_args *args)
{
	RS_FUNCTION();
	uint64_t sum = args->v[0] + 3 * args->v[1] + 5 * (args->v[2] >> 52);

	for (uint32_t i = 3; i < args->n; i++)
		for (uint32_t j = 0; j < args->bytes[i]; j++)
			sum = 31 * sum + rs_kit_bytes_of(args, i)[j];
	return sum;
}
RS_KIT_EXPORT_TYPED(digest, "a number made of one argument of each type, and another text",
		    RS_KIT_INT, RS_KIT_INT, RS_KIT_BOOL, RS_KIT_FLOAT, RS_KIT_TEXT, RS_KIT_BYTES,
		    RS_KIT_TEXT);

/* A result that is too long for the output: the call is refused. */
static uint64_t too_long(const struct rs_kit_args *args)
{
	RS_FUNCTION();
	static uint8_t bytes[2 * RS_KIT_BUFFER_BYTES];

	(void)args;
	return rs_kit_return_bytes(bytes, sizeof(bytes));
}
RS_KIT_EXPORT_TYPED(too_long, "more bytes than a result may have", RS_KIT_BYTES);

/* Returns a bit from 0 for each of the host's functions that answered correctly. */
static uint64_t host(const struct rs_kit_args *args)
{
	RS_FUNCTION();
	struct rs_kit_value name = { .type = RS_KIT_TEXT }, recorded = { .type = RS_KIT_BOOL };
	struct rs_kit_value time = { .type = RS_KIT_FLOAT }, random = { .type = RS_KIT_BYTES };
	struct rs_kit_value wrong = { .type = RS_KIT_INT }, wanted = rs_kit_int(37);
	char text[TEXT_MAX];
	uint64_t good = 0;

	(void)args;
	if (rs_kit_call_host("vm_name", NULL, 0, &name)) {
		append(text, append(text, 0, (const char *)(uintptr_t)name.v), "\n");
		rs_kit_print(text);
		good |= 1;
	}
	good |= (uint64_t)rs_kit_call_host("is_recorded", NULL, 0, &recorded) << 1;
	/* 2^30 to 2^31 seconds since 1970: the exponent of 2004 to 2038. */
	if (rs_kit_call_host("wall_time", NULL, 0, &time) && time.v >> 52 == 1023 + 30)
		good |= 4;
	if (rs_kit_call_host("random", &wanted, 1, &random) && random.bytes == 37)
		good |= 8;
	/* Without a result. */
	good |= (uint64_t)rs_kit_call_host("random", &wanted, 1, NULL) << 4;
	/* The host refuses other types, numbers of arguments and names. */
	good |= (uint64_t)!rs_kit_call_host("vm_name", NULL, 0, &wrong) << 5;
	good |= (uint64_t)!rs_kit_call_host("vm_name", &wanted, 1, &name) << 6;
	good |= (uint64_t)!rs_kit_call_host("print", &wanted, 1, NULL) << 7;
	good |= (uint64_t)!rs_kit_call_host("no_such_function", NULL, 0, NULL) << 8;
	return good | recorded.v << 9;
}
RS_KIT_EXPORT_TYPED(host, "calls of the host with each type; a bit for each success", RS_KIT_INT);

static uint64_t nothing(const struct rs_kit_args *args)
{
	RS_FUNCTION();

	(void)args;
	rs_kit_print("a guest with typed functions: greet, reverse, scale, is_longer, digest\n");
	return 0;
}
RS_KIT_EXPORT_ENTRY("main", nothing, 0, "prints the names of the others", RS_KIT_VOID);
