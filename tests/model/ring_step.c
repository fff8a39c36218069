/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handlers at every instruction of a put: the machine code itself, as the compiler made it.
 *
 * A put is run once with the trap flag set, which gives the address of each of its instructions.
 * Then it is run repeatedly from the same state, each time with a breakpoint (int3) at another
 * instruction. In the middle of the put, the breakpoint's handler makes another put, or consumes.
 * The test is repeated for pairs: a handler at every instruction of the handler's own put, and a
 * second handler at every later instruction of the first put.
 *
 * ring_interleave.c goes deeper, on an instrumented build; this test shows that the real code has
 * no order of accesses that the instrumented build lacks.
 */
#include "../test.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#if !defined(__x86_64__) || defined(SANITIZED)

TEST(every_instruction)
{
	TEST_SKIP("breakpoints are for x86-64, and for code without a sanitizer's in it");
}

#else

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <ringside/sbuf.h>

static struct rs_sbuf_producer producer;
#define RS_THIS_PRODUCER() (&producer)
#define RS_THIS_MASK	   1u
#include <ringside/emit.h>

#define ID	  0x57e9
#define SLOTS	  16u
#define PATH_MAX  4096u
#define PUTS_MAX  32u
#define TRAP_FLAG 0x100u
#define INT3	  0xccu
#define UNSET_POINT                                                                                \
	(struct point)                                                                             \
	{                                                                                          \
		0                                                                                  \
	}

enum action { PUT1, PUT2, CONSUME, ACTIONS };

/* An instruction of a path: its address, and how often the path reached it before. */
struct point {
	uint8_t *at;
	uint32_t before;
};

struct path {
	struct point point[PATH_MAX];
	uint32_t n;
};

struct scenario {
	const char *name;
	uint32_t at;	 /* slot of the ring's position */
	uint32_t unread; /* one-slot records put before */
	bool loss;	 /* and one refused, and nearly all consumed */
	bool attached;	 /* the producer attaches again */
	uint32_t slots;	 /* of the put */
};

/* ---- the ring and its invariants ----------------------------------------------------------- */

static struct world {
	struct {
		struct rs_sbuf header;
		struct rs_slot slot[SLOTS];
	} ring;
	struct rs_sbuf_consumer consumer;
	bool accepted[PUTS_MAX], seen[PUTS_MAX];
	uint32_t puts, refused;
	uint64_t told, last_tsc;
} world, beginning;
static struct rs_sbuf_producer producer_at_beginning;

static const char *broken; /* the invariant that this run violated */

static void must(bool held, const char *what)
{
	if (!held && !broken)
		broken = what;
}
#define MUST(condition) must(condition, #condition)

__attribute__((noinline)) static bool put_one(uint64_t n)
{
	return rs_emit(ID, (uint64_t[]){ n, ~n }, 16);
}

__attribute__((noinline)) static bool put_two(uint64_t n)
{
	return rs_emit(ID, (uint64_t[]){ n, ~n, n + 2, n + 3, n + 4, n + 5 }, 48);
}

static void check_readable(const struct rs_slot *slot, uint32_t slots, bool for_good)
{
	uint64_t words[6] = { 0 };
	uint64_t n;

	memcpy(words, (const uint8_t *)slot + RS_RECORD_HEAD,
	       slots * RS_SLOT_BYTES - RS_RECORD_HEAD);
	n = words[0];
	MUST(n < world.puts);
	MUST(words[1] == ~n);
	MUST(slots == 1 || (words[2] == n + 2 && words[5] == n + 5));
	if (broken)
		return;
	MUST(!world.seen[n]);
	world.seen[n] = for_good;
}

/* Checks the readable records, and consumes them or only reads them. */
static bool consume(bool for_good)
{
	const uint8_t *run = (const uint8_t *)world.ring.slot;
	uint64_t last_tsc = world.last_tsc;
	uint32_t bytes = 0, slots;

	MUST(rs_sbuf_peek(&world.consumer, &run, &bytes) == RS_SBUF_OK);
	for (uint32_t at = 0; at < bytes && !broken; at += slots * RS_SLOT_BYTES) {
		const struct rs_slot *slot = (const void *)(run + at);
		struct rs_lost lost;

		slots = rs_slot_count(slot->head);
		MUST(slots > 0 && slots <= 2 && at + slots * RS_SLOT_BYTES <= bytes);
		MUST(slot->tsc >= last_tsc);
		last_tsc = slot->tsc;
		if (rs_slot_id(slot->head) == RS_ID_LOST) {
			memcpy(&lost, (const uint8_t *)slot + RS_RECORD_HEAD, sizeof(lost));
			MUST(lost.count && lost.from <= lost.to && lost.to == slot->tsc);
			world.told += for_good ? lost.count : 0;
		} else if (rs_slot_id(slot->head) == ID) {
			check_readable(slot, slots, for_good);
		} else {
			MUST(rs_slot_id(slot->head) == RS_ID_FILLER);
		}
	}
	if (!for_good || broken)
		return false;
	world.last_tsc = last_tsc;
	rs_sbuf_release(&world.consumer, bytes);
	return bytes > 0;
}

