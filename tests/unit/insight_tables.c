/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel's symbol tables and types, made from literal facts: each layout of kallsyms that Linux
 * has had, and structures with members at each place that BTF allows. tests/introspect/linux.test
 * uses Debian's kernels, which have three of these layouts.
 */
#include "../test.h"

#include "../../fuzz/kernel_made.h"
#include "insight/task.h"

static void expected_name(uint32_t i, char *name)
{
	strcpy(name, MADE_TOKEN MADE_TOKEN);
	made_name(i, name + strlen(name));
}

static void layout_check(enum made_layout layout, bool percpu)
{
	uint32_t from, to;
	struct rs_image image = made_image(layout, percpu, &from, &to);
	struct rs_kallsyms *k = NULL;
	struct rs_ksym sym;
	char name[320];
	uint64_t size;

	REQUIRE_OK(rs_kallsyms_find(&image, &k));
	rs_image_deinit(&image); /* the tables are copied */
	CHECK_EQ_U64(rs_kallsyms_count(k), MADE_SYMBOLS);
	for (uint32_t i = 0; i < MADE_SYMBOLS; i++) {
		bool is_percpu = percpu && i < MADE_PERCPU;

		expected_name(i, name);
		CHECK(rs_kallsyms_at(k, i, &sym));
		CHECK_STR(sym.name, name);
		CHECK_EQ_U64(sym.address, made_address(i, percpu));
		CHECK(sym.type == 'T' && sym.percpu == is_percpu);
		CHECK(rs_kallsyms_by_name(k, name, &sym));
		CHECK_EQ_U64(sym.address, made_address(i, percpu));
		CHECK(rs_kallsyms_has(k, name, sym.address));
		CHECK(!rs_kallsyms_has(k, name, sym.address + 1));
		if (is_percpu)
			continue;
		CHECK(rs_kallsyms_by_address(k, sym.address + MADE_STEP - 1, &sym, &size));
		CHECK_STR(sym.name, name);
		CHECK_EQ_U64(size, i + 1 < MADE_SYMBOLS ? MADE_STEP : 0);
	}
	CHECK(!rs_kallsyms_at(k, MADE_SYMBOLS, &sym));
	CHECK(!rs_kallsyms_by_name(k, "symbol", &sym));
	CHECK(!rs_kallsyms_by_address(k, MADE_BASE - 1, &sym, &size));
	rs_kallsyms_destroy(k);
}

TEST(symbols_until_6_1)
{
	layout_check(MADE_OLD, true);
	layout_check(MADE_OLD, false);
}

TEST(symbols_of_6_2_and_6_3)
{
	layout_check(MADE_SEQS_4, true);
	layout_check(MADE_SEQS_3, true);
	layout_check(MADE_SEQS_3, false);
}

TEST(symbols_since_6_4)
{
	layout_check(MADE_NEW, true);
	layout_check(MADE_NEW, false);
}

TEST(symbols_since_7_0)
{
	layout_check(MADE_PC_RELATIVE, false);
}

/*
 * Each byte of the tables is changed. The tables that are still found have the same number of
 * symbols, and can be read.
 */
static void changes_check(enum made_layout layout)
{
	uint32_t from, to, found = 0;
	struct rs_image image = made_image(layout, layout == MADE_OLD, &from, &to);

	for (uint32_t at = from; at < to; at++) {
		struct rs_kallsyms *k = NULL;
		struct rs_error *err;
		struct rs_ksym sym;

		image.data[at] ^= 0x41;
		err = rs_kallsyms_find(&image, &k);
		image.data[at] ^= 0x41;
		if (err) {
			CHECK(rs_error_code(err) == RS_USAGE);
			rs_error_free(err);
			continue;
		}
		found++;
		CHECK_EQ_U64(rs_kallsyms_count(k), MADE_SYMBOLS);
		for (uint32_t i = 0; i < MADE_SYMBOLS; i += 50)
			CHECK(rs_kallsyms_at(k, i, &sym) && strlen(sym.name));
		rs_kallsyms_destroy(k);
	}
	CHECK(found > 0 && found < to - from);
	rs_image_deinit(&image);
}

