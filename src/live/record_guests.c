/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records guests from their RAM.
 *
 * A thread reads an area and its table of rings, and publishes a copy. The recorder's threads read
 * the copy, so that they find new rings without a system call, and find a ring only once its part
 * of RAM is known. If BPF can read the memory slots of the process's VMs (kvm/slots.h), they
 * determine the parts of RAM. The thread reads them again before each scan, and when a ring is
 * outside of them.
 */
#include "live/record_guests.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/now.h"
#include "base/vector.h"
#include "host/foreign.h"
#include "host/guest.h"
#include "host/guest_ram.h"
#include "kvm/kvm.h"
#include "kvm/slots.h"
#include "record/port.h"
#include <ringside/arch.h>

#define WATCH_NS       2000000	  /* the interval at which areas are read again */
#define SCAN_NS_MIN    10000000	  /* interval between scans of a memory without a guest; */
#define SCAN_SHARE     4	  /* at least this multiple of the last scan's duration */
#define SCAN_NS_OTHERS 1000000000 /* interval between scans of a memory with a guest */
#define STAT_BYTES     1024
#define NS_PER_SEC     UINT64_C(1000000000)

struct found {
	struct found *next;
	struct memory *memory;
	struct rs_guest_place place;
	uint64_t gpa; /* of the area */
	char vm[RS_KVM_VM_MAX + 16];
	struct rs_host_guest *host;
	struct rs_clock clock; /* as written in the trace */
	pthread_rwlock_t lock; /* of the two below, which the recorder's threads read */
	struct rs_guest_layout layout;
	struct rs_guest_area copy;
};

struct memory {
	struct rs_guests_recording *recording;
	struct rs_guest_ram ram;
	struct rs_kvm_slots *slots; /* of a process, where BPF can read them */
	struct rs_error *no_slots;  /* why they could not be read, the last time */
	bool has_vm;		    /* one was found by them */
	char vm[RS_KVM_VM_MAX];
	uint64_t since; /* the host's stamp of the process's start; 0: unknown */
	struct found *guests;
	uint32_t n, total, left;
	bool ended; /* release and acquire */
	bool too_many;
	const char *refused;
	uint64_t refused_at;
	uint64_t scan_at_ns; /* the next number of a guest */
	struct rs_error *error;
};

struct rs_guests_recording {
	struct rs_recorder *recorder;
	struct rs_clock clock;
	pthread_t thread;
	bool runs, stop; /* stop: release and acquire */
	struct rs_error *error;
	uint32_t n;
	struct memory memories[];
};

/* ---- access, for the recorder's threads --------------------------------------------------- */

static bool guest_read(void *ctx, uint64_t gpa, void *to, size_t bytes)
{
	struct found *f = ctx;
	bool good = true;

	pthread_rwlock_rdlock(&f->lock);
	if (gpa >= f->gpa && gpa - f->gpa <= sizeof(f->copy) &&
	    bytes <= sizeof(f->copy) - (gpa - f->gpa))
		memcpy(to, (const uint8_t *)&f->copy + (gpa - f->gpa), bytes);
	else
		good = rs_guest_layout_read(&f->memory->ram, &f->layout, gpa, to, bytes);
	pthread_rwlock_unlock(&f->lock);
	return good;
}

static bool guest_write(void *ctx, uint64_t gpa, const void *from, size_t bytes)
{
	struct found *f = ctx;
	bool good;

	pthread_rwlock_rdlock(&f->lock);
	good = rs_guest_layout_write(&f->memory->ram, &f->layout, gpa, from, bytes);
	pthread_rwlock_unlock(&f->lock);
	return good;
}

/* ---- memory slots ------------------------------------------------------------------------- */