/* ---- stepping and breakpoints ------------------------------------------------------------------
 */

/*
 * The plan of a run: an action at the first point; another one at the second point, during the
 * first one's put or after it. record: single-steps instead, and records the path where the second
 * point would be.
 */
struct plan {
	struct point first, second;
	enum action first_action, second_action;
	bool inside;
	struct path *record;
};

static struct {
	struct plan plan;
	struct path *recording;
	struct point armed;
	uint8_t original;
	bool stepping_over;
	uint32_t hits;
} steps;

static void text_write(uint8_t *at, uint8_t byte)
{
	*(volatile uint8_t *)at = byte;
}

static void arm(struct point point)
{
	steps.armed = point;
	if (point.at) {
		steps.original = *point.at;
		text_write(point.at, INT3);
	}
}

static void set_trap_flag(bool on)
{
	__asm__ volatile("pushfq\n\t"
			 "andq $~0x100, (%%rsp)\n\t"
			 "orq %0, (%%rsp)\n\t"
			 "popfq"
			 :
			 : "r"(on ? (uint64_t)TRAP_FLAG : 0)
			 : "memory", "cc");
}

static void put(uint32_t slots, struct path *record)
{
	uint32_t n = world.puts++;
	bool accepted;

	steps.recording = record;
	set_trap_flag(record != NULL);
	accepted = slots == 1 ? put_one(n) : put_two(n);
	set_trap_flag(false); /* the same steps, recorded or not */
	steps.recording = NULL;
	world.accepted[n] = accepted;
	world.refused += !accepted;
}

static void act(enum action action, struct path *record)
{
	if (action == CONSUME)
		consume(true);
	else
		put(action == PUT1 ? 1 : 2, record);
}

/* The handler of the first breakpoint. */
static void first_hit(ucontext_t *context)
{
	const struct plan *plan = &steps.plan;

	if (!plan->inside) {
		act(plan->first_action, NULL);
		arm(plan->second);
		if (plan->record) {
			steps.recording = plan->record;
			context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
		}
		return;
	}
	if (plan->record) {
		act(plan->first_action, plan->record);
		return;
	}
	arm(plan->second);
	act(plan->first_action, NULL);
	if (steps.armed.at) { /* not hit: the path has changed, which must not happen */
		text_write(steps.armed.at, steps.original);
		steps.armed = UNSET_POINT;
	}
}

static void on_trap(int sig, siginfo_t *info, void *arg)
{
	ucontext_t *context = arg;
	uint8_t *rip = (uint8_t *)context->uc_mcontext.gregs[REG_RIP];

	(void)sig;
	(void)info;
	if (steps.stepping_over) { /* of a loop's earlier rounds */
		steps.stepping_over = false;
		context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
		text_write(steps.armed.at, INT3);
		return;
	}
	if (!steps.armed.at || rip != steps.armed.at + 1) {
		struct path *path = steps.recording;

		if (path && path->n < PATH_MAX) {
			uint32_t before = 0;

			for (uint32_t i = 0; i < path->n; i++)
				before += path->point[i].at == rip;
			path->point[path->n++] = (struct point){ rip, before };
		}
		return;
	}
	text_write(steps.armed.at, steps.original);
	context->uc_mcontext.gregs[REG_RIP]--;
	if (steps.armed.before) {
		steps.armed.before--;
		steps.stepping_over = true;
		context->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
		return;
	}
	steps.armed = UNSET_POINT;
	consume(false);
	if (++steps.hits == 1)
		first_hit(context);
	else
		act(steps.plan.second_action, NULL);
}

/* ---- runs --------------------------------------------------------------------------------------
 */

static uint64_t runs;

/* Makes one put from the initial state, with a plan, and checks the invariants. */
static bool run_put(const struct scenario *s, const struct plan *plan, struct path *record)
{
	world = beginning;
	producer = producer_at_beginning;
	broken = NULL;
	memset(&steps, 0, sizeof(steps));
	if (plan) {
		steps.plan = *plan;
		arm(plan->first);
	}
	put(s->slots, record);
	if (steps.armed.at) {
		text_write(steps.armed.at, steps.original);
		MUST(!"every breakpoint was met");
	}
	MUST(world.ring.header.tail == (uint32_t)producer.reserve);
	while (consume(true))
		;
	put(1, NULL);
	while (consume(true))
		;
	MUST(world.told == world.refused);
	MUST(producer.refused == world.refused);
	for (uint32_t n = 0; n < world.puts; n++)
		MUST(world.seen[n] == world.accepted[n]);
	runs++;
	if (broken)
		test_fail(TEST_HERE, "%s: %s; a put of %u; %s at +%td%s%s", s->name, broken,
			  s->slots, plan ? "broken" : "alone",
			  plan ? plan->first.at - (uint8_t *)put_one : 0,
			  plan && plan->second.at ? " and again" : "",
			  plan && plan->inside ? " inside" : "");
	return !broken;
}

