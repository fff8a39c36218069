// args: -n 'profile:::profile-99 { @[stack()] = count(); }' --on tests/corpus/xen/small.trace --freq 10000000
/* B. Gregg, DTrace one-liners: sample kernel stacks at 99 Hertz */