/* Passes the slots to the memory and to its guests. */
static struct rs_error *slots_apply(struct memory *m, const struct rs_kvm_vm_slots *slots,
				    uint32_t n)
{
	struct rs_guest_part *parts = NULL;
	struct rs_guest_vm vms[RS_KVM_VMS_MAX];
	size_t room = 0, at = 0;
	struct rs_error *err;

	for (uint32_t i = 0; i < n; at += slots[i++].n) {
		if (!RS_VECTOR_RESERVE(parts, room, at + slots[i].n)) {
			free(parts);
			return rs_error_no_memory();
		}
		for (uint32_t j = 0; j < slots[i].n; j++) {
			const struct rs_kvm_slot_memory *slot = &slots[i].slots[j];

			parts[at + j] = (struct rs_guest_part){
				.gpa = slot->gpa,
				.bytes = slot->bytes,
				.at = slot->hva,
				.read_only = slot->flags & RS_KVM_SLOT_READONLY,
			};
		}
	}
	at = 0;
	for (uint32_t i = 0; i < n; at += slots[i++].n)
		vms[i] = (struct rs_guest_vm){ slots[i].vm, parts + at, slots[i].n };
	err = rs_guest_ram_set_vms(&m->ram, vms, n);
	free(parts);
	for (struct found *f = m->guests; !err && f; f = f->next) {
		pthread_rwlock_wrlock(&f->lock);
		rs_guest_layout_update(&m->ram, &f->place, &f->layout);
		pthread_rwlock_unlock(&f->lock);
	}
	return err;
}

/* Reads the slots of a process's VMs. If that fails, those of before stay. */
static void slots_update(struct memory *m)
{
	const struct rs_kvm_vm_slots *slots;
	struct rs_error *err;
	uint32_t n = 0;

	if (!m->slots)
		return;
	err = rs_kvm_slots_read(m->slots, &slots, &n);
	if (!err)
		err = slots_apply(m, slots, n);
	if (!err && !n)
		err = rs_error_create(RS_ABSENT, "the process has no VM of KVM");
	m->has_vm |= n > 0;
	rs_error_free(m->no_slots);
	m->no_slots = err;
}

/* ---- areas -------------------------------------------------------------------------------- */

/* Copies an area, which is complete once its magic is written. */
static bool area_read(const struct memory *m, uint64_t at, struct rs_guest_area *area)
{
	if (!rs_guest_ram_read(&m->ram, at, area, sizeof(*area)) ||
	    area->magic != RS_GUEST_AREA_MAGIC)
		return false;
	/* Read the rest again, after the magic. */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return rs_guest_ram_read(&m->ram, at, area, sizeof(*area)) &&
	       area->magic == RS_GUEST_AREA_MAGIC;
}

/* Returns why this host cannot read the area, or NULL. The host side checks the rest. */
static const char *area_check(const struct found *f, const struct rs_guest_area *area)
{
	struct rs_guest_site site;

	if (area->version != RS_GUEST_AREA_VERSION || area->bytes != sizeof(*area))
		return "it has another version";
	if (area->n_sites > RS_GUEST_SITES_MAX)
		return "it has too many sites";
	for (uint32_t i = 0; i < area->n_sites; i++) {
		if (!rs_guest_layout_read(&f->memory->ram, &f->layout,
					  area->sites + i * sizeof(site), &site, sizeof(site)))
			return "its sites are not in RAM";
		if (site.id !=
		    (site.kind == RS_GUEST_SITE_EVENT ? RS_ID(RS_IDS_USER, i + 1) : i + 1))
			return "its sites are not numbered";
	}
	return NULL;
}

/* Publishes an area to the recorder's threads, with the parts of RAM that contain its rings. */
static void area_publish(struct found *f, const struct rs_guest_area *area)
{
	bool changed = false, outside = false;

	pthread_rwlock_wrlock(&f->lock);
	for (uint32_t i = 0; i < RS_GUEST_VCPUS_MAX; i++) {
		if (memcmp(&area->ring[i], &f->copy.ring[i], sizeof(area->ring[i])) == 0)
			continue;
		outside |= !rs_guest_layout_add(&f->memory->ram, &f->place, &area->ring[i],
						&f->layout);
		changed = true;
	}
	pthread_rwlock_unlock(&f->lock);
	/* The VMM may have added memory since the slots were read. */
	if (outside && f->place.vm)
		slots_update(f->memory);
	pthread_rwlock_wrlock(&f->lock);
	f->copy = *area;
	pthread_rwlock_unlock(&f->lock);
	if (changed && f->host)
		rs_host_guest_search(f->host);
}

