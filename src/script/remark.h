/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages for the user about a program's input. */
#ifndef RS_SCRIPT_REMARK_H
#define RS_SCRIPT_REMARK_H

/* Receives messages, one line each, without the newline. */
struct rs_script_remarks {
	void (*report)(void *ctx, const char *text);
	void *ctx;
};

/* Reports a message, formatted as by printf(), cut after 1,023 bytes. */
void rs_script_remark(const struct rs_script_remarks *to, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
