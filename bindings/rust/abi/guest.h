/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The declarations of the guest runtime and the guest kit that the crate uses: scripts/rust-abi
 * generates src/abi/guest.rs from them.
 */
#include <ringside/kit.h>
#include <ringside/guest_log.h>
#include <ringside/memory.h>
#include "ids.h"
