/* SPDX-License-Identifier: BSD-2-Clause */
/* Constants that the kit's C and assembly code share. */
#ifndef RS_GUEST_KIT_LAYOUT_H
#define RS_GUEST_KIT_LAYOUT_H

/* The size of struct rs_kit_vcpu, at the top of each vCPU's stack memory. A multiple of 16. */
#define RS_KIT_VCPU_BYTES 0x2000

#endif
