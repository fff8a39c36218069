/* SPDX-License-Identifier: BSD-2-Clause */
/* The limits of the language. Everything that a program could grow without end has one. */
#ifndef RS_LANG_VM_LIMITS_H
#define RS_LANG_VM_LIMITS_H

#define LANG_TEXT_MAX	 (1u << 20) /* bytes of a program */
#define LANG_TOKEN_MAX	 4096	    /* bytes of an identifier or a string constant */
#define LANG_DEPTH_MAX	 200	    /* of nested expressions and statements */
#define LANG_CLAUSES_MAX 4096
#define LANG_VISITS_MAX	 (1u << 20)  /* nodes checked, with inlines expanded */
#define LANG_CODE_MAX	 (1u << 16)  /* instructions of a clause */
#define LANG_STACK_MAX	 256	     /* values; the verifier checks it */
#define LANG_SLOTS_MAX	 4096	     /* variables of a scope */
#define LANG_KEYS_MAX	 8	     /* of a tuple */
#define LANG_KEY_BYTES	 8192	     /* of a tuple packed into bytes */
#define LANG_ARGS_MAX	 32	     /* of a call */
#define LANG_SCRATCH	 (17u << 16) /* bytes of scratch memory of a firing */
#define LANG_OUTPUT_MAX	 (1u << 20)  /* bytes that a clause may print, except printa() */
#define LANG_PRINTA_FROM (1u << 28)  /* bytes that it may have printed before a printa() */
#define LANG_QUANTIZE	 127	     /* bins: negative, zero, positive powers of two */
#define LANG_BINS_MAX	 4096	     /* of lquantize and llquantize */
#define LANG_TICKS_MAX	 (1u << 30)  /* firings of a tick between two events */
#define LANG_TICKS_POLL	 (1u << 20)  /* firings between two checks whether to stop */
#define LANG_TICK_NS_MIN 1000
#define LANG_WALKS_MAX	 8u	    /* walks of a clause */
#define LANG_WALK_STEPS	 65536u	    /* steps of a walk, times those of the walks around it */
#define LANG_TOP_MAX	 100u	    /* values that topk() shows */
#define LANG_GUEST_TYPES_MAX 9u	    /* sets of types of the guest */
#define LANG_OBJECT_MAX	 16384u	    /* bytes of a struct or an array */
#define LANG_OBJECTS_MAX (1u << 20) /* bytes of all structs and arrays of a scope */

#endif
