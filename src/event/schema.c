/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema registry. All memory belongs to the arena, and does not move: when an array or a hash
 * table must grow, a larger one is filled and then published, and the old one stays for concurrent
 * readers. So one thread may add while others look up.
 */
#include <ringside/schema.h>

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "event/catalogue.h"
#include "event/same.h"
#include <ringside/record.h>

/* ---- a hash table without locks for readers ----------------------------------------------- */

struct entry {
	uint64_t key; /* id + 1; 0: free; published after value */
	const void *value;
};

struct table {
	uint32_t mask;
	uint32_t used;
	struct entry entries[];
};

static const void *table_find(struct table *const *at, uint64_t id)
{
	/* Pairs with the release in table_grow(). */
	const struct table *table = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15) >> 32;

	for (uint32_t i = (uint32_t)hash;; i++) {
		const struct entry *entry = &table->entries[i & table->mask];
		/* Pairs with the release in table_put(). */
		uint64_t key = __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE);

		if (key == id + 1)
			return entry->value;
		if (!key)
			return NULL;
	}
}

static void table_put(struct table *table, uint64_t id, const void *value)
{
	uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	uint32_t i = (uint32_t)hash;

	while (table->entries[i & table->mask].key)
		i++;
	table->entries[i & table->mask].value = value;
	/* Pairs with the acquire in table_find(). */
	__atomic_store_n(&table->entries[i & table->mask].key, id + 1, __ATOMIC_RELEASE);
	table->used++;
}

static bool table_grow(struct rs_arena *arena, struct table **at)
{
	struct table *old = *at;
	uint32_t size = old ? (old->mask + 1) * 2 : 64;
	struct table *table = rs_arena_alloc(arena, sizeof(*table) + size * sizeof(struct entry));

	if (!table)
		return false;
	table->mask = size - 1;
	for (uint32_t i = 0; old && i <= old->mask; i++) {
		if (old->entries[i].key)
			table_put(table, old->entries[i].key - 1, old->entries[i].value);
	}
	/* Pairs with the acquire in table_find(). */
	__atomic_store_n(at, table, __ATOMIC_RELEASE);
	return true;
}

static bool table_add(struct rs_arena *arena, struct table **at, uint64_t id, const void *value)
{
	if ((*at)->used * 2 > (*at)->mask && !table_grow(arena, at))
		return false;
	table_put(*at, id, value);
	return true;
}

/* ---- the schema --------------------------------------------------------------------------- */

struct name {
	uint32_t id;
	bool has_argument; /* of spans that have a name */
	const char *text;
};

struct rs_schema {
	const char *provider;
	bool xen;
	bool constant; /* the catalogue is being added, whose texts are static */
	struct rs_arena arena;
	struct table *by_id;   /* to struct rs_event */
	struct table *by_name; /* name id to struct name */
	const void **events;   /* by index */
	const void **names;    /* by index */
	uint32_t n_events, events_room;
	uint32_t n_names, names_room;
};

/* Appends to an array that other threads may read concurrently. */
static bool list_add(struct rs_arena *arena, const void ***list, uint32_t *n, uint32_t *room,
		     const void *item)
{
	if (*n == *room) {
		uint32_t more = *room ? *room * 2 : 64;
		const void **copy = rs_arena_alloc(arena, more * sizeof(*copy));

		if (!copy)
			return false;
		if (*n)
			memcpy(copy, *list, *n * sizeof(*copy));
		/* Pairs with the acquire in list_at(). */
		__atomic_store_n(list, copy, __ATOMIC_RELEASE);
		*room = more;
	}
	(*list)[*n] = item;
	/* Pairs with the acquires of the counts in rs_schema_count() and _name_count(). */
	__atomic_store_n(n, *n + 1, __ATOMIC_RELEASE);
	return true;
}

static const void *list_at(const void **const *list, uint32_t index)
{
	return __atomic_load_n(list, __ATOMIC_ACQUIRE)[index];
}

/* Returns a printable copy, because a trace's description is untrusted. Texts of the catalogue and
 * empty texts are not copied. */
static const char *word_copy(struct rs_schema *schema, const char *word)
{
	size_t len;
	char *copy;

	if (schema->constant)
		return word;
	if (!word[0])
		return "";
	len = strlen(word);
	copy = rs_arena_text(&schema->arena, word, len);

	if (copy)
		rs_utf8_mend(copy, len);
	return copy;
}

