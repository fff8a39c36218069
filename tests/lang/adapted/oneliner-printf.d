// args: -qn 'vmm:vcpu::exit { printf("%s %s\n", vm, stringof(args.reason)); }' --on examples/traces/hello
/* DTrace one-liners: "Files opened by process", -n 'syscall::open*:entry { printf("%s %s",...); }' */
