/* SPDX-License-Identifier: BSD-2-Clause */
/* The vCPUs that a Xen trace mentions, each with its stream. */
#include "xen/vcpus.h"

#include <stdio.h>
#include <stdlib.h>

#define VCPUS_MAX  65536u
#define NUMBER_MAX 0xffffu /* domid_t has 16 bits */

static void fill(struct rs_xen_vcpus *vcpus, struct rs_xen_vcpu *vcpu, uint32_t index)
{
	vcpu->on_pcpu = RS_UNKNOWN;
	vcpu->stream = (struct rs_stream){ .index = index,
					   .vm = vcpu->name[0] ? vcpu->name : NULL,
					   .vcpu = vcpu->vcpu,
					   .cpu = RS_CPU_EACH,
					   .tid = RS_UNKNOWN,
					   .xen = true,
					   .dom = vcpu->dom,
					   .schema = vcpus->schema,
					   .clock = vcpus->clock };
}

void rs_xen_vcpus_init(struct rs_xen_vcpus *vcpus, const struct rs_schema *schema,
		       const struct rs_clock *clock)
{
	*vcpus = (struct rs_xen_vcpus){ .schema = schema, .clock = clock };
	vcpus->unknown.dom = vcpus->unknown.vcpu = RS_UNKNOWN;
	vcpus->lost = vcpus->unknown;
	fill(vcpus, &vcpus->unknown, 0);
	fill(vcpus, &vcpus->lost, 1);
	/* Lost records may belong to any vCPU. */
	vcpus->lost.stream.mixed = true;
}

void rs_xen_vcpus_deinit(struct rs_xen_vcpus *vcpus)
{
	struct rs_xen_vcpu *vcpu;
	size_t at = 0;

	while ((vcpu = rs_map_next(&vcpus->by_number, &at)))
		free(vcpu);
	rs_map_deinit(&vcpus->by_number);
}

static bool same_number(const void *item, const void *key)
{
	const struct rs_xen_vcpu *x = item, *y = key;

	return x->dom == y->dom && x->vcpu == y->vcpu;
}

static void name_it(const struct rs_xen_vcpus *vcpus, struct rs_xen_vcpu *vcpu, uint32_t dom)
{
	const char *name = vcpus->name ? vcpus->name(vcpus->name_ctx, dom) : NULL;

	if (name)
		snprintf(vcpu->name, sizeof(vcpu->name), "%s", name);
	else if (dom == RS_XEN_DOM_IDLE)
		snprintf(vcpu->name, sizeof(vcpu->name), "idle");
	else
		snprintf(vcpu->name, sizeof(vcpu->name), "d%u", dom);
}

struct rs_xen_vcpu *rs_xen_vcpus_lookup(struct rs_xen_vcpus *vcpus, uint32_t dom, uint32_t vcpu)
{
	struct rs_xen_vcpu **recent = &vcpus->recent[(dom << 2 ^ vcpu) % RS_XEN_VCPUS_RECENT];
	struct rs_xen_vcpu key = { .dom = (int)dom, .vcpu = (int)vcpu };
	struct rs_xen_vcpu *found, *made;
	uint64_t hash = rs_hash_pair(dom, vcpu);

	if (dom > NUMBER_MAX || vcpu > NUMBER_MAX)
		return &vcpus->unknown;
	found = rs_map_find(&vcpus->by_number, hash, same_number, &key);
	if (found)
		return *recent = found;
	made = vcpus->by_number.used < VCPUS_MAX && rs_map_reserve(&vcpus->by_number)
		       ? malloc(sizeof(*made))
		       : NULL;
	if (!made) {
		vcpus->refused++;
		return &vcpus->unknown;
	}
	*made = key;
	name_it(vcpus, made, dom);
	fill(vcpus, made, 2 + (uint32_t)vcpus->by_number.used);
	rs_map_add(&vcpus->by_number, hash, made);
	return *recent = made;
}
