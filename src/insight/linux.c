/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds a guest's Linux kernel, and reads its tables and structures. */
#include "insight/linux.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "insight/modules.h"

#define BANNER		"Linux version "
#define INIT_COMM	"swapper"
#define PTI_USER_BIT	(UINT64_C(1) << 12) /* PTI_USER_PGTABLE_BIT, arch/x86/mm/pti.c */
#define ROOT		UINT64_C(0x000ffffffffff000)
#define TEXT_ENTRY	(511u * 8) /* offset in a page table of the kernel's text's entry */
#define VCPUS_TRIED_MAX RS_IMAGE_ROOTS_MAX
#define TABLE_ALIGN_MAX 64u
#define EXPORTED_MAX	(1u << 17) /* number of symbols; kernels have some 30,000 */
#define NS_PER_S	1000000000

/* ---- reading -------------------------------------------------------------------------------- */

struct rs_error *rs_linux_bytes(struct rs_linux *kernel, uint64_t gva, void *buf, size_t bytes)
{
	uint64_t at = gva;
	enum rs_fault fault = rs_memory_read(&kernel->memory, gva, buf, bytes, &at);

	return fault ? rs_error_create(RS_DAMAGED, "kernel memory at 0x%" PRIx64 ": %s", at,
				       rs_fault_text(fault))
		     : NULL;
}

struct rs_error *rs_linux_need(const struct rs_linux *kernel, const enum rs_field_id *ids,
			       uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!kernel->fields.fields[ids[i]].found)
			return kernel->btf ? rs_error_create(RS_USAGE, "this kernel has no %s",
							     rs_field_name(ids[i]))
					   : rs_error_create(RS_USAGE,
							     "the layouts of this kernel's "
							     "structures are unknown: %s",
							     rs_error_text(kernel->no_btf));
	return NULL;
}

static uint64_t from_bytes(const uint8_t *at, const struct rs_btf_member *member)
{
	uint64_t value = 0;

	memcpy(&value, at, member->bytes < 8 ? member->bytes : 8);
	if (member->bitfield && member->bitfield < 64)
		value = value >> member->bit_offset & ((UINT64_C(1) << member->bitfield) - 1);
	return value;
}

struct rs_error *rs_linux_read(struct rs_linux *kernel, uint64_t gva, enum rs_field_id id,
			       uint64_t *value)
{
	const struct rs_btf_member *member = &kernel->fields.fields[id].member;
	struct rs_error *err = rs_linux_need(kernel, &id, 1);
	uint8_t buf[8] = { 0 };

	if (!err)
		err = rs_linux_bytes(kernel, gva + member->offset, buf,
				     member->bytes < sizeof(buf) ? member->bytes : sizeof(buf));
	if (!err)
		*value = from_bytes(buf, member);
	return err ? rs_error_wrap(err, "%s", rs_field_name(id)) : NULL;
}

uint64_t rs_linux_value(const struct rs_linux *kernel, const uint8_t *copy, size_t bytes,
			enum rs_field_id id)
{
	const struct rs_btf_member *member = &kernel->fields.fields[id].member;
	uint64_t size = member->bytes < 8 ? member->bytes : 8;

	if (!kernel->fields.fields[id].found || (uint64_t)member->offset + size > bytes)
		return 0;
	return from_bytes(copy + member->offset, member);
}

/* ---- finding -------------------------------------------------------------------------------- */

static struct rs_error *banner_check(struct rs_linux *kernel)
{
	struct rs_ksym text, banner;

