/* SPDX-License-Identifier: BSD-2-Clause */
/* The client side of QMP, QEMU's machine protocol. */
#include "replay/qmp.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/now.h"

#define LINE_MAX_BYTES (1u << 20)
#define ANSWER_MS      60000 /* timeout of a command; a snapshot takes seconds */

struct rs_qmp {
	int fd;
	char *line;   /* input that is not a complete line yet */
	size_t used;  /* length of the input */
	bool listens; /* capabilities are negotiated */
	bool ends;    /* QEMU has reported that it shuts down */
	struct rs_out out;
	struct rs_error *failed; /* to send */
};

static struct rs_error *error_closed(void)
{
	return rs_error_create(RS_ABSENT, "QEMU has ended");
}

/* Reads more input. Sets *got to false if none arrives by the deadline. */
static struct rs_error *more(struct rs_qmp *qmp, int64_t deadline, bool *got)
{
	for (;;) {
		struct pollfd wait = { .fd = qmp->fd, .events = POLLIN };
		int64_t left = deadline - rs_now_ms();
		int ready = poll(&wait, 1, left > 0 ? (int)left : 0);
		ssize_t n;

		if (ready < 0 && errno != EINTR)
			return rs_error_errno(errno, "waiting for QEMU");
		*got = ready > 0;
		if (ready <= 0 && left <= 0)
			return NULL;
		if (ready <= 0)
			continue;
		if (qmp->used == LINE_MAX_BYTES)
			return rs_error_create(RS_DAMAGED, "QEMU sent a line of more than %u bytes",
					       LINE_MAX_BYTES);
		n = read(qmp->fd, qmp->line + qmp->used, LINE_MAX_BYTES - qmp->used);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0 && errno != ECONNRESET)
			return rs_error_errno(errno, "reading from QEMU");
		if (n <= 0)
			return error_closed();
		qmp->used += (size_t)n;
		return NULL;
	}
}

/* Returns the next object, which the caller frees, or NULL if none arrives by the deadline. */
static struct rs_error *object_by(struct rs_qmp *qmp, int64_t deadline, json_t **object)
{
	struct rs_error *err = NULL;
	json_error_t why;
	bool got = true;
	size_t len;
	char *end;

	*object = NULL;
	for (;;) {
		end = memchr(qmp->line, '\n', qmp->used);
		if (end)
			break;
		err = more(qmp, deadline, &got);
		if (err || !got)
			return err;
	}
	len = (size_t)(end - qmp->line);
	*object = json_loadb(qmp->line, len, 0, &why);
	memmove(qmp->line, end + 1, qmp->used - len - 1);
	qmp->used -= len + 1;
	if (!json_is_object(*object)) {
		json_decref(*object);
		*object = NULL;
		return rs_error_create(
			RS_DAMAGED, "QEMU sent something other than a JSON object: %s", why.text);
	}
	return NULL;
}

static void send_bytes(void *ctx, const char *bytes, size_t len)
{
	struct rs_qmp *qmp = ctx;

	while (!qmp->failed && len) {
		ssize_t n = send(qmp->fd, bytes, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			qmp->failed = errno == EPIPE || errno == ECONNRESET
					      ? error_closed()
					      : rs_error_errno(errno, "writing to QEMU");
			return;
		}
		bytes += n;
		len -= (size_t)n;
	}
}

static struct rs_error *send_command(struct rs_qmp *qmp, const char *command,
				     const struct rs_qmp_argument *arguments)
{
	struct rs_json json = { .out = &qmp->out };
	struct rs_error *err;

	rs_json_open(&json, '{');
	rs_json_text(rs_json_key(&json, "execute"), command);
	if (arguments) {
		rs_json_open(rs_json_key(&json, "arguments"), '{');
		for (; arguments->name; arguments++)
			rs_json_text(rs_json_key(&json, arguments->name), arguments->value);
		rs_json_close(&json, '}');
	}
	rs_json_close(&json, '}');
	rs_json_line_end(&json);
	rs_out_write(&qmp->out);
	err = qmp->failed;
	qmp->failed = NULL;
	return err;
}

/* Handles an event. */
static void handle_event(struct rs_qmp *qmp, const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "event"));

	qmp->ends |= name && !strcmp(name, "SHUTDOWN");
}

/* Sends a command and receives its answer. A QEMU that shuts down may not answer. */
static struct rs_error *exchange(struct rs_qmp *qmp, const char *command,
				 const struct rs_qmp_argument *arguments, json_t **result)
{
	int64_t deadline = rs_now_ms() + ANSWER_MS;
	struct rs_error *err = send_command(qmp, command, arguments);
	json_t *object = NULL, *refusal;

	while (!err) {
		err = qmp->ends ? error_closed() : object_by(qmp, deadline, &object);
		if (!err && !object)
			err = rs_error_create(RS_FAILED, "QEMU does not answer to %s", command);
		if (err || !json_object_get(object, "event"))
			break;
		handle_event(qmp, object);
		json_decref(object);
	}
	if (err)
		return err;
	refusal = json_object_get(object, "error");
	if (refusal) {
		const char *why = json_string_value(json_object_get(refusal, "desc"));

		err = rs_error_create(RS_FAILED, "QEMU rejects %s: %s", command, why ? why : "");
	} else if (result) {
		*result = json_incref(json_object_get(object, "return"));
	}
	json_decref(object);
	return err;
}

struct rs_error *rs_qmp_execute(struct rs_qmp *qmp, const char *command,
				const struct rs_qmp_argument *arguments, json_t **result)
{
	struct rs_error *err = NULL;

	if (qmp->ends)
		err = error_closed();
	else if (!qmp->listens)
		err = exchange(qmp, "qmp_capabilities", NULL, NULL);
	if (err)
		return err;
	qmp->listens = true;
	return exchange(qmp, command, arguments, result);
}

bool rs_qmp_ends(const struct rs_qmp *qmp)
{
	return qmp->ends;
}

static struct rs_error *greet(struct rs_qmp *qmp)
{
	json_t *greeting = NULL;
	struct rs_error *err = object_by(qmp, rs_now_ms() + ANSWER_MS, &greeting);
	bool good = json_object_get(greeting, "QMP");

	json_decref(greeting);
	if (!err && !good)
		err = rs_error_create(RS_FAILED, "this is not a QMP socket");
	return err;
}

struct rs_error *rs_qmp_adopt(int fd, struct rs_qmp **qmp)
{
	struct rs_error *err = NULL;
	struct rs_qmp *made = calloc(1, sizeof(*made));

	if (!made) {
		close(fd);
		return rs_error_no_memory();
	}
	made->fd = fd;
	made->line = malloc(LINE_MAX_BYTES);
	err = made->line ? rs_out_init_put(&made->out, send_bytes) : rs_error_no_memory();
	made->out.ctx = made;
	if (!err)
		err = greet(made);
	if (err)
		rs_qmp_close(made);
	else
		*qmp = made;
	return err;
}

void rs_qmp_close(struct rs_qmp *qmp)
{
	if (!qmp)
		return;
	if (qmp->fd >= 0)
		close(qmp->fd);
	rs_out_deinit(&qmp->out);
	free(qmp->line);
	free(qmp);
}
