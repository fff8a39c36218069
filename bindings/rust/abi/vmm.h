/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The catalogue's vmm events as arguments of a macro of src/vmm.rs: scripts/rust-abi generates
 * src/abi/vmm.rs from this file with the preprocessor.
 */
#define RS_FIELD(type, show, name, unit, values) name: type,
#define RS_TEXT(name)				 [name]
#define RS_EVENT(symbol, n, kind, mask_class, class_name, name, help, ...)                         \
	event symbol = n, mask_class, class_name, name, help, { __VA_ARGS__ }
catalogue! {
#include <ringside/event/vmm.def>
}
