vmm:vcpu::exit { @[args.reason] = count(); }
END { printa("%d %@d\n", @); }
// at 2:7
