/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records a KVM session: its rings, a description line for each thread, and the session's own
 * events (kvm:session::open, thread, close).
 *
 *	attach -> the gate opens -> poll at intervals -> the gate closes -> the recorder is closed
 *
 * All calls come from one thread. The caller keeps the session and the recorder. The session must
 * outlive the recorder, which reads the session's rings until it is closed.
 */
#ifndef RS_LIVE_RECORD_KVM_H
#define RS_LIVE_RECORD_KVM_H

#include "kvm/kvm.h"
#include <ringside/recorder.h>

struct rs_kvm_recording;

/* Creates a recording. The session must have events, and its gate must never have been open. host
 * is the recorder's clock. */
struct rs_error *rs_kvm_recording_create(struct rs_kvm_session *session,
					 struct rs_recorder *recorder, const struct rs_clock *host,
					 struct rs_kvm_recording **recording);
/* Call it after the recorder is closed. NULL is ignored. */
void rs_kvm_recording_destroy(struct rs_kvm_recording *recording);

/* Adds the session's rings to the recorder. The recorder must be closed before the recording is
 * destroyed, even if this call fails. */
struct rs_error *rs_kvm_recording_attach(struct rs_kvm_recording *recording);

/* Opens or closes the gate, and records that as an event, with each thread's schedstat. */
struct rs_error *rs_kvm_recording_gate(struct rs_kvm_recording *recording, bool open);

/* Records the threads that appeared since the last call. */
struct rs_error *rs_kvm_recording_poll(struct rs_kvm_recording *recording);

/* Records each thread again, with its schedstat. A trace that is written from memory needs this,
 * because the events that described the threads at the start may have been dropped. */
struct rs_error *rs_kvm_recording_snapshot(struct rs_kvm_recording *recording);

/* Returns the number of recorded threads. *dropped: exits of threads that did not fit. */
uint32_t rs_kvm_recording_threads(const struct rs_kvm_recording *recording, uint64_t *dropped);

#endif
