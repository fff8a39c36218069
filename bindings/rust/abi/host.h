/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The declarations of the library that the crate uses in programs of the host: scripts/rust-abi
 * generates src/abi/host.rs from them.
 */
#include <ringside/trace.h>
#include <ringside/log.h>
#include <ringside/memory.h>
#include <ringside/recorder.h>
#include "ids.h"
