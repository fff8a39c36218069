/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracing in a program of the host: a ring per thread, created at the thread's first event, even in
 * a signal handler; definitions are numbered for the whole program.
 *
 *	threads --put--> their rings --list--> the collector (recorder or ring source)
 */
#include "trace/trace.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ring/survive.h"
#include "trace/file.h"

#define RING_BYTES_DEFAULT (1u << 20)
#define DEFINITIONS_MAX	   65536u
#define ENDED_MAX	   1024u /* the most ended rings that wait for a collector */

uint32_t rs_trace_mask;

static bool thread_attach(struct rs_sbuf_producer *p);

/* full() creates the ring if the thread has none, so that the fast path needs no check. */
__thread struct rs_sbuf_producer rs_trace_self = { .full = thread_attach };

/* The arguments of rs_trace_thread(): the owner of the thread's next ring. */
static __thread struct {
	char vm[64];
	int vcpu;
} own_vcpu = { .vcpu = -1 };

/* This thread's ring, for the thread's end. */
static __thread struct rs_trace_ring *own_ring;

static struct {
	pthread_mutex_t lock; /* protects start, stop and definitions */
	pthread_once_t once;
	pthread_key_t key;
	uint64_t ringless; /* events of threads that got no ring; added to with relaxed order */
	uint32_t n_ended;  /* rings whose thread has ended; relaxed */
	struct rs_trace_ring *rings; /* pushed by threads, shortened by the collector */
	char provider[64];
	uint32_t ring_bytes;
	bool started, collecting;
	bool addresses;	  /* rs_trace_has_addresses(); relaxed */
	uint8_t *survive; /* struct rs_survive_head; NULL: rings do not survive. Acquire */
	struct rs_trace_file *file; /* a recorder's file, used before that; under the lock */
	uint32_t places, place_bytes;
	uint8_t taken[RS_SURVIVE_PLACES_MAX]; /* marks of used places; exchanged */
} self = { .lock = PTHREAD_MUTEX_INITIALIZER, .once = PTHREAD_ONCE_INIT };

/* Signals are blocked while the lock is held, so that a handler may take it, too. */
static void lock(sigset_t *before)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, before);
	pthread_mutex_lock(&self.lock);
}