/* Returns whether an area equals the published one, apart from new rings. */
static bool area_is_same(const struct found *f, const struct rs_guest_area *area)
{
	const struct rs_guest_area *was = &f->copy;

	if (area->sites != was->sites || area->n_sites != was->n_sites ||
	    area->to_gpa != was->to_gpa || area->self != was->self)
		return false;
	for (uint32_t i = 0; i < RS_GUEST_VCPUS_MAX; i++) {
		if (was->ring[i].bytes &&
		    memcmp(&area->ring[i], &was->ring[i], sizeof(area->ring[i])) != 0)
			return false;
	}
	return true;
}

/* ---- guests ------------------------------------------------------------------------------- */

static void found_free(struct found *f)
{
	rs_host_guest_destroy(f->host);
	pthread_rwlock_destroy(&f->lock);
	rs_guest_layout_deinit(&f->layout);
	free(f);
}

/* Writes a guest's clock into the trace, if its error is less than half of what the trace has, or
 * its bounds are outside of that. In the second case, the trace gets twice the error, so that a
 * clock that moves little by little is not written at each poll. */
static struct rs_error *clock_write(struct found *f)
{
	struct rs_guests_recording *r = f->memory->recording;
	const uint64_t error = f->clock.error_cycles;
	struct rs_clock clock;
	uint64_t apart;

	rs_host_guest_clock(f->host, &r->clock, &clock);
	apart = clock.offset > f->clock.offset ? (uint64_t)clock.offset - (uint64_t)f->clock.offset
					       : (uint64_t)f->clock.offset - (uint64_t)clock.offset;
	if (clock.error_cycles == RS_CLOCK_ERROR_UNKNOWN) {
		if (error == RS_CLOCK_ERROR_UNKNOWN)
			return NULL;
	} else if (clock.error_cycles >= error / 2) {
		if (apart <= error && clock.error_cycles <= error - apart)
			return NULL;
		clock.error_cycles *= 2;
	}
	f->clock = clock;
	return rs_recorder_set_clock(r->recorder, &clock);
}

static struct rs_error *found_add(struct found *f)
{
	struct memory *m = f->memory;
	struct rs_guests_recording *r = m->recording;
	const struct rs_host_options options = {
		.vm = f->vm,
		.memory = { f, guest_read, guest_write },
		.clock = &r->clock,
		.vcpus = RS_GUEST_VCPUS_MAX,
	};
	struct rs_error *err;

	if (m->total)
		snprintf(f->vm, sizeof(f->vm), "%s.%u", m->vm, m->total + 1);
	else
		snprintf(f->vm, sizeof(f->vm), "%s", m->vm);
	err = rs_host_guest_create(&options, &f->host);
	if (err)
		return err;
	f->clock.error_cycles = RS_CLOCK_ERROR_UNKNOWN;
	rs_host_guest_set_foreign(f->host, m->since);
	rs_host_set_area(f->host, f->gpa);
	return rs_recorder_add_guest(r->recorder, f->host, true);
}

static bool is_known(const struct memory *m, uint64_t at)
{
	for (const struct found *f = m->guests; f; f = f->next) {
		if (f->place.at == at)
			return true;
	}
	return false;
}

/* Handles a place with an area's magic. */
static void place_found(void *ctx, const struct rs_guest_place *place)
{
	struct memory *m = ctx;
	struct rs_guest_area area;
	const char *why;
	struct found *f;

	if (m->error || is_known(m, place->at) || !area_read(m, place->at, &area))
		return;
	m->too_many |= m->n == RS_GUESTS_AT_ONCE_MAX || m->total == RS_GUESTS_MAX;
	if (m->too_many)
		return;
	f = calloc(1, sizeof(*f));
	if (!f) {
		m->error = rs_error_no_memory();
		return;
	}
	f->memory = m;
	f->place = *place;
	pthread_rwlock_init(&f->lock, NULL);
	why = rs_guest_layout_init(&m->ram, place, area.self, &f->layout, &f->gpa);
	if (!why)
		why = area_check(f, &area);
	if (why) {
		m->refused = why;
		m->refused_at = place->at;
		found_free(f);
		return;
	}
	area_publish(f, &area);
	m->error = found_add(f);
	if (m->error) {
		found_free(f);
		return;
	}
	f->next = m->guests;
	m->guests = f;
	m->n++;
	m->total++;
}

