/* SPDX-License-Identifier: BSD-2-Clause */
/* Exit reasons: names to numbers and numbers to names, and numbers without a name. */
#include "../test.h"

#include "event/catalogue.h"
#include "event/exit_reason.h"
#include "kvm/wire.h"

static void check_text(uint32_t isa, uint32_t code, const char *expected)
{
	char text[RS_EXIT_TEXT_MAX];

	CHECK_STR(rs_exit_text(isa, code, text), expected);
}

/* Numbers from the SDM (volume 3, appendix C), the APM (volume 2, appendix C), ESR_ELx, scause. */
TEST(reasons_have_their_names)
{
	check_text(RS_ISA_VMX, 0, "EXCEPTION_NMI");
	check_text(RS_ISA_VMX, 12, "HLT");
	check_text(RS_ISA_VMX, 32, "MSR_WRITE");
	check_text(RS_ISA_VMX, 49, "EPT_MISCONFIG");
	check_text(RS_ISA_VMX, 76, "SEAMCALL");
	check_text(RS_ISA_VMX, 77, "TDCALL");
	check_text(RS_ISA_VMX, 85, "MSR_WRITE_IMM");
	check_text(RS_ISA_SVM, 0, "READ_CR0");
	check_text(RS_ISA_SVM, 0x4e, "EXCP_PF");
	check_text(RS_ISA_SVM, 0x78, "HLT");
	check_text(RS_ISA_SVM, 0x7b, "IOIO");
	check_text(RS_ISA_SVM, 0x400, "NPF");
	check_text(RS_ISA_SVM, 0x403, "VMGEXIT");
	check_text(RS_ISA_SVM, 0x80000001, "VMGEXIT_MMIO_READ");
	check_text(RS_ISA_SVM, 0xffffffff, "ERR");
	check_text(RS_ISA_ARM64, 0x01, "WFx");
	check_text(RS_ISA_ARM64, 0x24, "DABT_LOW");
	check_text(RS_ISA_ARM64, RS_EXIT_ARM64_OTHER, "IRQ");
	check_text(RS_ISA_RISCV, 21, "LOAD_GUEST_PAGE_FAULT");
	check_text(RS_ISA_RISCV, 0x80000005, "IRQ_S_TIMER");
	check_text(RS_ISA_USER, 2, "io");
	check_text(RS_ISA_USER, 6, "mmio");
	check_text(RS_ISA_USER, (uint32_t)-4, "EINTR"); /* KVM_RUN's errors */
	check_text(RS_ISA_USER, (uint32_t)-100000, "4294867296");
	check_text(RS_ISA_USER, 0x80000000u, "2147483648");
}

/* ret of arm64's kvm_exit: ARM_EXCEPTION_IRQ 0, EL1_SERROR 1, TRAP 2, IL 3, HYP_GONE 0xbadca11
 * (HVC_STUB_ERR, arch/arm64/include/asm/virt.h) */
TEST(arm64_pairs_are_reasons)
{
	check_text(RS_ISA_ARM64, rs_isa_code_arm64(0, 0x24, 4), "IRQ");
	check_text(RS_ISA_ARM64, rs_isa_code_arm64(1, 0x24, 4), "EL1_SERROR");
	check_text(RS_ISA_ARM64, rs_isa_code_arm64(2, 0x24, 4), "DABT_LOW");
	check_text(RS_ISA_ARM64, rs_isa_code_arm64(0xbadca11, 0x24, 4), "HYP_GONE");
}

TEST(riscv_s_interrupt_bit_is_the_top_bit_of_scause)
{
	check_text(RS_ISA_RISCV, rs_isa_code_riscv(UINT64_C(1) << 63 | 5, 0, 8), "IRQ_S_TIMER");
	check_text(RS_ISA_RISCV, rs_isa_code_riscv(0x80000005, 0, 4), "IRQ_S_TIMER");
	check_text(RS_ISA_RISCV, rs_isa_code_riscv(5, 0, 8), "LOAD_ACCESS");
	CHECK(rs_isa_code_riscv(0, 0, 0) == 0);
}

TEST(a_reason_without_a_name_is_a_number)
{
	check_text(RS_ISA_VMX, 35, "35");
	check_text(RS_ISA_VMX, 86, "86");
	check_text(RS_ISA_SVM, 0x8000fffc, "0x8000fffc");
	check_text(RS_ISA_SVM, 0x49, "0x49");
	check_text(RS_ISA_ARM64, 0x3f, "63");
	check_text(RS_ISA_RISCV, 11, "11");
	check_text(RS_ISA_USER, 9999, "9999");
	check_text(RS_ISA_UNKNOWN, 12, "12");
	check_text(RS_ISA_COUNT, 12, "12");
	check_text(UINT32_MAX, UINT32_MAX, "4294967295");
	CHECK(rs_exit_name(RS_ISA_VMX, 35) == NULL);
	CHECK(rs_exit_name(UINT32_MAX, 12) == NULL);
}

