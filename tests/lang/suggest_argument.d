vmm:vcpu::exit { trace(args.reson); }
