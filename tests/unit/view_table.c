/* SPDX-License-Identifier: BSD-2-Clause */
/* A table with each type of column as text, JSON and CSV. */
#include "../test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "view/table.h"

struct row {
	const char *name;
	int cpu;
	uint64_t n, address, flag;
	uint64_t total, least, most;
	struct rs_hist hist;
};

RS_COLUMN_GETTER(get_share)
{
	const struct row *row = at;

	rs_cell_share(cell, row->n, *(const uint64_t *)report);
}

RS_COLUMN_GETTER(get_spread)
{
	const struct row *row = at;
	const struct rs_spread spread = { row->n, row->total, row->least, row->most, &row->hist };

	rs_cell_spread(cell, &spread, column->arg);
}

RS_COLUMN_GETTER(get_hist)
{
	cell->known = true;
	cell->hist = &((const struct row *)at)->hist;
}

#define AT(member) RS_COLUMN_AT(struct row, member)
#define DETAIL	   2u

static const struct rs_column columns[] = {
	{ "name", "NAME", RS_COLUMN_TEXT, rs_column_text, AT(name) },
	{ "cpu", "CPU", RS_COLUMN_NUMBER, rs_column_int, AT(cpu) },
	{ "n", "COUNT", RS_COLUMN_NUMBER, rs_column_u64, AT(n) },
	{ NULL, "SHARE%", RS_COLUMN_SHARE, get_share },
	{ "share", NULL, RS_COLUMN_SHARE, get_share },
	{ "address", "ADDRESS", RS_COLUMN_HEX, rs_column_u64, AT(address) },
	{ "flag", NULL, RS_COLUMN_BOOL, rs_column_u64, AT(flag) },
	RS_COLUMN_SPREAD(get_spread, DETAIL, DETAIL),
	{ "hist", NULL, RS_COLUMN_HIST, get_hist, 0, DETAIL },
	{ 0 },
};

static struct row rows[] = {
	{ "a", 3, 2, 0x10, 1, 3000, 1000, 2000 },
	{ "two \"b\",\xff", -1, 0, UINT64_MAX, 0, 0, 0, 0 },
};

/* Prints the rows into memory. */
static void check_rows(enum rs_table_form form, uint32_t sets, const struct rs_table_clock *clock,
		       const char *expected)
{
	static const uint64_t of = 8;
	struct rs_out out;
	struct rs_json json = { .out = &out };
	struct rs_table table = { .json = &json,
				  .form = form,
				  .columns = columns,
				  .report = &of,
				  .sets = 1 | sets,
				  .clock = clock };
	char text[4096] = { 0 };
	int fd = memfd_create("table", MFD_CLOEXEC);

	CHECK_OK(rs_out_init(&out, fd));
	rs_table_rows(&table, rows, 2, sizeof(rows[0]));
	CHECK_OK(rs_out_end(&out, NULL));
	CHECK(pread(fd, text, sizeof(text) - 1, 0) >= 0);
	CHECK_STR(text, expected);
	close(fd);
}

TEST(text_is_as_wide_as_its_cells)
{
	check_rows(RS_TABLE_TEXT, 0, NULL,
		   "NAME       CPU  COUNT  SHARE%             ADDRESS\n"
		   "a            3      2    25.0                0x10\n"
		   "two \"b\",\xff    -      0     0.0  0xffffffffffffffff\n");
}

TEST(json_has_null_for_unknown_values)
{
	check_rows(RS_TABLE_JSON, 0, NULL,
		   "{\"name\":\"a\",\"cpu\":3,\"n\":2,\"share\":25.000000,\"address\":\"0x10\","
		   "\"flag\":true},{\"name\":\"two \\\"b\\\",?\",\"cpu\":null,\"n\":0,"
		   "\"share\":0.000000,\"address\":\"0xffffffffffffffff\",\"flag\":false}");
}

TEST(csv_is_quoted_where_necessary)
{
	check_rows(RS_TABLE_CSV, 0, NULL,
		   "name,cpu,n,share,address,flag\n"
		   "a,3,2,25.000000,0x10,1\n"
		   "\"two \"\"b\"\",\xff\",,0,0.000000,0xffffffffffffffff,0\n");
}

TEST(times_are_ns_and_cycles_if_the_clock_is_known)
{
	const struct rs_table_clock known = { .tsc_hz = 2000000000 }, unknown = { 0 };

	rows[0].hist.count[rs_hist_bucket(1000)] = 2;
	check_rows(
		RS_TABLE_TEXT, DETAIL, &known,
		"NAME       CPU  COUNT  SHARE%             ADDRESS     MIN    MEAN     P50     P95"
		"     P99     MAX\n"
		"a            3      2    25.0                0x10   500ns   750ns   500ns   512ns"
		"   512ns  1.00us\n"
		"two \"b\",\xff    -      0     0.0  0xffffffffffffffff       -       -       -"
		"       -       -       -\n");
	check_rows(RS_TABLE_CSV, DETAIL, &unknown,
		   "name,cpu,n,share,address,flag,min_cycles,min_ns,mean_cycles,mean_ns,p50_cycles,"
		   "p50_ns,p95_cycles,p95_ns,p99_cycles,p99_ns,max_cycles,max_ns\n"
		   "a,3,2,25.000000,0x10,1,1000,,1500,,1000,,1023,,1023,,2000,\n"
		   "\"two \"\"b\"\",\xff\",,0,0.000000,0xffffffffffffffff,0,,,,,,,,,,,,\n");
}

TEST(json_has_a_list_for_a_distribution)
{
	rows[0].hist.count[rs_hist_bucket(1000)] = 2;
	rows[0].name = "h";
	check_rows(RS_TABLE_JSON, DETAIL, NULL,
		   "{\"name\":\"h\",\"cpu\":3,\"n\":2,\"share\":25.000000,\"address\":\"0x10\","
		   "\"flag\":true,\"min_ns\":1000,\"mean_ns\":1500,\"p50_ns\":1000,"
		   "\"p95_ns\":1023,\"p99_ns\":1023,\"max_ns\":2000,"
		   "\"hist\":[{\"from_ns\":512,\"to_ns\":1023,\"count\":2}]},"
		   "{\"name\":\"two \\\"b\\\",?\",\"cpu\":null,\"n\":0,\"share\":0.000000,"
		   "\"address\":\"0xffffffffffffffff\",\"flag\":false,\"min_ns\":null,"
		   "\"mean_ns\":null,\"p50_ns\":null,\"p95_ns\":null,\"p99_ns\":null,"
		   "\"max_ns\":null,\"hist\":[]}");
}
