/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keeps the guest's trace rings in the memory of its log, as ring/survive.h lays them out. The
 * texts and names of the sites are stored with the rings, so that a collector can decode them
 * without the guest.
 */
#pragma GCC visibility push(hidden)
#include <ringside/guest_log.h>
#pragma GCC visibility pop

#include "guest/log.h"
#include "ring/survive.h"

static struct {
	uint8_t *places; /* NULL if no rings are kept */
	uint32_t n, bytes;
	const char *name;
} self;

static void copy(char *to, const char *from, uint32_t max)
{
	for (uint32_t i = 0; i < max - 1 && from && from[i]; i++)
		to[i] = from[i];
}

static uint64_t definition_bytes(const struct rs_site *site)
{
	return (sizeof(struct rs_survive_definition) + site->len + UINT64_C(7)) & ~UINT64_C(7);
}

/* Writes the texts of the sites, in the order of their numbers, to zeroed memory. Returns their
 * size in bytes. */
static uint64_t define(uint8_t *to, const struct rs_site *sites, uint32_t n)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct rs_survive_definition definition = { sites[i].kind, sites[i].len };

		__builtin_memcpy(to + at, &definition, sizeof(definition));
		__builtin_memcpy(to + at + sizeof(definition), sites[i].text, sites[i].len);
		at += definition_bytes(&sites[i]);
	}
	return at;
}

enum rs_guest_status rs_guest_log_rings(uint32_t vcpus, const char *name)
{
	const struct rs_site *sites =
		(const struct rs_site *)(uintptr_t)(rs_guest_area.sites - rs_guest_area.to_gpa);
	uint64_t room, texts = 0, place;
	struct rs_survive_head *head = rs_guest_log_region(&room);

	for (uint32_t i = 0; i < rs_guest_area.n_sites; i++)
		texts += definition_bytes(&sites[i]);
	texts = (texts + 63) & ~UINT64_C(63);
	if (!head || !vcpus || vcpus > RS_GUEST_VCPUS_MAX || room < sizeof(*head) + texts)
		return RS_GUEST_BAD_RING;
	place = (room - sizeof(*head) - texts) / vcpus & ~UINT64_C(63);
	if (place < RS_SURVIVE_PLACE_BYTES_MIN)
		return RS_GUEST_BAD_RING;
	/* rs_guest_log_start() erased the magic with the half, so readers ignore the region until
	 * it is complete. */
	__builtin_memset(head + 1, 0, texts);
	define((uint8_t *)(head + 1), sites, rs_guest_area.n_sites);
	head->place_bytes = (uint32_t)place;
	head->places = vcpus;
	head->definition_bytes = head->defined_bytes = texts;
	__builtin_memset(head->provider, 0, sizeof(head->provider));
	copy(head->provider, "guest", sizeof(head->provider));
	self.places = (uint8_t *)(head + 1) + texts;
	self.n = vcpus;
	self.bytes = (uint32_t)place;
	self.name = name;
	for (uint32_t i = 0; i < vcpus; i++)
		__builtin_memset(self.places + i * place, 0, sizeof(struct rs_survive_place));
	__atomic_store_n(&head->magic, RS_SURVIVE_MAGIC, __ATOMIC_RELEASE);
	return RS_GUEST_OK;
}

enum rs_guest_status rs_guest_log_vcpu_init(uint32_t vcpu)
{
	struct rs_survive_place *place;
	enum rs_guest_status status;

	if (vcpu >= self.n)
		return RS_GUEST_BAD_RING;
	place = (struct rs_survive_place *)(void *)(self.places + vcpu * (uint64_t)self.bytes);
	status = rs_guest_vcpu_init(vcpu, place + 1, self.bytes - sizeof(*place));
	if (status != RS_GUEST_OK)
		return status;
	place->vcpu = (int32_t)vcpu;
	rs_guest_log_name(vcpu, place->thread);
	copy(place->vm, self.name, sizeof(place->vm));
	/* A collector that runs after the guest's end checks this flag first. */
	__atomic_store_n(&place->used, 1, __ATOMIC_RELEASE);
	return RS_GUEST_OK;
}
