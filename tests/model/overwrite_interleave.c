/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every interleaving of a positioned writer with its reader, up to a number of switches.
 *
 * The subject is the real overwrite ring (src/ring/overwrite.c), built so that it calls
 * model_step() before each access to memory. Writer and reader are coroutines; before each access
 * to the ring the explorer decides whether the other one continues instead. It runs each scenario
 * again and again until every decision at every step has been tried, depth first. Accesses take
 * effect in program order, as on x86; ThreadSanitizer covers weaker orders.
 *
 * Invariants in every order:
 *	- an element that is read is complete, and was put
 *	- elements arrive in order, and those missing between two were reported as lost
 *	- at the end read + lost = put
 */
#include "../test.h"
#include "subject.h"

#include <ringside/overwrite.h>
#include <ucontext.h>

#define ELEMENTS  6u /* the smallest possible ring: keeps 5 */
#define WORDS	  2u
#define ELE_SIZE  (WORDS * 8u)
#define STEPS_MAX 4096u
#define STACK	  (256u << 10)

struct scenario {
	uint32_t before;   /* puts before the reader's first read */
	uint32_t puts;	   /* beside it */
	uint32_t reads, n; /* reads of up to n elements */
	uint32_t switches;
};

static struct {
	struct rs_sbuf header;
	uint64_t data[ELEMENTS * WORDS];
} ring;

static struct scenario s;
static struct rs_overwriter writer;
static struct rs_overwrite_reader reader;
static uint64_t put, next; /* next: the expected element, apart from losses */
static bool torn, jumped, failed;

/* The explorer: the decisions of this run, and how many of them are prescribed. */
static struct {
	uint8_t choice[STEPS_MAX];
	uint32_t made, prescribed, left;
	bool on;
} x;
static ucontext_t main_context, contexts[2];
static bool done[2];
static int running;
static uint64_t runs;

static void switch_to_other(void)
{
	int from = running;

	running = !running;
	swapcontext(&contexts[from], &contexts[running]);
}

void model_step(const volatile void *at)
{
	const char *byte = (const char *)at;

	if (!x.on || byte < (char *)&ring || byte >= (char *)(&ring + 1) || done[!running] ||
	    !x.left || x.made == STEPS_MAX)
		return;
	if (x.made >= x.prescribed) {
		x.choice[x.made] = 0;
		x.prescribed = x.made + 1;
	}
	if (!x.choice[x.made++])
		return;
	x.left--;
	switch_to_other();
}

uint64_t rs_tsc(void)
{
	return 0;
}

/* clang's; gcc leaves memmove() unchanged. The moved memory is private. */
void *__tsan_memmove(void *to, const void *from, size_t bytes);
void *__tsan_memmove(void *to, const void *from, size_t bytes)
{
	return memmove(to, from, bytes);
}

/* Belongs to the locked form, which is not tested here. */
uint32_t __tsan_atomic32_exchange(volatile uint32_t *at, uint32_t value, int order);
uint32_t __tsan_atomic32_exchange(volatile uint32_t *at, uint32_t value, int order)
{
	uint32_t old = *at;

	(void)order;
	*at = value;
	return old;
}

static void put_one(void)
{
	const uint64_t element[WORDS] = { put, ~(put * 7919) };

	put++;
	rs_overwriter_put(&writer, element);
}

static bool read_some(uint32_t n)
{
	uint64_t got[ELEMENTS * WORDS];
	uint32_t have = 0;
	uint64_t lost = 0;

	if (rs_overwrite_read(&reader, got, n, &have, &lost) != RS_SBUF_OK) {
		failed = true;
		return false;
	}
	next += lost;
	for (uint32_t i = 0; i < have; i++, next++) {
		torn |= got[i * WORDS + 1] != ~(got[i * WORDS] * 7919);
		jumped |= got[i * WORDS] != next;
	}
	return have || lost;
}

/* Ends a coroutine: the other continues alone, then main. */
static void end_of(int me)
{
	done[me] = true;
	running = !me;
	if (done[!me])
		swapcontext(&contexts[me], &main_context);
	else
		swapcontext(&contexts[me], &contexts[!me]);
}

static void write_all(void)
{
	for (uint32_t i = 0; i < s.puts; i++)
		put_one();
	end_of(0);
}

static void read_all(void)
{
	for (uint32_t i = 0; i < s.reads; i++)
		read_some(s.n);
	end_of(1);
}

static void start(int which, void (*run)(void))
{
	static char stacks[2][STACK];

	getcontext(&contexts[which]);
	contexts[which].uc_stack.ss_sp = stacks[which];
	contexts[which].uc_stack.ss_size = STACK;
	contexts[which].uc_link = NULL;
	makecontext(&contexts[which], run, 0);
	done[which] = false;
}

static void run_once(int first)
{
	put = next = 0;
	x.on = false;
	CHECK(rs_overwrite_create(&ring, sizeof(ring), ELE_SIZE, RS_SBUF_POSITIONED) == RS_SBUF_OK);
	CHECK(rs_overwriter_init(&writer, &ring, sizeof(ring)) == RS_SBUF_OK);
	CHECK(rs_overwrite_attach(&reader, &ring, sizeof(ring), RS_SBUF_MAGIC) == RS_SBUF_OK);
	for (uint32_t i = 0; i < s.before; i++)
		put_one();
	x.made = 0;
	x.left = s.switches;
	start(0, write_all);
	start(1, read_all);
	running = first;
	x.on = true;
	swapcontext(&main_context, &contexts[first]);
	x.on = false;
	while (read_some(ELEMENTS))
		continue;
	CHECK(!torn && !jumped && !failed && next == put);
	runs++;
}

static void explore(struct scenario scenario)
{
	s = scenario;
	for (int first = 0; first < 2; first++) {
		torn = jumped = failed = false;
		x.prescribed = 0;
		do {
			run_once(first);
			while (x.prescribed && x.choice[x.prescribed - 1])
				x.prescribed--;
			if (x.prescribed)
				x.choice[x.prescribed - 1] = 1;
		} while (x.prescribed && next == put && !torn && !jumped && !failed);
	}
}

static void print_counts(void)
{
	printf("# %" PRIu64 " runs\n", runs);
	CHECK(runs > 1000);
	runs = 0;
}

/* Every fill level of the ring, and a writer that continues for more than a lap. */
TEST(two_switches_everywhere)
{
	for (uint32_t before = 0; before < 2 * ELEMENTS; before++)
		for (uint32_t n = 1; n <= ELEMENTS; n += 2)
			explore((struct scenario){ before, 2 * ELEMENTS, 3, n, 2 });
	print_counts();
}

TEST(three_switches)
{
	for (uint32_t before = 3; before < 8; before += 2)
		explore((struct scenario){ before, ELEMENTS + 1, 2, 3, 3 });
	print_counts();
}

/* Zero to several laps between a reader's first and second load. */
TEST(four_switches)
{
	explore((struct scenario){ 5, 3, 1, 2, 4 });
	explore((struct scenario){ 7, 2 * ELEMENTS, 1, 1, 4 });
	print_counts();
}
