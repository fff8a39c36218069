/* SPDX-License-Identifier: BSD-2-Clause */
/* Conditions of a flight recorder: their meaning, and invalid ones. */
#include "../test.h"

#include "event/exit_reason.h"
#include "live/when.h"

TEST(conditions)
{
	static const struct {
		const char *text;
		uint32_t host, isa, code;
		uint64_t than_ns;
	} good[] = {
		{ "exit > 1ms", RS_ISA_VMX, 0, 0, 1000000 },
		{ "exit>2.5us", RS_ISA_UNKNOWN, 0, 0, 2500 },
		{ " exit\t> 7 ", RS_ISA_SVM, 0, 0, 7 },
		/* Intel SDM, volume 3, appendix C: 12; AMD APM, volume 2, appendix C: 78h */
		{ "exit HLT > 5ms", RS_ISA_VMX, RS_ISA_VMX, 12, 5000000 },
		{ "exit hlt>5ms", RS_ISA_SVM, RS_ISA_SVM, 0x78, 5000000 },
		{ "exit 0x403 > 1s", RS_ISA_SVM, RS_ISA_SVM, 0x403, 1000000000 },
		{ "exit 12 > 1s", RS_ISA_VMX, RS_ISA_VMX, 12, 1000000000 },
		{ "exit HLT > 1s", RS_ISA_UNKNOWN, RS_ISA_VMX, 12, 1000000000 },
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct rs_when when = { 99, 99, 99 };

		CHECK_OK(rs_when_parse(good[i].text, good[i].host, &when));
		CHECK_EQ_U64(when.isa, good[i].isa);
		CHECK_EQ_U64(when.code, good[i].code);
		CHECK_EQ_U64(when.than_ns, good[i].than_ns);
	}
}

TEST(invalid_conditions)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "expected a condition" },
		{ ">", "expected a condition" },
		{ "exit", "expected a condition" },
		{ "entry > 1ms", "expected a condition" },
		{ "exit HLT IO > 1ms", "expected a condition" },
		{ "exit < 1ms", "expected a condition" },
		{ "exit >", "is not a duration" },
		{ "exit > soon", "is not a duration" },
		{ "exit > 1ms > 2ms", "after the number, not" },
		{ "exit > 0", "a duration above 0" },
		{ "exit NO_SUCH > 1ms", "no exit reason 'NO_SUCH' on this host (vmx)" },
		{ "exit 4294967296 > 1ms", "no exit reason" },
	};
	char text[300];
	struct rs_when when = { 99, 99, 99 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(rs_when_parse(bad[i].text, RS_ISA_VMX, &when), RS_USAGE, bad[i].says);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK_ERR(rs_when_parse(text, RS_ISA_VMX, &when), RS_USAGE, "expected a condition");
	CHECK_ERR(rs_when_parse("exit NO_SUCH > 1ms", RS_ISA_UNKNOWN, &when), RS_USAGE,
		  "there is no exit reason 'NO_SUCH'");
	CHECK_EQ_U64(when.than_ns, 99);
}
