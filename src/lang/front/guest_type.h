/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Types and variables of the guest that the program names and does not declare: those of the
 * observed program, by DWARF, and of the guest's kernel, by BTF (introspect/types.h). A struct is
 * converted to a record of D when it is first needed, and its members when one of them is first
 * needed.
 */
#ifndef RS_LANG_FRONT_GUEST_TYPE_H
#define RS_LANG_FRONT_GUEST_TYPE_H

#include "introspect/types.h"
#include "lang/front/tree.h"

/* Completes a record that the program does not declare, if the guest has such a type; otherwise
 * sets record->why to the reason. Only a lack of memory is an error. */
struct rs_error *rs_lang_guest_complete(struct rs_script *script, struct record *record);
/* Completes all records that the program uses and does not declare. */
struct rs_error *rs_lang_guest_complete_all(struct rs_script *script);
/* Reads the members of a record of the guest. No-op for other records. */
struct rs_error *rs_lang_guest_load(struct rs_script *script, struct record *record);

/* Looks up a name of a type. module may be NULL. If *found is false, *why is the reason. */
struct rs_error *rs_lang_guest_typedef(struct rs_script *script, const char *module,
				       const char *name, struct type *type, bool *found,
				       const char **why);
/* Looks up the variable of a node, adds it to the program, and sets the node's type, which is void
 * if the variable has none that D can read. Sets *why to the reason if there is none. */
struct rs_error *rs_lang_guest_variable(struct rs_script *script, struct node *node,
					const char **why);
/* Looks up the name of a value in the guest's enumerations. Returns the same as
 * rs_types_ops.enumerator(). Searches only if the program has already used some type of the
 * guest. */
int rs_lang_guest_enumerator(struct rs_script *script, const char *name, int64_t *value);

#endif