	if (!rs_kallsyms_by_name(kernel->symbols, "_text", &text) ||
	    !rs_kallsyms_by_name(kernel->symbols, "linux_banner", &banner) || text.percpu ||
	    banner.percpu)
		return rs_error_create(RS_USAGE,
				       "the kernel's symbols have no _text or no linux_banner");
	if (rs_memory_read_text(&kernel->memory, banner.address, kernel->version,
				sizeof(kernel->version), NULL) ||
	    strncmp(kernel->version, BANNER, strlen(BANNER)) != 0)
		return rs_error_create(RS_DAMAGED,
				       "there is no \"" BANNER "\" at the symbol linux_banner: the "
				       "symbols are not those of this kernel");
	kernel->version[strcspn(kernel->version, "\n")] = '\0';
	kernel->text = text.address;
	kernel->banner = banner.address;
	return NULL;
}

/* An exported symbol: struct kernel_symbol of include/linux/export.h, with offsets relative to each
 * member (CONFIG_HAVE_ARCH_PREL32_RELOCATIONS, since 4.19). */
struct exported {
	int32_t value, name, name_space;
};

/* Checks the symbols of exported functions against the kernel's second table of their names and
 * addresses, which lies between two symbols. */
static struct rs_error *exported_check(const struct rs_linux *kernel, const struct rs_image *image,
				       const char *from_name, const char *to_name, uint32_t *n)
{
	struct rs_ksym from, to;

	if (!rs_kallsyms_by_name(kernel->symbols, from_name, &from) ||
	    !rs_kallsyms_by_name(kernel->symbols, to_name, &to))
		return NULL;
	for (uint64_t at = from.address; at < to.address; at += sizeof(struct exported)) {
		const uint8_t *entry = rs_image_at(image, at, sizeof(struct exported));
		const char *name;
		struct exported e;

		if (++*n > EXPORTED_MAX || !entry)
			return rs_error_create(
				RS_DAMAGED, "the kernel's exported symbols are not in its image");
		memcpy(&e, entry, sizeof(e));
		name = rs_image_text(image, at + 4 + (uint64_t)(int64_t)e.name,
				     RS_KALLSYMS_NAME_MAX);
		if (!name ||
		    !rs_kallsyms_has(kernel->symbols, name, at + (uint64_t)(int64_t)e.value))
			return rs_error_create(RS_DAMAGED,
					       "the symbol table (kallsyms) and the exported "
					       "symbols do not agree%s%s",
					       name ? " on " : "", name ? name : "");
	}
	return NULL;
}

static struct rs_error *symbols_check(const struct rs_linux *kernel, const struct rs_image *image)
{
	uint32_t n = 0;
	struct rs_error *err =
		exported_check(kernel, image, "__start___ksymtab", "__stop___ksymtab", &n);

	return err ? err
		   : exported_check(kernel, image, "__start___ksymtab_gpl", "__stop___ksymtab_gpl",
				    &n);
}

static struct rs_error *btf_find(const struct rs_linux *kernel, const struct rs_image *image,
				 struct rs_btf **btf)
{
	struct rs_ksym from, to;
	const uint8_t *at;

	if (!rs_kallsyms_by_name(kernel->symbols, "__start_BTF", &from) ||
	    !rs_kallsyms_by_name(kernel->symbols, "__stop_BTF", &to))
		return rs_error_create(RS_USAGE, "the kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
	at = to.address > from.address ? rs_image_at(image, from.address, to.address - from.address)
				       : NULL;
	if (!at)
		return rs_error_create(RS_DAMAGED, "the kernel's BTF is not in its image");
	return rs_btf_create(at, to.address - from.address, btf);
}

/* Checks the structures by means of the first task: in each kernel, it is "swapper", number 0. */
static struct rs_error *init_check(struct rs_linux *kernel)
{
	static const enum rs_field_id needed[] = { RS_FIELD_TASK_COMM, RS_FIELD_TASK_PID,
						   RS_FIELD_TASK_TASKS };
	char comm[sizeof(INIT_COMM) - 1];
	struct rs_error *err = rs_linux_need(kernel, needed, 3);
	uint64_t pid = 0;
	struct rs_ksym init;

