/* SPDX-License-Identifier: BSD-2-Clause */
/* The types and constants of linux/bpf.h that BPF programs need, and libbpf's helpers. Nothing here
 * depends on the kernel that builds. */
#ifndef RS_KVM_TYPES_BPF_H
#define RS_KVM_TYPES_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t __u8;
typedef uint16_t __u16;
typedef uint32_t __u32;
typedef uint64_t __u64;
typedef int32_t __s32;
typedef int64_t __s64;
typedef uint16_t __be16;
typedef uint32_t __be32;
typedef uint32_t __wsum;

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_MMAPABLE = 1u << 10 };
#define BPF_F_CURRENT_CPU 0xffffffffull
enum { BPF_RB_NO_WAKEUP = 1 };

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

/* Hides a value's origin from the compiler, so that the register that is checked is the register
 * that is used. The verifier requires that. */
#define RS_OPAQUE(value) __asm__ volatile("" : "+r"(value))

#endif