static bool set_up(const struct scenario *s)
{
	memset(&world, 0, sizeof(world));
	memset(&steps, 0, sizeof(steps));
	broken = NULL;
	producer = (struct rs_sbuf_producer){ 0 };
	MUST(rs_sbuf_create(&world.ring, sizeof(world.ring), RS_SLOT_BYTES) == RS_SBUF_OK);
	world.ring.header.head = world.ring.header.tail = s->at * RS_SLOT_BYTES;
	MUST(rs_sbuf_attach(&world.consumer, &world.ring, sizeof(world.ring)) == RS_SBUF_OK);
	MUST(rs_sbuf_producer_init(&producer, &world.ring, sizeof(world.ring)) == RS_SBUF_OK);
	for (uint32_t i = 0; i < s->unread; i++)
		put(1, NULL);
	if (s->loss) {
		while (!world.refused)
			put(1, NULL);
		while (consume(true))
			;
		for (uint32_t i = 0; i < s->unread; i++)
			put(1, NULL);
	}
	if (s->attached)
		MUST(rs_sbuf_producer_init(&producer, &world.ring, sizeof(world.ring)) ==
		     RS_SBUF_OK);
	beginning = world;
	producer_at_beginning = producer;
	return CHECK(!broken);
}

/* A second point at each instruction, inside the handler's put or after the handler. */
static void run_pairs(const struct scenario *s, struct point first, bool inside)
{
	static struct path path;
	struct plan plan = { .first = first, .inside = inside, .record = &path };

	plan.first_action = PUT1;
	path.n = 0;
	if (!run_put(s, &plan, NULL))
		return;
	plan.record = NULL;
	for (uint32_t i = 0; i < path.n && !test_failures; i++) {
		plan.second = path.point[i];
		for (plan.second_action = 0; plan.second_action < ACTIONS; plan.second_action += 2)
			run_put(s, &plan, NULL);
	}
}

static void run_scenario(const struct scenario *s, bool pairs)
{
	static struct path path;

	if (!set_up(s))
		return;
	path.n = 0;
	run_put(s, NULL, NULL); /* once for the linker's lazy binding */
	if (!run_put(s, NULL, &path))
		return;
	CHECK(path.n > 10 && path.n < PATH_MAX);
	for (uint32_t i = 0; i < path.n && !test_failures; i++) {
		struct plan plan = { .first = path.point[i] };

		for (plan.first_action = 0; plan.first_action < ACTIONS; plan.first_action++)
			run_put(s, &plan, NULL);
		if (pairs && !test_failures) {
			run_pairs(s, path.point[i], true);
			run_pairs(s, path.point[i], false);
		}
	}
	printf("# %s, a put of %u: %u instructions, %" PRIu64 " runs\n", s->name, s->slots, path.n,
	       runs);
	runs = 0;
}

/* Makes the text writable: the code is as the linker laid it out, except for one byte. */
static bool open_text(void)
{
	extern char __executable_start[], etext[];
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t from = (uintptr_t)__executable_start & ~(page - 1);
	uintptr_t to = ((uintptr_t)etext + page - 1) & ~(page - 1);
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };

	sigaction(SIGTRAP, &action, NULL);
	return !mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC);
}

static const struct scenario scenarios[] = {
	{ "in the middle", 4, 1, false, false, 1 },
	{ "at the limit", 4, 15, false, false, 1 },
	{ "to the end of the ring", 14, 1, false, false, 1 },
	{ "across the end of the ring", 14, 1, false, false, 2 },
	{ "the producer's first", 4, 3, false, true, 1 },
	{ "the last that fits", 4, 14, false, false, 1 },
	{ "full", 4, 15, false, false, 2 },
	{ "after a loss", 4, 0, true, false, 1 },
	{ "after a loss, across the end", 14, 0, true, false, 2 },
	{ "after a loss, nearly full", 3, 11, true, false, 2 },
};
#define SCENARIOS	(sizeof(scenarios) / sizeof(scenarios[0]))

TEST(a_handler_at_every_instruction)
{
	if (!open_text())
		TEST_SKIP("this system does not let a program write its own code");
	for (size_t i = 0; i < SCENARIOS && !test_failures; i++)
		run_scenario(&scenarios[i], false);
}

TEST(two_handlers_at_every_two_instructions)
{
	if (!open_text())
		TEST_SKIP("this system does not let a program write its own code");
	for (size_t i = 0; i < SCENARIOS && !test_failures; i++)
		run_scenario(&scenarios[i], true);
}

#endif
