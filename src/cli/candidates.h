/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sources of candidates for shell completion of an argument. Files that this user may not read
 * yield no candidates and no error.
 */
#ifndef RS_CLI_CANDIDATES_H
#define RS_CLI_CANDIDATES_H

#include <argp.h>
#include <stdint.h>

/* The word to complete, its verb, and the function that receives the candidates. */
struct rs_cli_wish {
	const struct argp *argp;   /* the verb's; NULL: no verb */
	const char *words;	   /* from the argument's row in arguments.h; may be NULL */
	const char *begins;	   /* what the word begins with */
	const char *const *traces; /* the verb's arguments so far, which may be traces */
	uint32_t n_traces;
	/* `help` may be NULL. The function drops words that do not begin with the prefix. */
	void (*offer)(const char *word, const char *help, void *context);
	void *context;
};

typedef void rs_cli_source_fn(const struct rs_cli_wish *wish);

rs_cli_source_fn rs_cli_offer_words;	   /* the words of the row */
rs_cli_source_fn rs_cli_offer_rows;	   /* the rows in the verb's --help */
rs_cli_source_fn rs_cli_offer_formats;	   /* other tools' trace formats */
rs_cli_source_fn rs_cli_offer_levels;	   /* of a log */
rs_cli_source_fn rs_cli_offer_xen_classes; /* of Xen's events */
rs_cli_source_fn rs_cli_offer_tracepoints; /* SYSTEM:EVENT, of this kernel */
rs_cli_source_fn rs_cli_offer_vms;	   /* those of the traces, or else the running ones */
rs_cli_source_fn rs_cli_offer_vms_live;	   /* that run */
rs_cli_source_fn rs_cli_offer_pids;	   /* of VMs that run */
rs_cli_source_fn rs_cli_offer_tids;	   /* of their vCPUs */
rs_cli_source_fn rs_cli_offer_probes;	   /* those of the traces, or else the catalogue's */
rs_cli_source_fn rs_cli_offer_program;	   /* the words that can begin a D program */

#endif
