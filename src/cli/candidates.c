/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the candidates for an argument: words, probes, tracepoints, VMs, processes. */
#include "cli/candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/probes.h"
#include "event/log_line.h"
#include "kvm/kvm.h"
#include "input/open.h"
#include "replay/source.h"
#include "live/tracefs.h"
#include "xen/classes.h"
#include <ringside/log_ring.h>
#include <ringside/reader.h>

#define WORD_MAX 256

static void offer(const struct rs_cli_wish *wish, const char *word, const char *help)
{
	wish->offer(word, help, wish->context);
}

/* ---- fixed lists ---------------------------------------------------------------------------- */

void rs_cli_offer_words(const struct rs_cli_wish *wish)
{
	for (const char *at = wish->words; at && *at; at += strspn(at, " ")) {
		size_t len = strcspn(at, " ");
		char word[WORD_MAX];

		snprintf(word, sizeof(word), "%.*s", (int)len, at);
		offer(wish, word, NULL);
		at += len;
	}
}

void rs_cli_offer_rows(const struct rs_cli_wish *wish)
{
	rs_cli_row_fn *row = wish->argp ? rs_cli_rows_of(wish->argp) : NULL;
	struct rs_cli_row at = { 0 };

	for (size_t i = 0; row && row(i, &at); i++)
		offer(wish, at.name, at.help);
}

void rs_cli_offer_formats(const struct rs_cli_wish *wish)
{
	const struct rs_importer *importer;

	for (uint32_t i = 0; (importer = rs_importer(i)); i++)
		offer(wish, importer->name, importer->help);
}

void rs_cli_offer_levels(const struct rs_cli_wish *wish)
{
	for (uint32_t level = RS_LOG_FATAL; level <= RS_LOG_DEBUG; level++)
		offer(wish, rs_log_level_name(level), NULL);
	rs_cli_offer_words(wish);
}

void rs_cli_offer_xen_classes(const struct rs_cli_wish *wish)
{
	const struct rs_xen_class *class;

	for (uint32_t i = 0; (class = rs_xen_class(i)); i++)
		offer(wish, class->name, class->help);
}

/* ---- this host ------------------------------------------------------------------------------ */

/* Offers the tracepoints, formatted by `format` from system and name. */
__attribute__((format(printf, 2, 0))) static void tracepoints(const struct rs_cli_wish *wish,
							      const char *format)
{
	struct rs_tracefs_list list = { 0 };

	rs_error_free(rs_tracefs_match("*:*", &list));
	for (uint32_t i = 0; i < list.n; i++) {
		char word[WORD_MAX];
		int len = snprintf(word, sizeof(word), format, list.events[i].system,
				   list.events[i].name);

		if (len > 0 && (size_t)len < sizeof(word))
			offer(wish, word, NULL);
	}
	rs_tracefs_list_deinit(&list);
}

void rs_cli_offer_tracepoints(const struct rs_cli_wish *wish)
{
	tracepoints(wish, "%s:%s");
}

/* Calls `each` for each running vCPU that this user may see, and passes whether it is its VM's
 * first. */
static void vcpus(const struct rs_cli_wish *wish,
		  void (*each)(const struct rs_cli_wish *wish, const struct rs_kvm_vcpu *vcpu,
			       bool first))
{
	struct rs_kvm_vcpu *found = NULL;
	uint32_t n = 0;

	rs_error_free(rs_kvm_discover(&found, &n));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = 0;

		while (at < i && found[at].pid != found[i].pid)
			at++;
		each(wish, &found[i], at == i);
	}
	free(found);
}

static void vcpu_vm(const struct rs_cli_wish *wish, const struct rs_kvm_vcpu *vcpu, bool first)
{
	if (first)
		offer(wish, vcpu->vm, NULL);
}

static void vcpu_pid(const struct rs_cli_wish *wish, const struct rs_kvm_vcpu *vcpu, bool first)
{
	char word[16];

	snprintf(word, sizeof(word), "%d", vcpu->pid);
	if (first)
		offer(wish, word, vcpu->vm);
}

