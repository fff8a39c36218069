/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host side of guest tracing (host.h). It reaches guest memory only through the VMM's
 * callbacks, reads each field once, into host memory, and checks it there.
 *
 *	area --> sites --> schema (once)
 *	area --> ring of a vCPU --> port --> drain <-- a recorder, or the source below
 *
 * The guest's lock covers finding the area and rings. The drain of a ring that was found belongs to
 * the recorder or source that claimed the guest.
 */
#include "host/guest.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/count.h"
#include "host/foreign.h"
#include "source/ring.h"
#include <ringside/guest_abi.h>

enum vcpu_state {
	VCPU_NONE, /* no ring found yet */
	VCPU_READY,
	VCPU_BROKEN, /* its ring is invalid; that was reported, and the ring is never read again */
};

struct vcpu {
	struct rs_host_guest *guest;
	uint64_t ring; /* gpa of the header */
	struct rs_clock clock;
	struct rs_stream stream;
	struct rs_drain drain;
	struct rs_foreign_ring foreign; /* of a foreign guest */
	enum vcpu_state state;		/* written under the lock with release; read with acquire */
	bool registered;		/* by a doorbell; under the lock */
	bool announced;			/* the area has its ring's address; under the lock */
	uint32_t looked;		/* atomic: the guest's `looks` at the last failed search */
	bool stack_broken; /* its block for stacks is not in RAM; only the vCPU's thread uses it */
};

struct rs_host_guest {
	char *vm;
	struct rs_guest_memory memory;
	void *vcpu_ctx;
	bool (*registers)(void *ctx, uint32_t vcpu, struct rs_x86_regs *regs);
	uint32_t (*unwind)(void *ctx, uint32_t vcpu, uint64_t *frames, uint32_t max,
			   uint64_t *by_fp);
	struct rs_schema *schema;
	pthread_mutex_t lock;
	bool claimed;  /* by a recorder or a source */
	void *owner;   /* set by the claimer; release and acquire */
	uint64_t area; /* gpa at which the area is expected or was found */
	bool area_expected, area_read, area_broken;
	bool is_foreign;
	uint32_t looks; /* atomic: the number of changes of a foreign guest's area, plus 1 */
	struct rs_foreign foreign;
	uint32_t ended; /* atomic, in a separate word; release and acquire */
	uint32_t n_vcpus;
	struct vcpu vcpus[];
};

/* ---- creation ----------------------------------------------------------------------------- */

static void vcpu_init(struct rs_host_guest *guest, uint32_t index, const struct rs_clock *host)
{
	struct vcpu *v = &guest->vcpus[index];

	v->guest = guest;
	v->clock = *host;
	v->stream = (struct rs_stream){
		.vm = guest->vm,
		.vcpu = (int)index,
		.cpu = RS_UNKNOWN,
		.tid = RS_UNKNOWN,
		.schema = guest->schema,
		.clock = &v->clock,
	};
	rs_host_set_tsc_offset(guest, index, 0, 0);
}

struct rs_error *rs_host_guest_create(const struct rs_host_options *options,
				      struct rs_host_guest **out)
{
	struct rs_host_guest *guest;
	struct rs_error *err;

	if (!options->vcpus || options->vcpus > RS_GUEST_VCPUS_MAX)
		return rs_error_create(RS_USAGE, "a guest of %s: expected 1 to %u",
				       RS_COUNT_OF(options->vcpus, "vCPU"), RS_GUEST_VCPUS_MAX);
	guest = calloc(1, sizeof(*guest) + options->vcpus * sizeof(guest->vcpus[0]));
	if (!guest)
		return rs_error_no_memory();
	pthread_mutex_init(&guest->lock, NULL);
	guest->vm = strdup(options->vm ? options->vm : "guest");
	guest->memory = options->memory;
	guest->vcpu_ctx = options->vcpu_ctx;
	guest->registers = options->registers;
	guest->unwind = options->unwind;
	guest->n_vcpus = options->vcpus;
	err = guest->vm ? rs_schema_create(options->provider ? options->provider : "guest",
					   &guest->schema)
			: rs_error_no_memory();
	if (!err)
		err = rs_schema_add_catalogue(guest->schema, "app");
	if (err) {
		rs_host_guest_destroy(guest);
		return err;
	}
	for (uint32_t i = 0; i < guest->n_vcpus; i++)
		vcpu_init(guest, i, options->clock);
	*out = guest;
	return NULL;
}

