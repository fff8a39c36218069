// args: -n 'profile-997 { @[stack()] = count(); }' --on tests/corpus/xen/small.trace --freq 10000000
/* B. Gregg, flame graphs: sample kernel stacks; here no event carries one */
