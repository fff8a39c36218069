// args: -n 'vmm:vcpu::exit { @[vm] = quantize(arg2); }' --on examples/traces/hello
/* DTrace one-liners: "Distribution of sizes by process", -n '... { @bytes[execname] = quantize(arg0); }' */
