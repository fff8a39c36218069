/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The compiler's stages, in order. They match, check and compile clauses in the order of the
 * program, because a variable exists from its first assignment on.
 */
#include "lang/front/guest_type.h"

#include <stdlib.h>

/* An unused argument is probably a mistake. */
static struct rs_error *unused_arguments(const struct rs_script *script)
{
	for (uint32_t i = 0; i < script->config.n_args && i < 64; i++) {
		if (!(script->front->macros_used >> i & 1))
			return rs_error_create(RS_USAGE,
					       "[D_MACRO_UNUSED] argument '%s' is not used: the "
					       "program contains no $%u",
					       script->config.args[i], i + 1);
	}
	return NULL;
}

static struct rs_error *compile(struct rs_script *script)
{
	struct rs_error *err = rs_lang_options_init(script);

	if (!err)
		err = rs_lang_parse_program(script);
	if (!err && !script->options[OPT_DEFAULTARGS])
		err = unused_arguments(script);
	if (!err)
		err = rs_lang_match_probes(script);
	if (!err)
		err = rs_lang_guest_complete_all(script);
	for (struct variable *v = script->variables; v && !err; v = v->next) {
		if (!v->inlined && !rs_lang_variable_place(script, v))
			err = rs_error_create(RS_USAGE, "%s: too many variables: the maximum is %d",
					      script->file, LANG_SLOTS_MAX);
	}
	for (struct clause *clause = script->clauses; clause && !err; clause = clause->next) {
		err = rs_lang_match_clause(script, clause);
		if (!err)
			err = rs_lang_check_clause(script, clause);
		if (!err)
			err = rs_lang_compile_clause(script, clause);
		if (!err)
			rs_lang_shortcut_make(clause);
		if (!err)
			err = rs_lang_verify_clause(script, clause);
	}
	return err;
}

struct rs_error *rs_script_compile(const struct rs_script_config *config, struct rs_script **out)
{
	struct front front = { 0 };
	struct rs_script *script;
	struct rs_error *err;

	if (config->len > LANG_TEXT_MAX)
		return rs_error_create(RS_USAGE, "%s: the program exceeds %u bytes", config->name,
				       LANG_TEXT_MAX);
	script = calloc(1, sizeof(*script));
	if (!script)
		return rs_error_no_memory();
	script->config = *config;
	script->file = config->name;
	script->clauses_end = &script->clauses;
	script->front = &front;
	err = compile(script);
	rs_map_deinit(&front.guests);
	script->front = NULL;
	if (err)
		rs_script_destroy(script);
	else
		*out = script;
	return err;
}
