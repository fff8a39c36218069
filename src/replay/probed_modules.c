/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows the kernel modules of probes by name. do_init_module() of kernel/module/main.c is called
 * when a module is complete in memory, before its first function runs; free_module() is called
 * before its memory is freed. Between these, a probe of the module has places in it. Each hit is
 * verified: the module at the address must be the one in which the place was found.
 */
#include <stdlib.h>
#include <string.h>

#include "insight/modules.h"
#include "replay/named.h"
#include "replay/probed.h"

struct rs_error *rs_probed_module_add(struct rs_probed *p, const struct rs_replay_probe *probe,
				      uint64_t offset, struct rs_module_probe **out)
{
	struct rs_module_probe *add;

	for (add = p->module_probes; add; add = add->next)
		if (add->event == probe->event)
			break;
	if (!add) {
		add = calloc(1, sizeof(*add));
		if (!add)
			return rs_error_no_memory();
		*add = (struct rs_module_probe){ .next = p->module_probes,
						 .event = probe->event,
						 .kind = probe->kind,
						 .offset = offset };
		p->module_probes = add;
	}
	*out = add;
	return NULL;
}

void rs_probed_modules_destroy(struct rs_module_probe *list)
{
	while (list) {
		struct rs_module_probe *next = list->next;

		rs_error_free(list->why);
		free(list);
		list = next;
	}
}

static void leave(struct rs_probed *p, struct rs_replay_probe *probe)
{
	bool is_used = false;

	probe->is_nowhere = true;
	for (uint32_t i = 0; i < p->n_probes; i++)
		is_used |= p->probes[i].named == probe->named && !p->probes[i].is_nowhere;
	if (!is_used)
		rs_named_remove(p, probe->named);
	probe->named = NULL;
}

void rs_probed_modules_leave(struct rs_probed *p)
{
	for (uint32_t i = 0; i < p->n_probes; i++)
		if (p->probes[i].of_module && !p->probes[i].is_nowhere)
			leave(p, &p->probes[i]);
	for (struct rs_module_probe *of = p->module_probes; of; of = of->next)
		of->loads = of->module = 0;
}

bool rs_probed_module_is_there(struct rs_probed *p, const struct rs_replay_probe *probe)
{
	struct rs_linux *kernel = rs_guest_kernel_here(&p->guest);
	const struct rs_linux_module *module =
		kernel ? rs_modules_at(kernel, probe->address) : NULL;

	return module && module->address == probe->module &&
	       !strcmp(module->facts.name, probe->of_module->event->class_name);
}

/* Adds the places of a probe in a module. If the module has none, keeps the reason. */
static struct rs_error *places_add(struct rs_probed *p, struct rs_linux *kernel,
				   struct rs_module_probe *of, const struct rs_linux_module *module)
{
	struct rs_error *err = rs_named_add_module(p, kernel, of, module);

	of->module = module->address;
	if (!err) {
		of->loads++;
		return NULL;
	}
	if (rs_error_code(err) == RS_NO_MEMORY)
		return err;
	rs_error_free(of->why);
	of->why = err;
	return NULL;
}

struct rs_error *rs_probed_modules_update(struct rs_probed *p, struct rs_linux *kernel,
					  uint64_t loaded, uint64_t unloaded)
{
	struct rs_error *err = NULL;

	for (uint32_t i = 0; i < p->n_probes; i++) {
		struct rs_replay_probe *probe = &p->probes[i];

		if (probe->of_module && !probe->is_nowhere &&
		    (probe->module == unloaded || probe->module == loaded ||
		     !rs_probed_module_is_there(p, probe)))
			leave(p, probe);
	}
	for (struct rs_module_probe *of = p->module_probes; of && !err; of = of->next) {
		const struct rs_linux_module *module =
			of->wanted ? rs_modules_by_name(kernel, of->event->class_name) : NULL;

		if (!module || module->address == unloaded)
			of->module = 0;
		else if (module->address == loaded || module->address != of->module)
			err = places_add(p, kernel, of, module);
	}
	return err;
}
