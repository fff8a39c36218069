/* SPDX-License-Identifier: BSD-2-Clause */
/* The catalogue's rows, and its queries: values, probes, CPU lists. */
#include "../test.h"

#include <ctype.h>

#include "event/catalogue.h"
#include "event/query.h"
#include <ringside/record.h>

#define KVM_HEADER "/usr/include/linux/kvm.h"

/* ---- rows --------------------------------------------------------------------------------- */

static void check_row(const struct rs_catalogue *catalogue, const struct rs_catalogue_row *row)
{
	static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789-";

	CHECK(row->n > 0 && row->n <= RS_ID_N_MAX);
	CHECK(RS_ID(catalogue->number, row->n) < UINT64_C(1) << 32);
	CHECK(row->name[0] && !row->name[strspn(row->name, word)]);
	CHECK(row->class_name[0] && !row->class_name[strspn(row->class_name, word)]);
	CHECK(row->help[0] != '\0');
	CHECK(row->n_fields <= RS_FIELDS_MAX);
	for (uint16_t i = 0; i < row->n_fields; i++) {
		const struct rs_field *f = &row->fields[i];

		CHECK(f->type != RS_TYPE_TEXT || i + 1 == row->n_fields);
		CHECK((f->show == RS_SHOW_ENUM) == (f->values != NULL));
		CHECK(f->show != RS_SHOW_NAME || f->type == RS_TYPE_U32);
		CHECK(f->show != RS_SHOW_TSC || f->type == RS_TYPE_U64);
		if (f->values)
			CHECK(rs_catalogue_values(f->values_name) == f->values);
	}
}

/* A schema does not check rows of the catalogue again, so here each is added like other events. */
static void check_as_event(const struct rs_catalogue *catalogue, const struct rs_catalogue_row *row)
{
	const struct rs_event event = { .id = RS_ID(RS_IDS_USER, row->n),
					.provider = catalogue->provider,
					.class_name = row->class_name,
					.name = row->name,
					.help = row->help,
					.fields = row->fields,
					.n_fields = row->n_fields,
					.kind = row->kind };
	struct rs_schema *schema;

	REQUIRE_OK(rs_schema_create("test", &schema));
	rs_schema_set_xen(schema);
	CHECK_OK(rs_schema_add(schema, &event));
	rs_schema_destroy(schema);
}

TEST(rows_are_sound_and_ids_are_unique)
{
	uint64_t ids[512];
	size_t n = 0;

	for (uint32_t i = 0; i == 0 || rs_catalogue_provider(i - 1); i++) {
		const struct rs_catalogue *c =
			rs_catalogue_find(i ? rs_catalogue_provider(i - 1) : NULL);

		REQUIRE(c != NULL);
		CHECK(c->number != RS_IDS_USER);
		for (uint32_t j = 0; j < c->n_rows; j++) {
			check_row(c, &c->rows[j]);
			check_as_event(c, &c->rows[j]);
			REQUIRE(n < 512);
			ids[n] = RS_ID(c->number, c->rows[j].n);
			for (size_t k = 0; k < n; k++)
				CHECK(ids[k] != ids[n]);
			n++;
		}
	}
	CHECK(n > 10);
	CHECK(rs_catalogue_find("nobody") == NULL);
	CHECK(rs_catalogue_values("nothing") == NULL);
}

/* KVM_EXIT_x constants inside an exit's own structure, not an exit. */
static bool is_within(const char *name)
{
	static const char *const within[] = { "io_in",	      "io_out",	       "hyperv_synic",
					      "hyperv_hcall", "hyperv_syndbg", "xen_hcall" };

	for (size_t i = 0; i < sizeof(within) / sizeof(within[0]); i++) {
		if (!strcmp(within[i], name))
			return true;
	}
	return false;
}

