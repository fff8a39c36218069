/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every interleaving of a put with handlers and the consumer, up to a number of interruptions.
 *
 * The subject is the real put (src/ring/sbuf.c and the inline functions of sbuf.h and emit.h),
 * built so that it calls model_step() before each access to memory and each stamp. There the
 * explorer chooses between continuing, running a handler that puts (to a depth of two, handlers
 * interrupting handlers), and the consumer's next step. It runs each scenario again and again until
 * every decision at every step has been tried, depth first.
 *
 * Invariants in every order:
 *	- the consumer can only read complete records, each put once, unchanged until released
 *	- stamps never go back along the ring
 *	- when the outermost put has returned, everything is published
 *	- kept + lost = emitted; a loss is reported with a span of time that covers it
 */
#include "../test.h"
#include "subject.h"

#include <ringside/record.h>

#define DECISIONS_MAX 2048u
#define PUTS_MAX      48u
#define LOSSES_MAX    32u
#define SLOTS_MAX     16u /* of a ring */
#define DEPTH_MAX     2u

enum action {
	ACT_GO_ON,
	ACT_CONSUME,
	ACT_PUT1,
	ACT_PUT2,
	ACT_PASS, /* a put that is consumed immediately */
	ACT_LAP,  /* as many puts as fill the ring once, each consumed immediately */
	ACTIONS,
};
static const char *const action_names[ACTIONS] = { "go on", "consume", "put 1",
						   "put 2", "a pass",  "a lap" };

#define MENU(action) (1u << (action))
#define MENU_CONSUME MENU(ACT_CONSUME)
#define MENU_PUTS    (MENU(ACT_PUT1) | MENU(ACT_PUT2))
#define MENU_ALL     (MENU_CONSUME | MENU_PUTS)

struct scenario {
	uint32_t slots;	 /* of the ring */
	uint32_t start;	 /* slot of the ring's position */
	uint32_t unread; /* one-slot records already in it */
	bool loss;	 /* a loss is pending */
	bool fresh;	 /* the producer has just attached */
	bool doorbell;	 /* a full ring calls the consumer */
	uint32_t put;	 /* slots of the outermost put */
	uint32_t budget; /* disturbances */
	uint32_t menu;
};

struct put {
	uint64_t started, ended;
	bool accepted, seen, told;
};

struct loss {
	uint64_t count, from, to;
};

/* All state that changes in a run, so that copying it restores a scenario's beginning. */
struct world {
	struct {
		struct rs_sbuf header;
		struct rs_slot slot[SLOTS_MAX];
	} ring;
	struct rs_sbuf_producer producer;
	struct rs_sbuf_consumer consumer;
	uint64_t clock;
	struct put put[PUTS_MAX];
	uint32_t n_puts;
	uint32_t refused[PUTS_MAX]; /* puts, in the order in which they returned */
	uint32_t n_refused;
	struct loss loss[LOSSES_MAX];
	uint32_t n_losses;
	uint64_t last_stamp;
	/* The consumer's state between its two steps. */
	uint32_t held_bytes;
	struct rs_slot held[SLOTS_MAX];
};
static struct world w, beginning;

/* The explorer: the decisions of this run, and how many of them are prescribed. */
static struct {
	uint8_t choice[DECISIONS_MAX];
	uint8_t options[DECISIONS_MAX];
	uint8_t action[DECISIONS_MAX];
	uint32_t made, prescribed;
	uint32_t budget, depth, menu;
	bool on, broken;
	const struct scenario *scenario;
} x;

static uint64_t runs;

/* ---- invariants ---------------------------------------------------------------------------- */

