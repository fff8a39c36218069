/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a D program over a replay and discards its output. */
#include "cli/script_quiet.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void count_error(void *ctx, const char *text)
{
	(void)text;
	++*(uint64_t *)ctx;
}

static struct rs_error *compile(struct rs_script_replay *replay,
				const struct rs_cli_program *program, struct rs_script **script)
{
	const struct rs_schema *schema = rs_script_replay_stream(replay)->schema;
	char *text = NULL;
	size_t len = 0;
	struct rs_error *err = rs_cli_program_read(program, &text, &len);

	if (!err)
		err = rs_script_compile(
			&(struct rs_script_config){ .name = rs_cli_program_name(program),
						    .text = text,
						    .len = len,
						    .schemas = &schema,
						    .n_schemas = 1,
						    .args = program->args.at,
						    .n_args = program->args.n,
						    .options = program->options.at,
						    .n_options = program->options.n,
						    .make = rs_script_replay_make,
						    .make_ctx = replay,
						    .types = rs_script_replay_types },
			script);
	free(text);
	return err;
}

struct rs_error *rs_script_quiet_run(struct rs_script_replay *replay,
				     const struct rs_cli_program *program, uint64_t *errors)
{
	struct rs_script_io io = { .report = count_error,
				   .guest = &replay->guest,
				   .ctx = errors,
				   .clock = rs_script_replay_stream(replay)->clock,
				   .stop = replay->stop };
	struct rs_script *script = NULL;
	struct rs_error *err = compile(replay, program, &script);
	struct rs_sink *sink;
	struct rs_out out;
	int nowhere = -1;

	if (err)
		return err;
	nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (nowhere < 0)
		err = rs_error_errno(errno, "/dev/null");
	else
		err = rs_out_init(&out, nowhere);
	if (!err) {
		io.out = &out;
		err = rs_script_start(script, &io, &sink);
		if (!err)
			err = rs_script_replay_run(replay, script, sink, NULL);
		rs_out_deinit(&out);
	}
	if (nowhere >= 0)
		close(nowhere);
	rs_script_destroy(script);
	return err;
}

struct rs_error *rs_script_quiet_part(struct rs_script_replay replay, const char *directory,
				      const struct rs_cli_program *program,
				      const struct rs_verify_part *part, uint64_t *fired,
				      uint64_t *errors)
{
	struct rs_error *err;

	replay.times.from.ns = part->from_ns;
	replay.times.to.ns = part->to_ns;
	replay.options.like = part->like;
	replay.options.begin = part->begin;
	replay.options.console = part->console;
	replay.options.pauses = part->pauses;
	err = rs_script_replay_open(&replay, directory);
	if (!err) {
		err = rs_script_quiet_run(&replay, program, errors);
		*fired += rs_replay_source_counts(replay.source).fired;
	}
	rs_script_replay_close(&replay);
	return err;
}
