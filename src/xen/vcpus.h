/* SPDX-License-Identifier: BSD-2-Clause */
/* The vCPUs that a Xen trace mentions, each with its virtual stream. */
#ifndef RS_XEN_VCPUS_H
#define RS_XEN_VCPUS_H

#include "base/map.h"
#include "xen/layout.h"

#define RS_XEN_VM_MAX 64 /* bytes of a domain's name; a longer name is cut */

/* The owner of a CPU's records. */
struct rs_xen_vcpu {
	struct rs_stream stream;
	char name[RS_XEN_VM_MAX];
	int dom, vcpu; /* RS_UNKNOWN */
	/* The stamps since which it runs and since which it is runnable; 0: unknown, or records
	 * were lost since. */
	uint64_t running_tsc, runnable_tsc;
	int on_pcpu; /* the CPU on which it runs; RS_UNKNOWN */
};

#define RS_XEN_VCPUS_RECENT 64u

struct rs_xen_vcpus {
	const struct rs_schema *schema;
	const struct rs_clock *clock;
	/* Returns a domain's name, or NULL: then its number is used. Called once for each vCPU. */
	const char *(*name)(void *ctx, uint32_t dom);
	void *name_ctx;
	struct rs_map by_number;			 /* by domain and vcpu */
	struct rs_xen_vcpu *recent[RS_XEN_VCPUS_RECENT]; /* a cache of vCPUs; NULL: free */
	uint64_t refused; /* records of vCPUs without a stream, because there were too many */
	struct rs_xen_vcpu unknown, lost;
};

void rs_xen_vcpus_init(struct rs_xen_vcpus *vcpus, const struct rs_schema *schema,
		       const struct rs_clock *clock);
void rs_xen_vcpus_deinit(struct rs_xen_vcpus *vcpus);

/* The slow part of rs_xen_vcpus_find(). */
struct rs_xen_vcpu *rs_xen_vcpus_lookup(struct rs_xen_vcpus *vcpus, uint32_t dom, uint32_t vcpu);

/* Returns a vCPU, never NULL: the unknown vCPU for an impossible number or a full table. */
static inline struct rs_xen_vcpu *rs_xen_vcpus_find(struct rs_xen_vcpus *vcpus, uint32_t dom,
						    uint32_t vcpu)
{
	struct rs_xen_vcpu *recent = vcpus->recent[(dom << 2 ^ vcpu) % RS_XEN_VCPUS_RECENT];

	if (recent && recent->dom == (int)dom && recent->vcpu == (int)vcpu)
		return recent;
	return rs_xen_vcpus_lookup(vcpus, dom, vcpu);
}

#endif
