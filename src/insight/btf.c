/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the BTF of a guest's kernel. */
#include "insight/btf.h"

#include <stdlib.h>
#include <string.h>

/* include/uapi/linux/btf.h */
struct header {
	uint16_t magic;
	uint8_t version, flags;
	uint32_t hdr_len, type_off, type_len, str_off, str_len;
};
_Static_assert(sizeof(struct header) == 24, "layout in memory");

struct type {
	uint32_t name, info, size_or_type;
};

struct member {
	uint32_t name, type, offset;
};

struct array {
	uint32_t type, index_type, n;
};

/* Size of the data after a type's record: fixed bytes, and bytes for each of vlen elements. */
static const struct {
	uint8_t fixed, each;
} follows[RS_BTF_KINDS] = {
	[RS_BTF_INT] = { 4, 0 },      [RS_BTF_ARRAY] = { sizeof(struct array), 0 },
	[RS_BTF_STRUCT] = { 0, 12 },  [RS_BTF_UNION] = { 0, 12 },
	[RS_BTF_ENUM] = { 0, 8 },     [RS_BTF_FUNC_PROTO] = { 0, 8 },
	[RS_BTF_VAR] = { 4, 0 },      [RS_BTF_DATASEC] = { 0, 12 },
	[RS_BTF_DECL_TAG] = { 4, 0 }, [RS_BTF_ENUM64] = { 0, 12 },
};

struct rs_btf {
	uint8_t *data;
	const uint8_t *types;
	const char *texts; /* the last byte is 0 */
	uint32_t texts_bytes;
	uint32_t *at; /* offset in `types` of each type; type 0 is void and has no record */
	uint32_t n;
};

static enum rs_btf_kind kind_of(const struct type *type)
{
	return type->info >> 24 & 0x1f;
}

static uint32_t elements_of(const struct type *type)
{
	return type->info & 0xffff;
}

static bool type_at(const struct rs_btf *btf, uint32_t id, struct type *type)
{
	if (!id || id >= btf->n)
		return false;
	memcpy(type, btf->types + btf->at[id], sizeof(*type));
	return true;
}

static const char *text_at(const struct rs_btf *btf, uint32_t at)
{
	return at < btf->texts_bytes ? btf->texts + at : "";
}

bool rs_btf_record(const struct rs_btf *btf, uint32_t id, struct rs_btf_record *record)
{
	struct type type;

	if (!type_at(btf, id, &type))
		return false;
	*record = (struct rs_btf_record){ .kind = kind_of(&type),
					  .name = text_at(btf, type.name),
					  .size_or_type = type.size_or_type,
					  .n = elements_of(&type),
					  .flag = type.info >> 31,
					  .rest = btf->types + btf->at[id] + sizeof(type) };
	return true;
}