	if (err)
		return err;
	if (!rs_kallsyms_by_name(kernel->symbols, "init_task", &init))
		return rs_error_create(RS_USAGE, "the kernel's symbols have no init_task");
	err = rs_linux_bytes(kernel,
			     init.address + kernel->fields.fields[RS_FIELD_TASK_COMM].member.offset,
			     comm, sizeof(comm));
	if (!err)
		err = rs_linux_read(kernel, init.address, RS_FIELD_TASK_PID, &pid);
	if (!err && (pid || memcmp(comm, INIT_COMM, sizeof(comm)) != 0))
		err = rs_error_create(RS_DAMAGED, "init_task is not \"" INIT_COMM
						  "\", number 0: BTF and symbols "
						  "do not agree");
	return err;
}

/* Finds the kernel through one page table. Sets *is_table if the table maps pages at kernel
 * addresses. */
static struct rs_error *attempt(struct rs_linux *kernel, bool *is_table)
{
	struct rs_image image = { 0 };
	struct rs_error *err = rs_image_copy(&kernel->memory, &image);

	*is_table = !err;
	if (!err)
		err = rs_kallsyms_find(&image, &kernel->symbols);
	if (err && image.is_cut)
		err = rs_error_wrap(err,
				    "of the pages at the addresses of Linux's kernel, only the "
				    "first %u MiB or %u runs were searched",
				    (unsigned)(RS_IMAGE_BYTES_MAX >> 20), RS_IMAGE_RUNS_MAX);
	if (!err)
		err = banner_check(kernel);
	if (!err)
		err = symbols_check(kernel, &image);
	if (!err) {
		kernel->no_btf = btf_find(kernel, &image, &kernel->btf);
		if (kernel->btf) {
			rs_fields_find(kernel->btf, &kernel->fields);
			kernel->no_btf = init_check(kernel);
		}
		if (kernel->no_btf) {
			rs_btf_destroy(kernel->btf);
			kernel->btf = NULL;
			memset(&kernel->fields, 0, sizeof(kernel->fields));
		}
	}
	rs_image_deinit(&image);
	return err;
}

/* Sets the roots to try: the root that a vCPU uses and, with PTI, before it the kernel's, which is
 * the page before the user's. Returns their number. */
static uint32_t roots_of(uint64_t cr3, uint64_t roots[2])
{
	roots[0] = cr3 & ROOT & ~PTI_USER_BIT;
	roots[1] = cr3 & ROOT;
	return cr3 & PTI_USER_BIT ? 2 : 1;
}

/*
 * Returns whether the page after a process's page table has its second one, which user mode uses.
 * Without PTI, Linux 6.15 and later allocate one page (pgd_allocation_order()), and the next may
 * have another process's. The second one has own tables of the kernel's text, of which it maps a
 * part; the kernel's own page table has both since before the first process.
 */
static bool has_pti(struct rs_linux *kernel)
{
	struct rs_ksym first;
	uint64_t kernels, users;

	if (kernel->pti != RS_PTI_UNKNOWN)
		return kernel->pti == RS_PTI_ON;
	if (!rs_kallsyms_by_name(kernel->symbols, "init_top_pgt", &first) ||
	    rs_memory_read(&kernel->memory, first.address + TEXT_ENTRY, &kernels, 8, NULL) ||
	    rs_memory_read(&kernel->memory, first.address + PTI_USER_BIT + TEXT_ENTRY, &users, 8,
			   NULL))
		return true; /* unknown: Linux before 6.15 always allocates two */
	kernel->pti = users & 1 && users != kernels ? RS_PTI_ON : RS_PTI_OFF;
	return kernel->pti == RS_PTI_ON;
}

bool rs_linux_is_root(struct rs_linux *kernel, uint64_t cr3, uint64_t root)
{
	if ((cr3 & ROOT) == root)
		return true;
	return cr3 & PTI_USER_BIT && (cr3 & ROOT & ~PTI_USER_BIT) == root && has_pti(kernel);
}

static struct rs_error *attempt_vcpu(const struct rs_memory *memory,
				     const struct rs_linux_vcpu *vcpu, struct rs_linux **out)
{
	uint64_t roots[2];
	struct rs_error *why = NULL;
	uint32_t n = roots_of(vcpu->regs.cr3, roots);
	bool explains = false;

	for (uint32_t i = 0; i < n; i++) {
		struct rs_linux *kernel = calloc(1, sizeof(*kernel));
		struct rs_x86_regs regs = vcpu->regs;
		bool is_table = false;
		struct rs_error *err;

		if (!kernel)
			return rs_error_first(rs_error_no_memory(), why);
		kernel->memory = *memory;
		regs.cr3 = roots[i];
		rs_memory_at(&kernel->memory, &regs);
		err = attempt(kernel, &is_table);
		if (!err) {
			*out = kernel;
			rs_error_free(why);
			return NULL;
		}
		rs_linux_close(kernel);
		/* Without PTI, the page before the root is not a table, and its error is not
		 * reported. */
		if (is_table && !explains) {
			rs_error_free(why);
			why = NULL;
		}
		explains |= is_table;
		why = rs_error_first(why, err);
	}
	return why;
}

struct rs_error *rs_linux_open(const struct rs_memory *memory, const struct rs_linux_vcpu *vcpus,
			       uint32_t n, struct rs_linux **out)
{
	struct rs_error *first = NULL;

	for (uint32_t i = 0; i < n && i < VCPUS_TRIED_MAX; i++) {
		struct rs_error *err = attempt_vcpu(memory, &vcpus[i], out);

		if (!err) {
			rs_error_free(first);
			return NULL;
		}
		first = rs_error_first(first, err);
	}
	return first ? first
		     : rs_error_create(RS_USAGE,
				       "no vCPU's registers are known, and without a page table "
				       "no kernel can be found");
}

bool rs_linux_at(struct rs_linux *kernel, const struct rs_memory *memory,
		 const struct rs_x86_regs *regs)
{
	const size_t len = strlen(kernel->version);
	struct rs_x86_regs by = *regs;
	char there[RS_LINUX_VERSION_MAX];
	uint64_t roots[2];
	uint32_t n = roots_of(regs->cr3, roots);

	kernel->memory = *memory;
	kernel->stop++;
	for (uint32_t i = 0; i < n; i++) {
		by.cr3 = roots[i];
		rs_memory_at(&kernel->memory, &by);
		if (!rs_memory_read(&kernel->memory, kernel->banner, there, len, NULL) &&
		    !memcmp(there, kernel->version, len))
			return true;
	}
	return false;
}

void rs_linux_moved(struct rs_linux *kernel)
{
	const struct rs_paging paging = kernel->memory.paging;

	rs_memory_stopped(&kernel->memory, &paging);
	kernel->stop++;
}

void rs_linux_close(struct rs_linux *kernel)
{
	if (!kernel)
		return;
	rs_modules_forget(kernel);
	rs_kallsyms_destroy(kernel->symbols);
	rs_btf_destroy(kernel->btf);
	rs_error_free(kernel->no_btf);
	free(kernel);
}

/* ---- processors ----------------------------------------------------------------------------- */

/* Returns the address of a processor's copy of a per-CPU variable, or 0 if the kernel has no such
 * variable. */
static uint64_t percpu(const struct rs_linux *kernel, const char *name, uint64_t base)
{
	struct rs_ksym sym;

	return rs_kallsyms_by_name(kernel->symbols, name, &sym) ? base + sym.address : 0;
}

/* Returns whether the area at `base` has the number `cpu`. */
static bool number_agrees(struct rs_linux *kernel, uint64_t base, uint32_t cpu)
{
	uint64_t hot = percpu(kernel, "pcpu_hot", base), own = percpu(kernel, "cpu_number", base);
	uint64_t number = UINT64_MAX;
	struct rs_error *err = NULL;
	uint32_t value = 0;

	if (hot) {
		err = rs_linux_read(kernel, hot, RS_FIELD_HOT_CPU, &number);
	} else if (own) {
		err = rs_linux_bytes(kernel, own, &value, sizeof(value));
		number = value;
	}
	if (err) {
		rs_error_free(err);
		return false;
	}
	return number == cpu;
}

/* Finds the processor whose per-CPU area is at `base`, or whose task state segment is at tr_gpa. */
static bool cpu_find(struct rs_linux *kernel, const uint64_t *offsets, uint32_t n, uint64_t base,
		     uint64_t tr_gpa, uint32_t *cpu)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t tss, gpa;