TEST(changed_symbols_are_refused_or_bounded)
{
	changes_check(MADE_OLD);
	changes_check(MADE_PC_RELATIVE);
}

TEST(an_image_without_symbols)
{
	static uint8_t data[8192];
	struct rs_image image = { .data = data, .bytes = sizeof(data), .n_runs = 1 };
	struct rs_kallsyms *k = NULL;

	image.runs[0] = (struct rs_image_run){ MADE_GVA, sizeof(data), 0 };
	CHECK_ERR(rs_kallsyms_find(&image, &k), RS_USAGE, "symbol table (kallsyms) was not found");
	memcpy(data, "0\0001\0002\0003\0004\0005\0006\0007\0008\0009", 20);
	CHECK_ERR(rs_kallsyms_find(&image, &k), RS_USAGE, "damaged");
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* Modules after the kernel, of which each page is a run: those beyond the limit are left out. */
TEST(an_image_of_more_runs_than_the_limit)
{
	enum { ROOT = 0x1000, UPPER = 0x2000, MIDDLE = 0x3000, LOW = 0x4000, OTHER = 0x5000 };
	static uint8_t ram[0x10000];
	static struct rs_memory memory;
	struct rs_image image = { 0 };
	const uint64_t page = 0x6000 | 1;
	uint32_t n = RS_IMAGE_RUNS_MAX - 1;

	memory.ram[0] = (struct rs_ram){ 0, sizeof(ram), ram };
	memory.n_ram = 1;
	memory.paging = (struct rs_paging){ 0x80000000, ROOT, 0x20, 0x400, 0 };
	memcpy(ram + ROOT + 8 * 511, &(uint64_t){ UPPER | 1 }, 8);
	memcpy(ram + UPPER + 8 * 510, &(uint64_t){ MIDDLE | 1 }, 8);
	memcpy(ram + MIDDLE + 8 * 8, &(uint64_t){ LOW | 1 }, 8);     /* 0xffffffff81000000 */
	memcpy(ram + MIDDLE + 8 * 256, &(uint64_t){ OTHER | 1 }, 8); /* 0xffffffffa0000000 */
	for (uint32_t i = 0; i < 10; i++)
		memcpy(ram + LOW + 8 * i, &page, 8);
	for (uint32_t i = 0; i < n; i++)
		memcpy(ram + OTHER + 16 * i, &page, 8);
	REQUIRE_OK(rs_image_copy(&memory, &image));
	CHECK_EQ_U64(image.n_runs, RS_IMAGE_RUNS_MAX);
	CHECK(!image.is_cut);
	rs_image_deinit(&image);
	memcpy(ram + OTHER + 16 * n, &page, 8);
	REQUIRE_OK(rs_image_copy(&memory, &image));
	CHECK_EQ_U64(image.n_runs, RS_IMAGE_RUNS_MAX);
	CHECK(image.is_cut);
	CHECK_EQ_U64(image.runs[0].gva, UINT64_C(0xffffffff81000000));
	CHECK_EQ_U64(image.runs[0].bytes, 10 * 4096);
	rs_image_deinit(&image);
}

/* ---- tasks ---------------------------------------------------------------------------------- */

/* Samples of a running guest have the kernel's bytes, and tasks a printable name. */
TEST(names_of_tasks)
{
	static const struct {
		char comm[RS_TASK_COMM_BYTES];
		const char *name;
	} names[] = {
		{ "beta", "beta" },
		{ "caf\xe9", "caf?" },			     /* Latin-1 */
		{ "a\x1b[1m", "a?[1m" },		     /* a control character */
		{ "fourteen chars\xc3", "fourteen chars?" }, /* UTF-8, cut */
		{ "caf\xc3\xa9", "caf\xc3\xa9" },
	};
	static const char endless[RS_TASK_COMM_BYTES] = { 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h',
							  'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p' };
	struct rs_linux_task task = { 0 };

	CHECK(!rs_linux_task_set_name(&task, endless) && !rs_linux_task_has_name(&task, endless));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		REQUIRE(rs_linux_task_set_name(&task, names[i].comm));
		CHECK_STR(task.comm, names[i].name);
		CHECK(rs_linux_task_has_name(&task, names[i].comm));
		CHECK(!rs_linux_task_has_name(&task, i ? "beta\0\0\0\0\0\0\0\0\0\0\0"
						       : "gamma\0\0\0\0\0\0\0\0\0\0"));
	}
}

