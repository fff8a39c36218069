/* SPDX-License-Identifier: BSD-2-Clause */
/* Settings, arrays and iterators of BPF objects. */
#include "kvm/bpf_object.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/vector.h"
#include "kvm/bpf_log.h"

#define READ_BYTES 65536u

/* ---- objects -------------------------------------------------------------------------------- */

struct rs_error *rs_bpf_open(const void *elf, size_t bytes, const char *name,
			     struct bpf_object **object)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = name);

	*object = bpf_object__open_mem(elf, bytes, &options);
	return *object ? NULL : rs_bpf_log_error(errno, "cannot read the BPF object");
}

struct rs_error *rs_bpf_set_config(struct bpf_object *object, const void *config, size_t bytes)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata.config");

	if (map && !bpf_map__set_initial_value(map, config, bytes))
		return NULL;
	return rs_error_create(RS_FAILED, "cannot write the BPF object's settings");
}

struct rs_error *rs_bpf_map(const struct bpf_object *object, const char *name,
			    struct rs_kvm_mapped *mapped)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes;
	void *mem;

	if (!map)
		return rs_error_create(RS_FAILED, "the BPF object has no map %s", name);
	mapped->stride = (bpf_map__value_size(map) + 7) & ~7u;
	mapped->n = bpf_map__max_entries(map);
	bytes = ((size_t)mapped->stride * mapped->n + page - 1) & ~(page - 1);
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
	if (mem == MAP_FAILED)
		return rs_error_errno(errno, "cannot map the BPF array %s", name);
	mapped->mem = mem;
	mapped->bytes = bytes;
	return NULL;
}

void rs_bpf_unmap(struct rs_kvm_mapped *mapped)
{
	if (mapped->mem)
		munmap(mapped->mem, mapped->bytes);
	mapped->mem = NULL;
}

/* ---- iterators ------------------------------------------------------------------------------ */

struct rs_error *rs_bpf_iter_attach(struct rs_bpf_iter *iter, const struct bpf_object *object,
				    int pid)
{
	struct bpf_program *scan = bpf_object__find_program_by_name(object, "scan");
	union bpf_iter_link_info info = { .task = { .pid = (uint32_t)pid } };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));

	if (!scan)
		return rs_error_create(RS_FAILED, "the BPF object has no program scan");
	/* A kernel before 6.1 (f0d74c4da1f0) iterates over all processes. */
	iter->link = bpf_program__attach_iter(scan, &options);
	if (!iter->link)
		iter->link = bpf_program__attach_iter(scan, NULL);
	return iter->link ? NULL : rs_bpf_log_error(errno, "cannot create the BPF iterator");
}

void rs_bpf_iter_detach(struct rs_bpf_iter *iter)
{
	bpf_link__destroy(iter->link);
	free(iter->records);
	*iter = (struct rs_bpf_iter){ 0 };
}

struct rs_error *rs_bpf_iter_read(struct rs_bpf_iter *iter, size_t max, bool *all)
{
	int fd = bpf_iter_create(bpf_link__fd(iter->link));
	struct rs_error *err = NULL;
	ssize_t got = 1;

	if (fd < 0)
		return rs_error_errno(errno, "cannot create the BPF iterator");
	iter->n = 0;
	while (!err && got && iter->n <= max) {
		if (!RS_VECTOR_RESERVE(iter->records, iter->room, iter->n + READ_BYTES)) {
			err = rs_error_no_memory();
			break;
		}
		got = read(fd, iter->records + iter->n, READ_BYTES);
		if (got > 0)
			iter->n += (size_t)got;
		else if (got < 0 && errno != EINTR && errno != EAGAIN)
			err = rs_error_errno(errno, "cannot read the BPF iterator");
	}
	close(fd);
	*all = iter->n <= max;
	return err;
}

const uint8_t *rs_bpf_iter_next(const struct rs_bpf_iter *iter, size_t *at,
				struct rs_kvm_scan_head *head)
{
	const uint8_t *record = iter->records + *at;

	if (iter->n - *at < sizeof(*head))
		return NULL;
	memcpy(head, record, sizeof(*head));
	if (head->bytes < sizeof(*head) || head->bytes > iter->n - *at)
		return NULL;
	*at += head->bytes;
	return record;
}

bool rs_kvm_scan_slots_copy(const uint8_t *record, const struct rs_kvm_scan_head *head,
			    struct rs_kvm_scan_slots *slots)
{
	const size_t before = offsetof(struct rs_kvm_scan_slots, slots);

	if (head->kind != RS_KVM_SCAN_SLOTS || head->bytes < before || head->bytes > sizeof(*slots))
		return false;
	memcpy(slots, record, head->bytes);
	return slots->n == (head->bytes - before) / sizeof(slots->slots[0]);
}
