/* SPDX-License-Identifier: BSD-2-Clause */
/* Estimates the TSC frequency of a Xen trace from run times, and questions one that is given. */
#include "source/xentrace_frequency.h"

#include <stdlib.h>
#include <string.h>

#define RUNS_MAX  (1u << 17)
#define RUNS_ROOM 256u /* at first; twice as many when they are full */
/* A run so long may be of more than 4.29 s, which 32 bits of ns do not hold: at 5 GHz it is not. */
#define RUN_CYCLES_MAX UINT64_C(2000000000)
#define RUN_DELAY_NS   100000 /* until a run is traced, where the records do not show more */
#define RUNS_ENOUGH    16 /* to show the range of their delays; else that of all chains is taken */
#define CHAIN_NS_MIN   1000000 /* of less nothing can be said */
#define ERROR_MAX      0.1     /* an estimate that is no better is none */
#define ROUNDING       1e-3    /* of a frequency that is written down */

/* By the TSC and by Xen. */
struct run {
	uint64_t cycles;
	uint32_t ns;
	bool follows; /* the one before, in a chain */
};

struct making {
	struct run *runs;
	uint32_t n, room;
	bool no_memory;
	bool begins; /* the next run is a chain's first */
	/* Where Xen last told on this CPU how long its vCPU had run. */
	uint32_t told_pcpu, told_ns;
	uint64_t told_tsc; /* 0: it has not, or records were lost since */
};

static void run_add(struct making *m, uint64_t cycles, uint32_t ns)
{
	struct run *more;
	uint32_t room;

	if (m->n == m->room && m->room < RUNS_MAX) {
		room = m->room ? m->room * 2 : RUNS_ROOM;
		more = reallocarray(m->runs, room, sizeof(*more));
		if (!more) {
			m->no_memory = true;
			return;
		}
		m->runs = more;
		m->room = room;
	}
	if (m->n == m->room)
		return;
	m->runs[m->n++] = (struct run){ cycles, ns, !m->begins };
	m->begins = false;
}

/* Whether so many cycles can be so many ns: 100 MHz to 10 GHz, and short ones whatever. */
static bool can_be(uint64_t cycles, uint32_t ns)
{
	return cycles <= RUN_CYCLES_MAX && cycles >= ns / 10 && cycles / 10 <= ns + RUN_DELAY_NS;
}

/* After a switch (ends) the next vCPU's run begins. */
static void see_run(struct making *m, uint32_t run_ns, bool ends, uint64_t tsc, uint32_t pcpu)
{
	uint64_t cycles = tsc - m->told_tsc;
	uint32_t ns = run_ns - m->told_ns;

	if (!m->told_tsc || m->told_pcpu != pcpu || !can_be(cycles, ns))
		m->begins = true;
	else
		run_add(m, cycles, ns);
	m->told_pcpu = pcpu;
	m->told_tsc = tsc;
	m->told_ns = ends ? 0 : run_ns;
}

static void see(void *ctx, const struct rs_xen_record *record, uint64_t tsc, uint32_t pcpu)
{
	struct making *m = ctx;

	if (rs_xen_number(record->event) == RS_XEN_SWITCH_PREV && record->n >= 2)
		see_run(m, record->words[record->n - 1], true, tsc, pcpu);
	else if (record->event == RS_XEN_SWITCH_CONTINUE && record->n == 4)
		see_run(m, record->words[2], false, tsc, pcpu);
	else if (record->event == RS_XEN_LOST_RECORDS)
		m->told_tsc = 0;
}

struct chain {
	const struct run *runs;
	uint32_t n;
	double cycles, ns;
	double range; /* of the delays of its records, ns */
};

static struct chain chain_make(const struct run *runs, uint32_t n)
{
	struct chain chain = { .runs = runs, .n = n };
	double late = 0, least = 0, most = 0;

	for (uint32_t i = 0; i < n; i++) {
		chain.cycles += (double)runs[i].cycles;
		chain.ns += runs[i].ns;
	}
	for (uint32_t i = 0; i < n && chain.cycles > 0; i++) { /* than the first record */
		late += (double)runs[i].cycles * chain.ns / chain.cycles - runs[i].ns;
		least = late < least ? late : least;
		most = late > most ? late : most;
	}
	chain.range = most - least;
	return chain;
}

/* The chain after this one; n 0: there is none. */
static struct chain chain_next(const struct making *m, const struct chain *chain)
{
	const struct run *from, *to, *end;

	if (!m->n)
		return (struct chain){ 0 };
	end = m->runs + m->n;
	from = to = chain->runs + chain->n;
	while (to < end && (to == from || to->follows))
		to++;
	return chain_make(from, (uint32_t)(to - from));
}

/* What a chain says of which the first and the last delay may each be beyond a range. */
static struct rs_xen_frequency chain_tell(const struct chain *chain, double range)
{
	double error_ns = 2 * range > RUN_DELAY_NS ? 2 * range : RUN_DELAY_NS;

	if (chain->ns < CHAIN_NS_MIN)
		return (struct rs_xen_frequency){ 0 };
	return (struct rs_xen_frequency){ .hz = (uint64_t)(chain->cycles * 1e9 / chain->ns + 0.5),
					  .runs = chain->n,
					  .error = error_ns / chain->ns };
}

struct rs_error *rs_xen_frequency_find(const struct rs_xen_records *records,
				       struct rs_xen_frequency *frequency)
{
	struct making m = { .begins = true };
	struct rs_xen_frequency best = { .error = ERROR_MAX }, found;
	struct chain chain = { 0 };
	double widest = 0;

	rs_xen_records_survey(records, see, &m);
	chain.runs = m.runs;
	while ((chain = chain_next(&m, &chain)).n)
		widest = chain.range > widest ? chain.range : widest;
	chain.runs = m.runs;
	while ((chain = chain_next(&m, &chain)).n) {
		found = chain_tell(&chain, chain.n < RUNS_ENOUGH ? widest : chain.range);
		if (found.hz && found.error <= best.error)
			best = found;
	}
	free(m.runs);
	if (m.no_memory)
		return rs_error_no_memory();
	*frequency = best;
	return NULL;
}

bool rs_xen_frequency_contradicts(const struct rs_xen_frequency *frequency, uint64_t hz)
{
	double told = (double)hz, found = (double)frequency->hz;
	double apart = told > found ? told - found : found - told;

	return frequency->hz && apart > found * (frequency->error + ROUNDING);
}
