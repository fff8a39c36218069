/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unit tests in C: one program per file of tests, which includes this header once and defines
 * no main(). Prints TAP, which tests/run counts; exits 0 when nothing failed, else 1.
 *
 *	TEST(ring_refuses_when_full)
 *	{
 *		CHECK_EQ_U64(rs_ring_bytes(4), 128);
 *		REQUIRE_OK(rs_thing_create(&thing));	// leaves the test when it fails
 *		CHECK_ERR(rs_thing_open("gone"), RS_USAGE, "no such");
 *	}
 *
 * Tests run in the order of the file; with arguments, only those whose name contains one. CHECK_
 * continues after a failure, REQUIRE_ returns from the enclosing function (void). Checks may be
 * made on any thread of a test that is joined before the test ends.
 */
#ifndef RS_TESTS_TEST_H
#define RS_TESTS_TEST_H

#include <ringside/error.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More failures than this in one test are counted, not printed. */
#define TEST_REPORTS_MAX 20

struct test {
	const char *name;
	void (*run)(void);
	struct test *next;
};

static struct test *test_first, **test_last = &test_first;
static unsigned int test_failures; /* of the running test; relaxed, read after joining */
static const char *test_skip_reason;

#define TEST(test_name)                                                                            \
	static void test_run_##test_name(void);                                                    \
	__attribute__((constructor)) static void test_add_##test_name(void)                        \
	{                                                                                          \
		static struct test test = { #test_name, test_run_##test_name, NULL };              \
                                                                                                   \
		*test_last = &test;                                                                \
		test_last = &test.next;                                                            \
	}                                                                                          \
	static void test_run_##test_name(void)

/* Leaves the test, which is counted as skipped, with this reason. */
#define TEST_SKIP(reason)                                                                          \
	do {                                                                                       \
		test_skip_reason = (reason);                                                       \
		return;                                                                            \
	} while (0)

/* Prints position and message, with the prefix of TAP comments. Returns false. */
__attribute__((format(printf, 3, 4), unused)) static bool test_fail(const char *file, int line,
								    const char *format, ...)
{
	va_list args;

	if (__atomic_fetch_add(&test_failures, 1, __ATOMIC_RELAXED) >= TEST_REPORTS_MAX)
		return false;
	va_start(args, format);
	flockfile(stdout);
	printf("# %s:%d: ", file, line);
	vprintf(format, args);
	putchar('\n');
	funlockfile(stdout);
	va_end(args);
	return false;
}

__attribute__((unused)) static bool test_that(const char *file, int line, const char *what,
					      bool held)
{
	return held || test_fail(file, line, "%s", what);
}

__attribute__((unused)) static bool test_eq_u64(const char *file, int line, const char *what,
						uint64_t got, uint64_t expected)
{
	if (got == expected)
		return true;
	return test_fail(file, line, "%s is %" PRIu64 " (0x%" PRIx64 "), not %" PRIu64
			 " (0x%" PRIx64 ")", what, got, got, expected, expected);
}

__attribute__((unused)) static bool test_eq_s64(const char *file, int line, const char *what,
						int64_t got, int64_t expected)
{
	if (got == expected)
		return true;
	return test_fail(file, line, "%s is %" PRId64 ", not %" PRId64, what, got, expected);
}

__attribute__((unused)) static bool test_str(const char *file, int line, const char *what,
					     const char *got, const char *expected)
{
	if (got == expected || (got && expected && !strcmp(got, expected)))
		return true;
	return test_fail(file, line, "%s is \"%s\", not \"%s\"", what, got ? got : "(null)",
			 expected ? expected : "(null)");
}

__attribute__((unused)) static bool test_mem(const char *file, int line, const char *what,
					     const void *got, const void *expected, size_t bytes)
{
	const uint8_t *g = got, *e = expected;

	for (size_t i = 0; i < bytes; i++)
		if (g[i] != e[i])
			return test_fail(file, line, "%s: byte %zu is %02x, not %02x", what, i,
					 g[i], e[i]);
	return true;
}

__attribute__((unused)) static bool test_ok(const char *file, int line, const char *what,
					    struct rs_error *err)
{
	if (!err)
		return true;
	test_fail(file, line, "%s: %s", what, rs_error_text(err));
	rs_error_free(err);
	return false;
}

/* Checks for an error with this code, whose text contains part (NULL: any text). Frees it. */
__attribute__((unused)) static bool test_err(const char *file, int line, const char *what,
					     struct rs_error *err, enum rs_code code,
					     const char *part)
{
	bool good;

	if (!err)
		return test_fail(file, line, "%s succeeded", what);
	good = rs_error_code(err) == code && (!part || strstr(rs_error_text(err), part));
	if (!good)
		test_fail(file, line, "%s: code %d, \"%s\"; expected code %d, \"...%s...\"", what,
			  (int)rs_error_code(err), rs_error_text(err), (int)code,
			  part ? part : "");
	rs_error_free(err);
	return good;
}

#define TEST_HERE __FILE__, __LINE__

/* Each evaluates to whether the check passed. */
#define CHECK(condition) test_that(TEST_HERE, #condition, (condition))
#define CHECK_EQ_U64(got, expected)                                                                \
	test_eq_u64(TEST_HERE, #got, (uint64_t)(got), (uint64_t)(expected))
#define CHECK_EQ_S64(got, expected)                                                                \
	test_eq_s64(TEST_HERE, #got, (int64_t)(got), (int64_t)(expected))
#define CHECK_STR(got, expected)	test_str(TEST_HERE, #got, got, expected)
#define CHECK_MEM(got, expected, bytes) test_mem(TEST_HERE, #got, got, expected, bytes)
#define CHECK_OK(call)			test_ok(TEST_HERE, #call, call)
#define CHECK_ERR(call, code, part)	test_err(TEST_HERE, #call, call, code, part)

#define REQUIRE_(check)                                                                            \
	do {                                                                                       \
		if (!(check))                                                                      \
			return;                                                                    \
	} while (0)
#define REQUIRE(condition)	      REQUIRE_(CHECK(condition))
#define REQUIRE_EQ_U64(got, expected) REQUIRE_(CHECK_EQ_U64(got, expected))
#define REQUIRE_OK(call)	      REQUIRE_(CHECK_OK(call))

static bool test_selected(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strstr(name, argv[i]))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	unsigned int n = 0, failed = 0;

	/* Tests fork and abort, so that no output may stay in a buffer. */
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	for (struct test *test = test_first; test; test = test->next)
		n += test_selected(test->name, argc, argv);
	printf("1..%u\n", n);
	n = 0;
	for (struct test *test = test_first; test; test = test->next) {
		if (!test_selected(test->name, argc, argv))
			continue;
		test_failures = 0;
		test_skip_reason = NULL;
		test->run();
		if (test_failures > TEST_REPORTS_MAX)
			printf("# %u failures in all\n", test_failures);
		failed += test_failures != 0;
		printf("%s %u - %s%s%s\n", test_failures ? "not ok" : "ok", ++n, test->name,
		       test_skip_reason ? " # SKIP " : "",
		       test_skip_reason ? test_skip_reason : "");
	}
	return failed != 0;
}

#endif