static struct rs_error *add_rows(struct rs_schema *schema, const struct rs_catalogue *catalogue,
				 const char *provider)
{
	struct rs_error *err = NULL;

	schema->constant = true;
	for (uint32_t i = 0; !err && i < catalogue->n_rows; i++) {
		const struct rs_catalogue_row *row = &catalogue->rows[i];
		struct rs_event event = {
			.id = RS_ID(catalogue->number, row->n),
			.provider = provider ? catalogue->provider : NULL,
			.class_name = row->class_name,
			.function = "",
			.name = row->name,
			.help = row->help,
			.fields = row->fields,
			.n_fields = row->n_fields,
			.kind = row->kind,
		};

		err = rs_schema_add(schema, &event);
	}
	schema->constant = false;
	return err;
}

/* Creates a schema without events. */
static struct rs_error *create_empty(const char *provider, struct rs_schema **out)
{
	struct rs_schema *schema = calloc(1, sizeof(*schema));

	if (!schema)
		return rs_error_no_memory();
	schema->provider = word_copy(schema, provider);
	if (!schema->provider || !table_grow(&schema->arena, &schema->by_id) ||
	    !table_grow(&schema->arena, &schema->by_name)) {
		rs_schema_destroy(schema);
		return rs_error_no_memory();
	}
	*out = schema;
	return NULL;
}

struct rs_error *rs_schema_create(const char *provider, struct rs_schema **out)
{
	struct rs_schema *schema = NULL;
	struct rs_error *err = create_empty(provider, &schema);

	if (!err)
		err = add_rows(schema, rs_catalogue_find(NULL), NULL);
	if (err)
		rs_schema_destroy(schema);
	else
		*out = schema;
	return err;
}

struct rs_error *rs_schema_create_catalogue(const char *provider, struct rs_schema **out)
{
	const struct rs_catalogue *catalogue = rs_catalogue_find(provider);
	struct rs_schema *schema = NULL;
	struct rs_error *err = create_empty(provider, &schema);

	if (!err && !catalogue->lodges)
		err = add_rows(schema, rs_catalogue_find(NULL), NULL);
	if (!err)
		err = add_rows(schema, catalogue, NULL);
	if (err)
		rs_schema_destroy(schema);
	else
		*out = schema;
	return err;
}

void rs_schema_destroy(struct rs_schema *schema)
{
	if (!schema)
		return;
	rs_arena_deinit(&schema->arena);
	free(schema);
}

const char *rs_schema_provider(const struct rs_schema *schema)
{
	return schema->provider;
}

static struct rs_error *add_catalogue(struct rs_schema *schema, const char *provider,
				      const char *name)
{
	const struct rs_catalogue *catalogue = rs_catalogue_find(provider);

	if (!catalogue)
		return rs_error_create(RS_USAGE, "the catalogue has no provider '%s'", provider);
	return add_rows(schema, catalogue, name);
}

struct rs_error *rs_schema_add_catalogue(struct rs_schema *schema, const char *provider)
{
	return add_catalogue(schema, provider, NULL);
}

struct rs_error *rs_schema_add_provider(struct rs_schema *schema, const char *provider)
{
	return add_catalogue(schema, provider, provider);
}

void rs_schema_set_xen(struct rs_schema *schema)
{
	schema->xen = true;
}

bool rs_schema_is_xen(const struct rs_schema *schema)
{
	return schema->xen;
}

static bool copy_values(struct rs_schema *schema, struct rs_field *field)
{
	const struct rs_enum *from = field->values;
	struct rs_enum *to;
	size_t n = 0;

	field->values_name = field->values_name ? word_copy(schema, field->values_name) : "none";
	if (!from || schema->constant)
		return field->values_name != NULL;
	while (from[n].name)
		n++;
	field->values = to = rs_arena_alloc(&schema->arena, (n + 1) * sizeof(*to));
	for (size_t i = 0; to && i < n; i++) {
		to[i].value = from[i].value;
		to[i].name = word_copy(schema, from[i].name);
		if (!to[i].name)
			return false;
	}
	return to && field->values_name;
}

/* Copies fields into the arena and lays them out, packed. Returns NULL if there is no memory. */
static struct rs_field *copy_fields(struct rs_schema *schema, const struct rs_event *event,
				    struct rs_event *copy)
{
	struct rs_arena *arena = &schema->arena;
	struct rs_field *fields = rs_arena_alloc(arena, (event->n_fields + 1u) * sizeof(*fields));
	uint32_t offset = 0;

