/* SPDX-License-Identifier: BSD-2-Clause */
/* What the crate uses of the guest runtime and the guest kit: scripts/rust-abi makes
 * src/abi/guest.rs of it. */
#include <ringside/kit.h>
#include <ringside/guest_log.h>
#include <ringside/memory.h>
#include "ids.h"
