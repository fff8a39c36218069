/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of x86-64 registers. */
#include "introspect/registers.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	uint32_t at;
	uint8_t bytes;
} names[] = {
#define REG(name, field)                                                                           \
	{                                                                                          \
		name, offsetof(struct rs_x86_regs, field),                                         \
			sizeof(((struct rs_x86_regs *)0)->field)                                   \
	}
	REG("rax", gpr[0]),	 REG("rbx", gpr[1]),	  REG("rcx", gpr[2]),
	REG("rdx", gpr[3]),	 REG("rsi", gpr[4]),	  REG("rdi", gpr[5]),
	REG("rbp", gpr[6]),	 REG("rsp", gpr[7]),	  REG("r8", gpr[8]),
	REG("r9", gpr[9]),	 REG("r10", gpr[10]),	  REG("r11", gpr[11]),
	REG("r12", gpr[12]),	 REG("r13", gpr[13]),	  REG("r14", gpr[14]),
	REG("r15", gpr[15]),	 REG("rip", rip),	  REG("eflags", eflags),
	REG("cs", cs),		 REG("ss", ss),		  REG("ds", ds),
	REG("es", es),		 REG("fs", fs),		  REG("gs", gs),
	REG("fs_base", fs_base), REG("gs_base", gs_base), REG("k_gs_base", k_gs_base),
	REG("cr0", cr0),	 REG("cr2", cr2),	  REG("cr3", cr3),
	REG("cr4", cr4),	 REG("cr8", cr8),	  REG("efer", efer),
#undef REG
};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

bool rs_x86_reg(const struct rs_x86_regs *regs, const char *name, uint64_t *value)
{
	for (size_t i = 0; i < N_NAMES; i++) {
		if (strcmp(names[i].name, name) != 0)
			continue;
		*value = 0; /* little endian: a narrow value is widened */
		memcpy(value, (const uint8_t *)regs + names[i].at, names[i].bytes);
		return true;
	}
	return false;
}

const char *rs_x86_reg_name(uint32_t index)
{
	return index < N_NAMES ? names[index].name : NULL;
}

void *rs_x86_reg_place(struct rs_x86_regs *regs, uint32_t index, uint32_t *bytes)
{
	if (index >= N_NAMES)
		return NULL;
	*bytes = names[index].bytes;
	return (uint8_t *)regs + names[index].at;
}
