/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes and assertions of a program that is replayed. In the recording, each is a nop and a note
 * in the program's file, in the form of SystemTap's static probes (.note.stapsdt, version 3), which
 * records where the nop is and where its values are: registers, memory, constants. A replay stops
 * at the nop and reads them (ringside replay run --binary PROGRAM).
 *
 *	rs_replay_probe(request, fd, bytes);		guest:usdt:PROVIDER:request
 *	rs_replay_assert(bytes <= room, bytes, room);	guest:assert:FILE:LINE, where it fails
 *
 * The program never evaluates an assertion: its values are the variables named after it, and the
 * replay evaluates the expression over them as D. It has no string constants. Values are numbers
 * and pointers, up to eight, and should exist already: the program pays for computing any other.
 *
 * Header only; no library. The program may be position independent (PIE, static-pie) or not:
 * recordings are made without address randomization, so the guest loads it at one known address.
 */
#ifndef RINGSIDE_REPLAY_H
#define RINGSIDE_REPLAY_H

#include <ringside/language.h>

RS_C_BEGIN

/* The provider of probes. To change it, define it before including the header. */
#ifndef RS_REPLAY_PROVIDER
#define RS_REPLAY_PROVIDER guest
#endif

#define rs_replay_probe(name, ...)                                                                 \
	RS_REPLAY_CAT_(RS_REPLAY_NOTE_, RS_REPLAY_COUNT_(__VA_ARGS__))                             \
	(RS_REPLAY_TEXT_(RS_REPLAY_PROVIDER), #name, ##__VA_ARGS__)

#define rs_replay_assert(expr, ...)                                                                \
	do {                                                                                       \
		if (0) /* the compiler reads it, the program does not */                           \
			(void)(expr);                                                              \
		RS_REPLAY_CAT_(RS_REPLAY_NOTE_, RS_REPLAY_COUNT_(__VA_ARGS__))                     \
		("rs_assert", __FILE__ ":" RS_REPLAY_TEXT_(__LINE__), ##__VA_ARGS__);              \
		/* Without operands, because the expression's text may contain a %. */             \
		__asm__(".pushsection .note.ringside,\"?\",\"note\"\n"                             \
			".balign 4\n"                                                              \
			".4byte 992f-991f, 994f-993f, 1\n"                                         \
			"991: .asciz \"ringside\"\n"                                               \
			"992: .balign 4\n"                                                         \
			"993: .asciz \"" __FILE__                                                  \
			":" RS_REPLAY_TEXT_(__LINE__) "\"\n"                                       \
						      ".asciz \"" #expr "\"\n"                     \
						      ".asciz \"" #__VA_ARGS__ "\"\n"              \
						      "994: .balign 4\n"                           \
						      ".popsection\n");                            \
	} while (0)

/* ---- implementation ----------------------------------------------------------------------- */

#define RS_REPLAY_TEXT_(x) RS_REPLAY_TEXT__(x)
#define RS_REPLAY_TEXT__(x) #x
#define RS_REPLAY_CAT_(a, b) RS_REPLAY_CAT__(a, b)
#define RS_REPLAY_CAT__(a, b) a##b
#define RS_REPLAY_COUNT_(...) \
	RS_REPLAY_COUNT__(_, ##__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define RS_REPLAY_COUNT__(_, a, b, c, d, e, f, g, h, n, ...) n

/* The size of a value in a note, in bytes; negative if the value is signed. */
#define RS_REPLAY_SIZE_(x)                                                                         \
	((int)sizeof(x) * _Generic((x), signed char                                                \
				   : -1, short                                                     \
				   : -1, int                                                       \
				   : -1, long                                                      \
				   : -1, long long                                                 \
				   : -1, char                                                      \
				   : (char)-1 < 0 ? -1 : 1, default : 1))

#define RS_REPLAY_OPERAND_(n, x) [s##n] "i"(RS_REPLAY_SIZE_(x)), [a##n] "nor"(x)

#define RS_REPLAY_ASM_(provider, name, operands, ...)                                              \
	__asm__ volatile("990: nop\n"                                                              \
			 ".pushsection .note.stapsdt,\"?\",\"note\"\n"                             \
			 ".balign 4\n"                                                             \
			 ".4byte 992f-991f, 994f-993f, 3\n"                                        \
			 "991: .asciz \"stapsdt\"\n"                                               \
			 "992: .balign 4\n"                                                        \
			 "993: .8byte 990b\n"                                                      \
			 ".8byte 0\n"                                                              \
			 ".8byte 0\n"                                                              \
			 ".asciz \"" provider "\"\n"                                               \
			 ".asciz \"" name "\"\n"                                                   \
			 ".asciz \"" operands "\"\n"                                               \
			 "994: .balign 4\n"                                                        \
			 ".popsection\n"                                                           \
			 :                                                                         \
			 : __VA_ARGS__)

#define RS_REPLAY_S_(n) "%c[s" #n "]@%[a" #n "]"

#define RS_REPLAY_NOTE_0(p, n) RS_REPLAY_ASM_(p, n, "", [none] "i"(0))
#define RS_REPLAY_S1_ RS_REPLAY_S_(0)
#define RS_REPLAY_V1_(a) \
	RS_REPLAY_OPERAND_(0, a)
#define RS_REPLAY_NOTE_1(p, n, a) \
	RS_REPLAY_ASM_(p, n, RS_REPLAY_S1_, RS_REPLAY_V1_(a))
#define RS_REPLAY_S2_ RS_REPLAY_S1_ " " RS_REPLAY_S_(1)
#define RS_REPLAY_V2_(a, b) \
	RS_REPLAY_V1_(a), RS_REPLAY_OPERAND_(1, b)
#define RS_REPLAY_NOTE_2(p, n, a, b) \
	RS_REPLAY_ASM_(p, n, RS_REPLAY_S2_, RS_REPLAY_V2_(a, b))
#define RS_REPLAY_S3_ RS_REPLAY_S2_ " " RS_REPLAY_S_(2)
#define RS_REPLAY_V3_(a, b, c) \
	RS_REPLAY_V2_(a, b), RS_REPLAY_OPERAND_(2, c)
#define RS_REPLAY_NOTE_3(p, n, a, b, c) \
	RS_REPLAY_ASM_(p, n, RS_REPLAY_S3_, RS_REPLAY_V3_(a, b, c))
#define RS_REPLAY_S4_ RS_REPLAY_S3_ " " RS_REPLAY_S_(3)
#define RS_REPLAY_V4_(a, b, c, d) \
	RS_REPLAY_V3_(a, b, c), RS_REPLAY_OPERAND_(3, d)
#define RS_REPLAY_NOTE_4(p, n, a, b, c, d) \
	RS_REPLAY_ASM_(p, n, RS_REPLAY_S4_, RS_REPLAY_V4_(a, b, c, d))
#define RS_REPLAY_S5_ RS_REPLAY_S4_ " " RS_REPLAY_S_(4)
#define RS_REPLAY_V5_(a, b, c, d, e) \
	RS_REPLAY_V4_(a, b, c, d), RS_REPLAY_OPERAND_(4, e)
#define RS_REPLAY_NOTE_5(p, n, a, b, c, d, e) \
	RS_REPLAY_ASM_(p, n, RS_REPLAY_S5_, RS_REPLAY_V5_(a, b, c, d, e))
#define RS_REPLAY_S6_ RS_REPLAY_S5_ " " RS_REPLAY_S_(5)
#define RS_REPLAY_V6_(a, b, c, d, e, f) \
	RS_REPLAY_V5_(a, b, c, d, e), RS_REPLAY_OPERAND_(5, f)
#define RS_REPLAY_NOTE_6(p, n, a, b, c, d, e, f) \
	RS_REPLAY_ASM_(p, n, RS_REPLAY_S6_, RS_REPLAY_V6_(a, b, c, d, e, f))
#define RS_REPLAY_S7_ RS_REPLAY_S6_ " " RS_REPLAY_S_(6)
#define RS_REPLAY_V7_(a, b, c, d, e, f, g) \
	RS_REPLAY_V6_(a, b, c, d, e, f), RS_REPLAY_OPERAND_(6, g)
#define RS_REPLAY_NOTE_7(p, n, a, b, c, d, e, f, g) \
	RS_REPLAY_ASM_(p, n, RS_REPLAY_S7_, RS_REPLAY_V7_(a, b, c, d, e, f, g))
#define RS_REPLAY_S8_ RS_REPLAY_S7_ " " RS_REPLAY_S_(7)
#define RS_REPLAY_V8_(a, b, c, d, e, f, g, h) \
	RS_REPLAY_V7_(a, b, c, d, e, f, g), RS_REPLAY_OPERAND_(7, h)
#define RS_REPLAY_NOTE_8(p, n, a, b, c, d, e, f, g, h) \
	RS_REPLAY_ASM_(p, n, RS_REPLAY_S8_, RS_REPLAY_V8_(a, b, c, d, e, f, g, h))

RS_C_END

#endif