/* Removes a guest, after its rings are read for the last time. */
static struct rs_error *found_remove(struct found *f)
{
	struct rs_guests_recording *r = f->memory->recording;
	struct rs_error *err = clock_write(f);
	struct rs_error *removed = rs_recorder_remove_guest(r->recorder, f->host);

	/* A guest may end before it has a ring. */
	if (removed && rs_error_code(removed) == RS_ABSENT) {
		rs_error_free(removed);
		removed = NULL;
	}
	err = rs_error_first(err, removed);
	f->memory->n--;
	f->memory->left++;
	found_free(f);
	return err;
}

/* Reads the areas of a memory's guests again. */
static struct rs_error *guests_watch(struct memory *m)
{
	struct found **at = &m->guests, *f;
	struct rs_error *err = NULL;
	struct rs_guest_area area;

	while ((f = *at)) {
		if (area_read(m, f->place.at, &area) && area_is_same(f, &area) &&
		    !rs_host_guest_has_left(f->host)) {
			area_publish(f, &area);
			err = rs_error_first(err, clock_write(f));
			at = &f->next;
			continue;
		}
		*at = f->next;
		err = rs_error_first(err, found_remove(f));
		m->scan_at_ns = 0;
	}
	return err;
}

/* Searches a memory for guests, if the next scan is due. */
static void memory_scan(struct memory *m)
{
	uint64_t from = rs_now_ns(CLOCK_MONOTONIC), took, pause;

	if (from < m->scan_at_ns || m->ended || m->error)
		return;
	slots_update(m);
	m->error = rs_error_first(rs_guest_ram_scan(&m->ram, place_found, m), m->error);
	/* Pairs with the acquire in rs_guests_recording_has_ended(). */
	__atomic_store_n(&m->ended, m->ram.ended, __ATOMIC_RELEASE);
	took = rs_now_ns(CLOCK_MONOTONIC) - from;
	pause = m->guests ? SCAN_NS_OTHERS : SCAN_NS_MIN;
	if (pause < took * SCAN_SHARE)
		pause = took * SCAN_SHARE;
	m->scan_at_ns = from + took + pause;
}

/* ---- the thread --------------------------------------------------------------------------- */

/* Searches each memory at least once, even in a short recording. */
static void *watch_main(void *arg)
{
	struct rs_guests_recording *r = arg;

	for (;;) {
		for (uint32_t i = 0; i < r->n; i++) {
			r->error = rs_error_first(r->error, guests_watch(&r->memories[i]));
			memory_scan(&r->memories[i]);
		}
		/* Pairs with the release in rs_guests_recording_shut(). */
		if (__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
			return NULL;
		rs_sleep_ns(WATCH_NS);
	}
}

/* Returns the host's stamp of a process's start, by field 22 of its stat (proc(5)), or 0 if
 * unknown. The unit is a kernel tick. */
static uint64_t process_since(int pid, const struct rs_clock *host)
{
	uint64_t ticks, per_s = (uint64_t)sysconf(_SC_CLK_TCK), age_ns, cycles, now = rs_tsc();
	uint64_t boot_ns = rs_now_ns(CLOCK_BOOTTIME);
	char path[64], text[STAT_BYTES] = "", *at;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	at = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
	fclose(file);
	/* The first field after the name is field 3. */
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, " %lu", &ticks) != 1 || !ticks)
		return 0;
	age_ns = boot_ns - (ticks - 1) * (NS_PER_SEC / per_s);
	cycles = (uint64_t)((unsigned __int128)age_ns * host->freq_hz / NS_PER_SEC);
	return cycles < now ? now - cycles : 0;
}

/* ---- the recording ------------------------------------------------------------------------ */

static struct rs_error *memory_open(struct rs_guests_recording *r, const char *text)
{
	struct memory *m = &r->memories[r->n];
	const char *slash = strrchr(text, '/');
	struct rs_error *err = rs_guest_ram_open(text, &m->ram);

