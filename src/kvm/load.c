/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Loads and attaches a session's BPF object. Programs and fields that the kernel lacks are left out
 * if the session can do without them. The error of a missing requirement names the requirement and
 * its remedy.
 */
#include "kvm/session.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kvm/bpf_log.h"
#include "kvm/bpf_object.h"
#include "kvm/exits.skel.h" /* needs the types above */

static const char object_name[] = "ringside_kvm";

/* The uses of a program. A session loads the programs that share a use with it. */
#define FOR_EXITS  (1u << 0) /* counting kvm_exit */
#define FOR_USER   (1u << 1) /* counting kvm_userspace_exit */
#define FOR_TIME   (1u << 2)
#define FOR_CAUSES (1u << 3)
#define FOR_EVENTS (1u << 4)
#define FOR_ALL	   (~0u)

static const struct program {
	const char *name; /* the name of the tracepoint and of the program */
	const char *system;
	uint32_t wanted;
	uint32_t needed; /* uses for which a session fails without the program */
} programs[] = {
	{ "kvm_exit", "kvm", FOR_EXITS | FOR_TIME | FOR_EVENTS, FOR_EXITS },
	{ "kvm_nested_vmexit", "kvm", FOR_EXITS | FOR_EVENTS, 0 },
#define RS_HOST_ONLY
#define RS_HOST_ENTRY(tracepoint, record, field, pc, vcpu)                                         \
	{ #tracepoint, "kvm", FOR_TIME | FOR_EVENTS, FOR_TIME },
#include <ringside/event/isa.def>
#undef RS_HOST_ONLY
	{ "kvm_userspace_exit", "kvm", FOR_USER | FOR_TIME | FOR_EVENTS, FOR_USER | FOR_TIME },
	{ "kvm_vcpu_wakeup", "kvm", FOR_TIME | FOR_EVENTS, 0 },
	{ "kvm_pio", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_mmio", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_fast_mmio", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_msr", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_cpuid", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_hypercall", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_inj_virq", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_inj_exception", "kvm", FOR_EVENTS, 0 },
	{ "kvm_page_fault", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_sys_access", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_hvc_arm64", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_wfx_arm64", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "kvm_guest_fault", "kvm", FOR_CAUSES | FOR_EVENTS, 0 },
	{ "sched_switch", "sched", FOR_TIME | FOR_EVENTS, FOR_TIME | FOR_EVENTS },
	{ "sched_wakeup", "sched", FOR_TIME | FOR_EVENTS, FOR_TIME | FOR_EVENTS },
	{ "sched_process_exit", "sched", FOR_ALL, FOR_ALL },
};
#define N_PROGRAMS (sizeof(programs) / sizeof(programs[0]))
_Static_assert(N_PROGRAMS <= RS_KVM_PROGRAMS, "a link for each");

static uint32_t purpose(const struct rs_kvm_config *config)
{
	return (config->user ? FOR_USER : FOR_EXITS) | (config->latency ? FOR_TIME : 0) |
	       (config->causes ? FOR_CAUSES : 0) | (config->events ? FOR_EVENTS : 0);
}

/* ---- requirements ---------------------------------------------------------------------------- */

static const char *const tracefs[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

static bool tracefs_has(const char *what)
{
	char path[256];

	for (size_t i = 0; i < sizeof(tracefs) / sizeof(tracefs[0]); i++) {
		snprintf(path, sizeof(path), "%s/events/%s", tracefs[i], what);
		if (!access(path, F_OK))
			return true;
	}
	return false;
}

static bool has_tracepoint(const struct program *program)
{
	char path[128];

	if (strcmp(program->system, "kvm"))
		return true; /* attached through BTF, which the kernel checks */
	snprintf(path, sizeof(path), "%s/%s/id", program->system, program->name);
	return tracefs_has(path);
}

/*
 * Returns the index of sched_switch's argument with the state of the thread that leaves, or 0 if it
 * has none: fa2c3254d7cf (5.18) added it as the second argument, 9c2136be0878 (5.19) made it the
 * last. The source is the tracepoint's BTF, whose parameter 0 is the probe's own data.
 */
static uint32_t switch_state(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *type;
	uint32_t at = 0;
	int id;

	if (!btf)
		return 0;
	id = btf__find_by_name_kind(btf, "btf_trace_sched_switch", BTF_KIND_TYPEDEF);
	type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	if (type)
		type = btf__type_by_id(btf, type->type); /* pointer */
	if (type)
		type = btf__type_by_id(btf, type->type); /* prototype */
	if (type && btf_is_func_proto(type) && btf_vlen(type) == 5) {
		const struct btf_param *params = btf_params(type);
		const struct btf_type *second = btf__type_by_id(btf, params[2].type);

		at = second && btf_is_ptr(second) ? 3 : 1;
	}
	btf__free(btf);
	return at;
}

/* ---- settings and sizes ---------------------------------------------------------------------- */

static uint32_t blocks(uint32_t n)
{
	return n / RS_KVM_BLOCK;
}

static struct rs_error *size_maps(const struct rs_kvm_session *s, struct bpf_object *object)
{
	bool cost = s->config.latency, causes = s->config.causes;
	const struct {
		const char *name;
		uint32_t n;
	} sizes[] = {
		{ "threads", s->threads_max },
		{ "slots", s->threads_max + 1 },
		{ "free_slots", s->threads_max },
		{ "cells", s->cells_max + RS_KVM_BLOCK },
		{ "free_cells", blocks(s->cells_max) },
		{ "hists", cost ? s->cells_max + RS_KVM_BLOCK : 1 },
		{ "odd", s->cells_max },
		{ "causes", causes ? s->causes_max + RS_KVM_BLOCK : 1 },
		{ "free_causes", causes ? blocks(s->causes_max) : 1 },
		{ "cause_index", causes ? s->causes_max : 1 },
		{ "cpus", s->n_cpus },
		{ "rings", s->config.rings ? s->n_cpus : 1 },
		{ "sums", s->sums_max },
		{ "nears", s->config.near ? s->config.near * s->n_cpus : 1 },
	};
	struct bpf_map *map;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		map = bpf_object__find_map_by_name(object, sizes[i].name);
		if (!map || bpf_map__set_max_entries(map, sizes[i].n))
			return rs_error_create(RS_FAILED,
					       "cannot set the size of the BPF object's map %s",
					       sizes[i].name);
	}
	map = bpf_object__find_map_by_name(object, "rings");
	if (bpf_map__set_value_size(map, s->ring_bytes))
		return rs_error_create(RS_FAILED, "cannot set the rings' size to %u bytes",
				       s->ring_bytes);
	map = bpf_object__find_map_by_name(object, "sums");
	if (bpf_map__set_key_size(map, (RS_FILTER_KEY_HEAD + s->n_keys) * 8))
		return rs_error_create(RS_FAILED, "cannot set the sums' keys to %u words",
				       s->n_keys);
	return rs_bpf_set_config(object, &s->config, sizeof(s->config));
}

/* Selects the programs to load: those that the session uses and whose tracepoints the kernel
 * has. */
static struct rs_error *choose_programs(const struct rs_kvm_session *s, struct bpf_object *object)
{
	uint32_t purposes = purpose(&s->config);
	struct bpf_program *program;

	for (size_t i = 0; i < N_PROGRAMS; i++) {
		bool wanted = programs[i].wanted & purposes, there = has_tracepoint(&programs[i]);

		if (wanted && !there && programs[i].needed & purposes)
			return rs_error_create(RS_FAILED, "this kernel has no tracepoint %s:%s",
					       programs[i].system, programs[i].name);
		program = bpf_object__find_program_by_name(object, programs[i].name);
		if (!program)
			return rs_error_create(RS_FAILED, "the BPF object has no program %s",
					       programs[i].name);
		bpf_program__set_autoload(program, wanted && there);
	}
	return NULL;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static struct rs_error *map_all(struct rs_kvm_session *s)
{
	const struct {
		const char *name;
		struct rs_kvm_mapped *to;
	} maps[] = {
		{ ".data.control", &s->control }, { "slots", &s->slots },   { "cells", &s->cells },
		{ "hists", &s->hists },		  { "causes", &s->causes }, { "cpus", &s->cpus },
		{ "rings", &s->rings },
	};
	struct rs_error *err = NULL;

	for (size_t i = 0; !err && i < sizeof(maps) / sizeof(maps[0]); i++)
		err = rs_bpf_map(s->object, maps[i].name, maps[i].to);
	return err;
}

/* Fills a queue of free numbers with 1 to n. */
static struct rs_error *fill(struct rs_kvm_session *s, const char *name, uint32_t n)
{
	struct bpf_map *map = bpf_object__find_map_by_name(s->object, name);

	for (uint32_t i = 1; i <= n; i++)
		if (bpf_map_update_elem(bpf_map__fd(map), NULL, &i, BPF_ANY))
			return rs_error_errno(errno, "cannot fill the BPF queue %s", name);
	return NULL;
}

static struct rs_error *init_maps(struct rs_kvm_session *s)
{
	struct rs_kvm_control *control;
	struct rs_error *err = map_all(s);

	if (!err)
		err = fill(s, "free_slots", s->threads_max);
	if (!err)
		err = fill(s, "free_cells", blocks(s->cells_max));
	if (!err && s->config.causes)
		err = fill(s, "free_causes", blocks(s->causes_max));
	if (err)
		return err;
	rs_kvm_slot(s, RS_KVM_NO_SLOT)->id = ~UINT64_C(0);
	control = (void *)s->control.mem;
	control->epoch = 1; /* 0 marks an unused cell */
	for (uint32_t i = 0; s->config.rings && i < s->n_cpus; i++) {
		enum rs_sbuf_status status =
			rs_sbuf_create(rs_kvm_element(&s->rings, i), s->ring_bytes, RS_SLOT_BYTES);

		if (status != RS_SBUF_OK)
			return rs_error_create(RS_FAILED, "cannot create a ring of %u bytes: %s",
					       s->ring_bytes, rs_sbuf_status_text(status));
	}
	return NULL;
}

/* ---- loading --------------------------------------------------------------------------------- */

static struct rs_error *attach(struct rs_kvm_session *s)
{
	struct bpf_program *program;
	char what[128];

	for (size_t i = 0; i < N_PROGRAMS; i++) {
		program = bpf_object__find_program_by_name(s->programs, programs[i].name);
		if (!bpf_program__autoload(program))
			continue;
		s->links[i] = bpf_program__attach(program);
		if (s->links[i])
			continue;
		snprintf(what, sizeof(what), "cannot attach to the tracepoint %s:%s",
			 programs[i].system, programs[i].name);
		return rs_bpf_log_error(errno, what);
	}
	return NULL;
}

static const void *elf_of(const struct rs_kvm_image *image, size_t *bytes)
{
	if (!image)
		return exits_bpf__elf_bytes(bytes);
	*bytes = image->bytes;
	return image->elf;
}

/* Disables all programs, so that loading creates only the maps. */
static void leave_programs(struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) bpf_program__set_autoload(program, false);
}

static struct rs_error *load(struct rs_kvm_session *s, const struct rs_kvm_image *image)
{
	bool bodies = image && image->bodies;
	struct rs_error *err = bodies ? NULL : rs_kvm_unmet(true);
	size_t bytes;
	const void *elf = elf_of(image, &bytes);
	int status;

	s->config.switch_state = switch_state();
	if (!err)
		err = rs_bpf_open(elf, bytes, object_name, &s->object);
	if (!err && !bodies)
		err = choose_programs(s, s->object);
	if (!err)
		err = size_maps(s, s->object);
	if (err)
		return err;
	if (s->later)
		leave_programs(s->object);
	else
		s->programs = s->object;
	status = bpf_object__load(s->object);
	if (status)
		return rs_bpf_log_error(-status, "cannot load the BPF programs");
	err = init_maps(s);
	if (!err && !bodies && !s->later)
		err = attach(s);
	return err;
}

struct rs_error *rs_kvm_load(struct rs_kvm_session *s, const struct rs_kvm_image *image)
{
	libbpf_print_fn_t before = rs_bpf_log_begin();
	struct rs_error *err;

	err = load(s, image);
	libbpf_set_print(before);
	return err;
}

/* ---- later programs -------------------------------------------------------------------------- */

static bool is_of_filter(const char *map)
{
	return strstr(map, ".rodata") || !strcmp(map, "sums") || !strcmp(map, "nears");
}

/* Reuses the session's maps, except the settings and the sums of a filter. */
static struct rs_error *share_maps(const struct rs_kvm_session *s, struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = bpf_map__name(map);
		struct bpf_map *there = bpf_object__find_map_by_name(s->object, name);

		if (is_of_filter(name))
			continue;
		if (!there || bpf_map__reuse_fd(map, bpf_map__fd(there)))
			return rs_bpf_log_error(errno, "cannot share a BPF map");
	}
	return NULL;
}

static struct rs_error *load_programs(struct rs_kvm_session *s, const void *elf, size_t bytes,
				      bool bodies)
{
	struct rs_error *err = rs_bpf_open(elf, bytes, object_name, &s->programs);
	int status;

	if (!err && !bodies)
		err = choose_programs(s, s->programs);
	if (!err)
		err = size_maps(s, s->programs);
	if (!err)
		err = share_maps(s, s->programs);
	if (err)
		return err;
	status = bpf_object__load(s->programs);
	if (status)
		return rs_bpf_log_error(-status, "cannot load the BPF programs");
	err = s->config.near ? rs_bpf_map(s->programs, "nears", &s->nears) : NULL;
	return err || bodies ? err : attach(s);
}

static void unload_programs(struct rs_kvm_session *s);

struct rs_error *rs_kvm_load_programs(struct rs_kvm_session *s, const struct rs_kvm_image *image,
				      const struct rs_filter *filter)
{
	libbpf_print_fn_t before = rs_bpf_log_begin();
	bool bodies = image && image->bodies;
	struct rs_error *err = NULL;
	void *with = NULL;
	size_t bytes;
	const void *elf = elf_of(image, &bytes);

	if (filter && filter->n)
		err = rs_kvm_filter_in(elf, bytes, filter, &with);
	if (!err)
		err = load_programs(s, with ? with : elf, bytes, bodies);
	if (err)
		unload_programs(s);
	free(with);
	libbpf_set_print(before);
	return err;
}

static void unload_programs(struct rs_kvm_session *s)
{
	rs_bpf_unmap(&s->nears);
	for (size_t i = 0; i < N_PROGRAMS; i++) {
		bpf_link__destroy(s->links[i]);
		s->links[i] = NULL;
	}
	if (s->programs != s->object)
		bpf_object__close(s->programs);
	s->programs = NULL;
}

void rs_kvm_unload(struct rs_kvm_session *s)
{
	unload_programs(s);
	rs_bpf_unmap(&s->control);
	rs_bpf_unmap(&s->slots);
	rs_bpf_unmap(&s->cells);
	rs_bpf_unmap(&s->hists);
	rs_bpf_unmap(&s->causes);
	rs_bpf_unmap(&s->cpus);
	rs_bpf_unmap(&s->rings);
	bpf_object__close(s->object);
}
