/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates, describes and closes the directory of a trace. */
#include "store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/copy.h"
#include "base/hold.h"
#include "base/utf8.h"
#include "store/inside.h"
#include "store/state.h"

#define FILES_MAX 64 /* limit of open files of streams */

/* ---- files -------------------------------------------------------------------------------- */

/* Overwrites the state in place. Its bytes are allocated, so this works on a full disk. */
static struct rs_error *write_state(struct rs_store *store, struct rs_state state)
{
	char block[RS_STATE_BYTES];

	state.error = store->error ? rs_error_text(store->error) : NULL;
	state.private = &store->private;
	rs_state_format(&state, &store->lines.out, block);
	if (rs_write_at(store->state_fd, block, sizeof(block), 0) < sizeof(block))
		return rs_error_errno(errno, "%s/ringside/state", store->folder.path);
	return NULL;
}

static struct rs_error *make_uuid(struct rs_store *store)
{
	uint8_t *u = store->uuid;

	if (getrandom(u, sizeof(store->uuid), 0) != (ssize_t)sizeof(store->uuid))
		return rs_error_errno(errno, "getrandom");
	u[6] = (u[6] & 0x0f) | 0x40; /* RFC 4122: random */
	u[8] = (u[8] & 0x3f) | 0x80;
	snprintf(store->describe.uuid, sizeof(store->describe.uuid),
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
		 u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
		 u[15]);
	return NULL;
}

static void write_metadata(FILE *file, const void *describe)
{
	rs_metadata_write(file, describe);
}

/* Writes the description's lines to the disk. If the disk is full, the rest stays in memory, and
 * the next call continues with it, so that no line has a hole. */
static struct rs_error *describe_flush(struct rs_store *store)
{
	struct rs_lines *lines = &store->lines;
	size_t done =
		rs_write_at(store->describe_fd, lines->text, lines->bytes, store->describe_done);
	struct rs_error *err = done == lines->bytes ? NULL
						    : rs_error_errno(errno, "%s/ringside/describe",
								     store->folder.path);

	store->describe_done += done;
	memmove(lines->text, lines->text + done, lines->bytes - done);
	lines->bytes -= done;
	return err;
}

/* Formats the lines that do not exist yet, and writes them. The next call adds lines for which
 * there was no memory or disk space. */
static struct rs_error *describe_append(struct rs_store *store)
{
	struct rs_error *err = NULL;
	bool all = false, any = true;

	if (store->keep) /* its line is written when the stream is */
		return NULL;
	/* Without memory for all lines together, writes the first ones to free their memory. */
	while (!err && !all && any) {
		all = rs_describe_write(&store->describe, store->written, &store->lines,
					&store->metadata_stale);
		any = store->lines.bytes > 0;
		err = describe_flush(store);
	}
	return err || all ? err : rs_error_no_memory();
}

struct rs_error *rs_store_describe_owner(struct rs_store *store, uint32_t stream,
					 const struct rs_owner *owner)
{
	struct rs_error *err = NULL;

	if (store->written[RS_LINE_STREAMS] <= stream) /* the stream's own line precedes it */
		err = describe_append(store);
	if (err && rs_error_code(err) == RS_NO_MEMORY)
		return err;
	rs_error_free(rs_store_keep_error(store, err));
	/* The next packet of the stream writes the line to the disk. */
	return rs_describe_write_owner(&store->lines, stream, owner) ? NULL : rs_error_no_memory();
}

static struct rs_error *metadata_replace(struct rs_store *store)
{
	return rs_folder_replace(&store->folder, "metadata", RS_STORE_NEW, write_metadata,
				 &store->describe);
}

/* The index is only a hint, so its failure loses nothing. */
static void index_open(struct rs_store *store, int flags)
{
	struct rs_error *err;
	int fd;

	err = rs_files_get(&store->files, &store->index, "ringside/index", flags, &fd);
	if (!err)
		rs_files_put(&store->files, &store->index);
	store->index_ended |= err != NULL;
	rs_error_free(err);
}

void rs_store_index_flush(struct rs_store *store)
{
	size_t bytes = store->n_entries * sizeof(store->entries[0]);
	struct rs_error *err;
	int fd;

	store->n_entries = 0;
	if (!bytes || store->index_ended)
		return;
	err = rs_files_get(&store->files, &store->index, "ringside/index", O_WRONLY, &fd);
	if (err) {
		rs_error_free(err);
		store->index_ended = true;
		return;
	}
	store->index_ended = rs_write_at(fd, store->entries, bytes, store->index_done) < bytes;
	store->index_done += bytes;
	rs_files_put(&store->files, &store->index);
}