TEST(kvm_exit_reasons_equal_linux_kvm_h)
{
	const struct rs_enum *values = rs_catalogue_values("kvm_exit_reason");
	FILE *file = fopen(KVM_HEADER, "re");
	char line[512], name[128];
	unsigned int value, n = 0;

	if (!file)
		TEST_SKIP("no " KVM_HEADER);
	while (fgets(line, sizeof(line), file)) {
		const char *have;

		if (sscanf(line, "#define KVM_EXIT_%127s %u", name, &value) != 2)
			continue;
		for (char *c = name; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		if (is_within(name))
			continue;
		have = rs_enum_name(values, value);
		CHECK_STR(have, name);
		n++;
	}
	fclose(file);
	CHECK(n > 30);
}

/* ---- values ------------------------------------------------------------------------------- */

TEST(values_of_every_width_and_sign)
{
	static const uint8_t payload[] = { 0xaa, 0x80, 0x7f, 0xff, 0xfe, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0x7f, 0x01, 0x02, 0x03 };
	static const struct {
		enum rs_type type;
		uint16_t offset;
		uint64_t value;
	} cases[] = {
		{ RS_TYPE_U8, 1, 0x80 },
		{ RS_TYPE_S8, 1, (uint64_t)-128 },
		{ RS_TYPE_S8, 2, 127 },
		{ RS_TYPE_U16, 3, 0xfeff },
		{ RS_TYPE_S16, 3, (uint64_t)(int16_t)0xfeff },
		{ RS_TYPE_S16, 9, 0x7fff },
		{ RS_TYPE_U32, 3, 0xfffffeff },
		{ RS_TYPE_S32, 3, (uint64_t)-257 },
		{ RS_TYPE_S32, 7, 0x7fffffff },
		{ RS_TYPE_U64, 3, UINT64_C(0x7ffffffffffffeff) },
		{ RS_TYPE_S64, 3, UINT64_C(0x7ffffffffffffeff) },
		{ RS_TYPE_S64, 0, UINT64_C(0xfffffffeff7f80aa) },
		{ RS_TYPE_U64, 5, UINT64_C(0x02017fffffffffff) },
		{ RS_TYPE_TEXT, 12, 0x0302 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rs_field field = { .type = cases[i].type, .offset = cases[i].offset };

		CHECK_EQ_U64(rs_field_value(&field, payload), cases[i].value);
	}
}

TEST(enumerations)
{
	static const struct rs_enum values[] = {
		{ "a", 0 }, { "b", UINT64_MAX }, { "c", 7 }, { "d", 7 }, { NULL, 0 }
	};

	CHECK_STR(rs_enum_name(values, 0), "a");
	CHECK_STR(rs_enum_name(values, UINT64_MAX), "b");
	CHECK_STR(rs_enum_name(values, 7), "c");
	CHECK(rs_enum_name(values, 8) == NULL);
	CHECK(rs_enum_name(values + 4, 0) == NULL);
	CHECK(rs_enum_name(NULL, 0) == NULL);
}

/* ---- probes ------------------------------------------------------------------------------- */

TEST(probe_names_match_as_in_d)
{
	static const struct rs_event code = { .provider = "guest",
					      .class_name = "kernel",
					      .function = "do_sys_openat2",
					      .name = "entry" };
	static const struct rs_event plain = {
		.provider = "vmm", .class_name = "vcpu", .function = "", .name = "exit"
	};
	static const struct {
		const char *glob;
		bool code, plain;
	} cases[] = {
		{ "", true, true },
		{ "*", true, true },
		{ "entry", true, false },
		{ "exit", false, true },
		{ "vmm:vcpu::exit", false, true },
		{ "vmm:::", false, true },
		{ ":vcpu::", false, true },
		{ ":::exit", false, true },
		{ ":::", true, true },
		{ "do_sys_openat2:entry", true, false },
		{ ":entry", true, false },
		{ "vcpu::exit", false, true },
		{ "vcpu:*:exit", false, true },
		{ "vmm:exit", false, false }, /* function:name */
		{ "vmm", false, false },
		{ "guest:kernel:do_*:", true, false },
		{ "guest:kernel:do_*:e?try", true, false },
		{ "guest:kernel:[d]o_*:e[mn]try", true, false },
		{ "guest:kernel:[!d]o_*:entry", false, false },
		{ "VMM:vcpu::exit", false, false },
		{ "vmm:vcpu::exi", false, false },
		{ "vmm:vcpu::exitt", false, false },
		{ "vmm:vcpu::exit ", false, false },
		{ "vmm:vcpu::exit:", false, false }, /* five fields */
		{ "::::", false, false },
		{ "vmm:vcpu:x:exit", false, false },
		{ "\\vmm:vcpu::exit", false, true },
		{ "vmm:vcpu::[", false, false },
	};
	char glob[600];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (rs_probe_match(cases[i].glob, &code) != cases[i].code ||
		    rs_probe_match(cases[i].glob, &plain) != cases[i].plain)
			test_fail(TEST_HERE, "'%s'", cases[i].glob);
	}
	memset(glob, '*', sizeof(glob) - 1);
	glob[sizeof(glob) - 1] = '\0';
	CHECK(!rs_probe_match(glob, &plain)); /* too long to be a probe; no overflow */
	glob[255] = '\0';
	CHECK(rs_probe_match(glob, &plain));
	memset(glob, ':', sizeof(glob) - 1);
	glob[sizeof(glob) - 1] = '\0';
	CHECK(!rs_probe_match(glob, &plain));
}

TEST(a_query_selects_every_loss)
{
	struct rs_event lost = { .provider = "p",
				 .class_name = "trace",
				 .function = "",
				 .name = "records-lost",
				 .kind = RS_KIND_LOSS };
	struct rs_event other = { .provider = "p", .class_name = "c", .function = "", .name = "n" };
	struct rs_query query;

	rs_query_init(&query);
	CHECK(rs_query_is_all(&query));
	CHECK(rs_query_wants(&query, &other));
	query.globs[query.n_globs++] = "q:::";
	CHECK(!rs_query_is_all(&query));
	CHECK(!rs_query_wants(&query, &other));
	CHECK(rs_query_wants(&query, &lost));
	query.globs[query.n_globs++] = "c::n";
	CHECK(rs_query_wants(&query, &other));
}

/* ---- CPU lists ---------------------------------------------------------------------------- */

TEST(cpu_lists)
{
	static const struct {
		const char *list;
		int in[4], out[4];
	} good[] = {
		{ "0", { 0, 0, 0, 0 }, { 1, -1, 4095, 64 } },
		{ "0-3,7", { 0, 1, 3, 7 }, { 4, 6, 8, -1 } },
		{ "4095", { 4095, 4095, 4095, 4095 }, { 4094, 0, 4096, 8191 } },
		{ "63-64", { 63, 64, 63, 64 }, { 62, 65, 0, 128 } },
		{ "5-5,5,1-2", { 5, 1, 2, 5 }, { 0, 3, 4, 6 } },
		{ "0-4095", { 0, 64, 4000, 4095 }, { -1, 4096, INT32_MAX, INT32_MIN } },
		{ "007", { 7, 7, 7, 7 }, { 0, 6, 8, 70 } },
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct rs_cpu_set set = { 0 };

		CHECK(rs_cpu_set_has(&set, 5) && rs_cpu_set_has(&set, RS_UNKNOWN));
		REQUIRE_OK(rs_cpu_set_parse(&set, good[i].list));
		for (size_t j = 0; j < 4; j++) {
			CHECK(rs_cpu_set_has(&set, good[i].in[j]));
			CHECK(!rs_cpu_set_has(&set, good[i].out[j]));
		}
	}
}

TEST(bad_cpu_lists_are_reported_with_the_column)
{
	static const struct {
		const char *list, *part;
	} bad[] = {
		{ "", "column 1" },	 { "x", "column 1" },
		{ ",", "column 1" },	 { "-1", "column 1" },
		{ "1,", "column 3" },	 { "1,,2", "column 3" },
		{ "1-", "column 3" },	 { "1-x", "column 3" },
		{ "3-1", "column 4" },	 { "0x10", "column 2" },
		{ "1 ", "column 2" },	 { " 1", "column 1" },
		{ "4096", "column 1" },	 { "0-4096", "column 3" },
		{ "1;2", "column 2" },	 { "99999999999999999999999", "column 1" },
		{ "1-2-3", "column 4" }, { "+1", "column 1" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct rs_cpu_set set = { 0 };

		CHECK_ERR(rs_cpu_set_parse(&set, bad[i].list), RS_USAGE, bad[i].part);
	}
}