static void report(int line, const char *what)
{
	const struct scenario *s = x.scenario;

	x.broken = true;
	test_fail(__FILE__, line,
		  "%s: ring of %u slots at %u, %u unread%s%s%s, a put of %u slots, disturbances:",
		  what, s->slots, s->start, s->unread, s->loss ? ", loss waits" : "",
		  s->fresh ? ", fresh producer" : "", s->doorbell ? ", doorbell" : "", s->put);
	for (uint32_t i = 0; i < x.made; i++)
		if (x.action[i] != ACT_GO_ON)
			printf("#	at step %u: %s\n", i, action_names[x.action[i]]);
	for (uint32_t n = 0; n < w.n_puts; n++)
		printf("#	put %u, %" PRIu64 " to %" PRIu64 ": %s\n", n, w.put[n].started,
		       w.put[n].ended, w.put[n].accepted ? "accepted" : "refused or unfinished");
	for (uint32_t i = 0; i < w.n_losses; i++)
		printf("#	loss of %" PRIu64 ", %" PRIu64 " to %" PRIu64 "\n", w.loss[i].count,
		       w.loss[i].from, w.loss[i].to);
}

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition) && !x.broken)                                                     \
			report(__LINE__, #condition);                                              \
	} while (0)

static void check_ours(const struct rs_slot *slot, uint32_t slots)
{
	const uint64_t *words = (const uint64_t *)(const void *)slot->payload;
	uint32_t n = (uint32_t)(words[0] >> 32);

	MUST(n < w.n_puts);
	if (x.broken)
		return;
	MUST(!w.put[n].seen);
	w.put[n].seen = true;
	MUST(slot->tsc >= w.put[n].started);
	for (uint32_t i = 0; i < 2 + 4 * (slots - 1); i++)
		MUST(words[i] == model_word(n, i));
}

static void check_loss(const struct rs_slot *slot, uint32_t slots)
{
	const struct rs_lost *lost = (const struct rs_lost *)(const void *)slot->payload;

	MUST(slots == RS_LOST_SLOTS);
	MUST(w.n_losses < LOSSES_MAX);
	MUST(lost->count > 0);
	MUST(lost->from <= lost->to);
	MUST(lost->to == slot->tsc);
	if (!x.broken)
		w.loss[w.n_losses++] = (struct loss){ lost->count, lost->from, lost->to };
}

/* A run of records that the consumer was shown: complete records, ordered by time. */
static void check_run(const struct rs_slot *slot, uint32_t n)
{
	uint32_t slots;

	for (; n && !x.broken; slot += slots, n -= slots) {
		slots = rs_slot_count(slot->head);
		MUST(slots > 0 && slots <= n);
		MUST(slot->tsc >= w.last_stamp);
		w.last_stamp = slot->tsc;
		if (rs_slot_id(slot->head) == MODEL_ID)
			check_ours(slot, slots);
		else if (rs_slot_id(slot->head) == RS_ID_LOST)
			check_loss(slot, slots);
		else
			MUST(rs_slot_id(slot->head) == RS_ID_FILLER);
		if (x.broken)
			return;
	}
}

/* ---- actions ------------------------------------------------------------------------------- */

/* The consumer's next step: read the available records, or release those that it read. */
static bool consume(void)
{
	const uint8_t *run = NULL;
	uint32_t bytes = 0;

	if (w.held_bytes) {
		MUST(!memcmp(w.consumer.data + w.consumer.head, w.held, w.held_bytes));
		rs_sbuf_release(&w.consumer, w.held_bytes);
		w.held_bytes = 0;
		return true;
	}
	MUST(rs_sbuf_peek(&w.consumer, &run, &bytes) == RS_SBUF_OK);
	if (x.broken || !bytes)
		return false;
	memcpy(w.held, run, bytes);
	w.held_bytes = bytes;
	check_run(w.held, bytes / RS_SLOT_BYTES);
	return true;
}

static void consume_all(void)
{
	while (!x.broken && consume())
		;
}

static bool doorbell(struct rs_sbuf_producer *p)
{
	(void)p;
	consume_all();
	return true;
}

static bool put(uint32_t slots)
{
	uint32_t n = w.n_puts++;
	bool accepted;

	if (n >= PUTS_MAX) {
		MUST(!"a run has more puts than this test has room for");
		return false;
	}
	w.put[n].started = ++w.clock;
	accepted = model_put(n, slots);
	w.put[n].ended = ++w.clock;
	w.put[n].accepted = accepted;
	if (!accepted)
		w.refused[w.n_refused++] = n;
	return accepted;
}