void rs_host_guest_destroy(struct rs_host_guest *guest)
{
	if (!guest)
		return;
	if (guest->is_foreign)
		rs_foreign_deinit(&guest->foreign);
	rs_schema_destroy(guest->schema);
	pthread_mutex_destroy(&guest->lock);
	free(guest->vm);
	free(guest);
}

void rs_host_set_tsc_offset(struct rs_host_guest *guest, uint32_t vcpu, int64_t offset,
			    uint64_t error_cycles)
{
	struct vcpu *v = &guest->vcpus[vcpu];
	const struct rs_clock *first = &guest->vcpus[0].clock;
	char name[sizeof(v->clock.name)], vm[40];

	snprintf(vm, sizeof(vm), "%s", guest->vm);
	for (char *c = vm; *c; c++) {
		if (!(*c >= 'a' && *c <= 'z') && !(*c >= 'A' && *c <= 'Z') &&
		    !(*c >= '0' && *c <= '9'))
			*c = '_';
	}
	/* vCPUs with equal offsets share a clock, and thus a class of streams. */
	if (vcpu && first->offset == offset && first->error_cycles == error_cycles) {
		v->clock = *first;
		return;
	}
	snprintf(name, sizeof(name), "guest_%s_vcpu%u", vm, vcpu);
	rs_clock_guest(&v->clock, name, offset, error_cycles, &v->clock);
}

void rs_host_set_area(struct rs_host_guest *guest, uint64_t gpa)
{
	pthread_mutex_lock(&guest->lock);
	guest->area = gpa;
	guest->area_expected = true;
	pthread_mutex_unlock(&guest->lock);
}

void rs_host_guest_set_foreign(struct rs_host_guest *guest, uint64_t since)
{
	rs_foreign_init(&guest->foreign, since);
	guest->is_foreign = true;
	guest->looks = 1;
	for (uint32_t i = 0; i < guest->n_vcpus; i++)
		rs_host_set_tsc_offset(guest, i, 0, RS_CLOCK_ERROR_UNKNOWN);
}

void rs_host_guest_search(struct rs_host_guest *guest)
{
	/* Pairs with the acquire in vcpu_find(). */
	__atomic_add_fetch(&guest->looks, 1, __ATOMIC_RELEASE);
}

bool rs_host_guest_has_left(const struct rs_host_guest *guest)
{
	return rs_foreign_has_left(&guest->foreign);
}

void rs_host_guest_clock(struct rs_host_guest *guest, const struct rs_clock *host,
			 struct rs_clock *clock)
{
	const struct rs_clock *own = &guest->vcpus[0].clock;

	/* The id and the name do not change; the flag is cleared when the area is found. */
	*clock = *host;
	clock->id = own->id;
	memcpy(clock->name, own->name, sizeof(clock->name));
	clock->invariant = __atomic_load_n(&own->invariant, __ATOMIC_RELAXED);
	clock->offset = 0;
	clock->error_cycles = RS_CLOCK_ERROR_UNKNOWN;
	rs_foreign_clock(&guest->foreign, clock);
}

void rs_host_guest_end(struct rs_host_guest *guest)
{
	/* Pairs with the acquire in vcpu_ended(). */
	__atomic_store_n(&guest->ended, 1, __ATOMIC_RELEASE);
}

uint32_t rs_host_guest_vcpus(const struct rs_host_guest *guest)
{
	return guest->n_vcpus;
}

/* ---- guest memory ------------------------------------------------------------------------- */

static bool guest_read(const struct rs_host_guest *guest, uint64_t gpa, void *to, size_t bytes)
{
	return gpa + bytes >= gpa && guest->memory.read(guest->memory.ctx, gpa, to, bytes);
}

static struct rs_error *bad(const struct rs_host_guest *guest, const char *what, uint64_t gpa)
{
	return rs_error_create(RS_DAMAGED, "guest '%s': %s at guest-physical 0x%llx", guest->vm,
			       what, (unsigned long long)gpa);
}