	if (err)
		return err;
	m->recording = r;
	r->n++;
	if (m->ram.pid) {
		m->no_slots = rs_kvm_slots_open(m->ram.pid, &m->slots);
		rs_kvm_vm_name(m->ram.pid, m->vm);
	} else {
		snprintf(m->vm, sizeof(m->vm), "%s", slash ? slash + 1 : text);
	}
	return NULL;
}

struct rs_error *rs_guests_recording_create(const char *const *memories, uint32_t n,
					    struct rs_guests_recording **out)
{
	struct rs_guests_recording *r = calloc(1, sizeof(*r) + n * sizeof(r->memories[0]));
	struct rs_error *err = NULL;

	if (!r)
		return rs_error_no_memory();
	while (!err && r->n < n)
		err = memory_open(r, memories[r->n]);
	if (err)
		rs_guests_recording_destroy(r);
	else
		*out = r;
	return err;
}

void rs_guests_recording_destroy(struct rs_guests_recording *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n; i++) {
		struct memory *m = &r->memories[i];

		while (m->guests) {
			struct found *f = m->guests;

			m->guests = f->next;
			found_free(f);
		}
		rs_guest_ram_close(&m->ram);
		rs_kvm_slots_close(m->slots);
		rs_error_free(m->no_slots);
		rs_error_free(m->error);
	}
	rs_error_free(r->error);
	free(r);
}

struct rs_error *rs_guests_recording_open(struct rs_guests_recording *r,
					  struct rs_recorder *recorder, const struct rs_clock *host)
{
	int failed;

	r->recorder = recorder;
	r->clock = *host;
	for (uint32_t i = 0; i < r->n; i++) {
		if (r->memories[i].ram.pid)
			r->memories[i].since = process_since(r->memories[i].ram.pid, host);
	}
	failed = pthread_create(&r->thread, NULL, watch_main, r);
	r->runs = !failed;
	return failed ? rs_error_errno(failed, "cannot start the search for guests") : NULL;
}

struct rs_error *rs_guests_recording_shut(struct rs_guests_recording *r)
{
	struct rs_error *err;

	if (!r->runs)
		return NULL;
	/* Pairs with the acquire in watch_main(). */
	__atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
	pthread_join(r->thread, NULL);
	r->runs = false;
	for (uint32_t i = 0; i < r->n; i++)
		r->error = rs_error_first(r->error, guests_watch(&r->memories[i]));
	err = r->error;
	r->error = NULL;
	return err;
}

bool rs_guests_recording_has_ended(const struct rs_guests_recording *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		/* Pairs with the release in memory_scan(). */
		if (!__atomic_load_n(&r->memories[i].ended, __ATOMIC_ACQUIRE))
			return false;
	}
	return true;
}

bool rs_guests_recording_result(const struct rs_guests_recording *r, uint32_t i,
				struct rs_guests_result *result)
{
	const struct memory *m = &r->memories[i];

	if (i >= r->n)
		return false;
	*result = (struct rs_guests_result){
		.memory = m->ram.path,
		.found_by = !m->ram.pid ? RS_GUESTS_FILE
			    : m->has_vm ? RS_GUESTS_SLOTS
					: RS_GUESTS_MAPPINGS,
		.no_slots = m->no_slots && !m->has_vm ? rs_error_text(m->no_slots) : NULL,
		.guests = m->total,
		.left = m->left,
		.ended = m->ended,
		.refused = m->refused,
		.refused_at = m->refused_at,
		.too_many = m->too_many,
		.error = m->error ? rs_error_text(m->error) : NULL,
	};
	return true;
}

bool rs_guests_recording_guest(const struct rs_guests_recording *r, uint32_t memory, uint32_t i,
			       struct rs_guests_guest *guest)
{
	const struct found *f = r->memories[memory].guests;

	while (f && i--)
		f = f->next;
	if (!f)
		return false;
	*guest = (struct rs_guests_guest){ f->vm, f->gpa, f->clock.error_cycles };
	return true;
}