	for (uint16_t i = 0; fields && i < event->n_fields; i++) {
		const struct rs_field *from = &event->fields[i];
		const char *unit = from->unit ? from->unit : "";

		fields[i] = *from;
		fields[i].offset = (uint16_t)offset;
		fields[i].name = word_copy(schema, from->name);
		fields[i].unit = word_copy(schema, unit);
		if (!copy_values(schema, &fields[i]) || !fields[i].name || !fields[i].unit)
			return NULL;
		offset += rs_type_bytes(from->type);
		copy->n_tails += rs_type_is_tail(from->type);
		copy->tail_shift = from->type == RS_TYPE_STACK ? 3 : 0;
	}
	copy->fixed_bytes = (uint16_t)offset;
	return fields;
}

/* Sinks depend on this limit for the room of a line of text. */
static struct rs_error *check_word(const char *word)
{
	if (word && strlen(word) > RS_WORD_MAX)
		return rs_error_create(RS_DAMAGED, "'%.16s...' is longer than %d bytes", word,
				       RS_WORD_MAX);
	return NULL;
}

static struct rs_error *check_words(const struct rs_event *event)
{
	struct rs_error *err = check_word(event->provider);

	if (!err)
		err = check_word(event->class_name);
	if (!err)
		err = check_word(event->function);
	if (!err)
		err = check_word(event->name);
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_enum *value = event->fields[i].values;

		if (!err)
			err = check_word(event->fields[i].name);
		if (!err)
			err = check_word(event->fields[i].unit);
		for (; !err && value && value->name; value++)
			err = check_word(value->name);
	}
	return err;
}

/* Returns whether a is the name of a field, or of the length that CTF adds to a text or a stack. */
static bool name_clashes(const struct rs_field *field, const char *a)
{
	size_t len = strlen(field->name);

	if (strncmp(a, field->name, len) != 0)
		return false;
	return !a[len] || (rs_type_is_tail(field->type) && !strcmp(a + len, "_length"));
}

static struct rs_error *check_fields(const struct rs_event *event, uint32_t room)
{
	uint32_t bytes = 0;

	if (event->n_fields > RS_FIELDS_MAX)
		return rs_error_create(RS_DAMAGED, "more than %d fields", RS_FIELDS_MAX);
	for (uint16_t i = 0; i < event->n_fields; i++) {
		const struct rs_field *field = &event->fields[i];

		bytes += rs_type_bytes(field->type);
		if (i && rs_type_is_tail(field[-1].type) &&
		    (field->type != RS_TYPE_TEXT || field[-1].type != RS_TYPE_TEXT))
			return rs_error_create(RS_DAMAGED, "field '%s' after a %s", field->name,
					       rs_field_type_text(&field[-1]));
		for (uint16_t j = 0; j < i; j++) {
			const struct rs_field *other = &event->fields[j];

			if (name_clashes(field, other->name) || name_clashes(other, field->name))
				return rs_error_create(RS_DAMAGED, "field '%s' beside a field '%s'",
						       field->name, other->name);
		}
	}
	if (bytes > room)
		return rs_error_create(RS_DAMAGED, "more than %u bytes of fields", room);
	return NULL;
}

/* Returns "provider:class:function:name" of an event whose words are printable, or NULL if there is
 * no memory. */
static const char *probe_make(struct rs_arena *arena, const struct rs_event *event)
{
	const char *words[] = { event->provider, event->class_name, event->function, event->name };
	const size_t n = sizeof(words) / sizeof(words[0]);
	size_t lens[sizeof(words) / sizeof(words[0])], bytes = n;
	char *probe, *at;

	for (size_t i = 0; i < n; i++) {
		lens[i] = strlen(words[i]);
		bytes += lens[i];
	}
	at = probe = rs_arena_alloc(arena, bytes);
	for (size_t i = 0; at && i < n; i++) {
		memcpy(at, words[i], lens[i]);
		at += lens[i];
		*at++ = i + 1 < n ? ':' : '\0';
	}
	return probe;
}

struct rs_error *rs_schema_add(struct rs_schema *schema, const struct rs_event *event)
{
	struct rs_arena *arena = &schema->arena;
	const struct rs_event *have = rs_schema_find(schema, event->id);
	const char *function = event->function ? event->function : "";
	const char *help = event->help ? event->help : "";
	const char *provider = event->provider ? event->provider : schema->provider;
	/* Common events are not records of Xen. */
	bool is_xen = schema->xen && RS_ID_PROVIDER(event->id) != RS_IDS_COMMON;
	uint16_t lead = is_xen ? sizeof(struct rs_xen_record) : 0;
	struct rs_event *copy;
	struct rs_error *err;

