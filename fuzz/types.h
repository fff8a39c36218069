/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads all types and variables of a damaged program or kernel (introspect/types.h). */
#ifndef RS_FUZZ_TYPES_H
#define RS_FUZZ_TYPES_H

#include "fuzz.h"
#include "introspect/types.h"

#define FUZZ_TYPES 256u

struct fuzz_types {
	struct rs_types *types;
	enum rs_cname what;
	uint64_t ids[FUZZ_TYPES]; /* to continue with */
	uint32_t n, named;
};

static inline void fuzz_type_add(struct fuzz_types *f, uint64_t id)
{
	if (f->n < FUZZ_TYPES)
		f->ids[f->n++] = id;
}

static inline bool fuzz_type_member(void *ctx, const struct rs_cmember *member)
{
	MUST(member->name && strlen(member->name) < 1u << 20);
	fuzz_type_add(ctx, member->type);
	return true;
}

static inline bool fuzz_type_name(void *ctx, const char *name)
{
	struct fuzz_types *f = ctx;
	uint64_t id = 0;
	bool found = false;
	struct rs_cvariable variable = { 0 };
	const struct rs_types_ops *ops = f->types->ops;
	struct rs_error *err = f->what == RS_CNAME_VARIABLE
				       ? ops->variable(f->types, name, &variable, &found)
				       : ops->find(f->types, f->what, name, &id, &found);

	if (f->what == RS_CNAME_VARIABLE) {
		found = found && variable.has_type;
		id = variable.type;
	}
	if (!err && found) /* a damaged type has a name, but is not found */
		fuzz_type_add(f, id);
	fuzz_drop(err);
	return ++f->named < 64;
}

static inline void fuzz_types_run(struct rs_types *types)
{
	struct fuzz_types f = { .types = types };
	struct rs_ctype type;
	int64_t value;

	for (f.what = 0; f.what < RS_CNAMES; f.what++, f.named = 0)
		types->ops->names(types, f.what, fuzz_type_name, &f);
	MUST(types->ops->enumerator(types, "SECOND", &value) <= 2);
	for (uint32_t i = 0; i < f.n; i++) {
		if (!types->ops->get(types, f.ids[i], &type))
			continue;
		MUST(type.name);
		MUST(type.kind != RS_CTYPE_INT ||
		     (type.bytes <= 8 && type.bytes && !(type.bytes & (type.bytes - 1))));
		if (type.kind == RS_CTYPE_POINTER || type.kind == RS_CTYPE_ARRAY)
			fuzz_type_add(&f, type.to);
		types->ops->members(types, f.ids[i], fuzz_type_member, &f);
	}
}

#endif
