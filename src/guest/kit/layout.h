/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that the kit's C and assembly share. */
#ifndef RS_GUEST_KIT_LAYOUT_H
#define RS_GUEST_KIT_LAYOUT_H

/* At the top of each vCPU's stack memory: struct rs_kit_vcpu. A multiple of 16. */
#define RS_KIT_VCPU_BYTES 0x2000

#endif
