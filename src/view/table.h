/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables. A report declares its columns and passes its rows; this code writes text, JSON and CSV.
 *
 *	#define AT(member) RS_COLUMN_AT(struct row, member)
 *
 *	static const struct rs_column columns[] = {
 *		{ "vm", "VM", RS_COLUMN_TEXT, rs_column_text, AT(vm) },
 *		{ "count", "COUNT", RS_COLUMN_NUMBER, rs_column_u64, AT(count) },
 *		RS_COLUMN_SPREAD(get_spread, 0, 0),
 *		{ 0 },
 *	};
 *
 * An unknown value is "-" in text, null in JSON and an empty field in CSV. Each row is written when
 * it is passed. The columns of text are as wide as their widest cell, so text needs each row twice:
 * first for rs_table_measure(), then for rs_table_row(). rs_table_rows() does both.
 */
#ifndef RS_VIEW_TABLE_H
#define RS_VIEW_TABLE_H

#include "base/hist.h"
#include "base/json.h"

#define RS_TABLE_COLUMNS_MAX 48
#define RS_CELL_TEXT_MAX     96

enum rs_table_form {
	RS_TABLE_TEXT,
	RS_TABLE_JSON, /* one object per row, in the caller's array or line */
	RS_TABLE_CSV,  /* RFC 4180, below a line of the keys */
};

/* The type of a column's values determines their representation in each form. */
enum rs_column_type {
	RS_COLUMN_TEXT,	  /* left-aligned; the others are right-aligned */
	RS_COLUMN_NUMBER, /* unsigned */
	RS_COLUMN_SIGNED,
	RS_COLUMN_HEX,	/* "0x..." in each form */
	RS_COLUMN_BOOL, /* CSV: 0, 1 */
	RS_COLUMN_REAL,
	RS_COLUMN_SHARE, /* in percent */
	RS_COLUMN_TIME,	 /* JSON, CSV: KEY_ns, and with a clock KEY_cycles; text: 12.3us */
	RS_COLUMN_HIST,	 /* only JSON: a list of from_ns, to_ns, count */
};

/* One value of a row. A getter that sets nothing leaves it unknown. */
struct rs_cell {
	bool known;
	union {
		uint64_t value;
		double real;
		const char *text; /* valid until the row is written; may be in room */
		const struct rs_hist *hist;
	};
	char room[RS_CELL_TEXT_MAX];
};

struct rs_column;
typedef void rs_column_fn(const struct rs_column *column, const void *report, const void *row,
			  struct rs_cell *cell);

/* Begins a getter, which sets `cell` to the value of `column` in the row `at`. */
#define RS_COLUMN_GETTER(name)                                                                     \
	static void name(const struct rs_column *column __attribute__((unused)),                   \
			 const void *report __attribute__((unused)),                               \
			 const void *at __attribute__((unused)), struct rs_cell *cell)

struct rs_column {
	const char *key;  /* in JSON and CSV; NULL: the column is only in text */
	const char *head; /* in text; NULL: the column is only in JSON and CSV */
	enum rs_column_type type;
	rs_column_fn *get;
	uint32_t arg;	    /* for the getter: an offset in the row, a percentile */
	uint32_t sets;	    /* the table has the column if it has one of these sets; 0: always */
	uint32_t text_sets; /* the same for text */
	uint16_t width;	    /* minimum width in text */
};

/* The clock of times that are ticks of a TSC or of CLOCK_MONOTONIC. */
struct rs_table_clock {
	uint64_t tsc_hz; /* 0: unknown */
	bool ticks_are_ns;
};

struct rs_table {
	struct rs_json *json; /* writes to the output in each form */
	enum rs_table_form form;
	const struct rs_column *columns;    /* terminated by an empty one */
	const void *report;		    /* the getters' */
	const char *name;		    /* "table" in JSON and CSV; NULL: omitted */
	const struct rs_table_clock *clock; /* NULL: times are ns */
	uint32_t sets;
	bool has_head; /* the header has been written */
	/* Another tool's layout: numbers are left-aligned, a longer cell moves the following ones,
	 * and a row keeps its last blanks. */
	bool fixed;
	uint16_t widths[RS_TABLE_COLUMNS_MAX]; /* used by the table */
};

