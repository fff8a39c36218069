/* SPDX-License-Identifier: BSD-2-Clause */
/* The streams of a live source's threads, by the order of appearance and by tid. */
#include "live/thread_streams.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/vector.h"

struct rs_thread_stream *rs_thread_streams_add(struct rs_thread_streams *threads,
					       const struct rs_stream *stream, uint64_t from)
{
	struct rs_thread_stream *made;
	uint32_t room = threads->room;

	if (!RS_VECTOR_RESERVE(threads->all, room, threads->n + 1) ||
	    !RS_VECTOR_RESERVE(threads->by_tid, threads->room, threads->n + 1))
		return NULL;
	made = malloc(sizeof(*made));
	if (!made)
		return NULL;
	*made = (struct rs_thread_stream){ *stream, from };
	threads->by_tid[threads->n] = made;
	threads->all[threads->n++] = made;
	return made;
}

static int by_tid(const void *a, const void *b)
{
	const struct rs_thread_stream *x = *(struct rs_thread_stream *const *)a;
	const struct rs_thread_stream *y = *(struct rs_thread_stream *const *)b;

	if (x->stream.tid != y->stream.tid)
		return x->stream.tid < y->stream.tid ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->stream.index > y->stream.index) - (x->stream.index < y->stream.index);
}

void rs_thread_streams_sort(struct rs_thread_streams *threads)
{
	if (threads->n)
		qsort(threads->by_tid, threads->n, sizeof(struct rs_thread_stream *), by_tid);
	threads->last = NULL;
}

const struct rs_thread_stream *rs_thread_streams_find(struct rs_thread_streams *threads, int tid,
						      uint64_t stamp)
{
	struct rs_thread_stream *const *all = threads->by_tid;
	size_t low;

	if (threads->last && threads->last->stream.tid == tid && threads->last->from <= stamp &&
	    stamp < threads->last_to)
		return threads->last;
	low = RS_SEARCH(i, threads->n, all[i]->stream.tid < tid);
	threads->last = NULL;
	threads->last_to = UINT64_MAX;
	for (; low < threads->n && all[low]->stream.tid == tid; low++) {
		if (threads->last && all[low]->from > stamp) {
			threads->last_to = all[low]->from;
			break;
		}
		threads->last = all[low];
	}
	return threads->last;
}

void rs_thread_streams_deinit(struct rs_thread_streams *threads)
{
	for (uint32_t i = 0; i < threads->n; i++)
		free(threads->all[i]);
	free(threads->all);
	free(threads->by_tid);
}
