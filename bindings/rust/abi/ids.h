/* SPDX-License-Identifier: BSD-2-Clause */
/* Macros that bindgen does not evaluate, as constants. */
static const uint64_t RS_ABI_ID_SPAN_BEGIN = RS_ID_SPAN_BEGIN;
static const uint64_t RS_ABI_ID_SPAN_END = RS_ID_SPAN_END;
static const uint64_t RS_ABI_HEAD_OURS = (uint64_t)RS_N_DATA_OURS << RS_N_DATA_SHIFT;
static const uint32_t RS_ABI_USER_CLASS_0 = RS_CLASS_USER(0);
static const uint32_t RS_ABI_CLASS_ALL = RS_CLASS_ALL;
static const uint32_t RS_ABI_SLOTS_SHIFT = RS_N_DATA_SHIFT;
static const uint64_t RS_ABI_ID_VMM_0 = RS_ID(RS_IDS_VMM, 0);
