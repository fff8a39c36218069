/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sources of words for a shell's completion of an argument. Files that this user may not read
 * give no words, and no error.
 */
#ifndef RS_CLI_CANDIDATES_H
#define RS_CLI_CANDIDATES_H

#include <argp.h>
#include <stdint.h>

/* The word that is completed, its verb, and the function that receives the candidates. */
struct rs_cli_wish {
	const struct argp *argp;   /* of the verb; NULL: of none */
	const char *words;	   /* of the argument's row in arguments.h; may be NULL */
	const char *begins;	   /* what the word begins with */
	const char *const *traces; /* the verb's arguments so far, which may be traces */
	uint32_t n_traces;
	/* `help` may be NULL. Words that begin otherwise are dropped there. */
	void (*offer)(const char *word, const char *help, void *context);
	void *context;
};

typedef void rs_cli_source_fn(const struct rs_cli_wish *wish);

rs_cli_source_fn rs_cli_offer_words;	   /* the words of the row */
rs_cli_source_fn rs_cli_offer_rows;	   /* the rows that the verb's --help lists */
rs_cli_source_fn rs_cli_offer_formats;	   /* of other tools' traces that can be read */
rs_cli_source_fn rs_cli_offer_levels;	   /* of a log */
rs_cli_source_fn rs_cli_offer_xen_classes; /* of Xen's events */
rs_cli_source_fn rs_cli_offer_tracepoints; /* SYSTEM:EVENT, of this kernel */
rs_cli_source_fn rs_cli_offer_vms;	   /* of the traces if there are any, else that run */
rs_cli_source_fn rs_cli_offer_vms_live;	   /* that run */
rs_cli_source_fn rs_cli_offer_pids;	   /* of VMs that run */
rs_cli_source_fn rs_cli_offer_tids;	   /* of their vCPUs */
rs_cli_source_fn rs_cli_offer_probes;	   /* of the traces if there are any, else known ones */
rs_cli_source_fn rs_cli_offer_program;	   /* what a program in D can begin with */

#endif
