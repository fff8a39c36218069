/* SPDX-License-Identifier: BSD-2-Clause */
/* The catalogue: the tables that the .def files generate, one after the other. */
#include "event/catalogue.h"

#include <string.h>

#include "event/exit_reason.h"
#include <ringside/record.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- enumerations ------------------------------------------------------------------------- */

#define RS_VALUE(name, number) { #name, number },
#define RS_VALUES(table, values)                                                                   \
	static const struct rs_enum values_of_##table[] = { values{ NULL, 0 } };
#include <ringside/event/enums.def>
#undef RS_VALUES
#undef RS_VALUE

/* The instruction sets, and the exit reasons of each. */
#define RS_ISA(name, NAME, number, mask, base, module) { #name, number },
static const struct rs_enum values_of_isa[] = {
#include <ringside/event/isa.def>
	{ "user", RS_ISA_USER }, { NULL, 0 }
};
#define RS_EXIT(number, name, kernel) { #name, number },
#define RS_ISA_EXITS(name)	      static const struct rs_enum values_of_##name##_exit[] = {
#define RS_ISA_EXITS_END                                                                           \
	{                                                                                          \
		NULL, 0                                                                            \
	}                                                                                          \
	}                                                                                          \
	;
#include <ringside/event/isa.def>
#undef RS_ISA_EXITS
#undef RS_ISA_EXITS_END
#undef RS_EXIT

#define values_of_none ((const struct rs_enum *)NULL)

#define RS_VALUES(table, values) { #table, values_of_##table },
static const struct {
	const char *name;
	const struct rs_enum *values;
} enumerations[] = {
#include <ringside/event/enums.def>
	{ "isa", values_of_isa },
#define RS_ISA(name, NAME, number, mask, base, module) { #name "_exit", values_of_##name##_exit },
#include <ringside/event/isa.def>
};
#undef RS_VALUES

const struct rs_enum *rs_catalogue_values(const char *name)
{
	for (size_t i = 0; i < COUNT(enumerations); i++) {
		if (!strcmp(enumerations[i].name, name))
			return enumerations[i].values;
	}
	return NULL;
}

/* ---- events ------------------------------------------------------------------------------- */

#define RS_TYPE_u8  RS_TYPE_U8
#define RS_TYPE_u16 RS_TYPE_U16
#define RS_TYPE_u32 RS_TYPE_U32
#define RS_TYPE_u64 RS_TYPE_U64
#define RS_TYPE_s8  RS_TYPE_S8
#define RS_TYPE_s16 RS_TYPE_S16
#define RS_TYPE_s32 RS_TYPE_S32
#define RS_TYPE_s64 RS_TYPE_S64

/* First pass: each event's fields. */
#define RS_FIELD(field_type, field_show, field_name, field_unit, table)                            \
	{ .name = #field_name,                                                                     \
	  .unit = (field_unit),                                                                    \
	  .values = values_of_##table,                                                             \
	  .values_name = #table,                                                                   \
	  .type = RS_TYPE_##field_type,                                                            \
	  .show = RS_SHOW_##field_show },
#define RS_TEXT(field_name)                                                                        \
	{ .name = #field_name, .unit = "", .values_name = "none", .type = RS_TYPE_TEXT },
#define RS_STACK(field_name)                                                                       \
	{ .name = #field_name,                                                                     \
	  .unit = "",                                                                              \
	  .values_name = "none",                                                                   \
	  .type = RS_TYPE_STACK,                                                                   \
	  .show = RS_SHOW_HEX },
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	static const struct rs_field fields_of_##symbol[] = { fields };
#include <ringside/event/common.def>
#include <ringside/event/app.def>
#include <ringside/event/vmm.def>
#include <ringside/event/kvm.def>
#include <ringside/event/xdt.def>
#include <ringside/event/xen.def>
#include <ringside/event/acrn.def>
#undef RS_EVENT
#undef RS_FIELD
#undef RS_TEXT
#undef RS_STACK

/* Second pass: the rows. */
#define RS_EVENT(symbol, n, event_kind, mask_class, class_name, name, help, fields)                \
	{ n,                                                                                       \
	  RS_KIND_##event_kind,                                                                    \
	  class_name,                                                                              \
	  name,                                                                                    \
	  help,                                                                                    \
	  fields_of_##symbol,                                                                      \
	  COUNT(fields_of_##symbol) },
static const struct rs_catalogue_row common_rows[] = {
#include <ringside/event/common.def>
};
static const struct rs_catalogue_row app_rows[] = {
#include <ringside/event/app.def>
};
static const struct rs_catalogue_row vmm_rows[] = {
#include <ringside/event/vmm.def>
};
static const struct rs_catalogue_row kvm_rows[] = {
#include <ringside/event/kvm.def>
};
static const struct rs_catalogue_row xdt_rows[] = {
#include <ringside/event/xdt.def>
};
static const struct rs_catalogue_row xen_rows[] = {
#include <ringside/event/xen.def>
};
static const struct rs_catalogue_row acrn_rows[] = {
#include <ringside/event/acrn.def>
};
#undef RS_EVENT

static const struct rs_catalogue catalogues[] = {
	{ NULL, RS_IDS_COMMON, common_rows, COUNT(common_rows) },
	{ "app", RS_IDS_APP, app_rows, COUNT(app_rows) },
	{ "vmm", RS_IDS_VMM, vmm_rows, COUNT(vmm_rows) },
	{ "kvm", RS_IDS_KVM, kvm_rows, COUNT(kvm_rows) },
	{ "xdt", RS_IDS_XDT, xdt_rows, COUNT(xdt_rows), .lodges = true },
	{ "xen", RS_IDS_XEN, xen_rows, COUNT(xen_rows) },
	{ "acrn", RS_IDS_ACRN, acrn_rows, COUNT(acrn_rows) },
};

const struct rs_catalogue *rs_catalogue_find(const char *provider)
{
	for (size_t i = 0; i < COUNT(catalogues); i++) {
		const char *have = catalogues[i].provider;

		if (have == provider || (have && provider && !strcmp(have, provider)))
			return &catalogues[i];
	}
	return NULL;
}

const char *rs_catalogue_of(uint32_t number)
{
	for (size_t i = 0; i < COUNT(catalogues); i++) {
		if (catalogues[i].number == number)
			return catalogues[i].provider;
	}
	return NULL;
}

const char *rs_catalogue_provider(uint32_t index)
{
	return index + 1 < COUNT(catalogues) ? catalogues[index + 1].provider : NULL;
}
