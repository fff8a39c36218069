# SPDX-License-Identifier: BSD-2-Clause
"""The output of examples/scripts/block_io.d for a trace, computed independently from the overlap in
time of dom0's vCPU states and its requests."""
import collections


def states(events):
    """Returns {vcpu: [(from, to, state)]}; the state before the first change is unknown."""
    changes, end = collections.defaultdict(list), max(int(e["ts"]) for e in events)
    for e in events:
        if e["probe"] == "xdt:sched::runstate-change" and e["args"]["domain"] == 0:
            changes[e["args"]["vcpu"]].append((int(e["ts"]), e["args"]["new"]))
    return {vcpu: [(since, until, state) for (since, state), (until, _) in
                   zip(some, some[1:] + [(end, None)])]
            for vcpu, some in changes.items()}


def joined(events):
    """Returns rows of size, requests, and us in total: from issue to completion, of these runnable,
    blocked."""
    stretches, issued = states(events), {}
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for e in events:
        args, at = e["args"], int(e["ts"])
        key = args.get("dev"), args.get("sector")
        if e["probe"] == "ftrace:block::block_rq_issue":
            issued[key] = at, e["cpu"], args["bytes"]
        elif e["probe"] == "ftrace:block::block_rq_complete" and key in issued:
            since, vcpu, size = issued.pop(key)
            row = rows[size]
            row[0] += 1
            row[1] += at - since
            for one, other, state in stretches.get(vcpu, ()):
                both = min(at, other) - max(since, one)
                if both > 0 and state in ("runnable", "blocked"):
                    row[2 if state == "runnable" else 3] += both
    return sorted([size, row[0], *(ns // 1000 for ns in row[1:])] for size, row in rows.items())
