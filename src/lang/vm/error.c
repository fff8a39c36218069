/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors of a program, with their position in its text and a suggested name; vectors that grow in
 * its arena. */
#include "lang/vm/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define EDITS_MAX     3	  /* edits up to which a name is near */
#define COLUMNS_SHOWN 200 /* of a line with an error */

/* Copies the line of a position, and blanks up to its column. Returns false if the position is not
 * in the program's text. */
static bool source_line(const struct rs_script *script, struct place at, char *line, char *caret)
{
	const char *text = script->config.text, *end = text + script->config.len, *stop;
	size_t len;

	if (script->file != script->config.name || at.column > COLUMNS_SHOWN)
		return false;
	for (uint32_t i = 1; i < at.line && text; i++) {
		text = memchr(text, '\n', (size_t)(end - text));
		text = text ? text + 1 : NULL;
	}
	if (!text || text == end)
		return false;
	stop = memchr(text, '\n', (size_t)(end - text));
	len = (size_t)((stop ? stop : end) - text);
	if (len > COLUMNS_SHOWN)
		len = COLUMNS_SHOWN;
	memcpy(line, text, len);
	line[len] = '\0';
	for (size_t i = 0; i + 1 < at.column; i++)
		caret[i] = ' ';
	caret[at.column ? at.column - 1 : 0] = '\0';
	for (size_t i = 0; i < len; i++)
		line[i] = line[i] == '\t' ? ' ' : line[i];
	rs_utf8_mend(line, len);
	return true;
}

struct rs_error *rs_lang_error(const struct rs_script *script, struct place at, const char *tag,
			       const char *format, ...)
{
	char message[512], line[COLUMNS_SHOWN + 1], caret[COLUMNS_SHOWN + 2];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	rs_utf8_mend(message, strlen(message)); /* it may contain bytes of the program */
	if (!source_line(script, at, line, caret))
		return rs_error_create(RS_USAGE, "%s:%u:%u: [%s] %s", script->file, at.line,
				       at.column, tag, message);
	return rs_error_create(RS_USAGE, "%s:%u:%u: [%s] %s\n    %s\n    %s^", script->file,
			       at.line, at.column, tag, message, line, caret);
}

bool rs_lang_vector_room(struct rs_script *script, void **at, uint32_t n, uint32_t *room,
			 size_t bytes)
{
	uint32_t more = *room ? *room * 2 : 8;
	void *grown;

	if (n < *room)
		return true;
	grown = rs_arena_alloc(&script->arena, more * bytes);
	if (!grown)
		return false;
	if (n)
		memcpy(grown, *at, n * bytes);
	*at = grown;
	*room = more;
	return true;
}

/* Returns the edit distance between two words of moderate length. */
static uint32_t distance_of(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	uint32_t row[34];

	if (n > 32 || m > 32)
		return UINT32_MAX;
	for (size_t j = 0; j <= m; j++)
		row[j] = (uint32_t)j;
	for (size_t i = 1; i <= n; i++) {
		uint32_t diagonal = row[0];

		row[0] = (uint32_t)i;
		for (size_t j = 1; j <= m; j++) {
			uint32_t change = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			row[j] = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
			if (change < row[j])
				row[j] = change;
		}
	}
	return row[m];
}

void rs_lang_nearest_try(struct nearest *nearest, const char *name, const char *shown)
{
	uint32_t most = nearest->distance ? nearest->distance - 1 : EDITS_MAX;
	uint32_t here = distance_of(nearest->written, name);

	if (here > most || here >= strlen(nearest->written))
		return;
	nearest->distance = here;
	snprintf(nearest->name, sizeof(nearest->name), "%s", shown ? shown : name);
}

const char *rs_lang_nearest_text(struct nearest *nearest)
{
	if (nearest->distance)
		snprintf(nearest->text, sizeof(nearest->text), "; did you mean '%s'?",
			 nearest->name);
	return nearest->text;
}
