/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the findings in a guest's memory: vCPUs, tasks, areas, symbols, stacks. */
#ifndef RS_VIEW_INSIGHT_H
#define RS_VIEW_INSIGHT_H

#include "insight/modules.h"
#include "insight/stack.h"
#include "view/table.h"

struct rs_insight_vcpu {
	uint32_t vcpu;
	uint32_t space; /* a number for each different page table, from 1 on */
	uint64_t cr3, rip;
	bool is_user;		/* it was in user mode */
	bool has_cpu, has_task; /* Linux's */
	uint32_t cpu;
	struct rs_linux_task task;
	bool has_function; /* the function of rip */
	uint64_t function_offset;
	char function[RS_CELL_TEXT_MAX];
};

struct rs_insight_area {
	struct rs_linux_area area;
	char rights[5];
	char *name; /* NULL: none, or unknown */
};

struct rs_insight_symbol {
	const char *requested;
	uint64_t requested_address; /* the requested address: the symbol's, or one within it */
	uint64_t size;		    /* bytes to the next symbol; 0: unknown */
	struct rs_ksym sym;
	char module[RS_MODULE_NAME_MAX]; /* "": it is the kernel's own */
};

/* A function of a frame, or a frame without a known function. */
struct rs_insight_frame {
	uint32_t frame; /* the innermost is 0 */
	bool is_kernel;
	struct rs_linux_frame at;
	bool inlined; /* inlined into the function of the next row */
	uint64_t offset;
	char function[RS_CELL_TEXT_MAX]; /* "": unknown */
	uint32_t line;			 /* 0: unknown */
	char file[RS_CELL_TEXT_MAX], module[RS_CELL_TEXT_MAX];
};

/* The columns of tables of these rows, and of a table of struct rs_linux_task. */
extern const struct rs_column rs_insight_vcpu_columns[], rs_insight_task_columns[],
	rs_insight_area_columns[], rs_insight_symbol_columns[], rs_insight_frame_columns[];

#endif
