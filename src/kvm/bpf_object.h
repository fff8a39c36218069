/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of all sessions that load BPF objects: settings, arrays that BPF and this process
 * share, and iterators with their records (slots_wire.h). Errors contain libbpf's warning
 * (bpf_log.h).
 */
#ifndef RS_KVM_BPF_OBJECT_H
#define RS_KVM_BPF_OBJECT_H

#include <bpf/libbpf.h>
#include <ringside/error.h>

#include "kvm/slots_wire.h"

struct rs_error *rs_bpf_open(const void *elf, size_t bytes, const char *name,
			     struct bpf_object **object);

/* Sets the programs' settings, before the object is loaded. */
struct rs_error *rs_bpf_set_config(struct bpf_object *object, const void *config, size_t bytes);

/* An array in memory that BPF and this process share. */
struct rs_kvm_mapped {
	uint8_t *mem;
	size_t bytes;
	uint32_t stride; /* bytes from one element to the next */
	uint32_t n;
};

struct rs_error *rs_bpf_map(const struct bpf_object *object, const char *name,
			    struct rs_kvm_mapped *mapped);
void rs_bpf_unmap(struct rs_kvm_mapped *mapped); /* a no-op if nothing is mapped */

/* ---- iterators ------------------------------------------------------------------------------ */

struct rs_bpf_iter {
	struct bpf_link *link;
	uint8_t *records; /* of the last read */
	size_t n, room;	  /* bytes */
};

/* Attaches the program "scan" of a loaded object to the descriptors of a process. */
struct rs_error *rs_bpf_iter_attach(struct rs_bpf_iter *iter, const struct bpf_object *object,
				    int pid);
void rs_bpf_iter_detach(struct rs_bpf_iter *iter);

/* Reads all that the iterator writes now, at most `max` bytes; if there is more, *all is false. */
struct rs_error *rs_bpf_iter_read(struct rs_bpf_iter *iter, size_t max, bool *all);

/* Returns the record at *at of those that were read, which has `head->bytes` bytes, and moves *at
 * past it; NULL: there is none. Records are not aligned. */
const uint8_t *rs_bpf_iter_next(const struct rs_bpf_iter *iter, size_t *at,
				struct rs_kvm_scan_head *head);

/* Copies a record of slots. Returns false if the record is not one. */
bool rs_kvm_scan_slots_copy(const uint8_t *record, const struct rs_kvm_scan_head *head,
			    struct rs_kvm_scan_slots *slots);

#endif