/* ---- the port of a guest's ring ----------------------------------------------------------- */

static bool port_poll(void *ctx, uint32_t *tail, uint64_t *refused)
{
	const struct vcpu *v = ctx;
	const struct rs_host_guest *guest = v->guest;
	bool good =
		guest_read(guest, v->ring + offsetof(struct rs_sbuf, tail), tail, sizeof(*tail));

	/* Pairs with the guest's release of tail: the slots are read after it. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return good && guest_read(guest, v->ring + offsetof(struct rs_sbuf, refused), refused,
				  sizeof(*refused));
}

static bool port_copy(void *ctx, uint32_t offset, void *to, uint32_t bytes)
{
	const struct vcpu *v = ctx;

	return guest_read(v->guest, v->ring + sizeof(struct rs_sbuf) + offset, to, bytes);
}

static bool port_release(void *ctx, uint32_t head)
{
	const struct vcpu *v = ctx;
	const struct rs_guest_memory *memory = &v->guest->memory;

	/* Pairs with the guest's acquire of head: the slots have been read before it. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	return memory->write(memory->ctx, v->ring + offsetof(struct rs_sbuf, head), &head,
			     sizeof(head));
}

/* ---- the area ----------------------------------------------------------------------------- */

/* Reads the text of one site, and adds it to the schema as a name or an event. */
static struct rs_error *site_read(struct rs_host_guest *guest, const struct rs_guest_area *area,
				  uint32_t index)
{
	uint64_t at = area->sites + index * sizeof(struct rs_guest_site);
	char text[RS_GUEST_TEXT_MAX];
	struct rs_guest_site site;
	struct rs_error *err;

	if (!guest_read(guest, at, &site, sizeof(site)))
		return bad(guest, "no memory for a site", at);
	if (site.id !=
	    (site.kind == RS_GUEST_SITE_EVENT ? RS_ID(RS_IDS_USER, index + 1) : index + 1))
		return bad(guest, "a site without its number", at);
	if (site.len > sizeof(text))
		return bad(guest, "a text that is too long", at);
	if (!guest_read(guest, site.text + area->to_gpa, text, site.len))
		return bad(guest, "no memory for a text", site.text + area->to_gpa);
	if (site.kind == RS_GUEST_SITE_EVENT)
		err = rs_schema_declare(guest->schema, site.id, text, site.len);
	else if (site.kind == RS_GUEST_SITE_SPAN)
		err = rs_schema_set_span(guest->schema, site.id, text, site.len);
	else
		err = rs_schema_set_name(guest->schema, site.id, text, site.len);
	return rs_error_wrap(err, "guest '%s': site %u at guest-physical 0x%llx", guest->vm, index,
			     (unsigned long long)at);
}

/* Reads the area's head and the sites, once. Sets *there to false if the guest has not yet set up
 * the area. */
static struct rs_error *area_read(struct rs_host_guest *guest, bool *there)
{
	struct rs_guest_area area;
	struct rs_error *err = NULL;

	*there = guest->area_read;
	if (guest->area_read || guest->area_broken)
		return NULL;
	if (!guest_read(guest, guest->area, &area, offsetof(struct rs_guest_area, ring)))
		err = bad(guest, "no memory for the trace area", guest->area);
	else if (area.magic != RS_GUEST_AREA_MAGIC)
		return NULL;
	/* The same copy contained the magic and the rest. Reads the rest again, after the magic. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!err && !guest_read(guest, guest->area, &area, offsetof(struct rs_guest_area, ring)))
		err = bad(guest, "no memory for the trace area", guest->area);
	if (!err && (area.version != RS_GUEST_AREA_VERSION || area.bytes != sizeof(area)))
		err = rs_error_create(RS_DAMAGED,
				      "guest '%s': its trace area has version %u and %u bytes; "
				      "this host reads version %u, %zu bytes",
				      guest->vm, area.version, area.bytes, RS_GUEST_AREA_VERSION,
				      sizeof(area));
	if (!err && area.n_sites > RS_GUEST_SITES_MAX)
		err = bad(guest, "too many sites", guest->area);
	for (uint32_t i = 0; !err && i < area.n_sites; i++)
		err = site_read(guest, &area, i);
	for (uint32_t i = 0; !err && i < guest->n_vcpus; i++)
		if (!(area.flags & RS_GUEST_INVARIANT_TSC)) /* rs_host_guest_clock() may read it */
			__atomic_store_n(&guest->vcpus[i].clock.invariant, false, __ATOMIC_RELAXED);
	guest->area_broken = err != NULL;
	guest->area_read = *there = !err;
	return err;
}

/* ---- rings -------------------------------------------------------------------------------- */

/* Reads a vCPU's entry in the area and the header of its ring. Sets *found to false if there is no
 * ring yet. */
static struct rs_error *ring_read(struct rs_host_guest *guest, uint32_t vcpu, bool *found)
{
	uint64_t at = guest->area + offsetof(struct rs_guest_area, ring) +
		      vcpu * sizeof(struct rs_guest_ring);
	struct vcpu *v = &guest->vcpus[vcpu];
	enum rs_sbuf_status status;
	struct rs_guest_ring ring;
	struct rs_sbuf head;
	struct rs_port port;

	*found = false;
	if (!guest_read(guest, at, &ring, sizeof(ring)))
		return bad(guest, "no memory for the trace area", at);
	v->announced = ring.bytes != 0;
	if (!v->announced)
		return NULL;
	if (!guest_read(guest, ring.gpa, &head, sizeof(head)))
		return bad(guest, "no memory for a ring", ring.gpa);
	if (head.magic != RS_SBUF_MAGIC)
		return NULL;
	/* Orders the reads of the header after that of the magic. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!guest_read(guest, ring.gpa, &head, sizeof(head)))
		return bad(guest, "no memory for a ring", ring.gpa);
	status = rs_sbuf_check(&head, ring.bytes);
	if (status != RS_SBUF_OK)
		return bad(guest, rs_sbuf_status_text(status), ring.gpa);
	if (head.ele_size != RS_SLOT_BYTES)
		return bad(guest, "a ring whose elements are not slots", ring.gpa);
	if (ring.gpa + sizeof(head) + head.size < ring.gpa)
		return bad(guest, "a ring past the end of memory", ring.gpa);
	v->ring = ring.gpa;
	port = (struct rs_port){ .ctx = v,
				 .poll = port_poll,
				 .copy = port_copy,
				 .release = port_release,
				 .size = head.size,
				 .head = head.head };
	if (guest->is_foreign && !rs_foreign_ring_init(&v->foreign, &guest->foreign, &guest->memory,
						       ring.gpa, &head, &v->clock, &port))
		return bad(guest, "a ring whose head is not at the beginning of a step", ring.gpa);
	rs_drain_init(&v->drain, &port, guest->schema);
	v->drain.clock = &v->clock;
	*found = true;
	return NULL;
}

static enum vcpu_state vcpu_state(const struct vcpu *v)
{
	return __atomic_load_n(&v->state, __ATOMIC_ACQUIRE);
}

/* Searches the area for a vCPU's ring. Under the lock. */
static struct rs_error *ring_find(struct rs_host_guest *guest, uint32_t vcpu)
{
	struct vcpu *v = &guest->vcpus[vcpu];
	struct rs_error *err;
	bool found;

	if (v->state != VCPU_NONE)
		return NULL;
	err = ring_read(guest, vcpu, &found);
	if (!err && !found)
		return NULL;
	/* Pairs with the acquire in vcpu_state(). */
	__atomic_store_n(&v->state, err ? VCPU_BROKEN : VCPU_READY, __ATOMIC_RELEASE);
	return rs_error_wrap(err, "vCPU %u", vcpu);
}

/* Searches for the area and for one vCPU's ring at the expected addresses. */
static struct rs_error *vcpu_find(struct rs_host_guest *guest, uint32_t vcpu)
{
	struct vcpu *v = &guest->vcpus[vcpu];
	/* Pairs with the release in rs_host_guest_search(). */
	uint32_t looks = __atomic_load_n(&guest->looks, __ATOMIC_ACQUIRE);
	struct rs_error *err = NULL;
	bool there = false;

	/* Most vCPUs of a foreign guest never appear, and each round of the recorder polls them
	 * all. */
	if (guest->is_foreign && __atomic_load_n(&v->looked, __ATOMIC_RELAXED) == looks)
		return NULL;
	pthread_mutex_lock(&guest->lock);
	if (guest->area_expected || v->registered)
		err = area_read(guest, &there);
	if (there)
		err = ring_find(guest, vcpu);
	if (there && !v->announced)
		__atomic_store_n(&v->looked, looks, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&guest->lock);
	return err;
}

struct rs_error *rs_host_ring_poll(struct rs_host_guest *guest, uint32_t vcpu,
				   struct rs_host_ring *ring)
{
	struct vcpu *v = &guest->vcpus[vcpu];
	struct rs_error *err = vcpu_state(v) == VCPU_NONE ? vcpu_find(guest, vcpu) : NULL;

	*ring = (struct rs_host_ring){ .drain = vcpu_state(v) == VCPU_READY ? &v->drain : NULL,
				       .stream = &v->stream,
				       .schema = guest->schema };
	return err;
}

struct rs_error *rs_host_guest_read_area(struct rs_host_guest *guest, bool *there)
{
	struct rs_error *err;

	pthread_mutex_lock(&guest->lock);
	err = area_read(guest, there);
	pthread_mutex_unlock(&guest->lock);
	return err;
}

const struct rs_stream *rs_host_guest_stream(const struct rs_host_guest *guest, uint32_t vcpu)
{
	return &guest->vcpus[vcpu].stream;
}

bool rs_host_guest_found(const struct rs_host_guest *guest)
{
	for (uint32_t i = 0; i < guest->n_vcpus; i++) {
		if (vcpu_state(&guest->vcpus[i]) != VCPU_NONE)
			return true;
	}
	return false;
}

struct rs_error *rs_host_guest_check(struct rs_host_guest *guest)
{
	const char *what = NULL;

	pthread_mutex_lock(&guest->lock);
	if (guest->area_expected && !guest->area_broken && !rs_host_guest_found(guest))
		what = guest->area_read ? "the trace area has no ring of a vCPU"
					: "no trace area was found (its magic is missing)";
	pthread_mutex_unlock(&guest->lock);
	if (!what)
		return NULL;
	return rs_error_create(RS_ABSENT,
			       "guest '%s': %s at guest-physical 0x%llx, which "
			       "rs_host_set_area() announced; nothing of the guest is recorded",
			       guest->vm, what, (unsigned long long)guest->area);
}

void *rs_host_guest_owner(const struct rs_host_guest *guest)
{
	/* Pairs with the release in rs_host_guest_set_owner(). */
	return __atomic_load_n(&guest->owner, __ATOMIC_ACQUIRE);
}

void rs_host_guest_set_owner(struct rs_host_guest *guest, void *owner)
{
	/* Pairs with the acquire in rs_host_guest_owner(). */
	__atomic_store_n(&guest->owner, owner, __ATOMIC_RELEASE);
}

struct rs_schema *rs_host_guest_take_schema(struct rs_host_guest *guest)
{
	struct rs_schema *schema = guest->schema;

	guest->schema = NULL;
	return schema;
}

struct rs_error *rs_host_guest_claim(struct rs_host_guest *guest, void *owner)
{
	bool claimed;

	pthread_mutex_lock(&guest->lock);
	claimed = guest->claimed;
	guest->claimed = true;
	pthread_mutex_unlock(&guest->lock);
	if (!claimed)
		rs_host_guest_set_owner(guest, owner);
	return claimed ? rs_error_create(RS_USAGE, "guest '%s' is already recorded or read",
					 guest->vm)
		       : NULL;
}

/* ---- the VMM's calls ---------------------------------------------------------------------- */

static struct rs_error *doorbell_register(struct rs_host_guest *guest, uint32_t vcpu, uint64_t area)
{
	struct rs_error *err;
	bool there;

	pthread_mutex_lock(&guest->lock);
	if (guest->area_read && guest->area != area) {
		err = bad(guest, "another trace area than before", area);
	} else if (guest->area_broken) {
		err = NULL; /* reported before */
	} else {
		guest->area = area;
		err = area_read(guest, &there);
		if (!err && !there)
			err = bad(guest, "no trace area (its magic is missing)", area);
		guest->vcpus[vcpu].registered = !err;
		if (!err)
			err = ring_find(guest, vcpu);
		if (!err && guest->vcpus[vcpu].state == VCPU_NONE)
			err = bad(guest,
				  "no ring of this vCPU in the trace area "
				  "(does the guest give the vCPU another number?)",
				  area);
	}
	pthread_mutex_unlock(&guest->lock);
	return err;
}

/* Unwinds into host memory, and writes as much as the guest has room for, the count last. Writes
 * nothing if no stack was found. */
static struct rs_error *doorbell_stack(struct rs_host_guest *guest, uint32_t vcpu, uint64_t gpa)
{
	const struct rs_guest_memory *memory = &guest->memory;
	struct rs_guest_stack stack = { 0 };
	uint32_t max;
	bool good;

	if (!guest->unwind || guest->vcpus[vcpu].stack_broken)
		return NULL;
	good = gpa + sizeof(stack) > gpa &&
	       guest_read(guest, gpa + offsetof(struct rs_guest_stack, max), &max, sizeof(max));
	if (good && max > RS_GUEST_STACK_MAX)
		max = RS_GUEST_STACK_MAX;
	if (good)
		stack.n = guest->unwind(guest->vcpu_ctx, vcpu, stack.frames, max, &stack.by_fp);
	if (good && stack.n && stack.n <= max)
		good = memory->write(memory->ctx, gpa + offsetof(struct rs_guest_stack, by_fp),
				     &stack.by_fp,
				     sizeof(stack.by_fp) + stack.n * sizeof(stack.frames[0])) &&
		       memory->write(memory->ctx, gpa, &stack.n, sizeof(stack.n));
	if (good)
		return NULL;
	guest->vcpus[vcpu].stack_broken = true;
	return bad(guest, "no memory for a stack", gpa);
}

bool rs_host_registers(struct rs_host_guest *guest, uint32_t vcpu, struct rs_x86_regs *regs)
{
	return guest->registers && vcpu < guest->n_vcpus &&
	       guest->registers(guest->vcpu_ctx, vcpu, regs);
}

struct rs_error *rs_host_doorbell(struct rs_host_guest *guest, uint32_t vcpu, uint32_t eax,
				  uint64_t rcx)
{
	switch (eax) {
	case RS_DOORBELL_REGISTER:
		return doorbell_register(guest, vcpu, rcx);
	case RS_DOORBELL_FULL:
		return NULL;
	case RS_DOORBELL_STACK:
		return doorbell_stack(guest, vcpu, rcx);
	}
	return rs_error_create(RS_USAGE,
			       "guest '%s', vCPU %u: doorbell with EAX 0x%x, which "
			       "is not a request",
			       guest->vm, vcpu, eax);
}

/* ---- as a source -------------------------------------------------------------------------- */

static struct rs_error *vcpu_drain(void *ctx, struct rs_drain **drain)
{
	struct vcpu *v = ctx;
	struct rs_host_ring ring;
	struct rs_error *err = rs_host_ring_poll(v->guest, (uint32_t)(v - v->guest->vcpus), &ring);

	if (!err)
		*drain = ring.drain;
	return err;
}

static bool vcpu_ended(void *ctx)
{
	struct vcpu *v = ctx;

	/* Pairs with the release in rs_host_guest_end(). */
	return __atomic_load_n(&v->guest->ended, __ATOMIC_ACQUIRE) != 0;
}

struct rs_error *rs_host_source(struct rs_host_guest *guest, struct rs_source **out)
{
	struct rs_source *vcpus[RS_GUEST_VCPUS_MAX];
	struct rs_error *err = rs_host_guest_claim(guest, NULL);
	uint32_t n = 0;

	while (!err && n < guest->n_vcpus) {
		struct rs_ring_feed feed = { &guest->vcpus[n], vcpu_drain, vcpu_ended };

		err = rs_ring_source_create(&feed, &guest->vcpus[n].stream, &vcpus[n]);
		if (!err)
			n++;
	}
	if (!err)
		err = rs_merge_create(vcpus, n, out);
	if (!err)
		return NULL;
	while (n)
		rs_source_destroy(vcpus[--n]);
	return err;
}
