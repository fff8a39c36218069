/* SPDX-License-Identifier: BSD-2-Clause */
/* Access to a processor's registers by name. */
#ifndef RS_INTROSPECT_REGISTERS_H
#define RS_INTROSPECT_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <ringside/registers.h>

/* Stores a register's value by its name ("rip", "eflags", "cr3") in *value. Returns false if there
 * is no such register. */
bool rs_x86_reg(const struct rs_x86_regs *regs, const char *name, uint64_t *value);
/* Returns the i-th register's name, in the order of the struct, or NULL past the last. */
const char *rs_x86_reg_name(uint32_t index);
/* Returns the place and width of the i-th register, or NULL past the last. */
void *rs_x86_reg_place(struct rs_x86_regs *regs, uint32_t index, uint32_t *bytes);

#endif
