/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The catalogue's vmm events for C programs, generated from event/vmm.def: ids RS_EVENT_x and
 * payloads struct rs_event_x. Usage:
 *
 *	RS_EMIT_EVENT(vcpu_exit, .vcpu = 0, .reason = run->exit_reason);
 *	RS_EMIT_EVENT_TEXT(vm_load, path, strlen(path), .entry = entry, .size = bytes);
 */
#ifndef RINGSIDE_VMM_H
#define RINGSIDE_VMM_H

#include <ringside/trace.h>

#define RS_FIELD(type, show, name, unit, values) rs_c_##type name;
#define RS_TEXT(name)
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	struct rs_event_##symbol {                                                                 \
		fields                                                                             \
	} __attribute__((packed));
#include <ringside/event/vmm.def>
#undef RS_EVENT
#undef RS_FIELD
#undef RS_TEXT

#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	RS_EVENT_CLASS_##symbol = (int)RS_CLASS_##mask_class,
enum {
#include <ringside/event/vmm.def>
};
#undef RS_EVENT

#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, fields)                      \
	static const uint64_t RS_EVENT_##symbol __attribute__((unused)) = RS_ID(RS_IDS_VMM, n);
#include <ringside/event/vmm.def>
#undef RS_EVENT

#endif