		if (tr_gpa) {
			tss = percpu(kernel, "cpu_tss_rw", offsets[i]);
			if (!tss || rs_memory_translate(&kernel->memory, tss, &gpa) ||
			    gpa != tr_gpa)
				continue;
		} else if (offsets[i] != base) {
			continue;
		}
		if (!number_agrees(kernel, offsets[i], i))
			continue;
		*cpu = i;
		return true;
	}
	return false;
}

/* Finds the processor with an APIC id, which the kernel has in two per-CPU variables. */
static bool cpu_of_apic(struct rs_linux *kernel, const uint64_t *offsets, uint32_t n,
			uint32_t apic_id, uint32_t *cpu)
{
	const enum rs_field_id id_field = kernel->fields.fields[RS_FIELD_CPUINFO_ID].found
						  ? RS_FIELD_CPUINFO_ID
						  : RS_FIELD_CPUINFO_ID_OLD;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t info = percpu(kernel, "cpu_info", offsets[i]), index = 0, id = 0;
		uint64_t other_at = percpu(kernel, "x86_cpu_to_apicid", offsets[i]);
		uint16_t other = 0; /* its low half, until 6.6 all of it */
		struct rs_error *err = NULL;

		if (!info || !other_at)
			return false;
		err = rs_linux_read(kernel, info, RS_FIELD_CPUINFO_INDEX, &index);
		if (!err)
			err = rs_linux_read(kernel, info, id_field, &id);
		if (!err)
			err = rs_linux_bytes(kernel, other_at, &other, sizeof(other));
		*cpu = i;
		if (!err && index == i && id == apic_id && other == (uint16_t)id &&
		    number_agrees(kernel, offsets[i], i))
			return true;
		rs_error_free(err);
	}
	return false;
}