struct rs_error *rs_store_describe_sync(struct rs_store *store)
{
	struct rs_error *err = describe_append(store);

	if (err || !store->metadata_stale)
		return err;
	err = metadata_replace(store);
	/* If descriptors run out, closes a file of this trace to free one. The index is then
	 * opened, to reserve the descriptor for the next time. */
	if (err && rs_files_spare(&store->files)) {
		rs_error_free(err);
		err = metadata_replace(store);
		index_open(store, O_WRONLY);
	}
	store->metadata_stale = err != NULL;
	return err;
}

struct rs_error *rs_store_keep_error(struct rs_store *store, struct rs_error *err)
{
	if (err && !store->error)
		store->error = rs_error_create(rs_error_code(err), "%s", rs_error_text(err));
	return err;
}

/* ---- opening ------------------------------------------------------------------------------ */

/* Returns the directory's present path in the file system, or NULL. */
static char *folder_place(const struct rs_store *store)
{
	char link[32], place[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", store->folder.fd);
	n = readlink(link, place, sizeof(place));
	if (n <= 0 || (size_t)n == sizeof(place))
		return NULL;
	place[n] = '\0';
	return strdup(place);
}

static struct rs_error *open_all(struct rs_store *store, const char *directory)
{
	const struct rs_folder *folder = &store->folder;
	struct rs_error *err;

	if (store->keep)
		return NULL;
	if (!rs_lines_init(&store->lines))
		return rs_error_no_memory();
	err = rs_folder_make(directory, &store->folder);
	if (!err)
		err = rs_folder_make_inside(&store->folder);
	if (!err)
		err = rs_folder_fd(folder, "ringside/state", O_RDWR | O_CREAT | O_EXCL,
				   &store->state_fd);
	if (!err) /* while this process records, so that readers can detect that */
		rs_hold(store->state_fd);
	if (!err)
		err = write_state(store, (struct rs_state){ .word = "recording", .pid = getpid() });
	if (!err)
		err = rs_folder_fd(folder, "ringside/describe", O_WRONLY | O_CREAT | O_EXCL,
				   &store->describe_fd);
	if (err)
		return err;
	store->made_at = folder_place(store);
	rs_files_init(&store->files, folder, FILES_MAX);
	index_open(store, O_WRONLY | O_CREAT | O_EXCL);
	return NULL;
}

/* Checks that the directory is where it was created, and that its files exist. Otherwise its path
 * does not refer to this trace. */
static struct rs_error *folder_check(const struct rs_store *store)
{
	char *place = folder_place(store);
	struct rs_error *err = NULL;
	struct stat st;

	if (!fstat(store->folder.fd, &st) && !st.st_nlink)
		err = rs_error_create(RS_FAILED,
				      "%s: the trace's directory was deleted while it was "
				      "recorded: its content is lost",
				      store->folder.path);
	else if ((!fstat(store->describe_fd, &st) && !st.st_nlink) ||
		 (!fstat(store->state_fd, &st) && !st.st_nlink))
		err = rs_error_create(RS_FAILED,
				      "%s/ringside: files were deleted while the trace was "
				      "recorded: it cannot be read without them",
				      store->folder.path);
	else if (place && store->made_at && strcmp(place, store->made_at) != 0)
		err = rs_error_create(RS_FAILED,
				      "%s: the trace's directory was moved or replaced while it "
				      "was recorded: the trace is now %s",
				      store->folder.path, place);
	free(place);
	return err;
}

/* Writes the packets in the queues, and destroys the queues. */
static void behind_end(struct rs_store *store)
{
	for (uint32_t i = 0; i < store->n_behind; i++)
		rs_behind_destroy(store->behind[i]);
	store->n_behind = 0;
}

static void store_free(struct rs_store *store)
{
	struct rs_store_stream *stream, *next;

	behind_end(store);
	free(store->behind);
	rs_files_deinit(&store->files);
	for (stream = store->streams; stream; stream = next) {
		next = stream->next;
		free(stream->packet);
		rs_kept_owner_put(stream->owner);
		free(stream);
	}
	rs_lines_deinit(&store->lines);
	if (store->describe_fd >= 0)
		close(store->describe_fd);
	if (store->state_fd >= 0)
		rs_release(store->state_fd);
	rs_describe_deinit(&store->describe);
	pthread_mutex_destroy(&store->lock);
	rs_error_free(store->error);
	if (store->keep)
		rs_keep_deinit(store->keep);
	free(store->keep);
	rs_folder_close(&store->folder);
	free(store->made_at);
	free(store);
}

#define HOST_MAX 256

static const char *this_host(char host[HOST_MAX])
{
	memset(host, 0, HOST_MAX);
	gethostname(host, HOST_MAX - 1);
	return host;
}

/* Creates a store in a directory or, if that is NULL, in memory. */
static struct rs_error *store_create(const char *directory, const struct rs_store_keep *keep,
				     const struct rs_clock *clock, const char *host,
				     const char *command, struct rs_store **out)
{
	struct rs_store *store = calloc(1, sizeof(*store));
	struct rs_error *err;

	if (!store)
		return rs_error_no_memory();
	store->state_fd = store->describe_fd = -1;
	pthread_mutex_init(&store->lock, NULL);
	store->folder = RS_FOLDER_NONE;
	store->keep = directory ? NULL : malloc(sizeof(*store->keep));
	if (store->keep)
		rs_keep_init(store->keep, keep);
	store->describe.hostname = rs_arena_text(&store->describe.arena, host, strlen(host));
	store->describe.command = rs_arena_text(&store->describe.arena, command ? command : "",
						command ? strlen(command) : 0);
	err = directory || store->keep ? make_uuid(store) : rs_error_no_memory();
	if (!err)
		err = rs_describe_add_clock(&store->describe, clock);
	if (!err)
		err = open_all(store, directory);
	if (!err)
		err = rs_store_describe_sync(store);
	if (err)
		store_free(store);
	else
		*out = store;
	return err;
}

struct rs_error *rs_store_create_of(const char *directory, const struct rs_clock *clock,
				    const char *host, const char *command, struct rs_store **store)
{
	return store_create(directory, NULL, clock, host, command, store);
}

struct rs_error *rs_store_create(const char *directory, const struct rs_clock *clock,
				 const char *command, struct rs_store **store)
{
	char host[HOST_MAX];

	return store_create(directory, NULL, clock, this_host(host), command, store);
}

struct rs_error *rs_store_create_keeping(const struct rs_store_keep *keep,
					 const struct rs_clock *clock, const char *command,
					 struct rs_store **store)
{
	char host[HOST_MAX];

	return store_create(NULL, keep, clock, this_host(host), command, store);
}

static bool clock_has_name(const struct rs_describe *d, const char *name)
{
	for (uint32_t i = 0; i < d->n_clocks; i++) {
		if (!strcmp(d->clocks[i]->name, name))
			return true;
	}
	return false;
}

/* Returns the index of the clock in *index, and adds the clock if the trace has none of its id:
 * under its name, or another name if the trace has a clock of that name. */
static struct rs_error *clock_index(struct rs_store *store, const struct rs_clock *clock,
				    uint32_t *index)
{
	struct rs_describe *d = &store->describe;
	struct rs_clock named = *clock;

	for (*index = 0; *index < d->n_clocks; (*index)++) {
		if (d->clocks[*index]->id == clock->id)
			return NULL;
	}
	for (uint32_t n = 2; clock_has_name(d, named.name); n++)
		snprintf(named.name, sizeof(named.name), "%.48s_%u", clock->name, n);
	return rs_describe_add_clock(d, &named);
}

struct rs_error *rs_store_add_class(struct rs_store *store, struct rs_schema *schema,
				    const struct rs_clock *clock, uint32_t *class_index)
{
	struct rs_error *err;
	uint32_t index, n;

	pthread_mutex_lock(&store->lock);
	n = store->describe.n_classes;
	err = n < RS_CLASSES_MAX ? clock_index(store, clock, &index)
				 : rs_error_create(RS_FAILED, "more than %u producers", n);
	if (!err)
		err = rs_describe_add_class(&store->describe, schema, index);
	if (!err) {
		*class_index = n;
		err = rs_store_describe_sync(store);
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

struct rs_error *rs_store_add_stream(struct rs_store *store, uint32_t class_index,
				     const struct rs_stream *identity, struct rs_store_stream **out)
{
	struct rs_store_stream *stream = calloc(1, sizeof(*stream));
	struct rs_store_packet *packet = rs_store_packet_create(stream);
	struct rs_error *err = NULL;
	uint32_t n;

	if (!stream || !packet) {
		free(stream);
		free(packet);
		return rs_error_no_memory();
	}
	pthread_mutex_lock(&store->lock);
	n = store->describe.n_streams;
	if (n < RS_STREAMS_MAX)
		err = rs_describe_add_stream(&store->describe, class_index, identity);
	else
		err = rs_error_create(RS_FAILED, "more than %u streams", n);
	if (!err) {
		stream->store = store;
		stream->identity = store->describe.streams[n];
		stream->class = store->describe.stream_class[n];
		stream->packet = packet;
		if (store->n_behind)
			stream->behind = store->behind[n % store->n_behind];
		stream->next = store->streams;
		store->streams = stream;
		/* If one of these fails, the first packet tries again; if that fails, its records
		 * are lost. */
		rs_error_free(rs_store_keep_error(store, describe_append(store)));
		rs_error_free(rs_store_keep_error(store, rs_store_stream_make(stream)));
		*out = stream;
	} else {
		free(stream);
		free(packet);
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

struct rs_error *rs_store_add_thread(struct rs_store *store, uint32_t class_index,
				     const struct rs_thread *thread)
{
	struct rs_error *err;

	pthread_mutex_lock(&store->lock);
	err = rs_describe_add_thread(&store->describe, class_index, thread);
	if (!err) /* if this fails, the next packet tries again, as with a stream */
		rs_error_free(rs_store_keep_error(store, describe_append(store)));
	pthread_mutex_unlock(&store->lock);
	return err;
}

struct rs_error *rs_store_add_domain(struct rs_store *store, uint32_t class_index, uint32_t dom,
				     const char *vm)
{
	struct rs_describe *d = &store->describe;
	struct rs_error *err = NULL;
	const char *have;

	pthread_mutex_lock(&store->lock);
	have = rs_describe_domain(d, d->classes[class_index], dom);
	if (!have || strcmp(have, vm) != 0) {
		err = rs_describe_add_domain(d, class_index, dom, vm);
		if (!err)
			rs_error_free(rs_store_keep_error(store, describe_append(store)));
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

struct rs_error *rs_store_set_clock(struct rs_store *store, const struct rs_clock *clock)
{
	struct rs_error *err = NULL;

	pthread_mutex_lock(&store->lock);
	for (uint32_t i = 0; i < store->describe.n_clocks; i++) {
		struct rs_clock *have = store->describe.clocks[i], set = *clock;

		if (have->id != clock->id)
			continue;
		memcpy(set.name, have->name, sizeof(set.name));
		*have = set;
		if (store->written[RS_LINE_CLOCKS] > i) /* again */
			store->written[RS_LINE_CLOCKS] = i;
		err = rs_store_describe_sync(store);
	}
	pthread_mutex_unlock(&store->lock);
	return err;
}

void rs_store_set_closed(struct rs_store *store, int64_t at_ns)
{
	pthread_mutex_lock(&store->lock);
	store->describe.closed_ns = at_ns;
	store->describe.has_closed = true;
	pthread_mutex_unlock(&store->lock);
}

static bool same_binary(const struct rs_trace_binary *a, const struct rs_trace_binary *b)
{
	return a->load == b->load && !strcmp(a->role, b->role) && !strcmp(a->path, b->path);
}

struct rs_error *rs_store_add_binary(struct rs_store *store, const struct rs_trace_binary *binary)
{
	bool known = false;
	struct rs_error *err;

	if (!binary->role || !binary->path || !binary->hash_name != !binary->hash)
		return rs_error_create(RS_USAGE, "a binary needs a role and a path, and a hash "
						 "needs its name");
	pthread_mutex_lock(&store->lock);
	for (uint32_t i = 0; i < store->describe.n_binaries; i++)
		known |= same_binary(store->describe.binaries[i], binary);
	err = known ? NULL : rs_describe_add_binary(&store->describe, binary);
	if (!err)
		err = rs_store_describe_sync(store);
	pthread_mutex_unlock(&store->lock);
	return err;
}

void rs_store_note(struct rs_store *store, const struct rs_error *err)
{
	pthread_mutex_lock(&store->lock);
	if (!store->error)
		store->error = rs_error_create(rs_error_code(err), "%s", rs_error_text(err));
	pthread_mutex_unlock(&store->lock);
}

const char *rs_store_place(const struct rs_store *store)
{
	return store->made_at;
}

void rs_store_note_private(struct rs_store *store, uint32_t stream, const struct rs_error *why)
{
	struct rs_state_private *private = &store->private;
	struct rs_error *err;

	if (store->keep)
		return;
	pthread_mutex_lock(&store->lock);
	if (!private->n)
		snprintf(private->why, sizeof(private->why), "%s",
			 why ? rs_error_text(why)
			     : "there was no room for them in the file of the rings");
	if (private->n < RS_STATE_PRIVATE_MAX)
	private->stream[private->n] = stream;
	private->n++;
	err = write_state(store, (struct rs_state){ .word = "recording", .pid = getpid() });
	rs_error_free(rs_store_keep_error(store, err));
	pthread_mutex_unlock(&store->lock);
}

void rs_store_add_unsaid(struct rs_store *store, uint64_t records, const char *why)
{
	pthread_mutex_lock(&store->lock);
	store->unsaid += records;
	store->progress.lost += records;
	if (!store->error)
		store->error = rs_error_create(RS_FAILED, "%s", why);
	pthread_mutex_unlock(&store->lock);
}

/* ---- writing what is kept in memory -------------------------------------------------------- */

/* Copies the description of one store to another: the same classes, streams, threads and binaries
 * with the same numbers. Stores the new streams in `streams`. */
static struct rs_error *describe_copy(struct rs_store *from, struct rs_store *to,
				      struct rs_store_stream **streams, uint32_t n_streams)
{
	const struct rs_describe *d = &from->describe;
	struct rs_error *err = NULL;
	uint32_t n;

	for (uint32_t i = 0; !err && i < d->n_classes; i++)
		err = rs_store_add_class(to, d->classes[i]->schema, d->classes[i]->clock, &n);
	for (uint32_t i = 0; !err && i < n_streams; i++)
		err = rs_store_add_stream(to, d->stream_class[i]->index, d->streams[i],
					  &streams[i]);
	for (uint32_t i = 0; !err && i < d->n_threads; i++)
		err = rs_store_add_thread(to, d->threads[i]->class->index, &d->threads[i]->thread);
	for (uint32_t i = 0; !err && i < d->n_domains; i++)
		err = rs_store_add_domain(to, d->domains[i]->class->index, d->domains[i]->dom,
					  d->domains[i]->vm);
	for (uint32_t i = 0; !err && i < d->n_binaries; i++)
		err = rs_describe_add_binary(&to->describe, d->binaries[i]);
	return err;
}

static void put_kept(struct rs_store_stream *stream, const struct rs_kept_packet *packet)
{
	uint32_t room;
	uint8_t *at;

	rs_error_free(rs_store_room(stream, &at, &room)); /* cannot fail: the packet is empty */
	memcpy(at, packet->content, packet->what.bytes);
	rs_store_commit(stream, &packet->what);
	rs_error_free(rs_store_flush(stream, 0, 0)); /* rs_store_keep_error() keeps the error */
}

/* Changes the stream's owner if the packet has another owner than the one before it. */
static struct rs_error *resume_kept(struct rs_store_stream *stream,
				    const struct rs_kept_packet *packet)
{
	struct rs_store *to = stream->store;
	struct rs_error *err;

	if (packet->owner == stream->owner)
		return NULL;
	pthread_mutex_lock(&to->lock);
	err = rs_store_describe_owner(to, stream->identity->index, &packet->owner->owner);
	pthread_mutex_unlock(&to->lock);
	rs_kept_owner_put(stream->owner);
	stream->owner = rs_kept_owner_get(packet->owner);
	return err;
}

static struct rs_error *write_kept(struct rs_store *store, const struct rs_kept *kept,
				   struct rs_store *to, const struct rs_trace_flight *flight)
{
	struct rs_store_stream **streams;
	struct rs_error *err;
	uint32_t n;

	pthread_mutex_lock(&store->lock);
	n = store->describe.n_streams;
	streams = calloc(n ? n : 1, sizeof(struct rs_store_stream *));
	err = streams ? describe_copy(store, to, streams, n) : rs_error_no_memory();
	pthread_mutex_unlock(&store->lock);
	if (!err)
		err = rs_describe_set_flight(&to->describe, flight);
	/* Packets that cannot be written are counted as lost, as in any store. */
	for (uint32_t i = 0; !err && i < kept->n; i++) {
		err = resume_kept(streams[kept->packets[i]->stream], kept->packets[i]);
		if (!err)
			put_kept(streams[kept->packets[i]->stream], kept->packets[i]);
	}
	free(streams);
	return err;
}

struct rs_error *rs_store_write_kept(struct rs_store *store, const char *directory, const char *why,
				     int64_t at_ns, const struct rs_clock *clock,
				     struct rs_store_kept *out)
{
	struct rs_trace_flight flight = { .at_ns = at_ns, .why = why };
	struct rs_store_kept result = { 0 };
	struct rs_store *to = NULL;
	struct rs_error *err;
	struct rs_kept kept;

	if (!rs_keep_hold(store->keep, &kept))
		return rs_error_no_memory();
	result.short_of_bytes = kept.squeezed_out_ns > kept.dropped_to_ns;
	result.whole_from_ns = result.short_of_bytes ? kept.squeezed_out_ns : kept.dropped_to_ns;
	flight.whole_from_ns = result.whole_from_ns;
	err = rs_store_create(directory, store->describe.clocks[0], store->describe.command, &to);
	if (!err) {
		err = write_kept(store, &kept, to, &flight);
		if (err)
			rs_store_note(to, err);
		err = rs_error_first(err, rs_store_close(to, clock, &result.sum));
	}
	rs_keep_release(store->keep, &kept);
	if (!err)
		*out = result;
	return err;
}

/* ---- closing ------------------------------------------------------------------------------ */

static struct rs_error *write_final_state(struct rs_store *store, uint64_t unsaid)
{
	struct rs_state state = { .word = store->error || unsaid ? "cut" : "closed",
				  .check = store->described ? &store->lines.check : NULL,
				  .unsaid = unsaid };
	struct rs_error *err = NULL;

	store->private.n = 0; /* the rings are drained */
	/* Only the state reports the records lost at the end, so a failed write is repeated once:
	 * disk errors may be transient. */
	for (int attempt = 0; !attempt || (err && attempt < 2); attempt++) {
		rs_error_free(err);
		err = write_state(store, state);
	}
	return err;
}

/* Writes the last lines: the streams' ends, and the clocks if their values were refined. */
static void describe_end(struct rs_store *store, const struct rs_clock *clock)
{
	struct rs_describe *describe = &store->describe;
	struct rs_error *err;

	for (uint32_t i = 0; clock && i < describe->n_clocks; i++) {
		struct rs_clock *ours = describe->clocks[i];

		if (ours->monotonic) /* it counts ns of its own */
			continue;
		ours->freq_hz = clock->freq_hz;
		ours->ns_mult = clock->ns_mult;
		store->written[RS_LINE_CLOCKS] = 0;
	}
	describe->has_ends = true;
	err = rs_store_describe_sync(store);
	store->described = !err;
	rs_error_free(rs_store_keep_error(store, err));
}

struct rs_error *rs_store_close(struct rs_store *store, const struct rs_clock *clock,
				struct rs_store_summary *summary)
{
	struct rs_store_summary sum = { 0 };
	struct rs_store_stream *stream;
	struct rs_error *err;
	uint64_t unsaid = store->unsaid;

	behind_end(store);
	sum.lost = unsaid;
	err = store->keep ? NULL : folder_check(store);
	if (err) { /* this is the cause of the other errors */
		rs_error_free(store->error);
		store->error = err;
	}
	for (stream = store->streams; stream; stream = stream->next) {
		rs_store_stream_close(stream);
		unsaid += stream->unsaid;
		sum.records += stream->total_records;
		sum.lost += stream->total_lost;
		sum.bytes += stream->offset;
		sum.streams++;
		*store->describe.stream_end[stream->identity->index] =
			(struct rs_stream_end){ .known = true,
						.bytes = stream->offset,
						.records = stream->total_records,
						.lost = stream->total_lost };
	}
	describe_end(store, clock);
	rs_store_index_flush(store);
	if (!store->keep)
		rs_error_free(rs_store_keep_error(store, write_final_state(store, unsaid)));
	if (summary)
		*summary = sum;
	err = store->error;
	store->error = NULL;
	store_free(store);
	return err;
}