static void vcpu_tid(const struct rs_cli_wish *wish, const struct rs_kvm_vcpu *vcpu, bool first)
{
	char word[16], help[RS_KVM_VM_MAX + 32];

	(void)first;
	snprintf(word, sizeof(word), "%d", vcpu->tid);
	snprintf(help, sizeof(help), vcpu->vcpu < 0 ? "%s" : "%s, vCPU %d", vcpu->vm, vcpu->vcpu);
	offer(wish, word, help);
}

void rs_cli_offer_vms_live(const struct rs_cli_wish *wish)
{
	vcpus(wish, vcpu_vm);
}

void rs_cli_offer_pids(const struct rs_cli_wish *wish)
{
	vcpus(wish, vcpu_pid);
}

void rs_cli_offer_tids(const struct rs_cli_wish *wish)
{
	vcpus(wish, vcpu_tid);
}

/* ---- traces --------------------------------------------------------------------------------- */

/* Confines the process to reading, and calls `each` for each trace directory among the arguments.
 * Returns whether there is one. Skips other tools' files, which can take long to open. */
static bool of_traces(const struct rs_cli_wish *wish,
		      struct rs_error *(*each)(const struct rs_cli_wish *wish, const char *path))
{
	bool any = false;

	for (uint32_t i = 0; i < wish->n_traces; i++) {
		char path[4096];
		int len = snprintf(path, sizeof(path), "%s/metadata", wish->traces[i]);
		struct rs_error *err;

		if (len >= (int)sizeof(path) || access(path, R_OK) != 0)
			continue;
		err = any ? NULL : rs_cli_confine(RS_CONFINE_READER);
		if (!err)
			err = each(wish, wish->traces[i]);
		any |= !err;
		rs_error_free(err);
	}
	return any;
}

/* Returns whether an earlier stream belongs to the VM. */
static bool has_vm(const struct rs_trace *trace, uint32_t before, const char *vm)
{
	for (uint32_t i = 0; i < before; i++) {
		const struct rs_stream *stream = rs_trace_stream(trace, i);

		if (stream->vm && !strcmp(stream->vm, vm))
			return true;
	}
	return false;
}

static struct rs_error *trace_vms(const struct rs_cli_wish *wish, const char *path)
{
	struct rs_error *err;
	struct rs_trace *trace;
	const char *vm;

	err = rs_trace_open(path, &trace);
	if (err)
		return err;
	for (uint32_t i = 0; i < rs_trace_stream_count(trace); i++) {
		vm = rs_trace_stream(trace, i)->vm;
		if (vm && !has_vm(trace, i, vm))
			offer(wish, vm, NULL);
	}
	for (uint32_t i = 0; (vm = rs_trace_domain(trace, i)); i++)
		offer(wish, vm, "a domain of Xen's");
	rs_trace_close(trace);
	return NULL;
}

void rs_cli_offer_vms(const struct rs_cli_wish *wish)
{
	if (!of_traces(wish, trace_vms))
		rs_cli_offer_vms_live(wish);
}

static struct rs_error *offer_probe(const struct rs_event *event, void *context)
{
	const struct rs_cli_wish *wish = context;

	offer(wish, event->probe, event->help);
	return NULL;
}

static struct rs_error *trace_probes(const struct rs_cli_wish *wish, const char *path)
{
	return rs_cli_probes_of_trace(path, offer_probe, (void *)wish);
}

void rs_cli_offer_probes(const struct rs_cli_wish *wish)
{
	if (!of_traces(wish, trace_probes))
		rs_error_free(rs_cli_probes_of_catalogue(offer_probe, (void *)wish));
}

void rs_cli_offer_program(const struct rs_cli_wish *wish)
{
	const struct rs_replay_template *row;
	char word[WORD_MAX];

	offer(wish, "BEGIN", "Before the first event");
	offer(wish, "END", "After the last event");
	for (uint32_t i = 0; (row = rs_replay_template(i)); i++) {
		snprintf(word, sizeof(word), "guest:%s:%s:%s", row->class_name, row->function,
			 row->name);
		offer(wish, word, row->help);
	}
	if (!strncmp(wish->begins, "ftrace:", strlen("ftrace:")))
		tracepoints(wish, "ftrace:%s::%s");
	rs_cli_offer_probes(wish);
}