/* Reads __per_cpu_offset[] for all possible processors. */
static struct rs_error *offsets_read(struct rs_linux *kernel, uint64_t **out, uint32_t *n)
{
	struct rs_ksym table, ids;
	struct rs_error *err = NULL;
	uint64_t *offsets;

	if (!rs_kallsyms_by_name(kernel->symbols, "__per_cpu_offset", &table))
		return rs_error_create(RS_USAGE, "the kernel's symbols have no __per_cpu_offset");
	*n = 1;
	if (rs_kallsyms_by_name(kernel->symbols, "nr_cpu_ids", &ids))
		err = rs_linux_bytes(kernel, ids.address, n, sizeof(*n));
	if (err)
		return err;
	if (!*n || *n > RS_LINUX_CPUS_MAX)
		return rs_error_create(RS_DAMAGED, "nr_cpu_ids is %u", *n);
	offsets = malloc(*n * sizeof(*offsets));
	if (!offsets)
		return rs_error_no_memory();
	err = rs_linux_bytes(kernel, table.address, offsets, *n * sizeof(*offsets));
	if (err)
		free(offsets);
	else
		*out = offsets;
	return err;
}

/* Finds the processor of a vCPU whose segment registers are unknown. */
static struct rs_error *cpu_by_apic(struct rs_linux *kernel, const struct rs_linux_vcpu *vcpu,
				    uint32_t *cpu, uint64_t *base)
{
	uint64_t *offsets = NULL;
	uint32_t n = 0;
	struct rs_error *err = offsets_read(kernel, &offsets, &n);

	if (!err && !cpu_of_apic(kernel, offsets, n, vcpu->apic_id, cpu))
		err = rs_error_create(RS_DAMAGED, "no processor of the kernel has the APIC id %u",
				      vcpu->apic_id);
	if (!err)
		*base = offsets[*cpu];
	free(offsets);
	return err;
}

