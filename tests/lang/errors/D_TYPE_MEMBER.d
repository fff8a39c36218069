// args: -s {}
vmm:vcpu::exit { x = args.raeson; } // at 2:22
