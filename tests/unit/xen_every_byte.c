/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each capture of the corpus, cut at every byte, and with a bit of every byte turned: the reader
 * accepts only records of the undamaged capture, and reports where it stops.
 *
 *	capture ... [begin ........ here ........ end)	the file is cut at `end`, or damaged `here`
 *	             the reader begins as if it had read everything before
 *
 * A file is read from a short distance before the damage, with the state of a reader at that point,
 * because earlier records affect only the stamps. So each cut and damage takes microseconds, and
 * the file is the capture itself, whose end is removed byte by byte. source_xentrace.c and the fuzz
 * target test reports and views of damaged files.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../test.h"
#include "import/xen/file.h"

#define CAPTURE_MAX  (8u << 20)
#define CPUS_MAX     16u
#define BEFORE	     256u    /* minimum of bytes read before the damage */
#define AFTER	     512u    /* and after it */
#define SEVERAL_RARE 100000u /* minimum of bytes for each that turns one record into several */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
#define STEP 61u /* the gcc build without sanitizers tests all bytes */
#else
#define STEP 1u
#endif

static uint8_t capture[CAPTURE_MAX];
static uint32_t size;

/* A reader's state where a record begins. */
struct state {
	uint32_t at, cpu, window_left;
	uint64_t tsc[CPUS_MAX]; /* the last stamp; 0: none */
};

#define STATES_MAX (CAPTURE_MAX / BEFORE)

static struct state states[STATES_MAX];
static uint32_t n_states;
static bool is_boundary[CAPTURE_MAX + 1];   /* a record begins here, or the file ends */
static bool is_window_end[CAPTURE_MAX + 1]; /* the record is a window's head */

/* ---- the capture ------------------------------------------------------------------------------
 */

static void capture_read(const char *name)
{
	char command[256];
	FILE *xz;

	snprintf(command, sizeof(command), "xz -dc tests/corpus/xen/%s.trace.xz", name);
	xz = popen(command, "r");
	REQUIRE(xz != NULL);
	size = (uint32_t)fread(capture, 1, sizeof(capture), xz);
	CHECK(!pclose(xz) && size > 100000 && size < sizeof(capture));
}