/*
 * In the kernel, gs is the kernel's base and kernel_gs_base the user's, except in the first and
 * last instructions; in user mode, they are swapped. A program can set its base to any address
 * (FSGSBASE), so if both are per-CPU areas, neither is accepted. Only the kernel sets the task
 * state segment, so it takes precedence where it is known.
 */
struct rs_error *rs_linux_cpu(struct rs_linux *kernel, const struct rs_linux_vcpu *vcpu,
			      uint32_t *cpu, uint64_t *base)
{
	bool user = vcpu->regs.cs & 3, one, other;
	uint64_t *offsets = NULL, tr_gpa;
	uint32_t n = 0, by_one = 0, by_other = 0;
	struct rs_error *err;

	if (vcpu->no_bases)
		return cpu_by_apic(kernel, vcpu, cpu, base);
	err = offsets_read(kernel, &offsets, &n);
	if (err)
		return err;
	one = cpu_find(kernel, offsets, n, vcpu->regs.k_gs_base, 0, &by_one);
	other = !user && cpu_find(kernel, offsets, n, vcpu->regs.gs_base, 0, &by_other);
	if (vcpu->tr_base && !rs_memory_translate(&kernel->memory, vcpu->tr_base, &tr_gpa) &&
	    cpu_find(kernel, offsets, n, 0, tr_gpa, &by_one))
		other = !(one = true);
	if (one == other)
		err = rs_error_create(
			RS_DAMAGED,
			one ? "gs and kernel_gs_base are both per-CPU areas"
			    : "neither gs, kernel_gs_base nor tr belongs to a processor of "
			      "the kernel");
	if (!err) {
		*cpu = one ? by_one : by_other;
		*base = offsets[*cpu];
	}
	free(offsets);
	return err;
}

struct rs_error *rs_linux_current_at(struct rs_linux *kernel, uint64_t base, uint64_t *gva)
{
	static const enum rs_field_id hot_task = RS_FIELD_HOT_TASK;
	uint64_t hot = percpu(kernel, "pcpu_hot", base), own = percpu(kernel, "current_task", base);
	struct rs_error *err = hot ? rs_linux_need(kernel, &hot_task, 1) : NULL;

	if (err)
		return err;
	if (!hot && !own)
		return rs_error_create(
			RS_USAGE, "the kernel's symbols have neither pcpu_hot nor current_task");
	*gva = hot ? hot + kernel->fields.fields[hot_task].member.offset : own;
	return NULL;
}

struct rs_error *rs_linux_current(struct rs_linux *kernel, uint64_t base, uint64_t *task)
{
	uint64_t at = 0;
	struct rs_error *err = rs_linux_current_at(kernel, base, &at);

	return err ? err : rs_linux_bytes(kernel, at, task, sizeof(*task));
}

/* ---- time ----------------------------------------------------------------------------------- */

/* Finds the timekeeper (kernel/time/timekeeping.c). Until 6.12 it follows a seqcount in the
 * variable tk_core, whose type has no name. Since 6.13 tk_core is a struct tk_data; since 6.17 it
 * is the first of the array timekeeper_data. */
static struct rs_error *timekeeper_find(struct rs_linux *kernel, uint64_t *gva)
{
	static const enum rs_field_id needed[] = {
		RS_FIELD_TK_SEC,   RS_FIELD_TK_NSEC,	    RS_FIELD_TK_SHIFT,
		RS_FIELD_TK_CLOCK, RS_FIELD_TK_TO_MONO_SEC, RS_FIELD_TK_TO_MONO_NSEC
	};
	uint32_t seqcount = kernel->fields.struct_bytes[RS_STRUCT_SEQCOUNT], seq = 0;
	struct rs_error *err = rs_linux_need(kernel, needed, sizeof(needed) / sizeof(needed[0]));
	struct rs_ksym core;

