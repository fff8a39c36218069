/* SPDX-License-Identifier: BSD-2-Clause */
/* What the crate uses of the library in programs of the host: scripts/rust-abi makes
 * src/abi/host.rs of it. */
#include <ringside/trace.h>
#include <ringside/log.h>
#include <ringside/memory.h>
#include <ringside/recorder.h>
#include "ids.h"
