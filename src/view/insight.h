/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of what is found in a guest's memory: vCPUs, tasks, areas, symbols, stacks. */
#ifndef RS_VIEW_INSIGHT_H
#define RS_VIEW_INSIGHT_H

#include "insight/stack.h"
#include "view/table.h"

struct rs_insight_vcpu {
	uint32_t vcpu;
	uint32_t space; /* a number for each different page table, from 1 on; not a processor's */
	uint64_t cr3, rip;
	bool is_user;		/* it was in user mode */
	bool has_cpu, has_task; /* Linux's */
	uint32_t cpu;
	struct rs_linux_task task;
	bool has_function; /* which rip is in */
	uint64_t function_offset;
	char function[RS_CELL_TEXT_MAX];
};

struct rs_insight_area {
	struct rs_linux_area area;
	char rights[5];
	char *name; /* NULL: it has none, or it cannot be told */
};

struct rs_insight_symbol {
	const char *asked;
	uint64_t asked_address; /* of what was asked: the symbol's, or one in it */
	uint64_t size;		/* to the next symbol; 0: not known */
	struct rs_ksym sym;
};

/* A function that a frame is in, or a frame that is in none. */
struct rs_insight_frame {
	uint32_t frame; /* the innermost is 0 */
	bool is_kernel;
	struct rs_linux_frame at;
	bool inlined; /* into the function of the next row */
	uint64_t offset;
	char function[RS_CELL_TEXT_MAX]; /* "": unknown */
	uint32_t line;			 /* 0: unknown */
	char file[RS_CELL_TEXT_MAX], module[RS_CELL_TEXT_MAX];
};

/* Columns of tables whose rows are those, and of one whose rows are struct rs_linux_task. */
extern const struct rs_column rs_insight_vcpu_columns[], rs_insight_task_columns[],
	rs_insight_area_columns[], rs_insight_symbol_columns[], rs_insight_frame_columns[];

#endif