	if (err)
		return err;
	if (!rs_kallsyms_by_name(kernel->symbols, "tk_core", &core) &&
	    !rs_kallsyms_by_name(kernel->symbols, "timekeeper_data", &core))
		return rs_error_create(RS_USAGE, "the kernel's symbols have neither tk_core nor "
						 "timekeeper_data");
	if (kernel->fields.fields[RS_FIELD_TKDATA_TK].found)
		*gva = core.address + kernel->fields.fields[RS_FIELD_TKDATA_TK].member.offset;
	else if (seqcount && seqcount < TABLE_ALIGN_MAX)
		*gva = core.address + ((seqcount + 7) & ~7u);
	else
		return rs_error_create(RS_USAGE, "this kernel has no struct seqcount_raw_spinlock");
	err = rs_linux_bytes(kernel, core.address, &seq, sizeof(seq));
	if (!err && seq & 1)
		err = rs_error_create(RS_DAMAGED, "the kernel was changing its time");
	return err;
}

/* Checks that the timekeeper's clock is valid: its name is a text. */
static struct rs_error *clock_check(struct rs_linux *kernel, uint64_t timekeeper)
{
	uint64_t clock = 0, name = 0;
	struct rs_error *err = rs_linux_read(kernel, timekeeper, RS_FIELD_TK_CLOCK, &clock);
	char text[32];

	if (!err)
		err = rs_linux_read(kernel, clock, RS_FIELD_CLOCK_NAME, &name);
	if (err)
		return err;
	if (rs_memory_read_text(&kernel->memory, name, text, sizeof(text), NULL) || !*text)
		return rs_error_create(RS_DAMAGED, "the timekeeper's clock has no name");
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~')
			return rs_error_create(RS_DAMAGED, "the timekeeper's clock has an "
							   "invalid name");
	return NULL;
}

struct rs_error *rs_linux_time(struct rs_linux *kernel, int64_t *realtime_ns, int64_t *monotonic_ns)
{
	uint64_t at = 0, sec = 0, shifted = 0, shift = 0, to_sec = 0, to_nsec = 0;
	struct rs_error *err = timekeeper_find(kernel, &at);
	int64_t real, mono;

	if (!err)
		err = clock_check(kernel, at);
	if (!err)
		err = rs_linux_read(kernel, at, RS_FIELD_TK_SEC, &sec);
	if (!err)
		err = rs_linux_read(kernel, at, RS_FIELD_TK_NSEC, &shifted);
	if (!err)
		err = rs_linux_read(kernel, at, RS_FIELD_TK_SHIFT, &shift);
	if (!err)
		err = rs_linux_read(kernel, at, RS_FIELD_TK_TO_MONO_SEC, &to_sec);
	if (!err)
		err = rs_linux_read(kernel, at, RS_FIELD_TK_TO_MONO_NSEC, &to_nsec);
	if (err)
		return err;
	if (shift > 32 || shifted >> shift >= NS_PER_S || sec > INT64_MAX / NS_PER_S - 1 ||
	    to_nsec >= NS_PER_S || (int64_t)to_sec > 0 || (int64_t)to_sec < -(int64_t)sec - 1)
		return rs_error_create(RS_DAMAGED, "the kernel's time is invalid");
	real = (int64_t)sec * NS_PER_S + (int64_t)(shifted >> shift);
	mono = real + (int64_t)to_sec * NS_PER_S + (int64_t)to_nsec;
	if (mono < 0)
		return rs_error_create(RS_DAMAGED, "the kernel's time is invalid");
	*realtime_ns = real;
	*monotonic_ns = mono;
	return NULL;
}
