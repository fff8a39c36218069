/* SPDX-License-Identifier: BSD-2-Clause */
/* The session of slots.bpf.c. */
#include "kvm/slots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "kvm/bpf_log.h"
#include "kvm/bpf_object.h"
#include "kvm/kvm.h"
#include "kvm/slots.skel.h" /* needs the types above */

#define TRIES  8u /* the slots are read again if they change meanwhile */
#define CHANGE UINT64_MAX
/* A VM may be written twice: by its descriptor, and by its first vCPU's. */
#define BYTES_MAX (2u * RS_KVM_VMS_MAX * sizeof(struct rs_kvm_scan_slots))

struct rs_kvm_slots {
	int pid;
	struct bpf_object *object;
	struct rs_bpf_iter scan;
	/* Of the last read. */
	struct rs_kvm_vm_slots *vms;
	uint32_t n;
	size_t room;
	struct rs_kvm_slot_memory *slots; /* of all VMs */
	size_t n_slots, slots_room;
	struct rs_kvm_scan_slots record;
};

static struct rs_error *object_load(struct rs_kvm_slots *s)
{
	const struct rs_kvm_scan_config config = { .pid = (uint32_t)s->pid };
	size_t bytes;
	const void *elf = slots_bpf__elf_bytes(&bytes);
	struct rs_error *err = rs_bpf_open(elf, bytes, "ringside_slots", &s->object);
	int status;

	if (!err)
		err = rs_bpf_set_config(s->object, &config, sizeof(config));
	if (err)
		return err;
	status = bpf_object__load(s->object);
	if (status)
		return rs_bpf_log_error(-status,
					"cannot load the BPF program (it needs Linux 5.17)");
	return rs_bpf_iter_attach(&s->scan, s->object, s->pid);
}

struct rs_error *rs_kvm_slots_open(int pid, struct rs_kvm_slots **out)
{
	struct rs_error *err = rs_kvm_unmet(false);
	struct rs_kvm_slots *s;
	libbpf_print_fn_t before;

	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return rs_error_no_memory();
	s->pid = pid;
	before = rs_bpf_log_begin();
	err = object_load(s);
	libbpf_set_print(before);
	if (err)
		rs_kvm_slots_close(s);
	else
		*out = s;
	return err;
}

void rs_kvm_slots_close(struct rs_kvm_slots *s)
{
	if (!s)
		return;
	rs_bpf_iter_detach(&s->scan);
	bpf_object__close(s->object);
	free(s->vms);
	free(s->slots);
	free(s);
}

/* Adds the VM of the record, unless it is there. */
static struct rs_error *vm_add(struct rs_kvm_slots *s)
{
	const struct rs_kvm_scan_slots *record = &s->record;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->vms[i].vm == record->kvm)
			return NULL;
	}
	if (s->n == RS_KVM_VMS_MAX)
		return rs_error_create(RS_FAILED, "process %d has more than %u VMs", s->pid,
				       RS_KVM_VMS_MAX);
	if (!RS_VECTOR_RESERVE(s->vms, s->room, s->n + 1) ||
	    !RS_VECTOR_RESERVE(s->slots, s->slots_room, s->n_slots + record->n))
		return rs_error_no_memory();
	memcpy(&s->slots[s->n_slots], record->slots, record->n * sizeof(s->slots[0]));
	s->n_slots += record->n;
	s->vms[s->n++] =
		(struct rs_kvm_vm_slots){ .vm = record->kvm, .n = record->n, .left = record->left };
	return NULL;
}

/* Reads once. Sets *changed if the slots of a VM changed meanwhile. */
static struct rs_error *read_once(struct rs_kvm_slots *s, bool *changed)
{
	struct rs_kvm_scan_head head;
	const uint8_t *record;
	struct rs_error *err;
	size_t at = 0;
	bool all;

	s->n = 0;
	s->n_slots = 0;
	*changed = false;
	err = rs_bpf_iter_read(&s->scan, BYTES_MAX, &all);
	if (!err && !all)
		err = rs_error_create(RS_FAILED, "process %d has more than %u VMs", s->pid,
				      RS_KVM_VMS_MAX);
	while (!err && (record = rs_bpf_iter_next(&s->scan, &at, &head))) {
		if (!rs_kvm_scan_slots_copy(record, &head, &s->record))
			continue;
		*changed |= s->record.generation == CHANGE;
		err = vm_add(s);
	}
	return err;
}

struct rs_error *rs_kvm_slots_read(struct rs_kvm_slots *s, const struct rs_kvm_vm_slots **vms,
				   uint32_t *n)
{
	struct rs_error *err = NULL;
	bool changed = true;
	size_t at = 0;

	for (uint32_t i = 0; !err && changed && i < TRIES; i++)
		err = read_once(s, &changed);
	if (err)
		return err;
	if (changed)
		return rs_error_create(
			RS_FAILED, "the memory slots of process %d changed while they were read",
			s->pid);
	for (uint32_t i = 0; i < s->n; i++) {
		s->vms[i].slots = &s->slots[at];
		at += s->vms[i].n;
	}
	*vms = s->vms;
	*n = s->n;
	return NULL;
}
