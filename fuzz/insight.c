/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel data that insight reads. The first byte selects:
 *
 *	0	BTF: the rest of the input
 *	1	an image: the rest of the input
 *	2	generated tables (kernel_made.h), in the layout of the next byte; each
 *		5 bytes that follow change one byte: where, how
 *	3	page tables and RAM: registers, and the rest of the input
 */
#include "fuzz.h"

#include "insight/btf_types.h"
#include "insight/linux.h"
#include "insight/task.h"

#include "kernel_made.h"
#include "types.h"

/* Returns symbols for the variables of the seeds, made once. */
static const struct rs_kallsyms *symbols_made(void)
{
	static const struct made_symbol own[] = { { "__per_cpu_start", MADE_BASE + 0x10000 },
						  { "first", MADE_BASE + 0x10008 },
						  { "second", MADE_BASE + 0x10010 },
						  { "__per_cpu_end", MADE_BASE + 0x10100 },
						  { "outer", MADE_BASE + 0x10200 },
						  { "list", MADE_BASE + 0x10300 },
						  { "list", MADE_BASE + 0x10400 } };
	static struct rs_kallsyms *made;
	struct rs_image image;
	uint32_t from, to;

	if (!made) {
		image = made_image_own(MADE_NEW, false, own, sizeof(own) / sizeof(own[0]), &from,
				       &to);
		MUST(!rs_kallsyms_find(&image, &made));
		rs_image_deinit(&image);
	}
	return made;
}

/* The names of BTF's variables, which are few among those of the symbols. */
static void variables_run(struct rs_types *types)
{
	static const char *const names[] = { "first", "second", "outer", "list" };
	struct rs_cvariable variable;
	struct rs_ctype type;
	bool found;

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct rs_error *err = types->ops->variable(types, names[i], &variable, &found);

		if (!err && found && variable.has_type)
			types->ops->get(types, variable.type, &type);
		fuzz_drop(err);
	}
}

static void btf_run(struct fuzz_input *in)
{
	static const char *const paths[] = { "first", "list", "inner.second", "pointer", "bits" };
	struct rs_btf_member member;
	struct rs_types *types;
	struct rs_btf *btf = NULL;
	struct rs_fields *fields = malloc(sizeof(*fields));

	MUST(fields);
	fuzz_drop(rs_btf_create(in->at, in->left, &btf));
	if (btf) {
		uint32_t id = rs_btf_struct(btf, "outer");

		MUST(id < rs_btf_count(btf));
		for (uint32_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
			if (rs_btf_member(btf, id, paths[i], &member))
				MUST(!member.bitfield || member.bit_offset < 8);
		rs_fields_find(btf, fields);
		MUST(!rs_btf_types_create(btf, symbols_made(), &types));
		fuzz_types_run(types);
		variables_run(types);
		rs_types_close(types);
	}
	rs_btf_destroy(btf);
	free(fields);
}

static void image_run(const struct rs_image *image)
{
	struct rs_kallsyms *k = NULL;
	uint64_t size;
	struct rs_ksym sym, again;

	fuzz_drop(rs_kallsyms_find(image, &k));
	for (uint32_t i = 0; k && rs_kallsyms_at(k, i, &sym); i += 37) {
		MUST(*sym.name && memchr(sym.name, 0, sizeof(sym.name)));
		MUST(rs_kallsyms_by_name(k, sym.name, &again));
		MUST(rs_kallsyms_has(k, sym.name, sym.address));
		if (!sym.percpu && sym.address >= RS_IMAGE_FROM)
			MUST(rs_kallsyms_by_address(k, sym.address, &again, &size) &&
			     again.address == sym.address);
	}
	rs_kallsyms_destroy(k);
}

static void made_run(struct fuzz_input *in)
{
	uint8_t layout = fuzz_u8(in);
	uint32_t from, to;
	struct rs_image image = made_image(layout % MADE_LAYOUTS, layout & 0x80, &from, &to);

	while (in->left) {
		uint32_t at = fuzz_u32(in) % (to - from);

		image.data[from + at] ^= fuzz_u8(in);
	}
	image_run(&image);
	rs_image_deinit(&image);
}

static void memory_run(struct fuzz_input *in)
{
	struct rs_linux_vcpu vcpu = { .regs = { .cr0 = UINT64_C(1) << 31, .efer = 1 << 10 } };
	struct rs_memory *memory = calloc(1, sizeof(*memory));
	struct rs_linux *kernel = NULL;
	uint64_t roots[RS_IMAGE_ROOTS_MAX];
	uint32_t n;

	MUST(memory);
	vcpu.regs.cr3 = fuzz_u64(in);
	vcpu.regs.cr4 = fuzz_u64(in);
	vcpu.regs.gs_base = fuzz_u64(in);
	memory->ram[memory->n_ram++] = (struct rs_ram){ 0, in->left, in->at };
	rs_memory_at(memory, &vcpu.regs);
	n = rs_image_roots(memory, 0, in->left, roots, RS_IMAGE_ROOTS_MAX);
	MUST(n <= RS_IMAGE_ROOTS_MAX);
	if (n)
		vcpu.regs.cr3 = roots[n - 1];
	fuzz_drop(rs_linux_open(memory, &vcpu, 1, &kernel));
	if (kernel) {
		struct rs_linux_tasks tasks = { 0 };

		fuzz_drop(rs_linux_tasks_read(kernel, &tasks));
		rs_linux_tasks_deinit(&tasks);
	}
	rs_linux_close(kernel);
	free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct rs_image image = { .n_runs = 1 };

	switch (fuzz_u8(&in) % 4) {
	case 0:
		btf_run(&in);
		break;
	case 1:
		image.data = (uint8_t *)(uintptr_t)in.at;
		image.bytes = in.left;
		image.runs[0] = (struct rs_image_run){ MADE_GVA, in.left, 0 };
		image_run(&image);
		break;
	case 2:
		made_run(&in);
		break;
	default:
		memory_run(&in);
	}
	return 0;
}