static void unlock(const sigset_t *before)
{
	pthread_mutex_unlock(&self.lock);
	pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- rings -------------------------------------------------------------------------------- */

/* Ends a thread's ring. It has an heir already if the thread continues in that. */
static void ring_end(struct rs_trace_ring *ring)
{
	sigset_t before;

	lock(&before);
	ring->producer = NULL;
	unlock(&before);
	__atomic_fetch_add(&self.n_ended, 1, __ATOMIC_RELAXED);
	/* Pairs with the collector's acquire: this thread's last puts precede it. */
	__atomic_store_n(&ring->ended, true, __ATOMIC_RELEASE);
}

static void thread_detach(void *ring)
{
	/* A later event, in another destructor, creates a new ring. */
	rs_trace_self = (struct rs_sbuf_producer){ .full = thread_attach };
	own_ring = NULL;
	ring_end(ring);
}

/* Detaches the child from its parent's rings and its log's memory. The child has both mapped, but a
 * recorder of its own must neither drain nor use them. */
static void after_fork_in_child(void)
{
	__atomic_store_n(&rs_trace_mask, 0, __ATOMIC_RELAXED);
	rs_trace_self = (struct rs_sbuf_producer){ 0 };
	own_ring = NULL;
	self.rings = NULL;
	self.n_ended = 0;
	self.collecting = false;
	self.survive = NULL;
	self.file = NULL;
	self.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* another thread may hold it */
}

static void prepare_once(void)
{
	pthread_key_create(&self.key, thread_detach);
	pthread_atfork(NULL, NULL, after_fork_in_child);
}

/* ---- rings that survive ------------------------------------------------------------------- */

static struct rs_survive_place *place_at(uint32_t n)
{
	uint64_t first = sizeof(struct rs_survive_head) +
			 ((struct rs_survive_head *)(void *)self.survive)->definition_bytes;

	return (void *)(self.survive + first + (uint64_t)n * self.place_bytes);
}

/* Claims a free place of the recorder's file for a ring. *wanted: there is such a file. */
static void *file_claim(size_t bytes, int *number, struct rs_trace_file **file, bool *wanted)
{
	sigset_t before;
	void *mem = NULL;

	lock(&before);
	*wanted = self.file != NULL;
	if (self.file)
		mem = rs_trace_file_claim(self.file, bytes, number);
	if (mem)
		*file = self.file;
	unlock(&before);
	return mem;
}

/* Claims a free place of the log's memory for a ring. Returns the ring's memory, or NULL if no
 * place is free. */
static void *place_claim(size_t *bytes, int *number)
{
	/* Pairs with the release in rs_trace_survive(). */
	if (!__atomic_load_n(&self.survive, __ATOMIC_ACQUIRE))
		return NULL;
	for (uint32_t i = 0; i < self.places; i++) {
		if (__atomic_exchange_n(&self.taken[i], 1, __ATOMIC_ACQ_REL))
			continue;
		*bytes = self.place_bytes - sizeof(struct rs_survive_place);
		*number = (int)i;
		return place_at(i) + 1;
	}
	return NULL;
}

/* Writes the ring's owner to its place. A reader after this process's death reads `used` first. */
static void place_describe(const struct rs_trace_ring *ring)
{
	struct rs_survive_place *place;

	if (ring->place < 0)
		return;
	place = ring->file ? rs_trace_file_place(ring->file, ring->place)
			   : place_at((uint32_t)ring->place);
	place->tid = ring->tid;
	place->vcpu = ring->vcpu;
	memcpy(place->thread, ring->thread, sizeof(place->thread));
	memcpy(place->vm, ring->vm, sizeof(place->vm));
	__atomic_store_n(&place->used, 1, __ATOMIC_RELEASE);
}

/* Releases a ring's place. */
static void place_release(const struct rs_trace_ring *ring)
{
	sigset_t before;

	if (ring->file) {
		lock(&before);
		rs_trace_file_release(ring->file, ring->place);
		unlock(&before);
		return;
	}
	__atomic_store_n(&place_at((uint32_t)ring->place)->used, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&self.taken[ring->place], 0, __ATOMIC_RELEASE);
}

/* Writes a definition for readers after this process's death, if there is room. Called under the
 * lock. */
static void survive_define(struct rs_survive_head *head, const char *text, uint32_t len,
			   uint32_t kind)
{
	struct rs_survive_definition definition = { kind, len };
	uint64_t at, bytes = (sizeof(definition) + len + 7) & ~UINT64_C(7);
	uint8_t *to;

	if (!head || head->definition_bytes - head->path_bytes - head->defined_bytes < bytes)
		return;
	at = head->defined_bytes;
	to = (uint8_t *)(head + 1) + at;
	memcpy(to, &definition, sizeof(definition));
	memcpy(to + sizeof(definition), text, len);
	__atomic_store_n(&head->defined_bytes, at + bytes, __ATOMIC_RELEASE);
}

/* Finds memory for a ring: in the recorder's file, else in the log's memory, else in private
 * memory. If `safe`, only in the first of the former two that there is. */
static void *ring_memory(struct rs_trace_ring *ring, size_t *bytes, bool safe)
{
	bool wanted;
	void *mem = file_claim(*bytes, &ring->place, &ring->file, &wanted);

	ring->leave = wanted && !mem ? RS_TRACE_UNSAFE : RS_TRACE_STAY;
	if (!mem && !(wanted && safe))
		mem = place_claim(bytes, &ring->place);
	if (mem || safe)
		return mem ? mem : MAP_FAILED;
	return mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Creates a ring for this thread; if `safe`, only in the recorder's file. */
static struct rs_trace_ring *ring_create(bool safe)
{
	struct rs_trace_ring *ring;
	size_t bytes = self.ring_bytes;
	void *mem;

	/* Uses mmap(), not malloc(), because this may be a signal handler that interrupted
	 * malloc(). */
	ring = mmap(NULL, sizeof(*ring), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (ring == MAP_FAILED)
		return NULL;
	ring->place = -1;
	mem = ring_memory(ring, &bytes, safe);
	ring->memory = (struct rs_ring_memory){ .mem = mem, .bytes = bytes, .fd = -1 };
	if (mem == MAP_FAILED || rs_sbuf_create(mem, bytes, RS_SLOT_BYTES) != RS_SBUF_OK) {
		if (ring->place >= 0)
			place_release(ring);
		else if (mem != MAP_FAILED)
			munmap(mem, bytes);
		munmap(ring, sizeof(*ring));
		return NULL;
	}
	ring->from = rs_tsc();
	ring->tid = (int)syscall(SYS_gettid);
	pthread_getname_np(pthread_self(), ring->thread, sizeof(ring->thread));
	memcpy(ring->vm, own_vcpu.vm, sizeof(ring->vm));
	ring->vcpu = own_vcpu.vcpu;
	ring->producer = &rs_trace_self;
	place_describe(ring);
	return ring;
}

static void ring_publish(struct rs_trace_ring *ring)
{
	struct rs_trace_ring *head = __atomic_load_n(&self.rings, __ATOMIC_RELAXED);

	do {
		ring->next = head;
		/* Pairs with the acquire in rs_trace_rings(). */
	} while (!__atomic_compare_exchange_n(&self.rings, &head, ring, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

/* Gives the ring its head back. It does not replace one that the collector has released since. */
static void head_restore(const struct rs_trace_ring *ring)
{
	struct rs_sbuf *head = ring->memory.mem;
	uint32_t expected = RS_TRACE_NO_HEAD;

	__atomic_compare_exchange_n(&head->head, &expected,
				    __atomic_load_n(&ring->head, __ATOMIC_SEQ_CST), false,
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/*
 * Continues in the heir of a ring that the thread leaves. Its positions are of a later lap than
 * those of the old ring, so that a put that this handler interrupts does not take one for the
 * other.
 */
static void ring_change(struct rs_sbuf_producer *p, struct rs_trace_ring *heir)
{
	struct rs_trace_ring *old = own_ring;
	uint64_t lap = ((p->reserve >> 32) + 1) << 32;

	__atomic_store_n(&((struct rs_sbuf *)old->memory.mem)->refused,
			 p->refused_before + p->refused, __ATOMIC_RELAXED);
	rs_sbuf_producer_init(p, heir->memory.mem, heir->memory.bytes);
	p->reserve += lap;
	p->published += lap;
	own_ring = heir;
	pthread_setspecific(self.key, heir);
	heir->inherits = true;
	old->heir = heir;
	ring_end(old);
	ring_publish(heir);
}

/*
 * Leaves a ring, as the collector has asked. It stays if a put is under way, which this handler
 * interrupts: the next one leaves; and if there is no room in the file. Signals are blocked.
 */
static void thread_leave(struct rs_sbuf_producer *p)
{
	uint32_t asked = RS_TRACE_ASKED;
	struct rs_trace_ring *heir;

	if (p->published == p->reserve &&
	    __atomic_compare_exchange_n(&own_ring->leave, &asked, RS_TRACE_LEAVING, false,
					__ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
		heir = ring_create(true);
		if (heir) {
			ring_change(p, heir);
			return;
		}
		__atomic_store_n(&own_ring->leave, RS_TRACE_UNSAFE, __ATOMIC_SEQ_CST);
	}
	head_restore(own_ring);
}

/*
 * Attaches a thread without a ring to a new one. Signals are blocked: two nested attachments would
 * give one thread two rings. A full ring stays full, and the producer counts refusals. But a ring
 * that survives the process, and that no recorder collects, keeps the newest records.
 */
static bool thread_attach(struct rs_sbuf_producer *p)
{
	sigset_t all, before;
	bool attached, collecting = __atomic_load_n(&self.collecting, __ATOMIC_RELAXED);

	if (p->ring && own_ring &&
	    __atomic_load_n(&own_ring->leave, __ATOMIC_SEQ_CST) == RS_TRACE_ASKED) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &before);
		thread_leave(p);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		return true;
	}
	if (p->ring && own_ring && own_ring->place >= 0 && !own_ring->file && !collecting)
		return rs_sbuf_drop_oldest(p);
	if (p->ring || !__atomic_load_n(&rs_trace_mask, __ATOMIC_RELAXED))
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!p->ring && !own_ring &&
	    (collecting || __atomic_load_n(&self.n_ended, __ATOMIC_RELAXED) < ENDED_MAX)) {
		own_ring = ring_create(false);
		if (own_ring) {
			p->cpu_bits = (uint64_t)RS_CPU_UNKNOWN << RS_CPU_SHIFT;
			rs_sbuf_producer_init(p, own_ring->memory.mem, own_ring->memory.bytes);
			pthread_setspecific(self.key, own_ring);
			ring_publish(own_ring);
		}
	}
	attached = p->ring != NULL;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!attached) /* called once for each event, which no ring can count */
		__atomic_fetch_add(&self.ringless, 1, __ATOMIC_RELAXED);
	return attached;
}

void rs_trace_has_addresses(void)
{
	__atomic_store_n(&self.addresses, true, __ATOMIC_RELAXED);
}

bool rs_trace_addresses(void)
{
	return __atomic_load_n(&self.addresses, __ATOMIC_RELAXED);
}

uint64_t rs_trace_ringless_take(void)
{
	return __atomic_exchange_n(&self.ringless, 0, __ATOMIC_RELAXED);
}

/* Ends the thread's ring, and keeps what belongs to the thread. */
static void ring_leave(void)
{
	const struct rs_sbuf_producer before = rs_trace_self;

	pthread_setspecific(self.key, NULL);
	thread_detach(own_ring);
	rs_trace_self.depth = before.depth;
	rs_trace_self.stack_low = before.stack_low;
	rs_trace_self.stack_top = before.stack_top;
	rs_trace_self.sample_left = before.sample_left;
	rs_trace_self.sample_interval = before.sample_interval;
	rs_trace_self.sample_state = before.sample_state;
}

void rs_trace_thread(const char *vm, int vcpu)
{
	char name[sizeof(own_vcpu.vm)];
	sigset_t all, before;

	snprintf(name, sizeof(name), "%s", vm ? vm : "");
	if (own_vcpu.vcpu == vcpu && !strcmp(own_vcpu.vm, name))
		return;
	/* A handler's event between these two steps would have the new name in the old ring. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	memcpy(own_vcpu.vm, name, sizeof(name));
	own_vcpu.vcpu = vcpu;
	if (own_ring)
		ring_leave();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct rs_trace_ring *rs_trace_rings(void)
{
	return __atomic_load_n(&self.rings, __ATOMIC_ACQUIRE);
}

void rs_trace_ring_free(struct rs_trace_ring *ring)
{
	struct rs_trace_ring *head = ring, *at;

	/* At the front of the list, it competes with threads that push. Only the collector changes
	 * the rest. */
	if (ring->before) {
		ring->before->next = ring->next;
	} else if (!__atomic_compare_exchange_n(&self.rings, &head, ring->next, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		for (at = head; at->next != ring; at = at->next)
			;
		at->next = ring->next;
	}
	if (ring->next)
		ring->next->before = ring->before;
	if (ring->heir)
		ring->heir->inherits = false;
	__atomic_fetch_sub(&self.n_ended, 1, __ATOMIC_RELAXED);
	if (ring->place >= 0)
		place_release(ring);
	else
		munmap(ring->memory.mem, ring->memory.bytes);
	munmap(ring, sizeof(*ring));
}

/* ---- leaving a ring ------------------------------------------------------------------------- */

/*
 * Forces a thread's next put to the slow path. The put reads its limit without an atomic, as it may
 * where only its own handlers write that; a stale value does no harm, and only delays.
 */
__attribute__((no_sanitize("thread"), noinline)) static void limit_drop(struct rs_sbuf_producer *p)
{
	*(volatile uint64_t *)&p->limit = 0;
}

static bool is_to_leave(const struct rs_trace_ring *ring)
{
	return ring->taken && ring->file != self.file &&
	       __atomic_load_n(&ring->leave, __ATOMIC_RELAXED) <= RS_TRACE_ASKED &&
	       !__atomic_load_n(&ring->ended, __ATOMIC_RELAXED);
}

/* Under the lock: the producer's memory stays. */
static void ring_ask(struct rs_trace_ring *ring)
{
	struct rs_sbuf *head = ring->memory.mem;
	uint32_t stay = RS_TRACE_STAY;

	if (!ring->producer)
		return;
	if (__atomic_compare_exchange_n(&ring->leave, &stay, RS_TRACE_ASKED, false,
					__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST) ||
	    stay == RS_TRACE_ASKED) {
		__atomic_store_n(&head->head, RS_TRACE_NO_HEAD, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&ring->leave, __ATOMIC_SEQ_CST) != RS_TRACE_ASKED)
			head_restore(ring); /* it was refused the room meanwhile */
		else
			limit_drop(ring->producer);
	}
}

void rs_trace_rings_ask(void)
{
	struct rs_trace_ring *ring = rs_trace_rings();
	sigset_t before;

	while (ring && !is_to_leave(ring))
		ring = ring->next;
	if (!ring)
		return;
	lock(&before);
	for (; ring; ring = ring->next) {
		if (is_to_leave(ring))
			ring_ask(ring);
	}
	unlock(&before);
}

void rs_trace_ring_release(struct rs_trace_ring *ring, uint32_t head)
{
	uint32_t leave;

	__atomic_store_n(&ring->head, head, __ATOMIC_SEQ_CST);
	leave = __atomic_load_n(&ring->leave, __ATOMIC_SEQ_CST);
	if (leave == RS_TRACE_STAY || leave == RS_TRACE_UNSAFE)
		/* Pairs with the producer's acquire in claim_plan(). */
		__atomic_store_n(&((struct rs_sbuf *)ring->memory.mem)->head, head,
				 __ATOMIC_SEQ_CST);
}

void rs_trace_rings_keep(void)
{
	for (struct rs_trace_ring *ring = rs_trace_rings(); ring; ring = ring->next) {
		uint32_t asked = RS_TRACE_ASKED;

		if (__atomic_compare_exchange_n(&ring->leave, &asked, RS_TRACE_STAY, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			asked = RS_TRACE_STAY;
		/* The thread sets one of both without waiting for anything. */
		while (asked == RS_TRACE_LEAVING &&
		       !__atomic_load_n(&ring->ended, __ATOMIC_ACQUIRE)) {
			sched_yield();
			asked = __atomic_load_n(&ring->leave, __ATOMIC_SEQ_CST);
		}
		head_restore(ring);
	}
}

/* ---- collecting ----------------------------------------------------------------------------- */

bool rs_trace_collect(bool on)
{
	sigset_t before;
	bool done;

	lock(&before);
	done = !on || !self.collecting;
	if (done)
		__atomic_store_n(&self.collecting, on, __ATOMIC_RELAXED);
	if (done && !on) {
		for (struct rs_trace_ring *ring = rs_trace_rings(); ring; ring = ring->next) {
			uint32_t unsafe = RS_TRACE_UNSAFE; /* a later file may have room */

			ring->taken = false;
			__atomic_compare_exchange_n(&ring->leave, &unsafe, RS_TRACE_STAY, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
		}
	}
	unlock(&before);
	return done;
}

/* ---- start and stop ----------------------------------------------------------------------- */

struct rs_error *rs_trace_start(const struct rs_trace_options *options)
{
	const char *provider = options->provider ? options->provider : "app";
	struct rs_error *err = NULL;
	sigset_t before;

	if (strlen(provider) >= sizeof(self.provider) || !provider[0] ||
	    provider[strspn(provider, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-")])
		return rs_error_create(RS_USAGE,
				       "provider '%s': expected 1 to 63 letters, digits, _ . -",
				       provider);
	pthread_once(&self.once, prepare_once);
	lock(&before);
	if (self.started) {
		err = rs_error_create(RS_USAGE, "tracing is already on, as '%s'", self.provider);
	} else {
		strcpy(self.provider, provider);
		self.ring_bytes = options->ring_bytes ? options->ring_bytes : RING_BYTES_DEFAULT;
		if (self.ring_bytes < rs_sbuf_bytes(RS_RECORD_SLOTS_MAX * 2, RS_SLOT_BYTES))
			self.ring_bytes =
				(uint32_t)rs_sbuf_bytes(RS_RECORD_SLOTS_MAX * 2, RS_SLOT_BYTES);
		self.started = true;
		if (self.survive)
			memcpy(((struct rs_survive_head *)(void *)self.survive)->provider, provider,
			       strlen(provider) + 1);
		rs_trace_set_mask(options->mask ? options->mask : RS_CLASS_ALL);
	}
	unlock(&before);
	return err;
}

void rs_trace_set_mask(uint32_t mask)
{
	__atomic_store_n(&rs_trace_mask, mask, __ATOMIC_RELAXED);
}

void rs_trace_stop(void)
{
	sigset_t before;

	lock(&before);
	rs_trace_set_mask(0);
	self.started = false;
	unlock(&before);
}

const char *rs_trace_provider(void)
{
	return self.provider[0] ? self.provider : "app";
}

/* ---- definitions -------------------------------------------------------------------------- */

struct definition {
	const char *text;
	uint32_t len, kind;
};

/* Ids are indices from 1. Chunks never move, so that readers need no lock. */
#define CHUNK	    1024u
#define NAMES_BLOCK 65536u
static struct definition *definitions[DEFINITIONS_MAX / CHUNK];
static uint32_t n_definitions; /* written under the lock, release; pairs with rs_trace_define() */

/*
 * Returns a permanent copy of text, in blocks beside the chunks, or NULL without memory. Called
 * under the lock. In malloc()'s memory, a leak checker would report the copy, because it does not
 * search mappings for pointers.
 */
static const char *keep(const char *text, size_t len)
{
	static char *block;
	static size_t left;
	char *copy;

	if (len > left) {
		size_t bytes = len > NAMES_BLOCK ? len : NAMES_BLOCK;
		void *mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

		if (mem == MAP_FAILED)
			return NULL;
		block = mem;
		left = bytes;
	}
	copy = memcpy(block, text, len);
	block += len;
	left -= len;
	return copy;
}

/* Returns the id of a new definition, which has a copy of the text, because the shared object with
 * the text may be unloaded; 0 if there are too many, or no memory. Called under the lock. */
static uint32_t define(const char *text, uint32_t len, uint32_t kind)
{
	uint32_t n = n_definitions;
	struct definition **chunk = &definitions[n / CHUNK];

	if (n >= DEFINITIONS_MAX)
		return 0;
	if (!*chunk) { /* mmap(), not calloc(): this may be a signal handler */
		void *mem = mmap(NULL, CHUNK * sizeof(**chunk), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mem == MAP_FAILED)
			return 0;
		*chunk = mem;
	}
	text = keep(text, len);
	if (!text)
		return 0;
	(*chunk)[n % CHUNK] = (struct definition){ text, len, kind };
	survive_define((void *)self.survive, text, len, kind);
	if (self.file)
		survive_define(rs_trace_file_head(self.file), text, len, kind);
	__atomic_store_n(&n_definitions, n + 1, __ATOMIC_RELEASE);
	return n + 1;
}

void rs_trace_register_sites(struct rs_site *begin, struct rs_site *end)
{
	sigset_t before;

	lock(&before);
	for (struct rs_site *site = begin; site < end; site++) {
		uint32_t n = site->id ? 0 : define(site->text, site->len, site->kind);

		if (n)
			site->id = rs_site_id(site->kind, n);
	}
	unlock(&before);
}

uint32_t rs_trace_name(const char *text)
{
	sigset_t before;
	uint32_t id;

	lock(&before);
	id = define(text, (uint32_t)strlen(text), RS_SITE_NAME);
	unlock(&before);
	return id;
}

struct rs_error *rs_trace_define(struct rs_schema *schema, uint32_t *seen)
{
	/* Pairs with the release in define(). */
	uint32_t n = __atomic_load_n(&n_definitions, __ATOMIC_ACQUIRE);

	for (; *seen < n; (*seen)++) {
		const struct definition *d = &definitions[*seen / CHUNK][*seen % CHUNK];
		uint32_t id = *seen + 1;
		struct rs_error *err;

		if (d->kind == RS_SITE_EVENT)
			err = rs_schema_declare(schema, RS_ID(RS_IDS_USER, id), d->text, d->len);
		else if (d->kind == RS_SITE_SPAN)
			err = rs_schema_set_span(schema, id, d->text, d->len);
		else
			err = rs_schema_set_name(schema, id, d->text, d->len);
		if (err && rs_error_code(err) == RS_NO_MEMORY)
			return err;
		rs_error_free(err);
	}
	return NULL;
}

/* ---- survival ----------------------------------------------------------------------------- */

/* An eighth of the memory is for definitions. Places have a power of two of bytes, at most
 * ring_bytes, and small enough that each CPU may have several. */
#define PLACES_WANTED	16u
#define PLACE_BYTES_MIN (8u << 10)

bool rs_trace_survive(void *mem, uint64_t bytes)
{
	struct rs_survive_head *head = mem;
	uint64_t text_bytes = (bytes / 8) & ~UINT64_C(63);
	uint64_t room = bytes - text_bytes - sizeof(*head), place = RING_BYTES_DEFAULT;
	sigset_t before;

	while (place > PLACE_BYTES_MIN && room / place < PLACES_WANTED)
		place /= 2;
	if (bytes < 2 * PLACE_BYTES_MIN || room < place)
		return false;
	lock(&before);
	head->place_bytes = (uint32_t)place;
	head->places = room / place > RS_SURVIVE_PLACES_MAX ? RS_SURVIVE_PLACES_MAX
							    : (uint32_t)(room / place);
	head->definition_bytes = text_bytes;
	memcpy(head->provider, self.provider, sizeof(head->provider));
	self.place_bytes = head->place_bytes;
	self.places = head->places;
	memset(self.taken, 0, sizeof(self.taken));
	__atomic_store_n(&head->magic, RS_SURVIVE_MAGIC, __ATOMIC_RELEASE);
	/* Pairs with the acquire in place_claim(). */
	__atomic_store_n(&self.survive, mem, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < n_definitions; i++) {
		const struct definition *d = &definitions[i / CHUNK][i % CHUNK];

		survive_define(head, d->text, d->len, d->kind);
	}
	unlock(&before);
	return true;
}

void rs_trace_file_set(struct rs_trace_file *file, uint32_t class_index)
{
	struct rs_survive_head *head = file ? rs_trace_file_head(file) : NULL;
	sigset_t before;

	lock(&before);
	for (uint32_t i = 0; head && i < n_definitions; i++) {
		const struct definition *d = &definitions[i / CHUNK][i % CHUNK];

		survive_define(head, d->text, d->len, d->kind);
	}
	if (head) {
		memcpy(head->provider, self.provider, sizeof(head->provider));
		head->class_index = class_index;
		__atomic_store_n(&head->magic, RS_SURVIVE_MAGIC, __ATOMIC_RELEASE);
	}
	self.file = file;
	unlock(&before);
}

void rs_trace_file_destroy(struct rs_trace_file *file)
{
	sigset_t before;

	if (!file)
		return;
	lock(&before);
	if (self.file == file)
		self.file = NULL;
	/* The log's memory survives, and this file does not any more. Its rings are drained. */
	for (struct rs_trace_ring *ring = self.survive ? rs_trace_rings() : NULL; ring;
	     ring = ring->next) {
		if (ring->file != file)
			continue;
		ring->head = ((const struct rs_sbuf *)ring->memory.mem)->head;
		ring_ask(ring);
	}
	rs_trace_file_retire(file);
	unlock(&before);
}

struct rs_survive_progress *rs_trace_ring_progress(const struct rs_trace_ring *ring)
{
	return ring->file ? (void *)(rs_trace_file_place(ring->file, ring->place) + 1) : NULL;
}
