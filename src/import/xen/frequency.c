/* SPDX-License-Identifier: BSD-2-Clause */
/* Estimates the TSC frequency of a Xen trace from run times, and checks a given frequency. */
#include "import/xen/frequency.h"

#include <stdlib.h>

#include "base/vector.h"

#define RUNS_MAX (1u << 17)
/* A longer run may exceed the 4.29 s that 32 bits of ns hold. At 5 GHz, this one does not. */
#define RUN_CYCLES_MAX UINT64_C(2000000000)
#define RUN_DELAY_NS   100000  /* the delay until a run's record, if no record shows a longer one */
#define RUNS_ENOUGH    16      /* for the range of delays; else all chains count */
#define CHAIN_NS_MIN   1000000 /* a shorter chain gives no estimate */
#define ERROR_MAX      0.1     /* a worse estimate is not used */
#define ROUNDING       1e-3    /* the rounding of a given frequency */

/* A run's length by the TSC, and as reported by Xen. */
struct run {
	uint64_t cycles;
	uint32_t ns;
	uint32_t at; /* index in the order of the records */
	uint16_t pcpu;
	bool follows; /* it follows the previous run of its CPU, in a chain */
};

/* The last record on a CPU that has a vCPU's run time. */
struct lane {
	uint64_t last_tsc; /* 0: no record so far, or records were lost since */
	uint32_t last_ns;
	bool goes_on; /* the next run follows the run that was added last */
};

struct rs_xen_runs {
	struct run *runs;
	uint32_t n, room;
	bool no_memory;
	struct lane lanes[RS_XEN_CPUS_MAX];
};

static void run_add(struct rs_xen_runs *r, const struct run *run)
{
	if (r->n == RUNS_MAX)
		return;
	if (!RS_VECTOR_RESERVE(r->runs, r->room, r->n + 1)) {
		r->no_memory = true;
		return;
	}
	r->runs[r->n] = *run;
	r->runs[r->n].at = r->n;
	r->n++;
}

/* Returns whether cycles and ns agree with a frequency from 100 MHz to 10 GHz. Short runs always
 * do. */
static bool can_be(uint64_t cycles, uint32_t ns)
{
	return cycles <= RUN_CYCLES_MAX && cycles >= ns / 10 && cycles / 10 <= ns + RUN_DELAY_NS;
}

/* Adds a run time. At a switch (ends), the run of the next vCPU begins. */
static void run_observe(struct rs_xen_runs *r, uint32_t run_ns, bool ends, uint64_t tsc,
			uint32_t pcpu)
{
	struct lane *lane = &r->lanes[pcpu];
	struct run run = { .cycles = tsc - lane->last_tsc,
			   .ns = run_ns - lane->last_ns,
			   .pcpu = (uint16_t)pcpu,
			   .follows = lane->goes_on };

	lane->goes_on = lane->last_tsc && can_be(run.cycles, run.ns);
	if (lane->goes_on)
		run_add(r, &run);
	lane->last_tsc = tsc;
	lane->last_ns = ends ? 0 : run_ns;
}

void rs_xen_runs_add(struct rs_xen_runs *r, const struct rs_xen_record *record, uint64_t tsc,
		     uint32_t pcpu)
{
	if (rs_xen_number(record->event) == RS_XEN_SWITCH_PREV && record->n >= 2)
		run_observe(r, record->words[record->n - 1], true, tsc, pcpu);
	else if (record->event == RS_XEN_SWITCH_CONTINUE && record->n == 4)
		run_observe(r, record->words[2], false, tsc, pcpu);
	else if (record->event == RS_XEN_LOST_RECORDS)
		r->lanes[pcpu] = (struct lane){ 0 };
}

static void add_record(void *ctx, const struct rs_xen_record *record, uint64_t tsc, uint32_t pcpu)
{
	rs_xen_runs_add(ctx, record, tsc, pcpu);
}

