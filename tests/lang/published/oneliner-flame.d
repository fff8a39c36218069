// args: -x stackframes=100 -n 'profile-997 /arg0/ { @[stack()] = count(); } tick-60s { exit(0); }' --on tests/corpus/xen/small.trace --freq 10000000
/* B. Gregg, flame graphs: kernel stacks for a minute; here a tick comes from no program counter */