/* ---- types ---------------------------------------------------------------------------------- */

static void member_check(const struct rs_btf *btf, const char *type, const char *path,
			 struct rs_btf_member expected)
{
	struct rs_btf_member member = { 0 };

	CHECK(rs_btf_member(btf, rs_btf_struct(btf, type), path, &member));
	CHECK_EQ_U64(member.offset, expected.offset);
	CHECK_EQ_U64(member.bytes, expected.bytes);
	CHECK_EQ_U64(member.elements, expected.elements);
	CHECK_EQ_U64(member.bitfield, expected.bitfield);
	CHECK_EQ_U64(member.bit_offset, expected.bit_offset);
}

TEST(members_by_their_paths)
{
	uint8_t room[1024];
	uint32_t bytes = made_btf(room);
	struct rs_btf_member member;
	struct rs_btf *btf = NULL;
	uint32_t outer;

	REQUIRE_OK(rs_btf_create(room, bytes, &btf));
	outer = rs_btf_struct(btf, "outer");
	CHECK_EQ_U64(rs_btf_count(btf), 10);
	CHECK_EQ_U64(rs_btf_struct_bytes(btf, outer), 48);
	member_check(btf, "outer", "first", (struct rs_btf_member){ .bytes = 4 });
	member_check(btf, "outer", "list",
		     (struct rs_btf_member){ .offset = 4, .bytes = 24, .elements = 6 });
	member_check(btf, "outer", "inner.second",
		     (struct rs_btf_member){ .offset = 32, .bytes = 4 });
	member_check(btf, "outer", "pointer", (struct rs_btf_member){ .offset = 40, .bytes = 8 });
	member_check(
		btf, "flagged", "bits",
		(struct rs_btf_member){ .offset = 1, .bytes = 4, .bitfield = 5, .bit_offset = 3 });
	CHECK(!rs_btf_member(btf, outer, "second", &member)); /* of inner, which has a name */
	CHECK(!rs_btf_member(btf, outer, "first.second", &member));
	CHECK(!rs_btf_member(btf, outer, "", &member));
	CHECK(!rs_btf_struct(btf, "alias") && !rs_btf_struct_bytes(btf, 1));
	rs_btf_destroy(btf);
}

TEST(types_cut_at_each_byte_and_changed)
{
	static const char *const paths[] = { "first", "list", "inner.second", "pointer" };
	uint8_t room[1024], copy[1024];
	uint32_t bytes = made_btf(room);

	for (uint32_t i = 0; i < bytes * 3; i++) {
		uint32_t size = i < bytes ? i : bytes;
		struct rs_btf_member member;
		struct rs_btf *btf = NULL;
		struct rs_error *err;

		memcpy(copy, room, bytes);
		if (i >= bytes)
			copy[i % bytes] ^= i < 2 * bytes ? 0xff : 0x05;
		err = rs_btf_create(copy, size, &btf);
		CHECK(!err || rs_error_code(err) == RS_DAMAGED);
		CHECK(err || i >= bytes);
		rs_error_free(err);
		for (uint32_t p = 0; btf && p < 4; p++)
			rs_btf_member(btf, rs_btf_struct(btf, "outer"), paths[p], &member);
		rs_btf_destroy(btf);
	}
}