/* VMX: bit 31 is a failed entry, other upper bits qualify the same reason. */
TEST(upper_bits_of_vmx)
{
	check_text(RS_ISA_VMX, 0x80000021, "INVALID_STATE (failed entry)");
	check_text(RS_ISA_VMX, 0x80000056, "86 (failed entry)");
	check_text(RS_ISA_VMX, 0x0800000c, "HLT");
	CHECK_STR(rs_exit_name(RS_ISA_VMX, 0x80000022), "MSR_LOAD_FAIL");
}

TEST(architectures)
{
	static const char *const names[] = { "-", "vmx", "svm", "arm64", "riscv", "user" };

	for (uint32_t isa = 0; isa < sizeof(names) / sizeof(names[0]); isa++)
		CHECK_STR(rs_isa_name(isa), names[isa]);
	for (uint32_t isa = 1; isa < sizeof(names) / sizeof(names[0]); isa++)
		CHECK_EQ_U64(rs_isa_find(names[isa]), isa);
	CHECK_STR(rs_isa_name(77), "-");
	CHECK_EQ_U64(rs_isa_find("-"), RS_ISA_UNKNOWN);
	CHECK_EQ_U64(rs_isa_find(""), RS_ISA_UNKNOWN);
}

TEST(names_find_their_numbers)
{
	static const struct {
		uint32_t isa;
		const char *name;
		uint32_t code;
	} found[] = {
		{ RS_ISA_VMX, "HLT", 12 },
		{ RS_ISA_VMX, "hlt", 12 },
		{ RS_ISA_VMX, "EXIT_REASON_HLT", 12 },
		{ RS_ISA_SVM, "HLT", 0x78 },
		{ RS_ISA_SVM, "IOIO", 0x7b },
		{ RS_ISA_SVM, "io", 0x7b }, /* the kernel's name */
		{ RS_ISA_SVM, "PF excp", 0x4e },
		{ RS_ISA_SVM, "ERR", 0xffffffff },
		{ RS_ISA_ARM64, "WFX", 1 },
		{ RS_ISA_ARM64, "SERROR", 0x2f }, /* also the kernel's name of 0x101 */
		{ RS_ISA_ARM64, "EL1_SERROR", 0x101 },
		{ RS_ISA_RISCV, "IRQ_S_EXT", 0x80000009 },
		{ RS_ISA_USER, "IO", 2 },
		{ RS_ISA_USER, "KVM_EXIT_MMIO", 6 },
	};
	uint32_t code = 4711;

	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		CHECK(rs_exit_find(found[i].isa, found[i].name, &code));
		CHECK_EQ_U64(code, found[i].code);
	}
	code = 4711;
	CHECK(!rs_exit_find(RS_ISA_VMX, "IOIO", &code));
	CHECK(!rs_exit_find(RS_ISA_VMX, "", &code));
	CHECK(!rs_exit_find(RS_ISA_VMX, "EXIT_REASON_", &code));
	CHECK(!rs_exit_find(RS_ISA_USER, "hltt", &code));
	CHECK(!rs_exit_find(RS_ISA_UNKNOWN, "HLT", &code));
	CHECK(!rs_exit_find(UINT32_MAX, "HLT", &code));
	CHECK_EQ_U64(code, 4711);
}

/* Binary search needs ascending numbers; filters need each name to be unique. */
TEST(tables_are_sorted_and_names_are_unique)
{
	static const struct {
		const char *table;
		uint32_t isa;
		size_t at_least;
	} tables[] = {
		{ "vmx_exit", RS_ISA_VMX, 70 },
		{ "svm_exit", RS_ISA_SVM, 120 },
		{ "arm64_exit", RS_ISA_ARM64, 40 },
		{ "riscv_exit", RS_ISA_RISCV, 20 },
	};

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		const struct rs_enum *values = rs_catalogue_values(tables[t].table);
		size_t n = 0;

		REQUIRE(values != NULL);
		for (; values[n].name; n++) {
			uint32_t code = 0;

			CHECK(!n || values[n - 1].value < values[n].value);
			CHECK(values[n].value <= UINT32_MAX);
			CHECK_STR(rs_exit_name(tables[t].isa, (uint32_t)values[n].value),
				  values[n].name);
			CHECK(rs_exit_find(tables[t].isa, values[n].name, &code));
			CHECK_EQ_U64(code, values[n].value);
		}
		CHECK(n >= tables[t].at_least);
	}
}
