// args: -x ustackframes=100 -n 'profile-97 /pid == 12345 && arg1/ { @[ustack()] = count(); } tick-60s { exit(0); }' --on tests/corpus/xen/small.trace --freq 10000000
/* B. Gregg, flame graphs: a process' user stacks for a minute */
