/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/xentrace_vcpus.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>

#define VCPUS_MAX  65536u
#define NUMBER_MAX 0xffffu /* domid_t has 16 bits */

static void fill(struct rs_xen_vcpus *vcpus, struct rs_xen_vcpu *vcpu, uint32_t index)
{
	struct rs_stream stream = { .index = index,
				    .vm = vcpu->name[0] ? vcpu->name : NULL,
				    .vcpu = vcpu->vcpu,
				    .cpu = RS_CPU_EACH,
				    .tid = RS_UNKNOWN,
				    .xen = true,
				    .dom = vcpu->dom,
				    .clock = vcpus->clock };

	vcpu->on_pcpu = RS_UNKNOWN;
	vcpu->xdt = vcpu->xen = stream;
	vcpu->xdt.schema = vcpus->decoder->xdt;
	vcpu->xen.schema = vcpus->decoder->xen;
	vcpu->xen.index++;
}

void rs_xen_vcpus_init(struct rs_xen_vcpus *vcpus, const struct rs_xen_decoder *decoder,
		       const struct rs_clock *clock)
{
	*vcpus = (struct rs_xen_vcpus){ .decoder = decoder, .clock = clock };
	vcpus->unknown.dom = vcpus->unknown.vcpu = RS_UNKNOWN;
	vcpus->lost = vcpus->unknown;
	fill(vcpus, &vcpus->unknown, 0);
	fill(vcpus, &vcpus->lost, 2);
	/* What was lost may have been anybody's. */
	vcpus->lost.xdt.mixed = vcpus->lost.xen.mixed = true;
}

void rs_xen_vcpus_deinit(struct rs_xen_vcpus *vcpus)
{
	tdestroy(vcpus->tree, free);
}

static int by_number(const void *a, const void *b)
{
	const struct rs_xen_vcpu *x = a, *y = b;

	if (x->dom != y->dom)
		return x->dom < y->dom ? -1 : 1;
	return (x->vcpu > y->vcpu) - (x->vcpu < y->vcpu);
}

struct rs_xen_vcpu *rs_xen_vcpus_find(struct rs_xen_vcpus *vcpus, uint32_t dom, uint32_t vcpu)
{
	struct rs_xen_vcpu key = { .dom = (int)dom, .vcpu = (int)vcpu };
	struct rs_xen_vcpu *const *found, *made;

	if (dom > NUMBER_MAX || vcpu > NUMBER_MAX)
		return &vcpus->unknown;
	found = tfind(&key, &vcpus->tree, by_number);
	if (found)
		return (struct rs_xen_vcpu *)*found;
	made = vcpus->n < VCPUS_MAX ? malloc(sizeof(*made)) : NULL;
	if (!made) {
		vcpus->refused++;
		return &vcpus->unknown;
	}
	*made = key;
	if (dom == RS_XEN_DOM_IDLE)
		snprintf(made->name, sizeof(made->name), "idle");
	else
		snprintf(made->name, sizeof(made->name), "d%u", dom);
	fill(vcpus, made, 4 + 2 * vcpus->n);
	if (!tsearch(made, &vcpus->tree, by_number)) {
		free(made);
		vcpus->refused++;
		return &vcpus->unknown;
	}
	vcpus->n++;
	return made;
}