/* Widens the columns of text for a row. No-op for other forms. */
void rs_table_measure(struct rs_table *table, const void *row);

/* Writes the line of heads (text) or keys (CSV) unless has_head is set; sets has_head. */
void rs_table_head(struct rs_table *table);

void rs_table_row(const struct rs_table *table, const void *row);

/* Writes n rows, `bytes` apart, below a header. */
void rs_table_rows(struct rs_table *table, const void *rows, size_t n, size_t bytes);

/* Returns the rows of a kind, and sets *n_of to their number. Rows begin with their kind, an enum,
 * and are sorted by it. */
const void *rs_table_kind(const void *rows, size_t n, size_t bytes, int kind, size_t *n_of);

/* Convert ticks. Return false if the frequency is unknown. */
bool rs_table_ns(const struct rs_table_clock *clock, uint64_t ticks, uint64_t *ns);
bool rs_table_cycles(const struct rs_table_clock *clock, uint64_t ticks, uint64_t *cycles);

static inline void rs_cell_number(struct rs_cell *cell, uint64_t value)
{
	cell->known = true;
	cell->value = value;
}

/* Sets a number, which is unknown below `least`. */
static inline void rs_cell_known(struct rs_cell *cell, int value, int least)
{
	if (value >= least)
		rs_cell_number(cell, (uint64_t)value);
}

/* Sets a text that outlives the row; NULL leaves it unknown. */
static inline void rs_cell_text(struct rs_cell *cell, const char *text)
{
	cell->known = text != NULL;
	cell->text = text;
}

void rs_cell_format(struct rs_cell *cell, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void rs_cell_real(struct rs_cell *cell, double value);

/* Sets the percentage of `part` in `of`, which is unknown if `of` is 0. */
void rs_cell_share(struct rs_cell *cell, uint64_t part, uint64_t of);

/* Getters of a member of the row. arg is the member's offset. */
#define RS_COLUMN_AT(type, member) ((uint32_t)offsetof(type, member))
rs_column_fn rs_column_u64, rs_column_u32;
rs_column_fn rs_column_int;  /* unknown below 0 */
rs_column_fn rs_column_id;   /* unknown below 1 */
rs_column_fn rs_column_text; /* a const char *; unknown if NULL or empty */

/* The distribution of durations. All reports show it with the same columns. */
struct rs_spread {
	uint64_t n, total, min, max; /* n: number of durations; 0: all members are unknown */
	const struct rs_hist *hist;
};
#define RS_SPREAD_MIN  0u /* a column's arg; between these: permille */
#define RS_SPREAD_MAX  1000u
#define RS_SPREAD_MEAN 1001u
void rs_cell_spread(struct rs_cell *cell, const struct rs_spread *spread, uint32_t arg);

/* The columns of a spread, with a getter that calls rs_cell_spread(), and with their sets. */
#define RS_COLUMN_SPREAD(get, all_sets, mean_sets)                                                 \
	{ "min", "MIN", RS_COLUMN_TIME, get, RS_SPREAD_MIN, all_sets },                            \
		{ "mean", "MEAN", RS_COLUMN_TIME, get, RS_SPREAD_MEAN, mean_sets },                \
		{ "p50", "P50", RS_COLUMN_TIME, get, 500, all_sets },                              \
		{ "p95", "P95", RS_COLUMN_TIME, get, 950, all_sets },                              \
		{ "p99", "P99", RS_COLUMN_TIME, get, 990, all_sets },                              \
	{                                                                                          \
		"max", "MAX", RS_COLUMN_TIME, get, RS_SPREAD_MAX, all_sets                         \
	}

#endif