struct rs_xen_runs *rs_xen_runs_create(void)
{
	return calloc(1, sizeof(struct rs_xen_runs));
}

void rs_xen_runs_destroy(struct rs_xen_runs *r)
{
	if (r)
		free(r->runs);
	free(r);
}

struct chain {
	const struct run *runs;
	uint32_t n;
	double cycles, ns;
	double range; /* the range of its records' delays, ns */
};

static struct chain chain_make(const struct run *runs, uint32_t n)
{
	struct chain chain = { .runs = runs, .n = n };
	double late = 0, least = 0, most = 0;

	for (uint32_t i = 0; i < n; i++) {
		chain.cycles += (double)runs[i].cycles;
		chain.ns += runs[i].ns;
	}
	for (uint32_t i = 0; i < n && chain.cycles > 0; i++) { /* earlier than the first record */
		late += (double)runs[i].cycles * chain.ns / chain.cycles - runs[i].ns;
		least = late < least ? late : least;
		most = late > most ? late : most;
	}
	chain.range = most - least;
	return chain;
}

/* Returns the chain after this one. Its n is 0 at the end. */
static struct chain chain_next(const struct rs_xen_runs *r, const struct chain *chain)
{
	const struct run *from, *to, *end;

	if (!r->n)
		return (struct chain){ 0 };
	end = r->runs + r->n;
	from = to = chain->runs + chain->n;
	while (to < end && (to == from || to->follows))
		to++;
	return chain_make(from, (uint32_t)(to - from));
}

/* Sorts runs by CPU, and the runs of a CPU in the order of the records, so that a run is after the
 * run that it follows. */
static int by_cpu(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->pcpu != y->pcpu)
		return x->pcpu < y->pcpu ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Returns the frequency by a chain whose first and last delay may each exceed the range. */
static struct rs_xen_frequency chain_result(const struct chain *chain, double range)
{
	double error_ns = 2 * range > RUN_DELAY_NS ? 2 * range : RUN_DELAY_NS;

	if (chain->ns < CHAIN_NS_MIN)
		return (struct rs_xen_frequency){ 0 };
	return (struct rs_xen_frequency){ .hz = (uint64_t)(chain->cycles * 1e9 / chain->ns + 0.5),
					  .runs = chain->n,
					  .error = error_ns / chain->ns };
}

struct rs_error *rs_xen_runs_result(struct rs_xen_runs *r, struct rs_xen_frequency *frequency)
{
	struct rs_xen_frequency best = { .error = ERROR_MAX }, found;
	struct chain chain = { .runs = r->runs };
	double widest = 0;

	if (r->no_memory)
		return rs_error_no_memory();
	if (r->n)
		qsort(r->runs, r->n, sizeof(*r->runs), by_cpu);
	while ((chain = chain_next(r, &chain)).n)
		widest = chain.range > widest ? chain.range : widest;
	chain.runs = r->runs;
	while ((chain = chain_next(r, &chain)).n) {
		found = chain_result(&chain, chain.n < RUNS_ENOUGH ? widest : chain.range);
		if (found.hz && found.error <= best.error)
			best = found;
	}
	*frequency = best;
	return NULL;
}

struct rs_error *rs_xen_frequency_find(const struct rs_xen_records *records,
				       struct rs_xen_frequency *frequency)
{
	struct rs_xen_runs *runs = rs_xen_runs_create();
	struct rs_error *err;

	if (!runs)
		return rs_error_no_memory();
	rs_xen_records_survey(records, add_record, runs);
	err = rs_xen_runs_result(runs, frequency);
	rs_xen_runs_destroy(runs);
	return err;
}

bool rs_xen_frequency_contradicts(const struct rs_xen_frequency *frequency, uint64_t hz)
{
	double told = (double)hz, found = (double)frequency->hz;
	double apart = told > found ? told - found : found - told;

	return frequency->hz && apart > found * (frequency->error + ROUNDING);
}