static void act(enum action action)
{
	x.depth++;
	switch (action) {
	case ACT_CONSUME:
		consume();
		break;
	case ACT_PUT1:
		put(1);
		break;
	case ACT_PUT2:
		put(2);
		break;
	case ACT_PASS:
		put(1);
		consume_all();
		break;
	case ACT_LAP:
		for (uint32_t i = 0; i < x.scenario->slots && !x.broken; i++) {
			put(1);
			consume_all();
		}
		break;
	default:
		break;
	}
	x.depth--;
}

/*
 * Returns the c-th action that is possible here; a handler at the greatest depth is not
 * interrupted.
 */
static enum action action_of(uint32_t c)
{
	for (enum action a = ACT_GO_ON + 1; a < ACTIONS; a++)
		if (x.menu & MENU(a) && (a == ACT_CONSUME || x.depth < DEPTH_MAX) && !--c)
			return a;
	return ACTIONS;
}

static uint32_t options_here(void)
{
	uint32_t n = 1;

	while (action_of(n) != ACTIONS)
		n++;
	return n;
}

void model_step(const volatile void *at)
{
	const char *byte = (const char *)at;
	uint32_t i, c;

	if (!x.on || x.broken || !x.budget)
		return;
	if (at && !(byte >= (char *)&w && byte < (char *)(&w + 1)) &&
	    !(byte >= (char *)&model_producer && byte < (char *)(&model_producer + 1)))
		return;
	i = x.made;
	if (i >= DECISIONS_MAX) {
		MUST(!"a run has more steps than this test has room for");
		return;
	}
	if (i >= x.prescribed) {
		x.choice[i] = 0;
		x.options[i] = (uint8_t)options_here();
		x.prescribed = i + 1;
	}
	x.made++;
	c = x.choice[i];
	x.action[i] = ACT_GO_ON;
	if (c) {
		x.budget--;
		x.action[i] = (uint8_t)action_of(c);
		act(x.action[i]);
	}
}

uint64_t rs_tsc(void)
{
	model_step(NULL);
	return ++w.clock;
}

/* ---- a run, a scenario, a set of scenarios ------------------------------------------------- */

/*
 * A loss whose span overlaps the put's own reports each refused put. The put that ended first
 * belongs to the first loss.
 */
static void check_losses(void)
{
	uint64_t told = 0;

	for (uint32_t i = 0; i < w.n_losses; i++) {
		const struct loss *loss = &w.loss[i];
		uint64_t left = loss->count;

		told += left;
		for (uint32_t k = 0; k < w.n_refused && left; k++) {
			struct put *put = &w.put[w.refused[k]];

			if (put->told || put->started > loss->to || put->ended < loss->from)
				continue;
			put->told = true;
			left--;
		}
		MUST(!left);
	}
	MUST(told == w.n_refused);
}

static void run_once(void)
{
	w = beginning;
	model_producer = w.producer;
	x.made = 0;
	x.budget = x.scenario->budget;
	x.depth = 0;
	x.on = true;
	put(x.scenario->put);
	x.on = false;
	MUST(w.ring.header.tail == (uint32_t)model_producer.reserve);
	consume_all();
	MUST(put(1)); /* reports the pending loss */
	consume_all();
	MUST(w.ring.header.head == w.ring.header.tail);
	MUST(model_producer.reported == model_producer.refused);
	for (uint32_t n = 0; n < w.n_puts; n++)
		MUST(w.put[n].seen == w.put[n].accepted);
	MUST(w.ring.header.refused == w.n_refused);
	check_losses();
	runs++;
}

