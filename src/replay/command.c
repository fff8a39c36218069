/* SPDX-License-Identifier: BSD-2-Clause */
/* Builds QEMU's command line and the set of descriptors it inherits. */
#include "replay/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rs_qemu_command_deinit(struct rs_qemu_command *c)
{
	for (uint32_t i = 0; i < c->n_words; i++)
		free(c->words[i]);
	*c = (struct rs_qemu_command){ 0 };
}

/* Appends a word. Takes ownership of it. */
static void put(struct rs_qemu_command *c, char *word)
{
	if (!word || c->n_words == RS_QEMU_WORDS) {
		c->full = true;
		free(word);
		return;
	}
	c->words[c->n_words++] = word;
	c->words[c->n_words] = NULL;
}

void rs_qemu_command_word(struct rs_qemu_command *c, const char *word)
{
	put(c, strdup(word));
}

void rs_qemu_command_option(struct rs_qemu_command *c, const char *option, const char *value, ...)
{
	va_list args;
	char *text;

	put(c, strdup(option));
	va_start(args, value);
	if (vasprintf(&text, value, args) < 0)
		text = NULL;
	va_end(args);
	put(c, text);
}

int rs_qemu_command_inherit(struct rs_qemu_command *c, int fd)
{
	for (uint32_t i = 0; i < c->n_fds; i++)
		if (c->fds[i] == fd)
			return fd;
	if (c->n_fds == RS_QEMU_FDS)
		c->full = true;
	else
		c->fds[c->n_fds++] = fd;
	return fd;
}

/* The set's number is that of its descriptor, and so is unique. */
int rs_qemu_command_fdset(struct rs_qemu_command *c, int fd)
{
	rs_qemu_command_inherit(c, fd);
	rs_qemu_command_option(c, "-add-fd", "fd=%d,set=%d", fd, fd);
	return fd;
}

struct rs_error *rs_qemu_command_error(const struct rs_qemu_command *c)
{
	return c->full ? rs_error_create(RS_FAILED,
					 "no memory for QEMU's command line, or more than %u words "
					 "or %u descriptors",
					 RS_QEMU_WORDS, RS_QEMU_FDS)
		       : NULL;
}