	if (have && rs_event_same(have, event))
		return NULL;
	if (have)
		return rs_error_create(RS_DAMAGED, "event 0x%llx is already %s",
				       (unsigned long long)event->id, have->probe);
	/* tests/unit/event_catalogue.c checks the catalogue's events. */
	err = schema->constant ? NULL : check_words(event);
	if (!err && !schema->constant)
		err = check_fields(event, RS_RECORD_PAYLOAD_MAX - lead);
	if (err)
		return rs_error_wrap(err, "event '%.63s'", event->name);
	copy = rs_arena_alloc(arena, sizeof(*copy));
	if (!copy)
		return rs_error_no_memory();
	*copy = *event;
	copy->lead_bytes = lead;
	copy->provider = provider == schema->provider ? provider : word_copy(schema, provider);
	copy->class_name = word_copy(schema, event->class_name);
	copy->function = word_copy(schema, function);
	copy->name = word_copy(schema, event->name);
	copy->help = word_copy(schema, help);
	if (!copy->provider || !copy->class_name || !copy->function || !copy->name || !copy->help)
		return rs_error_no_memory();
	copy->probe = probe_make(arena, copy);
	copy->fields = copy_fields(schema, event, copy);
	copy->index = schema->n_events;
	if (!copy->probe || !copy->fields ||
	    !list_add(arena, &schema->events, &schema->n_events, &schema->events_room, copy) ||
	    !table_add(arena, &schema->by_id, copy->id, copy))
		return rs_error_no_memory();
	return NULL;
}

/* Returns the number of a name's bytes that are kept, without a partial character at the end. */
static size_t name_len(const char *text, size_t len)
{
	if (len <= RS_NAME_MAX)
		return len;
	for (len = RS_NAME_MAX; len > RS_NAME_MAX - 3 && ((uint8_t)text[len] & 0xc0) == 0x80; len--)
		;
	return len;
}

static struct rs_error *set_name(struct rs_schema *schema, uint32_t id, const char *text,
				 size_t len, bool has_argument)
{
	char *copy = rs_arena_text(&schema->arena, text, len = name_len(text, len));
	struct name *name = rs_arena_alloc(&schema->arena, sizeof(*name));

	if (!copy || !name)
		return rs_error_no_memory();
	rs_utf8_mend(copy, len);
	if (table_find(&schema->by_name, id)) {
		if (!strcmp(rs_schema_name(schema, id), copy))
			return NULL;
		return rs_error_create(RS_DAMAGED, "name %u is '%s' already", id,
				       rs_schema_name(schema, id));
	}
	*name = (struct name){ id, has_argument, copy };
	if (!list_add(&schema->arena, &schema->names, &schema->n_names, &schema->names_room,
		      name) ||
	    !table_add(&schema->arena, &schema->by_name, id, name))
		return rs_error_no_memory();
	return NULL;
}

struct rs_error *rs_schema_set_name(struct rs_schema *schema, uint32_t id, const char *text,
				    size_t len)
{
	return set_name(schema, id, text, len, false);
}

struct rs_error *rs_schema_set_span(struct rs_schema *schema, uint32_t id, const char *text,
				    size_t len)
{
	return set_name(schema, id, text, len, true);
}

const struct rs_event *rs_schema_find(const struct rs_schema *schema, uint64_t id)
{
	return table_find(&schema->by_id, id);
}

const char *rs_schema_name(const struct rs_schema *schema, uint32_t id)
{
	const struct name *name = table_find(&schema->by_name, id);

	return name ? name->text : NULL;
}

bool rs_schema_name_has_argument(const struct rs_schema *schema, uint32_t id)
{
	const struct name *name = table_find(&schema->by_name, id);

	return name && name->has_argument;
}

uint32_t rs_schema_count(const struct rs_schema *schema)
{
	return __atomic_load_n(&schema->n_events, __ATOMIC_ACQUIRE);
}

const struct rs_event *rs_schema_event(const struct rs_schema *schema, uint32_t index)
{
	return list_at(&schema->events, index);
}

uint32_t rs_schema_name_count(const struct rs_schema *schema)
{
	return __atomic_load_n(&schema->n_names, __ATOMIC_ACQUIRE);
}

const char *rs_schema_name_at(const struct rs_schema *schema, uint32_t index, uint32_t *id)
{
	const struct name *name = list_at(&schema->names, index);

	*id = name->id;
	return name->text;
}
