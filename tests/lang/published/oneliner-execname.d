// args: -n 'profile-99 { @[execname] = count(); }' --on tests/corpus/xen/small.trace --freq 10000000
/* B. Gregg, DTrace one-liners: sample who is on the CPUs; a tick has no thread here */