/* Brings the ring into the scenario's initial state, with the ring's own operations. */
static void set_up(const struct scenario *s)
{
	memset(&w, 0, sizeof(w));
	x.scenario = s;
	x.broken = x.on = false;
	MUST(rs_sbuf_create(&w.ring, rs_sbuf_bytes(s->slots, RS_SLOT_BYTES), RS_SLOT_BYTES) ==
	     RS_SBUF_OK);
	w.ring.header.head = w.ring.header.tail = s->start * RS_SLOT_BYTES;
	MUST(rs_sbuf_attach(&w.consumer, &w.ring, sizeof(w.ring)) == RS_SBUF_OK);
	model_producer = (struct rs_sbuf_producer){ 0 };
	MUST(rs_sbuf_producer_init(&model_producer, &w.ring, sizeof(w.ring)) == RS_SBUF_OK);
	for (uint32_t i = 0; i < s->unread; i++)
		MUST(put(1));
	if (s->loss)
		while (put(1))
			;
	if (s->loss) { /* frees the ring, except for the records that stay unread */
		uint32_t filled = s->slots - 1;

		while (filled > s->unread) {
			uint32_t slot = w.consumer.head / RS_SLOT_BYTES;

			check_run(&w.ring.slot[slot], 1);
			rs_sbuf_release(&w.consumer, RS_SLOT_BYTES);
			filled--;
		}
	}
	if (s->fresh)
		MUST(rs_sbuf_producer_init(&model_producer, &w.ring, sizeof(w.ring)) == RS_SBUF_OK);
	model_producer.full = s->doorbell ? doorbell : NULL;
	w.producer = model_producer;
	beginning = w;
}

static void explore(const struct scenario *s)
{
	set_up(s);
	x.menu = s->menu;
	x.prescribed = 0;
	while (!x.broken) {
		run_once();
		while (x.prescribed &&
		       x.choice[x.prescribed - 1] + 1 >= x.options[x.prescribed - 1])
			x.prescribed--;
		if (!x.prescribed)
			return;
		x.choice[x.prescribed - 1]++;
	}
}

/* Every position, fill level and put of a ring. */
static bool explore_all(struct scenario s)
{
	for (s.start = 0; s.start < s.slots; s.start++) {
		for (s.unread = 0; s.unread < s.slots; s.unread++) {
			for (s.put = 1; s.put <= MODEL_SLOTS_MAX; s.put++) {
				explore(&s);
				if (x.broken)
					return false;
			}
		}
	}
	return true;
}

static void print_counts(void)
{
	printf("# %" PRIu64 " runs\n", runs);
	runs = 0;
}

TEST(one_disturbance_everywhere)
{
	for (uint32_t slots = 8; slots <= 9; slots++)
		for (uint32_t kind = 0; kind < 8; kind++)
			explore_all((struct scenario){ .slots = slots,
						       .loss = kind & 1,
						       .fresh = kind == 2 || kind == 6,
						       .doorbell = kind & 4,
						       .budget = 1,
						       .menu = MENU_ALL | MENU(ACT_LAP) });
	print_counts();
}

TEST(two_disturbances)
{
	for (uint32_t loss = 0; loss < 2; loss++)
		explore_all((struct scenario){
			.slots = 8, .loss = loss, .budget = 2, .menu = MENU_ALL });
	print_counts();
}

/* Three interruptions at the ring's end, at a full ring, and at a loss. */
TEST(three_disturbances)
{
	for (uint32_t unread = 0; unread < 8; unread += 2)
		for (uint32_t loss = 0; loss < 2; loss++)
			explore(&(struct scenario){
				.slots = 8,
				.start = 5,
				.unread = unread,
				.loss = loss,
				.put = 1,
				.budget = 3,
				.menu = MENU_CONSUME | MENU(ACT_PUT1),
			});
	print_counts();
}

/* A position that recurs after a lap must not be confused with the earlier one. */
TEST(laps)
{
	explore(&(struct scenario){
		.slots = 8,
		.put = 1,
		.budget = 3,
		.menu = MENU_CONSUME | MENU(ACT_PASS) | MENU(ACT_LAP),
	});
	print_counts();
}