/* The positions of its records, and the states; without the reader's code. */
static void capture_walk(void)
{
	struct state now = { 0 };
	uint32_t head, words[3];
	uint64_t tsc;

	memset(is_boundary, 0, sizeof(is_boundary));
	memset(is_window_end, 0, sizeof(is_window_end));
	n_states = 0;
	while (now.at < size) {
		is_boundary[now.at] = true;
		is_window_end[now.at] = !now.window_left;
		if (!n_states || now.at - states[n_states - 1].at >= BEFORE)
			states[n_states++] = now;
		memcpy(&head, capture + now.at, sizeof(head));
		if (!now.window_left) {
			memcpy(words, capture + now.at, sizeof(words));
			REQUIRE(head == 0x2001f003 && words[1] < CPUS_MAX);
			now.cpu = words[1];
			now.window_left = words[2];
			now.at += sizeof(words);
			continue;
		}
		if (head >> 31) {
			memcpy(&tsc, capture + now.at + 4, sizeof(tsc));
			now.tsc[now.cpu] = tsc;
		}
		head = 4 + 8 * (head >> 31) + 4 * (head >> 28 & 7);
		REQUIRE(head <= now.window_left);
		now.window_left -= head;
		now.at += head;
	}
	CHECK(now.at == size && !now.window_left);
	is_boundary[size] = is_window_end[size] = true;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static int file = -1; /* the capture, or the remaining part */

/* A reader with its state at a position. */
static void reader_begin(struct rs_xen_file *f, const struct state *state)
{
	int fd = dup(file);

	REQUIRE(fd >= 0 && lseek(fd, state->at, SEEK_SET) == (off_t)state->at);
	REQUIRE_OK(rs_xen_file_init(f, fd, "capture", "", 0));
	f->offset = state->at;
	for (uint32_t cpu = 0; cpu < CPUS_MAX; cpu++) {
		struct rs_xen_pcpu *pcpu;

		if (!state->tsc[cpu])
			continue;
		REQUIRE_OK(rs_xen_records_pcpu(&f->of, cpu, &pcpu));
		pcpu->has_tsc = true;
		pcpu->read_tsc = pcpu->tsc = state->tsc[cpu];
	}
	if (!state->window_left)
		return;
	REQUIRE_OK(rs_xen_records_pcpu(&f->of, state->cpu, &f->window));
	f->window_left = state->window_left;
	f->window_begun = true;
}

/* The result. */
struct read {
	uint32_t until;		 /* all before it were accepted */
	uint32_t strangers;	 /* records that are not the capture's */
	uint32_t stranger, last; /* the first of them, and the last */
	bool damaged;
	uint64_t damaged_at; /* as it is reported */
};

static void block_check(const struct rs_xen_block *block, struct read *r)
{
	uint32_t at = (uint32_t)block->offset, end = at + block->bytes, head, bytes;

	if (end > r->until)
		r->until = end;
	for (; at < end; at += bytes) {
		memcpy(&head, block->data + (at - block->offset), sizeof(head));
		bytes = RS_XEN_HEAD_BYTES(head);
		if (at + bytes <= end && is_boundary[at] && is_boundary[at + bytes] &&
		    !memcmp(block->data + (at - block->offset), capture + at, bytes))
			continue;
		if (!r->strangers++)
			r->stranger = at;
		r->last = at;
	}
}

static struct read read_from(const struct state *state)
{
	struct read r = { .until = state->at };
	struct rs_xen_file f;
	const char *told;
	bool enough = false;

	reader_begin(&f, state);
	while (!enough)
		rs_error_free(rs_xen_file_fill(&f, &enough));
	CHECK(f.of.ended);
	for (uint32_t i = 0; i < f.of.n_pcpus; i++) {
		for (const struct rs_xen_block *b = f.of.pcpus[i]->first; b; b = b->next)
			block_check(b, &r);
	}
	r.damaged = f.error != NULL;
	if (f.error) {
		told = strstr(rs_error_text(f.error), "at 0x");
		CHECK(rs_error_code(f.error) == RS_DAMAGED && told);
		r.damaged_at = told ? strtoull(told + 5, NULL, 16) : 0;
	}
	rs_xen_file_deinit(&f);
	return r;
}

/*
 * ---- cut and changed --------------------------------------------------------------------------
 */

/* All complete records before the cut, no others, and the position of the cut. */
static void cut_at(uint32_t end, const struct state *state)
{
	struct read r = read_from(state);
	uint32_t last = end;

	while (!is_boundary[last])
		last--;
	if (!CHECK(r.until == last && !r.strangers) ||
	    !CHECK(r.damaged == !is_window_end[end] && (!r.damaged || r.damaged_at == last)))
		printf("# cut at %u: until %u, damaged at %llu, %u strange\n", end, r.until,
		       (unsigned long long)r.damaged_at, r.strangers);
}

/*
 * The record that contains the byte may change, or, if a flipped bit makes a stamp look like a
 * record, become several: the file has no means to detect it. Nothing else is made up, and
 * discarded data is reported. Returns whether it became several.
 */
static bool turned_at(uint32_t at, uint32_t end, const struct state *state)
{
	uint8_t was = capture[at], is = was ^ (uint8_t)(1u << at * 5 % 8);
	uint32_t last = end, begin = at, next = at + 1;
	struct read r = { 0 };

	CHECK(pwrite(file, &is, 1, at) == 1);
	r = read_from(state);
	CHECK(pwrite(file, &was, 1, at) == 1);
	while (!is_boundary[last])
		last--;
	while (!is_boundary[begin])
		begin--;
	while (!is_boundary[next])
		next++;
	if (!CHECK(r.until >= last || r.damaged) || !CHECK(!r.damaged || r.damaged_at == r.until) ||
	    !CHECK(!r.strangers || (r.stranger == begin && r.last < next)))
		printf("# bit %u of byte %u turned: until %u of %u, damaged at %llu, %u strange, "
		       "the first at %u\n",
		       at * 5 % 8, at, r.until, last, (unsigned long long)r.damaged_at, r.strangers,
		       r.stranger);
	return r.strangers > 1;
}

static void every_byte(const char *name)
{
	uint32_t state, end, at, several = 0;

	capture_read(name);
	capture_walk();
	file = memfd_create("capture", MFD_CLOEXEC);
	REQUIRE(file >= 0 && write(file, capture, size) == (ssize_t)size);
	state = n_states - 1;
	for (uint32_t behind = 1; behind <= size; behind += STEP) {
		at = size - behind;
		/*
		 * The file only becomes shorter; damage needs the bytes after it, and the cut is
		 * after those.
		 */
		end = at + AFTER < size ? at + AFTER : size;
		REQUIRE(!ftruncate(file, end));
		while (state && states[state].at + BEFORE > at)
			state--;
		several += turned_at(at, end, &states[state]);
		cut_at(end, &states[state]);
	}
	for (end = AFTER; end--;) {
		REQUIRE(!ftruncate(file, end));
		cut_at(end, &states[0]);
	}
	close(file);
	CHECK(several <= size / SEVERAL_RARE);
	printf("# %s: %u bytes; %u damaged records became several\n", name, size, several);
}

TEST(P1)
{
	every_byte("P1-credit1-4s");
}

TEST(L2)
{
	every_byte("L2-lost-tbuf1-credit");
}

TEST(S0)
{
	every_byte("S0-dom0-all-4s-lostatstart");
}

TEST(N)
{
	every_byte("N-hvm-steady-4s");
}

TEST(E)
{
	every_byte("4cpu-E-pvh-pv-dom0-5s");
}