const char *rs_btf_text(const struct rs_btf *btf, uint32_t at)
{
	return text_at(btf, at);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Counts the types. If btf->at is set, stores each type's offset there. */
static struct rs_error *types_scan(struct rs_btf *btf, uint32_t bytes)
{
	uint32_t at = 0;

	btf->n = 1;
	while (at < bytes) {
		struct type type;
		uint64_t size;

		if (bytes - at < sizeof(type))
			return rs_error_create(RS_DAMAGED, "BTF: type %u is cut", btf->n);
		memcpy(&type, btf->types + at, sizeof(type));
		if (!kind_of(&type) || kind_of(&type) >= RS_BTF_KINDS)
			return rs_error_create(RS_DAMAGED, "BTF: type %u is of the unknown kind %u",
					       btf->n, kind_of(&type));
		size = sizeof(type) + follows[kind_of(&type)].fixed +
		       (uint64_t)follows[kind_of(&type)].each * elements_of(&type);
		if (size > bytes - at)
			return rs_error_create(RS_DAMAGED, "BTF: type %u is cut", btf->n);
		if (btf->at)
			btf->at[btf->n] = at;
		btf->n++;
		at += (uint32_t)size;
	}
	return NULL;
}

static struct rs_error *header_check(const struct header *h, uint64_t bytes)
{
	uint64_t room = bytes - h->hdr_len;

	if (h->magic != RS_BTF_MAGIC || h->version != 1)
		return rs_error_create(RS_DAMAGED, "BTF: unknown magic number or version");
	if (h->hdr_len < sizeof(*h) || h->hdr_len > bytes || h->type_off > room ||
	    h->type_off & 3 || h->type_len > room - h->type_off || h->str_off > room ||
	    h->str_len > room - h->str_off || !h->str_len)
		return rs_error_create(RS_DAMAGED, "BTF: its sections are not within its bytes");
	return NULL;
}

struct rs_error *rs_btf_create(const void *data, uint64_t bytes, struct rs_btf **out)
{
	struct rs_btf *btf;
	struct rs_error *err;
	struct header h;

	if (bytes < sizeof(h) || bytes > RS_BTF_BYTES_MAX)
		return rs_error_create(RS_DAMAGED, "BTF: its size is %llu bytes",
				       (unsigned long long)bytes);
	memcpy(&h, data, sizeof(h));
	err = header_check(&h, bytes);
	if (err)
		return err;
	btf = calloc(1, sizeof(*btf));
	if (!btf || !(btf->data = malloc(bytes))) {
		free(btf);
		return rs_error_no_memory();
	}
	memcpy(btf->data, data, bytes);
	btf->types = btf->data + h.hdr_len + h.type_off;
	btf->texts = (const char *)btf->data + h.hdr_len + h.str_off;
	btf->texts_bytes = h.str_len;
	if (btf->texts[h.str_len - 1])
		err = rs_error_create(RS_DAMAGED, "BTF: its strings do not end");
	if (!err)
		err = types_scan(btf, h.type_len);
	if (!err && !(btf->at = malloc(btf->n * sizeof(*btf->at))))
		err = rs_error_no_memory();
	if (!err)
		err = types_scan(btf, h.type_len);
	if (err)
		rs_btf_destroy(btf);
	else
		*out = btf;
	return err;
}

void rs_btf_destroy(struct rs_btf *btf)
{
	if (!btf)
		return;
	free(btf->at);
	free(btf->data);
	free(btf);
}

uint32_t rs_btf_count(const struct rs_btf *btf)
{
	return btf->n;
}

/* ---- types ---------------------------------------------------------------------------------- */

/* Follows typedefs and qualifiers. */
static bool resolve(const struct rs_btf *btf, uint32_t *id, struct type *type)
{
	for (uint32_t depth = 0; depth < RS_BTF_DEPTH_MAX; depth++) {
		if (!type_at(btf, *id, type))
			return false;
		switch (kind_of(type)) {
		case RS_BTF_TYPEDEF:
		case RS_BTF_VOLATILE:
		case RS_BTF_CONST:
		case RS_BTF_RESTRICT:
		case RS_BTF_TYPE_TAG:
			*id = type->size_or_type;
			break;
		default:
			return true;
		}
	}
	return false;
}

bool rs_btf_resolve(const struct rs_btf *btf, uint32_t *id, struct rs_btf_record *record)
{
	struct type type;

	return resolve(btf, id, &type) && rs_btf_record(btf, *id, record);
}

uint32_t rs_btf_struct(const struct rs_btf *btf, const char *name)
{
	struct type type;

	for (uint32_t id = 1; id < btf->n; id++) {
		type_at(btf, id, &type);
		if ((kind_of(&type) == RS_BTF_STRUCT || kind_of(&type) == RS_BTF_UNION) &&
		    !strcmp(text_at(btf, type.name), name))
			return id;
	}
	return 0;
}

uint32_t rs_btf_struct_bytes(const struct rs_btf *btf, uint32_t id)
{
	struct type type;

	return type_at(btf, id, &type) &&
			       (kind_of(&type) == RS_BTF_STRUCT || kind_of(&type) == RS_BTF_UNION)
		       ? type.size_or_type
		       : 0;
}

/* Sets the size of a member's type, and the number of elements if it is an array. */
static void measure(const struct rs_btf *btf, uint32_t id, struct rs_btf_member *member)
{
	uint64_t n = 1, bytes = 0;
	bool is_array = false;

	for (uint32_t depth = 0; depth < RS_BTF_DEPTH_MAX; depth++) {
		struct array array;
		struct type type;

		if (!resolve(btf, &id, &type))
			break;
		if (kind_of(&type) == RS_BTF_ARRAY) {
			memcpy(&array, btf->types + btf->at[id] + sizeof(type), sizeof(array));
			n *= array.n;
			is_array = true;
			id = array.type;
			if (n > UINT32_MAX)
				return;
			continue;
		}
		if (kind_of(&type) == RS_BTF_PTR)
			bytes = 8;
		else if (kind_of(&type) == RS_BTF_INT || kind_of(&type) == RS_BTF_STRUCT ||
			 kind_of(&type) == RS_BTF_UNION || kind_of(&type) == RS_BTF_ENUM ||
			 kind_of(&type) == RS_BTF_ENUM64 || kind_of(&type) == RS_BTF_FLOAT)
			bytes = type.size_or_type;
		break;
	}
	if (bytes * n <= UINT32_MAX)
		member->bytes = (uint32_t)(bytes * n);
	member->elements = is_array ? (uint32_t)n : 0;
}

struct search {
	const struct rs_btf *btf;
	uint32_t work;
	uint64_t bits; /* bit offset of the member found so far */
	uint32_t id, bitfield;
};

/* Looks up a name of the given length among a struct's members, and the members of its unnamed
 * structs and unions. */
static bool member_find(struct search *s, uint32_t id, uint64_t bits, const char *name, size_t len,
			uint32_t depth)
{
	const struct rs_btf *btf = s->btf;
	struct type type, inner;

	if (depth > RS_BTF_DEPTH_MAX || !resolve(btf, &id, &type) ||
	    (kind_of(&type) != RS_BTF_STRUCT && kind_of(&type) != RS_BTF_UNION))
		return false;
	for (uint32_t i = 0; i < elements_of(&type); i++) {
		bool flagged = type.info >> 31;
		struct member member;
		uint32_t offset, target;
		const char *text;

		if (!s->work--) {
			s->work = 0;
			return false;
		}
		memcpy(&member, btf->types + btf->at[id] + sizeof(type) + i * sizeof(member),
		       sizeof(member));
		offset = flagged ? member.offset & 0xffffff : member.offset;
		text = text_at(btf, member.name);
		if (!strncmp(text, name, len) && !text[len] && len) {
			s->bits = bits + offset;
			s->id = member.type;
			s->bitfield = flagged ? member.offset >> 24 : 0;
			return true;
		}
		target = member.type;
		if (!*text && resolve(btf, &target, &inner) &&
		    member_find(s, target, bits + offset, name, len, depth + 1))
			return true;
	}
	return false;
}

bool rs_btf_member(const struct rs_btf *btf, uint32_t id, const char *path,
		   struct rs_btf_member *out)
{
	struct search s = { .btf = btf, .work = RS_BTF_WORK_MAX, .id = id };
	struct rs_btf_member member = { 0 };

	for (;;) {
		size_t len = strcspn(path, ".");

		if (!member_find(&s, s.id, s.bits, path, len, 0))
			return false;
		if (!path[len])
			break;
		path += len + 1;
	}
	if (s.bits / 8 > UINT32_MAX)
		return false;
	member.offset = (uint32_t)(s.bits / 8);
	member.bitfield = (uint8_t)s.bitfield;
	member.bit_offset = s.bitfield ? s.bits % 8 : 0;
	measure(btf, s.id, &member);
	*out = member;
	return true;
}
